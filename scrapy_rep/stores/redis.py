"""Entries on a Redis server, behind Sentinels or in a cluster, shared by workers on many machines.

An entry is a hash under ``PREFIX:entry:SCHEME://HOST:PORT``. It has a field for each part
(``answer``, ``failure``, ``refusal CRAWLER``), in the octets of :mod:`scrapy_rep.stores.codec`.
The hash expires when none of its parts is useful any longer. Each lease is a string under
``PREFIX:lease:SCHEME://HOST:PORT``.

A put is one script on the server, which merges as :func:`scrapy_rep.access.entry.merge` does, by
the dates in the heads of the octets. A transaction that watches the key would cost three round
trips, and more under contention. In a cluster each of these scripts touches one key, and the
authority stands in braces. So its entry and its lease are on one node, where other workers see what
was put before they see the lease end.

No message holds a credential.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any

import redis

from scrapy_rep.access.authority import Authority, authority_in
from scrapy_rep.access.entry import CLOCK_TOLERANCE, Entry
from scrapy_rep.stores import redis_turns as turns
from scrapy_rep.stores.base import RENEWED, Store, Turn
from scrapy_rep.stores.codec import ANSWER, FAILURE, MAGIC, decode_parts, encode_parts, refusal_of
from scrapy_rep.stores.redis_client import WRONG_TYPE, Client, ClientThread, open_client
from scrapy_rep.stores.redis_uri import CLUSTER, RedisUri
from scrapy_rep.stores.stored import MONTH, PREFIX, StoredEntry, StoreError, useful_until
from scrapy_rep.stores.uri import UriOptions

STEP_TIMEOUT = 2.0
"""Seconds for each step of a connection: to connect, to send, to receive."""

LIST_TIMEOUT = 10.0
"""Seconds for each step of a scan, and for a flush."""

LISTED_TOGETHER = 500
"""Keys that a scan reads in one round trip."""

CLOSE_TIMEOUT = 1.0
"""Seconds for which ``close`` waits for the server."""

MIN_EXPIRY, MAX_EXPIRY = 60.0, 10 * 365 * 86_400.0
"""Seconds for which any entry is kept at least and at most."""

logger = logging.getLogger(__name__)

_ClusterError = redis.exceptions.RedisClusterException

# Merges parts into the fields of one hash. The arguments: the latest date that is believed, the
# first octets of a part, the expiry in milliseconds, and the parts: an answer, a failure, the name
# of the field for a refusal, a refusal. Each is empty if there is none.
_PUT = """
local key, latest, magic = KEYS[1], tonumber(ARGV[1]), ARGV[2]

local function date_of(octets)
  if octets and #octets >= 12 and string.sub(octets, 1, 4) == magic then
    local date = struct.unpack('>d', octets, 5)
    if date == date then return date end
  end
end

local function newest(field, put)
  local old, new = date_of(redis.call('HGET', key, field)), date_of(put)
  if new and not (old and new < old and old <= latest) then
    redis.call('HSET', key, field, put)
    return new
  end
  return old
end

local answer, answered = newest('answer', ARGV[4]), date_of(ARGV[4])
if ARGV[6] ~= '' then
  local refusal = newest(ARGV[6], ARGV[7])
  if not refusal or (answered and ARGV[7] == '' and answered >= refusal) then
    redis.call('HDEL', key, ARGV[6])
  end
end
local failure = newest('failure', ARGV[5])
if not failure or failure > latest or (answer and failure < answer and answer <= latest) then
  redis.call('HDEL', key, 'failure')
