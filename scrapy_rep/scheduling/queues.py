"""The requests that are ready to go on, indexed by what they still wait for.

A request belongs to the queue of its slot and host, a heap by urgency. A queue is either open, or
blocked by its slot, or blocked by its host. Only open queues are looked at when a place is free; a
blocked one is opened again when something of its slot or host ends. So letting one request go costs
a few steps in heaps, however many others wait elsewhere.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.scrapy_internals.slots import DownloadSlot

Order: TypeAlias = "tuple[int, int]"
"""The smaller, the more urgent: a negated priority, then the order of arrival."""

_NUMBERS = count()

_AHEAD = 1 << 62
"""More than any number of arrival."""


class Slot:
    """A downloader slot, and how many of its requests wait at the gate."""

    __slots__ = ("_download_slot", "key", "waiting")

    def __init__(self, download_slot: DownloadSlot):
        self.key = download_slot.key
        self.waiting = 0
        self._download_slot = download_slot

    @property
    def room(self) -> float:
        """How many more requests can go to the slot.

        One more than it sends may queue there, so that it is not idle until the next pass.
        """
        return self._download_slot.free + 1 + self.waiting

    def enter(self, request: Request) -> None:
        """Enter a request that waits or is on its way, so that the scheduler sees it."""
        self._download_slot.enter(request)

    def leave(self, request: Request) -> None:
        """Take back what :meth:`enter` did: the request does not come to this slot."""
        self._download_slot.leave(request)


class Waiting:
    """One request that waits. ``going`` fires when it may go on; ``lent`` is its extra place.

    One that ``is_nested`` needs no place, and goes before all others (:mod:`.nested`).
    """

    __slots__ = (
        "going",
        "host",
        "is_nested",
        "is_over",
        "lent",
        "order",
        "ready_at",
        "request",
        "slot",
    )

    def __init__(self, request: Request, slot: Slot, host: str, *, is_nested: bool = False):
        self.request = request
        self.slot = slot
        self.host = host
        self.is_nested = is_nested
        self.order: Order = (-_AHEAD if is_nested else -request.priority, next(_NUMBERS))
        self.ready_at = float("inf")
        self.lent = False
        self.is_over = False
        self.going: Deferred[bool] = Deferred()

    def hurry(self) -> None:
        """Go before all others of the same priority that have not been let go before."""
        self.order = (self.order[0], self.order[1] - _AHEAD)


class Queue:
    """The ready requests of one host for one slot, the most urgent first."""

    __slots__ = ("heap", "host", "is_open", "offered", "slot")

    def __init__(self, slot: Slot, host: str):
        self.slot = slot
        self.host = host
        self.heap: list[tuple[Order, Waiting]] = []
        self.is_open = True
        self.offered: Order | None = None

    @property
    def first(self) -> Waiting | None:
        """The most urgent request; those that ended meanwhile are dropped."""
        while self.heap and self.heap[0][1].is_over:
            heappop(self.heap)
        return self.heap[0][1] if self.heap else None

    @property
    def lacks_room(self) -> bool:
        """Whether the slot has no room for the most urgent request, and it needs some."""
        return self.slot.room <= 0 and not self.heap[0][1].is_nested


class ReadyQueues(dict["tuple[str, str]", Queue]):
    """All queues: the open ones by the urgency of their first requests, the others by the cause.

    A dict, by slot and host, because every request that waits asks whether there are any.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open: list[tuple[Order, int, Queue]] = []
        self._blocked_slots: dict[str, list[Queue]] = {}
        self._blocked_hosts: dict[str, list[Queue]] = {}
        self._of_slot: Counter[str] = Counter()
        self._of_host: Counter[str] = Counter()

    def clear(self) -> None:
        """Forget all requests."""
        super().clear()
        for index in (self._open, self._blocked_slots, self._blocked_hosts):
            index.clear()
        self._of_slot.clear()
        self._of_host.clear()

    def has_slot(self, key: str) -> bool:
        """Return whether requests queue for a slot."""
        return key in self._of_slot

    def has_host(self, name: str) -> bool:
        """Return whether requests to a host are ready."""
        return name in self._of_host

    @property
    def blocked_hosts(self) -> list[str]:
        """The hosts to which requests are too early, or that are busy."""
        return list(self._blocked_hosts)

    @property
    def lack_room(self) -> bool:
        """Whether any request lacks a place, or room in its slot."""
        return bool(self._blocked_slots) or self.first_open() is not None

    def push(self, waiting: Waiting) -> None:
        """Add a request that is ready."""
        key = waiting.slot.key, waiting.host
        queue = self.get(key)
        if queue is None:
            queue = self[key] = Queue(waiting.slot, waiting.host)
            self._of_slot[waiting.slot.key] += 1
            self._of_host[waiting.host] += 1
        queue.slot = waiting.slot
        if waiting.is_nested:
            self.open_slot(waiting.slot.key)  # it needs no room there
        waiting.ready_at = monotonic()
        heappush(queue.heap, (waiting.order, waiting))
        if queue.is_open and queue.first is waiting:
            self._offer(queue)

    def first_open(self) -> Queue | None:
        """Return the open queue with the most urgent first request."""
        while self._open:
            order, _, queue = self._open[0]
            first = queue.first
            if queue.is_open and queue.offered == order and first is not None:
                if first.order == order:
                    return queue
                heappop(self._open)  # its first request has ended meanwhile
                self._offer(queue)
                continue
            heappop(self._open)
            if first is None and queue.is_open:
                self._drop(queue)
        return None

    def take(self, queue: Queue) -> Waiting:
        """Take the most urgent request out of a queue, the first open one or a blocked one."""
        if queue.is_open:
            heappop(self._open)
        waiting = heappop(queue.heap)[1]
        if queue.first is None:
            self._drop(queue)
        elif queue.is_open:
            self._offer(queue)
        return waiting

    def block_by_slot(self, queue: Queue) -> None:
        """Leave the first open queue alone until its slot has changed."""
        self._close(queue)
        self._blocked_slots.setdefault(queue.slot.key, []).append(queue)

    def block_by_host(self, queue: Queue) -> None:
        """Leave the first open queue alone until its host has changed."""
        self._close(queue)
        self._blocked_hosts.setdefault(queue.host, []).append(queue)

    def open_slot(self, key: str) -> None:
        """Look again at the requests that lacked room in a slot."""
        self._reopen(self._blocked_slots, key)

    def open_slots(self) -> None:
        """Look again at all requests that lacked room in their slots."""
        for key in list(self._blocked_slots):
            self.open_slot(key)

    def open_host(self, name: str) -> None:
        """Look again at the requests that were too early for their host."""
        self._reopen(self._blocked_hosts, name)

    def first_blocked_by_slots(self) -> Queue | None:
        """Return the queue with the most urgent request that lacks room in its slot."""
        queues = [q for those in self._blocked_slots.values() for q in those if q.first is not None]
        return min(queues, key=lambda queue: queue.heap[0][0], default=None)

    def _reopen(self, blocked: dict[str, list[Queue]], key: str) -> None:
        for queue in blocked.get(key, ()):
            if queue.first is None:
                self._drop(queue)
            else:
                queue.is_open = True
                self._offer(queue)
        blocked.pop(key, None)  # last: what a fault leaves behind is opened the next time

    def _close(self, queue: Queue) -> None:
        heappop(self._open)
        queue.is_open = False

    def _offer(self, queue: Queue) -> None:
        queue.offered = queue.heap[0][0]
        heappush(self._open, (queue.offered, next(_NUMBERS), queue))

    def _drop(self, queue: Queue) -> None:
        """Forget an empty queue."""
        key = queue.slot.key, queue.host
        if self.get(key) is queue:
            del self[key]
            for counted, name in ((self._of_slot, key[0]), (self._of_host, key[1])):
                counted[name] -= 1
                if not counted[name]:
                    del counted[name]
