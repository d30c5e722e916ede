"""Two custom stores in memory: one that answers at once, and one that may block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scrapy_rep.access.authority import Authority, authority_in
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores import BlockingStore, Store
from scrapy_rep.stores.base import merging
from scrapy_rep.stores.stored import StoredEntry


class DictionaryStore(Store):
    """Entries in a dictionary."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or self._clock
        self.kept: dict[Authority, StoredEntry] = {}

    def get(self, authority: Authority, crawler: str = "") -> Any:
        """What there is."""
        stored = self.kept.get(authority)
        return None if stored is None else stored.seen_by(crawler)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Merged with what there is."""
        after = merging(authority, entry, crawler, self._clock())(self.kept.get(authority))
        if after is not None:
            self.kept[authority] = after

    def forget(self, authority: Authority) -> None:
        """It is gone."""
        self.kept.pop(authority, None)


class BlockingDictionary(BlockingStore):
    """Octets in a dictionary, which several stores may share."""

    def __init__(self, kept: dict[str, bytes], clock: Callable[[], float] | None = None) -> None:
        super().__init__()
        self._clock = clock or self._clock
        self.kept = kept

    def read(self, key: str) -> bytes | None:
        """What there is."""
        return self.kept.get(key)

    def write(self, key: str, data: bytes) -> None:
        """Here it is."""
        self.kept[key] = data

    def scan(self) -> Iterator[StoredEntry]:
        """All there is."""
        self.flush()
        for key in list(self.kept):
            authority = authority_in(key)
            stored = None if authority is None else self.find(authority)
            if stored is not None:
                yield stored
