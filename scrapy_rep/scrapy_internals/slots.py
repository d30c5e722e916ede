"""The slots of the downloader: how many requests each one sends, and how far apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached

from scrapy_rep.scrapy_internals import pacing
from scrapy_rep.scrapy_internals.names import Feature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from scrapy.crawler import Crawler

    from scrapy_rep.scrapy_internals.pacing import Interval
    from scrapy_rep.scrapy_internals.switches import Switches


class Slots:
    """The slots of a downloader; a custom one may have none."""

    def __init__(self, crawler: Crawler, on: Switches):
        self._crawler = crawler
        self._on = on

    @property
    def exist(self) -> bool:
        """Whether the downloader has slots."""
        return Feature.SLOTS in self._on

    def key_of(self, request: Request) -> str:
        """Return the name of the slot of ``request``, whether it is there or not."""
        if Feature.SLOT_LIMITS in self._on:
            return str(self._downloader.get_slot_key(request))
        if not self.exist:
            return ""  # a downloader without slots has one queue, if any
        return request.meta.get("download_slot") or urlparse_cached(request).hostname or ""

    def requests(self, key: str) -> AbstractSet[Request]:
        """Return the requests that a slot has."""
        slot = self._slots.get(key)
        return slot.active if slot is not None else frozenset()

    def most_at_once(self, key: str) -> int:
        """Return how many requests a slot sends at once."""
        slot = self._slots.get(key)
        if slot is not None and slot.concurrency:
            return max(1, int(slot.concurrency))
        if Feature.SLOT_LIMITS not in self._on:
            return 1
        own = self._downloader.per_slot_settings.get(key, {}).get("concurrency")
        return max(1, int(own or self._downloader.domain_concurrency))

    def are_sending(self, but: AbstractSet[Request]) -> bool:
        """Return whether any slot downloads a request that is not one of ``but``."""
        return any(slot.transferring - but for slot in self._slots.values())

    def delay_of(self, key: str) -> float:
        """Return the seconds that the operator wants between two requests of a slot."""
        settings = {}
        if Feature.SLOT_LIMITS in self._on:
            settings = self._downloader.per_slot_settings.get(key, {})
        own = settings.get("delay")
        return self._crawler.settings.getfloat("DOWNLOAD_DELAY") if own is None else float(own)

    def interval_of(self, key: str) -> Interval | None:
        """Return what :meth:`keep` made a slot keep to, if it did."""
        return pacing.interval_of(self._slots[key])

    def keep(self, key: str, interval: Interval, count: Callable[[int], None]) -> None:
        """Have the slot ``key`` keep to an interval from now on; see :mod:`pacing`."""
        pacing.keep(self._slots[key], interval, count)

    def are_waiting(self, key: str) -> bool:
        """Return whether requests wait in a slot."""
        return bool(self._slots[key].queue)

    def drain(self) -> Iterator[tuple[Request, Any]]:
        """Take out the requests that wait in paced slots, each with its Deferred."""
        for slot in list(self._slots.values()):
            yield from pacing.drain(slot)

    @property
    def _slots(self) -> dict[str, Any]:
        return self._downloader.slots if self.exist else {}

    @property
    def _downloader(self) -> Any:
        return self._crawler.engine.downloader