end
if redis.call('PTTL', key) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', key, ARGV[3])
end
return 1
"""

# Grants a lease again to the token that holds it: a broken connection may repeat the command.
_LEASE = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
return 0
"""
_RENEW = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
"""
_RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""
_DELETE = "return redis.call('DEL', KEYS[1])"


class RedisStore(Store):
    """The entries on the server that ``uri`` names (:class:`scrapy_rep.stores.redis_uri.RedisUri`).

    ``keep`` is how many seconds a last good copy is of use. All keys begin with ``prefix``. Raises
    ``ValueError`` if the URI is not one.
    """

    answer_timeout = 1.0
    """Enough for a server 200 ms away: to connect, to check a password, to select a database and to
    answer take one round trip each."""

    keeps_pace = True

    def __init__(
        self,
        uri: str,
        *,
        keep: float = MONTH,
        prefix: str = PREFIX,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._uri = RedisUri(uri)
        self._keep = keep
        self._prefix = prefix
        self._in_cluster = self._uri.kind == CLUSTER
        self._clock = clock
        self._leases: dict[str, str] = {}
        self._thread = ClientThread(self._uri, STEP_TIMEOUT)

    @classmethod
    def open_uri(cls, uri: str, options: UriOptions) -> RedisStore:
        """Return the store that ``uri`` names. Raises ``ValueError`` if that is no server's."""
        return cls(uri, keep=options.keep, prefix=options.prefix)

    def get(self, authority: Authority, crawler: str = "") -> Future[Entry | None]:
        """Return a Future of the entry of ``authority``. Raises ``StoreError``."""
        wanted = ANSWER, FAILURE, refusal_of(crawler)

        def entry(reply: Any) -> Entry | None:
            parts = {name: part for name, part in _fields(reply).items() if name in wanted}
            stored = decode_parts(authority, parts)
            return None if stored is None else stored.seen_by(crawler)

        return self._thread.ask((("HGETALL", self._key(authority)), entry))

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Queue ``entry``. Raises ``StoreError`` if it cannot, or if an earlier put failed."""
        parts, now = encode_parts(authority, entry, crawler), self._clock()
        kept = [part for part in (entry.answer, entry.refusal, entry.failure) if part is not None]
        uses = [useful_until(part, self._keep) - now for part in kept]
        expiry = min(max([MIN_EXPIRY, *uses]), MAX_EXPIRY)
        refusal = refusal_of(crawler) if crawler else ""
        self._change(
            authority,
            _PUT,
            repr(now + CLOCK_TOLERANCE),
            MAGIC,
            _milliseconds(expiry),
            parts[ANSWER],
            parts[FAILURE],
            refusal,
            parts.get(refusal, b""),
        )
        self._raise_fault()

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``. Raises ``StoreError``."""
        self._change(authority, _DELETE)

    def lease(self, authority: Authority, seconds: float) -> Future[str | None]:
        """Return a Future of a token, or of ``None`` while another worker holds the lease."""
        key, token = self._lease_key(authority), secrets.token_hex(8)
        self._leases[key] = token
        command = ("EVAL", _LEASE, 1, key, token, _milliseconds(seconds))
        return self._thread.ask((command, partial(self._granted, key, token)))

    def renew(self, authority: Authority, token: str, seconds: float) -> None:
        """Extend a lease to ``seconds`` from now, if ``token`` still holds it."""
        self._tell(_RENEW, self._lease_key(authority), token, _milliseconds(seconds))

    def release(self, authority: Authority, token: str) -> None:
        """End the lease that ``token`` stands for, if it still does."""
        self._leases.pop(key := self._lease_key(authority), None)
        self._tell(_RELEASE, key, token)

    def take_turn(self, host: str, seconds: float, interval: float, token: str) -> Future[Turn]:
        """Return a Future of a turn, or of how long to wait. Raises ``StoreError``."""
        numbers = turns.micro(seconds), turns.micro(interval), turns.micro(RENEWED)
        command = ("EVAL", turns.TAKE, 2, *self._turn_keys(host), token, *numbers)
        return self._thread.ask((command, partial(turns.turn_of, token)))

    def renew_turn(self, host: str, token: str, seconds: float) -> None:
        """Extend a turn to ``seconds`` from now, unless another worker holds one by now."""
        self._tell(turns.RENEW, self._turn_keys(host)[0], token, turns.micro(seconds))

    def end_turn(self, host: str, token: str, interval: float) -> None:
        """End a turn whose request has ended: the interval begins."""
        self._tell(turns.END, self._turn_keys(host)[0], token, turns.micro(interval))

    def cancel_turn(self, host: str, token: str) -> None:
        """Give back a turn for which no request was made."""
        self._tell(turns.CANCEL, self._turn_keys(host)[0], token)

    def scan(self) -> Iterator[StoredEntry]:
        """Flush, and yield what is on the servers. Raises ``StoreError``.

        ``SCAN`` goes through all keys of a server, or of every master of a cluster, and may return
        a key twice. So the sites seen are remembered, which takes about 100 bytes for each.
        """
        beginning = f"{self._prefix}:entry:"
        seen = set[Authority]()
        with self._listing() as client:
            keys = client.keys(f"{_escaped(beginning)}*")
            while batch := list(islice(keys, LISTED_TOGETHER)):
                wanted = {}
                for key in batch:
                    authority = _authority(key[len(beginning.encode()) :])
                    if authority is not None and authority not in seen:
                        seen.add(authority)
                        wanted[key] = authority
                yield from _listed(client, wanted)

    def find(self, authority: Authority) -> StoredEntry | None:
        """Flush, and return all that the server holds of ``authority``. Raises ``StoreError``."""
        with self._listing() as client:
            return next(_listed(client, {self._key(authority).encode(): authority}), None)

    @contextmanager
    def _listing(self) -> Iterator[Client]:
        """Open separate connections, so that a long scan does not delay look-ups."""
        self.flush()
        client: Client | None = None
        try:
            client = open_client(self._uri, LIST_TIMEOUT)
            yield client
        # The last two: redis-py checks the options of TLS only when it connects.
        except (redis.RedisError, _ClusterError, OSError, TypeError, ValueError) as error:
            raise StoreError(self._uri.describe(error)) from None
        finally:
            if client is not None:
                client.close()

    def flush(self) -> None:
        """Return once the server has all that was put. Raises ``StoreError`` if that fails."""
        if not self._thread.wait_until_idle(LIST_TIMEOUT):
            raise StoreError("the Redis server does not take what was put")
        self._raise_fault()

    def close(self) -> None:
        """Send what is queued, for a second at most, and close all connections, quietly."""
        with suppress(StoreError):  # too many calls wait already
            while self._leases:  # a crawl that stops does not wait for those that it has asked for
                self._tell(_RELEASE, *self._leases.popitem())
        self._thread.close(CLOSE_TIMEOUT)

    def _key(self, authority: Authority) -> str:
        return f"{self._prefix}:entry:{self._tag(authority)}"

    def _lease_key(self, authority: Authority) -> str:
        return f"{self._prefix}:lease:{self._tag(authority)}"

    def _tag(self, authority: Authority) -> str:
        return f"{{{authority}}}" if self._in_cluster else str(authority)

    def _turn_keys(self, host: str) -> tuple[str, str]:
        return turns.keys_of(host, self._prefix, self._in_cluster)

    def _granted(self, key: str, token: str, reply: Any) -> str | None:
        if _number(reply):
            return token
        self._leases.pop(key, None)
        return None

    def _change(self, authority: Authority, script: str, *arguments: Any) -> None:
        """Queue a change of an entry. The next put or flush raises its failure."""
        written = self._tell(script, self._key(authority), *arguments)
        written.add_done_callback(self._note)

    def _tell(self, script: str, key: str, *arguments: Any) -> Future[int]:
        """Queue a script. If that of a lease or a turn fails, the lease or the turn lapses.

        A server that is back hears of the turns that are in use before it grants others.
        """
        return self._thread.ask((("EVAL", script, 1, key, *arguments), _number))


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _number(reply: Any) -> int:
    if not isinstance(reply, int):
        raise StoreError(WRONG_TYPE)
    return reply


