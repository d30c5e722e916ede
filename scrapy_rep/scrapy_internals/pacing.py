"""Slots that keep an interval from the end of one download to the start of the next.

A slot is changed in place, since the downloads under way hold on to it: it becomes a subclass of
its own class, and its queue and its set of transfers become ones that report what waits and how
long a download took.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from time import monotonic
from typing import Any, Protocol


class Interval(Protocol):
    """What a slot keeps to."""

    @property
    def interval(self) -> float:
        """The least seconds between two requests, just now; 0 for none."""


def keep(slot: Any, interval: Interval, count: Callable[[int], None]) -> None:
    """Have ``slot`` keep to ``interval``; ``count`` gets how many more requests wait in it."""
    queue = _Queue(slot.queue, interval, count)
    queue.delay = slot.delay
    queue.concurrency = slot.concurrency
    # Nothing noted when the last download ended; it may have been this very moment.
    queue.busy = _since_last_sent(slot) if slot.lastseen else 0.0
    own: Any = type(slot)
    paced = _paced(own)
    slot.queue = queue
    slot.transferring = _Transfers(slot.transferring, slot)
    slot.__class__ = paced


def interval_of(slot: Any) -> Interval | None:
    """Return what a slot keeps to."""
    return slot.queue.kept if isinstance(slot.queue, _Queue) else None


def drain(slot: Any) -> list[Any]:
    """Take all that waits out of a paced slot."""
    return slot.queue.drain() if isinstance(slot.queue, _Queue) else []


def is_paceable(slot: Any) -> bool:
    """Return whether a slot that nothing uses keeps to an interval."""

    class Ten:
        interval = 10.0

    try:
        keep(slot, Ten(), lambda _: None)
        return bool(slot.download_delay() >= Ten.interval)
    except (AttributeError, TypeError):
        return False


class _Queue(deque[Any]):
    """The queue of a slot that keeps a pace.

    ``delay`` and ``concurrency`` are the slot's own. ``busy`` is how many seconds the last download
    took; 0 while it is under way.
    """

    def __init__(self, waiting: Iterable[Any], kept: Interval, count: Callable[[int], None]):
        super().__init__(waiting)
        self.kept = kept
        self.delay = 0.0
        self.concurrency = 1
        self.busy = 0.0
        self._count = count
        count(len(self))

    def append(self, item: Any) -> None:
        """Let a request wait."""
        super().append(item)
        self._count(+1)

    def popleft(self) -> Any:
        """Return the request that is sent now."""
        item = super().popleft()
        self._count(-1)
        self.busy = 0.0
        return item

    def drain(self) -> list[Any]:
        """Return all that wait; the queue is empty from now on."""
        items = list(self)
        self.clear()
        self._count(-len(items))
        return items

    @property
    def pause(self) -> float:
        """The seconds from the last request sent to the next that the pace demands; 0 if none."""
        interval = self.kept.interval
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


def _since_last_sent(slot: Any) -> float:
    # A slot notes the time by one clock in one version of Scrapy, by another in the next: it is
    # the one that is nearer.
    sent: float = slot.lastseen
    return min(abs(now - sent) for now in (monotonic(), time.time()))


@cache
def _paced(cls: Any) -> Any:
    """Return the subclass of a class of slots that keeps to its pace."""

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
            """Return the slot's own delay, varied as ever; never less than the pace demands."""
            pause, own = self.queue.pause, self.queue.delay
            whole = max(own, pause)
            varied = super().download_delay() * own / whole if whole else 0.0
            return float(max(varied, pause))

    return PacedSlot
