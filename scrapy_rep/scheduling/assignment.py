"""Which of the ready requests go now: the heart of a pass.

For each queue that is open, most urgent first:

1. Its host is busy, or its interval is not over: the queue is blocked until that changes.
2. Its slot has no room: the queue is blocked until a request of the slot ends.
3. No place is free: no other request can go either.
   A request that is nested (:mod:`.nested`) needs neither room nor a place.
4. Its host has yet to be granted a turn by the store that the workers share: the queue is blocked
   until the store has answered (:mod:`scrapy_rep.scheduling.shared_pace`).
5. The first request goes.

If nothing went, and nothing moves at all, what holds the places may wait for a request that is
ready. Then the most urgent one goes without a place or room, but never before its host is due.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_rep.scheduling.hosts import Hosts, PacedHost
    from scrapy_rep.scheduling.places import Places
    from scrapy_rep.scheduling.queues import Queue, ReadyQueues, Waiting
    from scrapy_rep.scheduling.released import Released
    from scrapy_rep.scrapy_internals import ScrapyInternals

    Send = Callable[[Waiting, PacedHost | None], None]

_STUCK = 0.2
"""Seconds in which nothing moves and nothing is downloaded, after which a request goes anyway."""


class Assignment:
    """Assigns places, room in slots and the turns of hosts to the requests that are ready."""

    def __init__(
        self,
        inside: ScrapyInternals,
        hosts: Hosts,
        places: Places,
        ready: ReadyQueues,
        released: Released,
    ):
        self._inside = inside
        self._hosts = hosts
        self._places = places
        self._ready = ready
        self._released = released
        self._due: list[tuple[float, str]] = []

    @property
    def due(self) -> float | None:
        """When the next interval is over for which a request waits, by the monotonic clock."""
        return self._due[0][0] if self._due else None

    def run(self, now: float, send: Send) -> None:
        """Take each request that can go out of its queue, and ``send`` it with its paced host."""
        while self._due and self._due[0][0] <= now:
            self._ready.open_host(heappop(self._due)[1])
        free = self._places.free
        gone = False
        while (queue := self._ready.first_open()) is not None:
            host = self._hosts.get(queue.host)
            if host is not None and not host.is_due(now):
                self._ready.block_by_host(queue)
                if not host.busy:
                    heappush(self._due, (host.due, host.name))
            elif queue.lacks_room:
                self._ready.block_by_slot(queue)
            elif free <= 0 and not queue.heap[0][1].is_nested:
                break
            elif host is None or host.has_turn(now):
                free -= 1
                gone = True
                send(self._ready.take(queue), host)
            else:
                self._ready.block_by_host(queue)
        if not gone and self._is_stuck(now):
            self._send_in_spite(now, send)

    def _send_in_spite(self, now: float, send: Send) -> None:
        """Let the most urgent request go without a place, or without room in its slot."""
        queue: Queue | None = self._ready.first_open() or self._ready.first_blocked_by_slots()
        if queue is not None:
            host = self._hosts.get(queue.host)
            if host is None or host.has_room(now):
                send(self._ready.take(queue), host)

    def _is_stuck(self, now: float) -> bool:
        """Return whether what holds the places may wait for a request here."""
        if not self._ready or now < self._released.moved + _STUCK:
            return False
        slots = self._inside.download_slots
        if slots.are_sending(but=self._places.fetches):
            return False
        here = self._places.waiting + self._released.in_transit + len(self._places.fetches)
        return self._places.busy > slots.count - here