def _listed(client: Client, keys: dict[bytes, Authority]) -> Iterator[StoredEntry]:
    """Read keys, each of which is that of an authority.

    A key that is not a hash was written by another program, and is skipped.
    """
    replies = client.run([("HGETALL", key) for key in keys])
    for (key, authority), reply in zip(keys.items(), replies, strict=True):
        if isinstance(reply, Exception):
            if not str(reply).startswith("WRONGTYPE"):
                raise reply
            logger.warning("the key %a is not a hash, and is passed over", key)
            continue
        stored = decode_parts(authority, _fields(reply))
        if stored is not None:
            yield stored


def _fields(reply: Any) -> dict[str, bytes]:
    """Return the fields of a hash: redis-py makes a list, or a dictionary of them."""
    if isinstance(reply, list):
        reply = dict(zip(reply[::2], reply[1::2], strict=False))
    if not isinstance(reply, dict) or not all(
        isinstance(octets, bytes) for octets in reply.values()
    ):
        raise StoreError(WRONG_TYPE)
    return {field.decode("utf-8", "replace"): octets for field, octets in reply.items()}


def _escaped(text: str) -> str:
    return re.sub(r"([*?\[\]^\\])", r"\\\1", text)


def _authority(name: bytes) -> Authority | None:
    """Return the authority of a key, which has braces in a cluster; None for foreign keys."""
    text = name.decode("utf-8", "replace")
    return authority_in(text[1:-1] if text.startswith("{") else text)
