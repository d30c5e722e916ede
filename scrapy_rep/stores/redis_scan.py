"""Lists everything that a Redis deployment holds under one prefix, for its operator.

``SCAN`` goes through all keys of a server, or of every master of a cluster, and may return a key
twice. So the authorities seen are remembered, which takes about 100 octets for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.stores.codec import decode_all, decode_v1
from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.redis_client import Client, values
from scrapy_rep.stores.stored import Lease, StoredEntry, beginnings

_BATCH = 500
"""Keys that are read in one round trip."""

_WRONG_TYPE = "the Redis server answered with a value of a wrong type"


class RedisScan:
    """Reads the keys that begin with ``entries``, ``leases`` and ``entries_v1``.

    ``entries_v1`` is empty if the entries of scrapy_rep 0.1 are not to be read. Methods raise
    ``StoreError`` and what redis-py raises.
    """

    def __init__(self, client: Client, entries: str, leases: str, entries_v1: str) -> None:
        self._client = client
        self._entries = entries
        self._leases = leases
        self._entries_v1 = entries_v1

    def entries(self, start: str) -> Iterator[StoredEntry]:
        """Yield the authorities that ``start`` selects, with all refusals."""
        seen = set[Authority]()
        for batch in self._batches(self._entries, start, seen):
            replies = values(self._client, [("HGETALL", key) for key, _ in batch])
            for (_, authority), reply in zip(batch, replies, strict=True):
                stored = decode_all(authority, _parts(reply))
                if stored is not None:
                    yield stored
        for batch in self._batches(self._entries_v1, start, seen) if self._entries_v1 else ():
            replies = values(self._client, [("GET", key) for key, _ in batch])
            for (_, authority), reply in zip(batch, replies, strict=True):
                entry = decode_v1(authority, reply) if isinstance(reply, bytes) else None
                if entry is not None:
                    yield StoredEntry(authority, entry)

    def count(self, start: str) -> int:
        """Return how many authorities ``start`` selects, without reading what is kept of them."""
        seen = set[Authority]()
        for beginning in filter(None, (self._entries, self._entries_v1)):
            for _ in self._batches(beginning, start, seen):
                pass
        return len(seen)

    def find(self, key: str, authority: Authority) -> StoredEntry | None:
        """Return the value of ``key``, or what 0.1 stored of ``authority``."""
        (reply,) = values(self._client, [("HGETALL", key)])
        stored = decode_all(authority, _parts(reply))
        if stored is None and self._entries_v1:
            (octets,) = values(self._client, [("GET", f"{self._entries_v1}{authority}")])
            entry = decode_v1(authority, octets) if isinstance(octets, bytes) else None
            stored = None if entry is None else StoredEntry(authority, entry)
        return stored

    def leases(self, start: str) -> Iterator[Lease]:
        """Yield the leases of the authorities that ``start`` selects."""
        for batch in self._batches(self._leases, start, set()):
            asked = [(command, key) for key, _ in batch for command in ("GET", "PTTL")]
            replies = values(self._client, asked)
            for (_, authority), token, left in zip(batch, replies[::2], replies[1::2], strict=True):
                if isinstance(token, bytes) and isinstance(left, int) and left > 0:
                    yield Lease(authority, token.decode("utf-8", "replace"), left / 1000)

    def _batches(
        self, beginning: str, start: str, seen: set[Authority]
    ) -> Iterator[list[tuple[bytes, Authority]]]:
        """Yield keys with ``beginning`` and their authorities, which are added to ``seen``."""
        names = beginnings(start)
        pattern = f"{_escaped(beginning)}*{_escaped(start.lower())}*"
        found = self._new(self._client.keys(pattern), len(beginning.encode()), names, seen)
        while batch := list(islice(found, _BATCH)):
            yield batch

    @staticmethod
    def _new(
        keys: Iterator[bytes], offset: int, names: tuple[str, ...], seen: set[Authority]
    ) -> Iterator[tuple[bytes, Authority]]:
        for key in keys:
            authority = _authority(key[offset:])
            if authority is None or authority in seen:
                continue
            if str(authority).startswith(names):
                seen.add(authority)
                yield key, authority


def _escaped(text: str) -> str:
    return re.sub(r"([*?\[\]^\\])", r"\\\1", text)


def _parts(reply: Any) -> dict[str, bytes]:
    """Return the fields of a hash: redis-py makes a list, or a dictionary of them."""
    if isinstance(reply, list):
        reply = dict(zip(reply[::2], reply[1::2], strict=False))
    if not isinstance(reply, dict):
        raise StoreError(_WRONG_TYPE)
    return {field.decode("utf-8", "replace"): octets for field, octets in reply.items()}


def _authority(name: bytes) -> Authority | None:
    """Return the authority of a key, which has braces in a cluster; None for foreign keys."""
    text = name.decode("utf-8", "replace")
    text = text[1:-1] if text.startswith("{") else text
    try:
        authority = authority_of(text)
    except ValueError:
        return None
    return authority if str(authority) == text else None
