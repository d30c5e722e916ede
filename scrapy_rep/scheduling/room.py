"""Where requests wait: for rules, for the pace of their host, and for a place.

A request that waits is in one of these states:

- *for rules*: its robots.txt is being fetched. :meth:`WaitingRoom.hold` begins this state.
- *ready*: its rules are known and allow it. :meth:`WaitingRoom.until_let_go` begins this state. The
  request now lacks at most three things: a place among ``CONCURRENT_REQUESTS``, room in its
  downloader slot, and, if its host asks for a pace, the end of the interval with nothing of that
  host under way in any worker that shares the store. :class:`ReadyQueues` keeps it by what it
  lacks.
- *in transit*: it was let go, and has yet to reach its slot. Other middlewares may hold it up, or
  answer it from a cache, so that it never gets there. It has the turn of its host for one second at
  least. If it comes later, :meth:`WaitingRoom.arrive` sends it back to *ready*, at the last step
  before the downloader: a turn that is over lets nothing pass.
- *leaving*: its download has ended, and the downloader still has it for a moment.

After that it is over. Requests that the gate did not hold are not followed.

One pass, :meth:`WaitingRoom._assign`, lets go whatever can go, in order of priority and then of
arrival. It counts nothing up or down from earlier passes: it decides from what the downloader has.
Of the requests there, those that wait and the fetches of robots.txt files are not busy, all others
are. Free places are the operator's less the busy ones. A pass runs

- when a request becomes ready,
- when ``request_left_downloader`` says that one has ended,
- at the next time that is known: when an interval is over, or soon again while something is in
  transit or leaving, as no signal says that a request was answered from a cache or is gone.

**Places.** A request that waits for rules or for pace is lent a place (:mod:`.places`). A request
that comes only to queue behind others is lent none: it has the place that it came with, which the
pass gives to the most urgent. That is why priorities hold although requests leave the scheduler
before they can be made.

**The scheduler.** What waits is entered in its slot, which is all that Scrapy's
``DownloaderAwarePriorityQueue`` looks at. Without that it would go on feeding a slow host: 4,000
pages of 20 hosts beside 400 requests of a slow one took 40 s and more, instead of 16 s.

**Locks.** If a middleware behind the gate downloads something, the request that it holds waits for
one that may wait here. That one goes before all others and needs no place (:mod:`.nested`). Some
cannot be told. So if nothing is downloaded and nothing has moved for 0.2 s, the most urgent request
goes without a place, or without room. None goes before its host's interval is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_rep.scheduling.alarm import Alarm
from scrapy_rep.scheduling.assignment import Assignment
from scrapy_rep.scheduling.hosts import host_of
from scrapy_rep.scheduling.nested import is_nested
from scrapy_rep.scheduling.places import Places
from scrapy_rep.scheduling.queues import ReadyQueues, Slot, Waiting
from scrapy_rep.scheduling.released import Released
from scrapy_rep.scrapy_internals import UnknownScrapyError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.awaiting import FetchSemaphore
    from scrapy_rep.scheduling.hosts import Asker, Hosts, PacedHost
    from scrapy_rep.scrapy_internals import ScrapyInternals
    from scrapy_rep.stats import RepStats

    Least = Callable[[Request, Authority], float]

_SOON = (0.0, 0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
"""Seconds between passes while something is in transit or leaving: an iteration or two."""

_AT_LEAST = 0.1
"""Seconds between passes while ready requests lack a place or room, should no signal come."""

_QUIET = 0.5
"""Seconds without a signal after which everything is looked at again, should one have been lost."""

_NO_PASSAGE = "this downloader has no middleware.methods, so no request can be held to a pace"


class WaitingRoom:
    """Holds the requests of a crawl until they may go on.

    ``limit`` is how many places are lent at most, and ``semaphore`` the one that fetches queue for.
    If the crawl is ``resumed``, the first request to a paced host is an interval after its start.
    """

    def __init__(
        self,
        crawler: Crawler,
        inside: ScrapyInternals,
        hosts: Hosts,
        semaphore: FetchSemaphore,
        limit: int,
        stats: RepStats,
        *,
        resumed: bool,
    ):
        self._inside = inside
        self._hosts = hosts
        self._stats = stats
        self._slots: dict[str, Slot] = {}
        self._ready = ReadyQueues()
        self.places = Places(inside, self._ready, semaphore, limit, self._look, stats)
        self._awaiting: dict[Waiting, None] = {}
        self._released = Released(
            crawler,
            inside,
            hosts,
            self._ready,
            self.places,
            self._look,
            self._distrust,
            resumed,
            stats,
        )
        self._assignment = Assignment(inside, hosts, self.places, self._ready, self._released)
        self._held: set[Request] = set()
        self._passes = 0  # since something moved
        self._next_pass = Alarm(self._assign)
        self._fault: Exception | None = None

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self.places.waiting

    # --- what the gate calls

    def must_wait(self, request: Request) -> bool:
        """Return whether a request whose rules are known has to wait before it is let go."""
        if not self.places.waiting and not self._hosts:
            return False
        host = self._hosts.get(host_of(request)) if self._hosts else None
        if host is not None and host.asks:
            return True
        if not self._ready or is_nested(request, self._inside):
            return False
        first = self._ready.first_open()
        if first is not None and first.heap[0][0][0] <= -request.priority:
            return True
        return self._ready.has_slot(self._inside.download_slots.of(request).key)

    @contextmanager
    def hold(
        self,
        request: Request,
        host: str,
        *,
        for_rules: bool,
        late: bool = False,
        before: Waiting | None = None,
    ) -> Iterator[Waiting]:
        """Hold a request to ``host`` for as long as this lasts, or until it is let go.

        A request whose rules expire before it is let go waits again, in the order of ``before``:
        behind all others its rules could expire again and again. A ``late`` request, which had a
        turn and was held up for too long, goes before those that had none.
        """
        waiting = self._begin(request, host)
        if before is not None:
            waiting.order = before.order
        elif late:
            waiting.hurry()
        try:
            if for_rules and self.places.want(waiting):
                self._next_pass.set(_AT_LEAST)
            yield waiting
        finally:
            if not waiting.is_over:
                self._end(waiting)
                waiting.slot.leave(request)
                if self._ready:
                    self._look()
            self._rest()

    def goes_at_once(self, waiting: Waiting) -> bool:
        """Let a request that has its rules go on, if nothing else is in its way."""
        host = self._hosts.get(waiting.host)
        if host is not None and self._fault is not None:
            raise self._fault
        if not self._can_go_at_once(waiting, host):
            return False
        self._let_go(waiting, host)
        return True

    async def until_let_go(self, waiting: Waiting) -> bool:
        """Return when a request may go on; ``False`` if the crawl closes before that."""
        if self.goes_at_once(waiting):
            return True
        if waiting.host in self._hosts:
            self.places.lend_to(waiting)
        else:
            self.places.has_rules(waiting)
        self._awaiting[waiting] = None
        try:
            self._ready.push(waiting)
            self._released.listen()
            self._look()
            return await maybe_deferred_to_future(waiting.going)
        finally:
            self._awaiting.pop(waiting, None)

    def arrive(self, request: Request) -> bool:
        """Note that a request is about to be sent; return ``False`` if it first has to wait."""
        return not self._released.listening or self._released.arrive(request)

    def left(self, request: Request) -> None:
        """Note that the download of a request has ended."""
        self._released.left(request)

    def ask(self, request: Request, asker: Asker, pace: RequestedPace, least: Least) -> float:
        """Have the host of a request keep a pace; return what ``asker`` asked for before.

        ``least(request, authority)`` is the operator's own delay.
        """
        name = asker[0].host
        host = self._hosts.get(name)
        if host is None:
            host = self._released.begin_pace(name, least(request, asker[0]), self._held | {request})
            if self._fault is not None or not self._inside.passage.exists:
                self._distrust(self._fault or UnknownScrapyError(_NO_PASSAGE))
        before = host.asked_by(asker)
        host.ask(asker, pace, idle=not self._ready.has_host(name))
        self._hosts.touch(host)
        if pace.interval < before:
            self._released.open_host(name)
        return before

    def withdraw(self, name: str, asker: Asker) -> None:
        """Have a host forget what ``asker`` asked for."""
        host = self._hosts.get(name)
        if host is not None:
            host.withdraw(asker)
            if not host.asks and not host.busy:
                self._hosts.remove(host)
            self._released.open_host(name)

    def give_up(self) -> bool:
        """Tell the ready requests that came from the scheduler that the crawl closes.

        Return whether there are any. Direct downloads keep waiting: the engine waits for them, and
        nothing would make them again.
        """
        is_direct = self._inside.engine.is_direct
        return self._tell_that_it_closes([w for w in self._awaiting if not is_direct(w.request)])

    def close(self) -> None:
        """End everything: the crawl is over."""
        self._tell_that_it_closes(list(self._awaiting))
        self._released.close()
        self._next_pass.cancel()

    # --- how a request begins to wait, is let go, and ends

    def _begin(self, request: Request, host: str) -> Waiting:
        if self._released.listening:
            self._released.take_back(request)
        download_slot = self._inside.download_slots.of(request)
        slot = self._slots.get(download_slot.key) or Slot(download_slot)
        waiting = Waiting(request, slot, host, is_nested=is_nested(request, self._inside))
        slot.enter(request)
        # What could fail is done, so that hold() ends whatever begins here.
        slot.waiting += 1
        self._slots[slot.key] = slot
        self._held.add(request)
        self.places.waiting += 1
        return waiting

    def _end(self, waiting: Waiting) -> None:
        """Note that a request no longer waits, for whatever reason."""
        waiting.is_over = True
        waiting.slot.waiting -= 1
        if not waiting.slot.waiting:
            self._slots.pop(waiting.slot.key, None)
        self._held.discard(waiting.request)
        self.places.waiting -= 1
        self.places.take_back(waiting)

    def _can_go_at_once(self, waiting: Waiting, host: PacedHost | None) -> bool:
        """Return whether a request need not wait for others of its slot to be ready, too."""
        if self._ready and (self._ready.has_slot(waiting.slot.key) or self._ready.first_open()):
            return False
        return (
            (waiting.slot.waiting == 1 or self._inside.engine.is_stopping)
            and waiting.slot.room > 0
            and (host is None or host.has_room(monotonic()))
            and self.places.free > 0
        )

    def _let_go(self, waiting: Waiting, host: PacedHost | None) -> None:
        alone = waiting.slot.waiting == 1
        self._end(waiting)
        self._released.moved = monotonic()
        if alone and host is None and not self._ready:
            waiting.slot.leave(waiting.request)  # nothing has to know that it is on its way
        else:
            self._released.add(waiting, host)
            self._look()

    # --- the pass

    def _assign(self) -> None:
        """Let all requests go that can go now."""
        going: list[Deferred[bool]] = []

        def send(waiting: Waiting, host: PacedHost | None) -> None:
            self._let_go(waiting, host)
            going.append(waiting.going)

        self._next_pass.is_set = False
        try:
            if self._inside.engine.is_stopping and self.give_up():
                return  # as each of them leaves, another pass is made
            now = monotonic()
            self._passes += 1
            self._released.settle(now)
            if now > self._released.moved + _QUIET or not self._inside.download_slots.exist:
                self._released.look_again()
            self._assignment.run(now, send)
            if self._hosts.shared is not None:
                self._hosts.shared.settle(now)
            if self.places.lend():
                self._next_pass.set(_AT_LEAST)
            self._plan(now)
            self._rest()
        except Exception as error:  # noqa: BLE001  # a fault of ours keeps no request for ever
            self._fail(error)
        try:
            for deferred in going:  # last of all: a request may come back here at once
                if not deferred.called:
                    deferred.callback(True)
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    @staticmethod
    def _tell_that_it_closes(several: list[Waiting]) -> bool:
        for waiting in several:
            if not waiting.going.called:
                waiting.going.callback(False)
        return bool(several)

    def _fail(self, error: Exception) -> None:
        """End all ready requests with an error and clear the queues, which may be damaged."""
        self._ready.clear()
        for waiting in list(self._awaiting):
            if not waiting.going.called:
                waiting.going.errback(error)

    def _plan(self, now: float) -> None:
        """Arrange for the next pass."""
        if self._released:
            self._next_pass.set(_SOON[min(self._passes, len(_SOON) - 1)])
        if self._ready and (due := self._assignment.due) is not None:
            self._next_pass.set(max(due - now, 0.0))
        if self._ready:
            often = self._ready.lack_room or not self._inside.download_slots.exist
            self._next_pass.set(_AT_LEAST if often else 2 * _QUIET)

    def _look(self) -> None:
        """Have a pass run in the next iteration of the loop: something has moved."""
        self._passes = 0
        self._next_pass.set(0.0)

    def _rest(self) -> None:
        """Stop listening when there is nothing left to follow."""
        if self._released.listening and not (self.places.waiting or self._released):
            self._next_pass.cancel()
            if not self._hosts:
                self._released.rest()

    def _distrust(self, error: Exception) -> None:
        """From now on refuse requests to hosts that ask for a pace: it could not be kept."""
        if self._fault is None:
            self._fault = error
            self._stats.own_fault("The pace of a site", error)
        for waiting in list(self._awaiting):
            if self._hosts.get(waiting.host) is not None and not waiting.going.called:
                waiting.going.errback(error)
