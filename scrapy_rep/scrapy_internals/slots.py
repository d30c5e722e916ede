"""The slots of the downloader: which requests each has, and how many it sends at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from scrapy_rep.scrapy_internals.names import Feature

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.scrapy_internals.passage import Passage
    from scrapy_rep.scrapy_internals.switches import Switches


class DownloadSlot:
    """One slot. The scheduler counts the requests entered here as requests of the slot.

    Scrapy's ``DownloaderAwarePriorityQueue`` prefers requests for the slots that have the fewest.
    """

    __slots__ = ("_slot", "key")

    def __init__(self, key: str, slot: Any):
        self.key = key
        self._slot = slot

    @property
    def free(self) -> float:
        """How many more requests the slot sends at once than it has; negative if others queue.

        Those that were entered are counted, too.
        """
        if self._slot is None:
            return math.inf
        return max(1, int(self._slot.concurrency)) - len(self._slot.active)

    def enter(self, request: Request) -> None:
        """Count ``request`` as one of the slot, for the scheduler, before it reaches the slot."""
        if self._slot is not None:
            self._slot.active.add(request)

    def leave(self, request: Request) -> None:
        """Take back what :meth:`enter` did."""
        if self._slot is not None:
            self._slot.active.discard(request)


class DownloadSlots:
    """The slots of a downloader; a custom one may have none."""

    def __init__(self, crawler: Crawler, on: Switches, passage: Passage):
        self._crawler = crawler
        self._on = on
        self._passage = passage

    @property
    def exist(self) -> bool:
        """Whether the downloader has slots."""
        return Feature.SLOTS in self._on

    def of(self, request: Request) -> DownloadSlot:
        """Return the slot that will send ``request``, unless another component changes it."""
        if not self.exist:
            return DownloadSlot("", None)
        key, slot = self._downloader._get_slot(request)  # noqa: SLF001
        return DownloadSlot(str(key), slot)

    def has_sent(self, key: str) -> bool:
        """Return whether the slot ``key`` may have sent something in the last minute."""
        if Feature.HISTORY not in self._on or not self.exist:
            return True
        slot = self._slots.get(key)
        return slot is not None and bool(slot.lastseen)

    def are_sending(self, but: AbstractSet[Request]) -> bool:
        """Return whether any slot downloads a request that is not one of ``but``."""
        if not self.exist:
            return bool(self._passage.sent - but)
        return any(slot.transferring - but for slot in self._slots.values())

    @property
    def requests(self) -> AbstractSet[Request]:
        """The requests in all slots, or those being downloaded if there are no slots."""
        if not self.exist:
            return self._passage.sent
        return set().union(*(slot.active for slot in self._slots.values()))

    @property
    def count(self) -> int:
        """How many requests all slots have, including those that were entered."""
        if not self.exist:
            return len(self._passage.sent)
        return sum(len(slot.active) for slot in self._slots.values())

    @property
    def _slots(self) -> dict[str, Any]:
        return self._downloader.slots if self.exist else {}

    @property
    def _downloader(self) -> Any:
        return self._crawler.engine.downloader
