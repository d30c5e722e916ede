"""Entries on a Redis server, shared by the workers of many machines.

Each entry is one string under ``scrapy_rep:1:SCHEME://HOST:PORT``, in the octets of
:mod:`scrapy_rep.stores.codec`, with an expiry of its own; each lease one under
``scrapy_rep:lease:``. The newest wins by a script on the server, which reads the date in the
head of the octets: to watch the key and write it in a transaction would cost three round trips,
and more under contention.

No look-up takes longer than :data:`PATIENCE`, whatever the server or the name service does. No
credential is in any message.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import Any

import redis

from scrapy_rep.protocol.authority import Authority, authority_of
from scrapy_rep.protocol.entry import CLOCK_TOLERANCE, Entry
from scrapy_rep.stores.address import Address, Connection
from scrapy_rep.stores.base import MONTH, Store, StoreError, useful_until
from scrapy_rep.stores.breaker import Breaker
from scrapy_rep.stores.codec import MAGIC
from scrapy_rep.stores.link import Link
from scrapy_rep.stores.whole import decode, encode

PATIENCE = 0.25
"""Seconds within which a look-up is answered or has failed."""

PUT_PATIENCE = 5.0
"""Seconds for which a put may wait, most of them behind others."""

LIST_PATIENCE = 10.0
"""Seconds for each round trip of an iteration, and for a flush."""

CLOSE_PATIENCE = 1.0
"""Seconds for which ``close`` waits for the server, and again for its threads."""

_ENTRIES, _LEASES = "scrapy_rep:1:", "scrapy_rep:lease:"

MIN_EXPIRY = 60.0
"""Seconds for which any entry is kept."""

_WRONG_TYPE = "the Redis server answered with a value of a wrong type"

_PUT = """
local head = redis.call('GETRANGE', KEYS[1], 0, 11)
if #head == 12 and string.sub(head, 1, 4) == ARGV[2] then
  local old = struct.unpack('>d', head, 5)
  local new = struct.unpack('>d', ARGV[1], 5)
  if new < old and old <= tonumber(ARGV[3]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[4])
return 1
"""
_RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class RedisStore(Store):
    """The entries on the server that ``uri`` names (``redis://``, ``rediss://``, ``unix://``).

    ``keep`` is for how many seconds a last good copy is of use. Raises ``ValueError`` if the
    URI is not one.
    """

    def __init__(
        self,
        uri: str,
        *,
        keep: float = MONTH,
        clock: Callable[[], float] = time.time,
        breaker: Breaker | None = None,
    ) -> None:
        self._address = Address(uri)
        self._keep = keep
        self._clock = clock
        self._fault: StoreError | None = None
        self._puts = 0
        self._lock = Lock()
        connect = partial(self._address.connection, PATIENCE)
        self._link = Link(connect, self._address.describe, breaker or Breaker())

    def __repr__(self) -> str:
        return f"RedisStore({str(self._address)!a})"

    def get(self, authority: Authority, crawler: str = "") -> Future[Entry | None]:
        """Return a Future of the entry of ``authority``. Raises ``StoreError``."""
        convert = partial(_entry, authority)
        return self._link.ask("GET", _key(authority), patience=PATIENCE, convert=convert)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Send ``entry`` off. Raises ``StoreError`` if it cannot, or an earlier put failed."""
        octets, now = encode(authority, entry), self._clock()
        expiry = max(
            [
                MIN_EXPIRY,
                *(useful_until(p, self._keep) - now for p in (entry.answer, entry.failure) if p),
            ]
        )
        arguments = (octets, MAGIC, repr(now + CLOCK_TOLERANCE), int(expiry * 1000))
        self._send("EVAL", _PUT, 1, _key(authority), *arguments)
        self._raise_fault()

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``. Raises ``StoreError``."""
        self._send("DEL", _key(authority))

    def lease(self, authority: Authority, seconds: float) -> Future[str | None]:
        """Return a Future of a token, or of ``None`` while another worker holds the lease."""
        token = secrets.token_hex(8)
        command = ("SET", _lease_key(authority), token, "NX", "PX", max(1, int(seconds * 1000)))
        return self._link.ask(*command, patience=PATIENCE, convert=partial(_granted, token))

    def release(self, authority: Authority, token: str) -> None:
        """End the lease that ``token`` stands for, if it still does."""
        self._send("EVAL", _RELEASE, 1, _lease_key(authority), token)

    def __iter__(self) -> Iterator[tuple[Authority, Entry]]:
        """Yield what is on the server, over a connection of its own. Raises ``StoreError``."""
        self.flush()
        connection = self._address.connection(LIST_PATIENCE)
        try:
            yield from _scan(connection)
        except (redis.RedisError, OSError, ValueError, TypeError) as error:
            raise StoreError(self._address.describe(error)) from None
        finally:
            connection.disconnect()

    def flush(self) -> None:
        """Return once the server has all that was put. Raises ``StoreError`` if it has not."""
        if not self._link.idle(LIST_PATIENCE):
            raise StoreError("the Redis server does not take what was put")
        self._raise_fault()

    def close(self) -> None:
        """Send what is queued and hang up, in about two seconds at most, and quietly."""
        self._link.close(CLOSE_PATIENCE)

    def _send(self, *command: Any) -> None:
        """Queue a command whose failure shows at the next put or flush."""
        future = self._link.ask(*command, patience=PUT_PATIENCE, convert=_number)
        future.add_done_callback(self._note)

    def _note(self, future: Future[Any]) -> None:
        error = future.exception()
        if isinstance(error, StoreError):
            with self._lock:
                self._fault = error

    def _raise_fault(self) -> None:
        with self._lock:
            fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


def _key(authority: Authority) -> str:
    return f"{_ENTRIES}{authority}"


def _lease_key(authority: Authority) -> str:
    return f"{_LEASES}{authority}"


def _entry(authority: Authority, reply: Any) -> Entry | None:
    if reply is None:
        return None
    if not isinstance(reply, bytes):
        raise StoreError(_WRONG_TYPE)
    return decode(authority, reply)


def _granted(token: str, reply: Any) -> str | None:
    if reply not in (None, b"OK"):
        raise StoreError(_WRONG_TYPE)
    return None if reply is None else token


def _number(reply: Any) -> int:
    if not isinstance(reply, int):
        raise StoreError(_WRONG_TYPE)
    return reply


def _scan(connection: Connection) -> Iterator[tuple[Authority, Entry]]:
    connection.connect()
    start, cursor = len(_ENTRIES), b"0"
    while True:
        connection.send_command("SCAN", cursor, "MATCH", _ENTRIES + "*", "COUNT", 500)
        cursor, keys = connection.read_response()
        if keys:
            connection.send_command("MGET", *keys)
            for key, octets in zip(keys, connection.read_response(), strict=True):
                authority = authority_of(key[start:].decode("utf-8", "replace"))
                entry = decode(authority, octets or b"") if authority is not None else None
                if authority is not None and entry is not None:
                    yield authority, entry
        if cursor == b"0":
            return
