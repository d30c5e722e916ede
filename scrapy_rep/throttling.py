"""The pace of requests, in Scrapy's downloader slots.

This is the one room that touches them. A slot that is to keep a pace is changed in place, since
the downloads under way hold on to it: it becomes a subclass of its own class, and its queue and
its set of transfers become ones that tell who waits and how long a download took.

The interval runs from the end of one download to the start of the next, not from start to start:
a connection may take longer to set up than to be used again, and what counts is how far apart
requests arrive.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import IgnoreRequest

from scrapy_rep.claims import Hold
from scrapy_rep.closing import TOO_LATE
from scrapy_rep.engine import downloader_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.claims import Claim
    from scrapy_rep.closing import Closing
    from scrapy_rep.lanes import Lanes
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
        settings: RepSettings,
        stats: RepStats,
        lanes: Lanes,
        closing: Closing,
        clock: Callable[[], float],
    ):
        self._crawler = crawler
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
            homes = (self._crawler, self._crawler.engine)
            self._upstream = any(getattr(home, "throttler", None) for home in homes) and any(
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
        if hasattr(self._downloader, "slots"):
            # Every request passes the signal: listen only from when there is a pace to be kept.
            self._crawler.signals.connect(self._reached, signals.request_reached_downloader)
        else:
            self._stats.unpaced()

    def give_up(self) -> None:
        """Give those who wait back to the scheduler, or end them: the crawl is closing."""
        for slot in list(getattr(self._downloader, "slots", {}).values()):
            for request, deferred in slot.queue.drain() if isinstance(slot.queue, _Queue) else ():
                again = self._closing.give_back(request)
                late = IgnoreRequest(TOO_LATE)
                if not deferred.called:
                    deferred.callback(again) if again is not None else deferred.errback(late)

    @property
    def _downloader(self) -> Any:
        return downloader_of(self._crawler)

    def _reached(self, request: Request) -> None:
        """Change the slot of a request, if need be, before the request enters its queue."""
        claim = self._due.pop(request, None)
        key = request.meta.get("download_slot", "")
        if claim is None and key not in self._holds:
            return
        slot = self._downloader.slots[key]
        if not isinstance(slot.queue, _Queue):
            hold = self._holds.get(key) or self._new_hold(key)
            _change(slot, hold, self._room)
        hold = self._holds[key] = slot.queue.hold
        self._holds.move_to_end(key)
        if len(self._holds) > _MOST_HOLDS:
            self._holds.popitem(last=False)
        if claim is not None:
            hold.add(claim, idle=not slot.queue)
        self._closing.watch()

    def _new_hold(self, key: str) -> Hold:
        own = self._downloader.per_slot_settings.get(key, {}).get("delay")
        least = self._crawler.settings.getfloat("DOWNLOAD_DELAY") if own is None else float(own)
        return Hold(least, self._settings.max_crawl_delay, self._clock)


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


class _Queue(deque[Any]):
    """The queue of a slot that keeps a pace: who waits here takes nobody's place.

    ``delay`` and ``concurrency`` are the slot's own. ``busy`` tells how many seconds the last
    download took; 0 while it is under way.
    """

    def __init__(self, waiting: Iterable[Any], hold: Hold, room: _Room):
        super().__init__(waiting)
        self.hold = hold
        self.delay = 0.0
        self.concurrency = 1
        self.busy = 0.0
        self._room = room
        room.count(len(self))

    def append(self, item: Any) -> None:
        """Let a request wait."""
        super().append(item)
        self._room.count(+1)

    def popleft(self) -> Any:
        """Return the request that is sent now."""
        item = super().popleft()
        self._room.count(-1)
        self.busy = 0.0
        return item

    def drain(self) -> list[Any]:
        """Return all that wait; nobody waits any longer."""
        items = list(self)
        self.clear()
        self._room.count(-len(items))
        return items

    @property
    def pause(self) -> float:
        """The seconds from the last request sent to the next that the hold demands; 0 if none."""
        interval = self.hold.interval
        return interval + self.busy if interval else 0.0


class _Transfers(set[Any]):
    """The downloads of a slot that are under way."""

    def __init__(self, under_way: Iterable[Any], slot: Any):
        super().__init__(under_way)
        self._slot = slot

    def remove(self, request: Any) -> None:
        """Note that a download ended."""
        super().remove(request)
        self._slot.queue.busy = _since_last_sent(self._slot)


def _change(slot: Any, hold: Hold, room: _Room) -> None:
    """Have ``slot`` keep to ``hold`` from now on."""
    queue = _Queue(slot.queue, hold, room)
    queue.delay = slot.delay
    queue.concurrency = slot.concurrency
    # When the last download ended nobody noted; it may have been this very moment.
    queue.busy = _since_last_sent(slot) if slot.lastseen else 0.0
    slot.queue = queue
    slot.transferring = _Transfers(slot.transferring, slot)
    own: Any = type(slot)
    slot.__class__ = _paced(own)


def _since_last_sent(slot: Any) -> float:
    # A slot notes the time by one clock in one version of Scrapy, by another in the next: it is
    # the one that is nearer.
    sent: float = slot.lastseen
    return min(abs(now - sent) for now in (monotonic(), time.time()))


@cache
def _paced(cls: Any) -> Any:
    """Return the subclass of a class of slots that keeps to its hold."""

    class PacedSlot(cls):  # type: ignore[misc]
        __slots__ = ()  # or else a slot could not become one

        @property
        def delay(self) -> float:
            """Seconds; a slot is not collected, and forgotten, before they are over."""
            return float(max(self.queue.delay, self.queue.pause))

        @delay.setter
        def delay(self, seconds: float) -> None:
            self.queue.delay = seconds

        @property
        def concurrency(self) -> int:
            return 1 if self.queue.pause else self.queue.concurrency

        @concurrency.setter
        def concurrency(self, most: int) -> None:
            self.queue.concurrency = most

        def download_delay(self) -> float:
            """Return the slot's own delay, varied as ever; never less than the hold demands."""
            pause, own = self.queue.pause, self.queue.delay
            whole = max(own, pause)
            varied = super().download_delay() * own / whole if whole else 0.0
            return float(max(varied, pause))

    return PacedSlot
