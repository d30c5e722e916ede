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
from typing import TYPE_CHECKING, TypeAlias

from scrapy import signals
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep import stats as names
from scrapy_rep.departures import Departures
from scrapy_rep.transfers import TRANSFER

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.lanes import Lanes
    from scrapy_rep.scrapy_internals import ScrapyInternals
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting import Turns

_INTERVAL = 0.1
"""Seconds between two looks for places, should no signal tell of one."""

_STUCK = 0.2
"""Seconds in which nothing moves and no page is downloaded, after which a request goes on without
a place: those that hold the places may wait for it."""

_MOST_LOOKED_AT = 100
"""Slots that are looked at in one go, for one that has room."""

_MOST_LEAVING = 1_000
"""Requests that left the downloader before those that are gone for good are forgotten."""


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

    def __init__(
        self,
        crawler: Crawler,
        inside: ScrapyInternals,
        lanes: Lanes,
        turns: Turns,
        limit: int,
        stats: RepStats,
    ):
        self._crawler = crawler
        self._inside = inside
        self._lanes = lanes
        self._turns = turns
        self._limit = limit
        self._stats = stats
        self._parked = 0
        self._unlent: dict[Place, None] = {}
        self._numbers = count()
        self._ready: dict[str, list[_Waiting]] = {}
        self._departures = Departures(inside)
        self._leaving: set[Request] = set()
        self._moved = 0.0  # when the last one was let go, or left the downloader
        self._watching = False
        self._short = False  # whether the last look found one that lacked nothing but a place
        self._at_once = False  # whether the timer is set for the next turn of the loop
        self._timer: CallLaterResult | None = None
        self.waiting = 0

    @property
    def has_queues(self) -> bool:
        """Whether requests wait for a place, behind which others have to queue."""
        return bool(self._ready)

    @contextmanager
    def place(self, *, for_rules: bool) -> Iterator[Place]:
        """Hold a place for a request that waits: the ordinary one that it came with.

        In exchange for that, one that waits ``for_rules`` is lent another as soon as may be.
        """
        self.waiting += 1
        place = Place(self)
        if for_rules:
            self._unlent[place] = None
            self._lend()
        try:
            yield place
        finally:
            self.waiting -= 1
            self._unlent.pop(place, None)
            self._take_back(place)
            if not self.waiting:
                self._departures.clear()
                self._leaving.clear()

    def _lend(self) -> None:
        """Lend places to those who wait in ordinary ones, as far as the limit reaches."""
        idle = not self._short and not self._turns.crowded
        while self._unlent and idle and self._parked < self._limit:
            self._lend_to(next(iter(self._unlent)))
            self._stats.inc(names.PARKED)
            self._stats.max(names.PARKED_MAX, self._parked)
            self._inside.engine.wake()
        if self._unlent and self._limit:
            self._look_after(_INTERVAL)

    def _lend_to(self, place: Place) -> None:
        self._unlent.pop(place, None)
        place.lent = True
        self._parked += 1
        self._lanes.lend(+1)

    def has_queue(self, request: Request) -> bool:
        """Return whether others wait for the slot of ``request``, behind whom it has to queue."""
        return self._inside.download_slots.key_of(request) in self._ready

    async def turn(self, place: Place, request: Request) -> bool:
        """Return when there is a place for a request; ``False`` if the crawl closes."""
        key = self._inside.download_slots.key_of(request)
        self._departures.came_back(key, request)
        if place in self._unlent:  # those who have their rules may have its place by now
            self._lend_to(place)
        first = None
        if not place.lent:
            first = self._swap(key, request, place)
            if first is None:
                return True
        elif key not in self._ready and self._departures.room(key) > 0 and self._has_place():
            self._let_go(key, request, place)
            return True
        if not self._watching:
            self._watching = True
            self._crawler.signals.connect(self._left, signals.request_left_downloader)
        going: Deferred[bool] = Deferred()
        waiting = (-request.priority, next(self._numbers), request, place, going)
        heappush(self._ready.setdefault(key, []), waiting)
        self._look_after(0)
        if first is not None:
            first.callback(True)  # last of all: it may come back here at once
        return await maybe_deferred_to_future(going)

    def _swap(self, key: str, request: Request, place: Place) -> Deferred[bool] | None:
        """Have the most urgent of a queue go in the ordinary place of ``request``, if it can."""
        first = self._first(key)
        if first is None or -request.priority < first[0]:
            return None
        *_, other, others_place, going = first
        place.lent, others_place.lent = others_place.lent, False
        self._let_go(key, other, others_place)
        return going

    def give_up(self) -> None:
        """Tell those who wait for a place that the crawl closes."""
        for going in self._all_ready():
            going.callback(False)
        self._end_watch()

    def _release(self) -> None:
        """Let go whom there is room for, as far as ``CONCURRENT_REQUESTS`` reaches."""
        self._timer = None
        self._at_once = False
        if self._inside.engine.is_stopping:
            return  # what is parked at a stop is given back
        try:
            self._lanes.keep_free(0)
            self._short = False
            while self._let_one_go():
                pass
            self._lend()
        except Exception as error:  # noqa: BLE001  # a fault of ours keeps nobody for ever
            for going in self._all_ready():
                going.errback(error)
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
            has_room = self._departures.room(key) > 0
            if has_room and not self._has_place() and not self._stuck():
                self._lanes.keep_free(1)
                self._short = True
                return False
            heap = self._ready[key]
            del self._ready[key]
            self._ready[key] = heap  # last in line now
            if has_room:
                *_, request, place, going = first
                self._let_go(key, request, place)
                going.callback(True)  # last of all: it may come back here at once
                self._first(key)
                return True
        return False

    def _all_ready(self) -> Iterator[Deferred[bool]]:
        """Take all who wait for a place out of their queues."""
        ready, self._ready = self._ready, {}
        for heap in ready.values():
            for *_, going in heap:
                if not going.called:
                    yield going

    def _stuck(self) -> bool:
        """Return whether no place will become free as long as nobody goes on without one."""
        return monotonic() >= self._moved + _STUCK and not self._lanes.busy

    def _first(self, key: str) -> _Waiting | None:
        """Return the most urgent of those who queue for a slot."""
        heap = self._ready.get(key, [])
        while heap and heap[0][-1].called:  # let go, or cancelled meanwhile
            heappop(heap)
        if not heap:
            self._ready.pop(key, None)
            return None
        return heap[0]

    def _let_go(self, key: str, request: Request, place: Place) -> None:
        self._moved = monotonic()
        self._take_back(place)
        self._departures.add(key, request)

    def _has_place(self) -> bool:
        """Return whether ``CONCURRENT_REQUESTS`` has a place for one more that has its rules."""
        self._forget_gone()
        return self._lanes.has_place(but=len(self._unlent) + len(self._leaving))

    def _take_back(self, place: Place) -> None:
        if place.lent:
            place.lent = False
            self._parked -= 1
            if self._parked == 0:
                self._lanes.keep_free(0)  # or else a limit of 1 would become 0, which is none
            self._lanes.lend(-1)

    def _forget_gone(self) -> None:
        # Those who leave the downloader are among its active requests for a moment still.
        requests = self._inside.capacity.requests
        self._leaving = {request for request in self._leaving if request in requests}

    def _left(self, request: Request) -> None:
        self._moved = monotonic()
        if TRANSFER in request.meta:
            return  # it has a lane of its own
        self._leaving.add(request)
        if len(self._leaving) > _MOST_LEAVING:
            self._forget_gone()
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
            self._crawler.signals.disconnect(self._left, signals.request_left_downloader)
