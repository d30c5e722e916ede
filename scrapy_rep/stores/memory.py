"""Entries in memory, compressed, for as long as the process lives."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.policy import Entry
from scrapy_rep.stores.base import Store, dated, supersedes
from scrapy_rep.stores.codec import decode, encode

OVERHEAD = 400
"""Octets that an entry takes besides its own: the authority, two objects, a place in the table."""


class MemoryStore(Store):
    """Entries kept encoded, the least recently used out first once they exceed ``limit`` octets."""

    def __init__(
        self, limit: int = 64 * 1024 * 1024, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._size = 0
        self._kept: OrderedDict[Authority, tuple[float, bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self.evicted = 0

    def __repr__(self) -> str:
        return f"MemoryStore({self._limit})"

    def get(self, authority: Authority) -> Entry | None:
        """Return the entry of ``authority``, ``None`` if there is none; it is now last to go."""
        with self._lock:
            kept = self._kept.get(authority)
            if kept is None:
                return None
            self._kept.move_to_end(authority)
        return decode(authority, kept[1])

    def put(self, authority: Authority, entry: Entry) -> None:
        """Keep ``entry`` unless a newer one is there. Raises ``StoreError`` if it is too large."""
        octets = encode(authority, entry)
        with self._lock:
            kept = self._kept.get(authority)
            if kept is not None:
                if not supersedes(dated(entry), kept[0], self._clock()):
                    return
                self._drop(authority)
            self._kept[authority] = dated(entry), octets
            self._size += len(octets) + OVERHEAD
            while self._size > self._limit and self._kept:
                self._drop(next(iter(self._kept)))
                self.evicted += 1

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``, if there is one."""
        with self._lock:
            if authority in self._kept:
                self._drop(authority)

    def __iter__(self) -> Iterator[tuple[Authority, Entry]]:
        """Yield what is kept now, the least recently used first."""
        with self._lock:
            kept = list(self._kept.items())
        for authority, (_, octets) in kept:
            entry = decode(authority, octets)
            if entry is not None:
                yield authority, entry

    def __len__(self) -> int:
        return len(self._kept)

    def _drop(self, authority: Authority) -> None:
        _, octets = self._kept.pop(authority)
        self._size -= len(octets) + OVERHEAD
