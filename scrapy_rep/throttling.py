"""The pace of requests, in Scrapy's downloader slots.

The interval runs from the end of one download to the start of the next, not from start to start:
a connection may take longer to set up than to be used again, and what counts is how far apart
requests arrive.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import IgnoreRequest

from scrapy_rep.claims import Hold
from scrapy_rep.closing import TOO_LATE

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.claims import Claim
    from scrapy_rep.closing import Closing
    from scrapy_rep.lanes import Lanes
    from scrapy_rep.scrapy_internals import ScrapyInternals
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_MOST_HOLDS = 10_000
"""Slots whose claims outlast the slot; past that the one longest without a request goes."""

_UPSTREAM = ("THROTTLING_ROBOTSTXT_OBEY", "THROTTLER_ROBOTSTXT_OBEY")
"""Settings that tell a throttler of Scrapy's own to keep the pace of robots.txt files."""


class Throttle:
    """Has the downloader slots of a crawl keep the pace that robots.txt files ask for."""

    def __init__(
        self,
        crawler: Crawler,
        inside: ScrapyInternals,
        settings: RepSettings,
        stats: RepStats,
        lanes: Lanes,
        closing: Closing,
        clock: Callable[[], float],
    ):
        self._crawler = crawler
        self._engine = inside.engine
        self._slots = inside.download_slots
        self._settings = settings
        self._stats = stats
        self._closing = closing
        self._clock = clock
        self._room = _Room(lanes, settings.park_limit)
        self._due: WeakKeyDictionary[Request, Claim] = WeakKeyDictionary()
        self._holds: OrderedDict[str, Hold] = OrderedDict()
        self._listening = False
        self._upstream: bool | None = None

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return self._room.waiting

    def stands_back(self) -> bool:
        """Return whether a throttler of Scrapy's own keeps the pace; it is said once."""
        if self._upstream is None:
            self._upstream = self._engine.has_throttler and any(
                self._crawler.settings.getbool(name) for name in _UPSTREAM
            )
            if self._upstream:
                self._stats.stands_back()
        return self._upstream

    def keep(self, request: Request, claim: Claim) -> None:
        """Have the slot that a request will be sent from keep the pace of a claim.

        Which slot that is, other components may still decide.
        """
        self._due[request] = claim
        if self._listening:
            return
        self._listening = True
        if self._slots.exist:
            # Every request passes the signal: listen only from when there is a pace to be kept.
            self._crawler.signals.connect(self._reached, signals.request_reached_downloader)
        else:
            self._stats.unpaced()

    def give_up(self) -> None:
        """Give those who wait back to the scheduler, or end them: the crawl is closing."""
        for request, deferred in self._slots.drain():
            again = self._closing.give_back(request)
            late = IgnoreRequest(TOO_LATE)
            if not deferred.called:
                deferred.callback(again) if again is not None else deferred.errback(late)

    def _reached(self, request: Request) -> None:
        """Change the slot of a request, if need be, before the request enters its queue."""
        claim = self._due.pop(request, None)
        key = request.meta.get("download_slot", "")
        if claim is None and key not in self._holds:
            return
        hold: Any = self._slots.interval_of(key)
        if hold is None:
            hold = self._holds.get(key) or self._new_hold(key)
            self._slots.keep(key, hold, self._room.count)
        self._holds[key] = hold
        self._holds.move_to_end(key)
        if len(self._holds) > _MOST_HOLDS:
            self._holds.popitem(last=False)
        if claim is not None:
            hold.add(claim, idle=not self._slots.are_waiting(key))
        self._closing.watch()

    def _new_hold(self, key: str) -> Hold:
        return Hold(self._slots.delay_of(key), self._settings.max_crawl_delay, self._clock)


class _Room:
    """Places beside ``CONCURRENT_REQUESTS``, for at most ``limit`` requests that wait in slots."""

    __slots__ = ("_lanes", "_limit", "_taken", "waiting")

    def __init__(self, lanes: Lanes, limit: int):
        self._lanes = lanes
        self._limit = limit
        self._taken: list[AbstractContextManager[None]] = []
        self.waiting = 0

    def count(self, change: int) -> None:
        """So many more requests wait."""
        self.waiting += change
        wanted = min(self.waiting, self._limit)
        while len(self._taken) < wanted:
            lane = self._lanes.lane()
            lane.__enter__()
            self._taken.append(lane)
        while len(self._taken) > wanted:
            self._taken.pop().__exit__(None, None, None)
