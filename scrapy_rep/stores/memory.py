"""Entries in memory, compressed, for as long as the process lives."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry, merge
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.codec import decode_all, decode_parts, encode_parts
from scrapy_rep.stores.stored import StoredEntry, beginnings

OVERHEAD = 500
"""Octets that an entry takes besides its own: the authority, its objects, a place in the table."""


class MemoryStore(Store):
    """Entries kept encoded. Beyond ``limit`` octets the least recently used ones are dropped.

    ``spill(authority, parts)`` is called with each entry that is dropped, still encoded.
    """

    merges = True

    def __init__(
        self,
        limit: int = 64 * 1024 * 1024,
        *,
        clock: Callable[[], float] = time.time,
        spill: Callable[[Authority, dict[str, bytes]], None] | None = None,
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._spill = spill
        self._size = 0
        self._kept: OrderedDict[Authority, dict[str, bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self._evicted = 0

    def __repr__(self) -> str:
        return f"MemoryStore({self._limit})"

    @property
    def evicted(self) -> int:
        """How many entries have been dropped to stay within the limit."""
        return self._evicted

    def get(self, authority: Authority, crawler: str = "") -> Entry | None:
        """Return the entry of ``authority``, ``None`` if there is none; mark it as used."""
        with self._lock:
            parts = self._kept.get(authority)
            if parts is None:
                return None
            self._kept.move_to_end(authority)
            parts = dict(parts)
        return decode_parts(authority, parts, crawler)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Merge ``entry`` into what is kept. Raises ``StoreError`` if it is too large."""
        with self._lock:
            parts = self._kept.get(authority, {})
            kept = decode_parts(authority, parts, crawler)
            merged = encode_parts(authority, merge(kept, entry, self._clock()), crawler)
            self._drop(authority)
            parts = {part: octets for part, octets in {**parts, **merged}.items() if octets}
            if parts:
                self._kept[authority] = parts
                self._size += _size_of(parts)
            spilt = []
            while self._size > self._limit and self._kept:
                oldest = next(iter(self._kept))
                spilt.append((oldest, self._drop(oldest)))
        self._evicted += len(spilt)
        if self._spill is not None:
            for gone, octets in spilt:
                self._spill(gone, octets)

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``, if there is one."""
        with self._lock:
            self._drop(authority)

    def scan(self, start: str = "") -> Iterator[StoredEntry]:
        """Yield what is kept now, the least recently used first."""
        names = beginnings(start)
        with self._lock:
            kept = [
                (authority, dict(parts))
                for authority, parts in self._kept.items()
                if str(authority).startswith(names)
            ]
        for authority, parts in kept:
            stored = decode_all(authority, parts)
            if stored is not None:
                yield stored

    def find(self, authority: Authority) -> StoredEntry | None:
        """Return all that is kept of ``authority``, ``None`` if nothing is."""
        with self._lock:
            parts = dict(self._kept.get(authority, {}))
        return decode_all(authority, parts)

    def __contains__(self, authority: Authority) -> bool:
        """Return whether anything is kept of ``authority``."""
        return authority in self._kept

    def _drop(self, authority: Authority) -> dict[str, bytes]:
        parts = self._kept.pop(authority, {})
        if parts:
            self._size -= _size_of(parts)
        return parts


def _size_of(parts: dict[str, bytes]) -> int:
    return OVERHEAD + sum(map(len, parts.values()))
