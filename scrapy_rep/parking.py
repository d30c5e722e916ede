"""Where requests wait, for the rules first and then for a place, at no cost to the others.

When the rules are there, those who waited do not all set off at once: each waits on until its
downloader slot can send it and ``CONCURRENT_REQUESTS`` has a place, the most urgent first, as if
the scheduler had kept it. A request that comes while others queue for its slot gives the most
urgent of them the ordinary place it came with, and waits in the place of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count, islice
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy import signals
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep import stats as names
from scrapy_rep.engine import downloader_of, is_stopping, pull

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.lanes import Lanes
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting import Turns

_INTERVAL = 0.1
"""Seconds between two looks for places, should no signal tell of one."""

_PATIENCE = 1.0
"""Seconds without any request leaving the downloader, after which one goes on without a place:
those that hold the places may wait for it."""

_MOST_LOOKED_AT = 100
"""Slots that are looked at in one go, for one that has room."""

_MOST_SETTING_OFF = 100
"""Slots to which requests may be on their way before those who have arrived are forgotten."""


class Place:
    """The place of one request that waits; ``lent`` while the downloader has one more for it."""

    __slots__ = ("_parking", "lent")

    def __init__(self, parking: Parking):
        self._parking = parking
        self.lent = False

    async def turn(self, request: Request) -> bool:
        """Return when ``request`` may go on to the downloader; ``False`` if the crawl closes."""
        return await self._parking.turn(self, request)


_Waiting: TypeAlias = "tuple[int, int, Request, Place, Deferred[bool]]"
"""Less urgent ones are greater; the number keeps equally urgent ones in their order."""


class Parking:
    """Room beside ``CONCURRENT_REQUESTS`` for at most ``limit`` requests that wait.

    Nobody is lent one while fetches crowd for their ``turns``, or those who have their rules are
    short of places: then the requests that the engine pulled next would only wait.
    """

    def __init__(self, crawler: Crawler, lanes: Lanes, turns: Turns, limit: int, stats: RepStats):
        self._crawler = crawler
        self._lanes = lanes
        self._turns = turns
        self._limit = limit
        self._stats = stats
        self._parked = 0
        self._unlent: dict[Place, None] = {}
        self._numbers = count()
        self._ready: dict[str, list[_Waiting]] = {}
        self._setting_off: dict[str, list[tuple[Request, float]]] = {}
        self._moved = 0.0
        self._watching = False
        self._short = False
        self._at_once = False
        self._timer: CallLaterResult | None = None
        self.waiting = 0

    @property
    def crowded(self) -> bool:
        """Whether requests wait for a place, behind which others have to queue."""
        return bool(self._ready)

    @contextmanager
    def place(self, request: Request) -> Iterator[Place]:
        """Hold a place for a request that waits: an ordinary one, until it can be lent one."""
        self.waiting += 1
        place = Place(self)
        if not self.has_queue(request):
            self._unlent[place] = None
            self._lend()
        try:
            yield place
        finally:
            self.waiting -= 1
            self._unlent.pop(place, None)
            self._take_back(place)

    def _lend(self) -> None:
        """Lend places to those who wait in ordinary ones, as far as the limit reaches."""
        idle = not self._short and not self._turns.crowded
        while self._unlent and idle and self._parked < self._limit:
            place = next(iter(self._unlent))
            del self._unlent[place]
            place.lent = True
            self._parked += 1
            self._stats.inc(names.PARKED)
            self._stats.max(names.PARKED_MAX, self._parked)
            self._lanes.lend(+1)
            pull(self._crawler)
        if self._unlent and self._limit:
            self._look_after(_INTERVAL)

    def has_queue(self, request: Request) -> bool:
        """Return whether others wait for the slot of ``request``, behind whom it has to queue."""
        return self._key(request) in self._ready

    async def turn(self, place: Place, request: Request) -> bool:
        """Return when there is a place for a request; ``False`` if the crawl closes."""
        self._unlent.pop(place, None)
        key = self._key(request)
        if key in self._setting_off:  # it may come back, when the rules have expired meanwhile
            others = [(r, since) for r, since in self._setting_off[key] if r is not request]
            self._setting_off[key] = others
        if not place.lent:
            if not self._swap(key, request, place):
                return True
        elif key not in self._ready and self._room(key) > 0 and self._has_place():
            self._let_go(key, request, place)
            return True
        if not self._watching:
            self._watching = True
            self._crawler.signals.connect(self._soon, signals.request_left_downloader)
        going: Deferred[bool] = Deferred()
        waiting = (-request.priority, next(self._numbers), request, place, going)
        heappush(self._ready.setdefault(key, []), waiting)
        self._look_after(0)
        return await maybe_deferred_to_future(going)

    def _swap(self, key: str, request: Request, place: Place) -> bool:
        """Let the most urgent of a queue go in the ordinary place of ``request``, if it can."""
        first = self._first(key)
        if first is None or -request.priority < first[0]:
            return False
        *_, other, others_place, going = heappop(self._ready[key])
        place.lent, others_place.lent = others_place.lent, False
        self._let_go(key, other, others_place)
        going.callback(True)
        return True

    def give_up(self) -> None:
        """Tell those who wait for a place that the crawl closes."""
        ready, self._ready = self._ready, {}
        for *_, going in (waiting for heap in ready.values() for waiting in heap):
            if not going.called:
                going.callback(False)
        self._end_watch()

    def _release(self) -> None:
        """Let go whom there is room for, as far as ``CONCURRENT_REQUESTS`` reaches."""
        self._timer = None
        self._at_once = False
        if is_stopping(self._crawler):
            return  # what is parked at a stop is given back
        try:
            self._lanes.keep_free(0)
            self._short = False
            while self._let_one_go():
                pass
            self._lend()
        finally:
            if self._ready or self._unlent:
                self._look_after(_INTERVAL)
            else:
                self._end_watch()

    def _let_one_go(self) -> bool:
        """Let the most urgent request for some slot go; the slots take turns."""
        for key in list(islice(self._ready, _MOST_LOOKED_AT)):
            first = self._first(key)
            if first is None:
                continue
            heap = self._ready[key]
            has_room = self._room(key) > 0
            if has_room:
                if not self._has_place() and monotonic() < self._moved + _PATIENCE:
                    self._lanes.keep_free(1)
                    self._short = True
                    return False
                *_, request, place, going = heappop(heap)
                self._let_go(key, request, place)
                going.callback(True)
            del self._ready[key]
            if heap:
                self._ready[key] = heap  # last in line now
            if has_room:
                return True
        return False

    def _first(self, key: str) -> _Waiting | None:
        """Return the most urgent of those who queue for a slot."""
        heap = self._ready.get(key, [])
        while heap and heap[0][-1].called:  # cancelled meanwhile
            heappop(heap)
        if not heap:
            self._ready.pop(key, None)
            return None
        return heap[0]

    def _let_go(self, key: str, request: Request, place: Place) -> None:
        self._moved = monotonic()
        self._take_back(place)
        self._setting_off.setdefault(key, []).append((request, monotonic()))
        if len(self._setting_off) > _MOST_SETTING_OFF:
            for name in list(self._setting_off):
                self._room(name)  # forgets those who have arrived

    def _room(self, key: str) -> int:
        """Return how many more requests the slot of that name can send at once."""
        downloader = self._downloader
        slot = getattr(downloader, "slots", {}).get(key)
        active = getattr(slot, "active", ())
        # Who was let go is not in the slot yet, until it is, or ends or waits on the way.
        recent = monotonic() - _PATIENCE
        setting_off = [
            (request, since)
            for request, since in self._setting_off.pop(key, ())
            if since > recent and request in downloader.active and request not in active
        ]
        if setting_off:
            self._setting_off[key] = setting_off
        # One more may queue there, so that the slot is not idle until the next look.
        return self._concurrency(key, slot) + 1 - len(active) - len(setting_off)

    def _concurrency(self, key: str, slot: Any) -> int:
        """Return how many requests a slot sends at once, be it there or not."""
        downloader = self._downloader
        own = getattr(downloader, "per_slot_settings", {}).get(key, {}).get("concurrency")
        usual = own or getattr(downloader, "domain_concurrency", 0)
        return max(1, getattr(slot, "concurrency", 0) or usual)

    def _has_place(self) -> bool:
        """Return whether ``CONCURRENT_REQUESTS`` has a place for one more that has its rules."""
        return self._lanes.has_place(but=len(self._unlent))

    def _take_back(self, place: Place) -> None:
        if place.lent:
            place.lent = False
            self._parked -= 1
            if self._parked == 0:
                self._lanes.keep_free(0)  # or else a limit of 1 would become 0, which is none
            self._lanes.lend(-1)

    def _key(self, request: Request) -> str:
        get_slot_key = getattr(self._downloader, "get_slot_key", None)
        return get_slot_key(request) if get_slot_key is not None else ""

    @property
    def _downloader(self) -> Any:
        return downloader_of(self._crawler)

    def _soon(self) -> None:
        self._moved = monotonic()
        if self._at_once:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._at_once = True
        self._timer = call_later(0, self._release)

    def _look_after(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = call_later(seconds, self._release)

    def _end_watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._at_once = False
        self._lanes.keep_free(0)
        if self._watching:
            self._watching = False
            self._crawler.signals.disconnect(self._soon, signals.request_left_downloader)
