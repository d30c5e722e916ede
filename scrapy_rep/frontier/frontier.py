"""The frontier of one crawl: it connects the sites to the gate, the turns and Scrapy.

``next_request()`` of a scheduler is documented to return None while no request is ready. So a
request that waits for rules or for its turn stays in the queue of its site, and limits, priorities,
stops and job directories are Scrapy's own. :mod:`scrapy_rep.frontier.states` says what sites wait
for, :mod:`scrapy_rep.frontier.sites` which one goes next. The scheduler begins the fetch of a
robots.txt on behalf of the first request of a site, and hands out that request when the rules are
there. A request that was not handed out by the scheduler is a direct download: the file of a media
pipeline, or what a callback or a middleware downloads. It waits in place, at the gate and at the
last step.

**Over a scheduler or a priority queue that is not Scrapy's default** there is no queue for each
site. Requests are read ahead into a front, one after another while no site is ready, and given back
at the close. The front is limited, so such a crawl can stall; when it does, the log says so.

**After a fault here no code of the frontier runs any more.** The queues pop as Scrapy's do, heads
first, and all requests go to the gate, where they wait in place.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sized
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from weakref import ReferenceType, WeakKeyDictionary, ref

from scrapy_rep.access.authority import Authority, authority_in
from scrapy_rep.frontier.alarm import Agenda
from scrapy_rep.frontier.cluster import ClusterFront
from scrapy_rep.frontier.front import Front, is_scrapys_scheduler
from scrapy_rep.frontier.limits import FetchDemand, SlotLoads, slot_of
from scrapy_rep.frontier.progress import Progress
from scrapy_rep.frontier.request_state import RequestState, RequestStates, restored
from scrapy_rep.frontier.sites import MOST_ASKED, SiteQueues, Sites
from scrapy_rep.frontier.states import (
    FETCH,
    GIVEN_BACK,
    REFUSED,
    Block,
    Stage,
    State,
    Unblocked,
)

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.frontier.cluster import SharedQueue
    from scrapy_rep.frontier.places import Places
    from scrapy_rep.frontier.sites import Site
    from scrapy_rep.frontier.turns import Turns
    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.stats import RepStats

T = TypeVar("T")

_LOOK: Final = 0.05
"""Seconds after which requests that the downloader no longer has are looked for again."""

_LONGEST: Final = 600.0
"""Seconds after which a site that is parked until a time is asked again at the latest.

The clock may be set forward, and that of the timers stands still while the machine sleeps.
"""

_MANY: Final = 200_000
"""Requests that may be in memory before ``start()`` is slowed down.

They take about 300 MiB. Scrapy reads a list of URLs to its end, however long it is, so this should
seldom slow one down: a list may begin with 100 URLs of each of 1,100 slow sites.
"""

_PAUSE: Final = 0.5e-6
"""Seconds by which each request beyond :data:`_MANY` delays the next one of ``start()``.

That is 50 ms at 300,000 requests. A million is reached after two days.
"""

_OF_CRAWL: WeakKeyDictionary[Crawler, ReferenceType[Frontier]] = WeakKeyDictionary()
"""The frontier of each crawl. A strong reference to it would keep its crawler, the key, alive."""


def frontier_of(crawler: Crawler) -> Frontier | None:
    """Return the frontier of a crawl; None if no gate was built for it."""
    return _OF_CRAWL.get(crawler, lambda: None)()


class SchedulerQueues(SiteQueues, Sized, Protocol):
    """The queues of a scheduler, which have all its requests and say how many there are."""


class Readiness(Protocol):
    """The gate, as the frontier sees it."""

    def key_of(self, request: Request) -> str:
        """Return the key of the site that a request belongs to."""

    def knows(self, authority: Authority) -> bool:
        """Return whether the rules of an authority are in memory, and may be used now."""

    def blocked_by(
        self, request: Request, state: RequestState, room: Block | None
    ) -> Block | Unblocked | None:
        """Return what blocks a request: ``room``, for example, if its slot has none.

        If nothing does, return None, or ``REFUSED`` if the gate will refuse it.
        """

    def begin(self, request: Request, state: RequestState, authority: Authority) -> None:
        """Begin to fetch the rules that a request lacks, or join the fetch that is under way."""


class Frontier:
    """Which request of a crawl goes next. ``clock()`` is in seconds since the epoch."""

    _gate: Readiness
    _turns: Turns
    _demand: FetchDemand

    def __init__(
        self,
        crawler: Crawler,
        scrapy: ScrapyNames,
        stats: RepStats,
        places: Places,
        clock: Callable[[], float],
    ):
        self._crawler = crawler
        self.scrapy = scrapy
        self._stats = stats
        self._places = places
        self._clock = clock
        settings = crawler.settings
        self.states = RequestStates()
        """What is known of the requests of the crawl."""
        self.is_open = False
        """Whether a scheduler asks the frontier.

        It is False before the scheduler is opened, after it is closed, and after a fault here.
        """
        self.chosen: Request | None = None
        """The request that its queue gives out next: a scheduler may ask several queues for it."""
        self.sites = Sites(self, scrapy.wake, by_priority=False)
        self._slots = SlotLoads(settings, self._slot_freed)
        self._queues: list[SchedulerQueues] = []
        self._front: Front | None = None
        self._cluster: ClusterFront | None = None
        self.shared_queue: SharedQueue | None = None
        """The queue that workers share. It sets this itself, when the scheduler is opened."""
        self.keeps = bool(settings["JOBDIR"]) or (
            not is_scrapys_scheduler(settings) and settings.getbool("SCHEDULER_PERSIST")
        )
        """Whether the next run has the requests that the scheduler has at a stop."""
        self._agenda = Agenda(self._time_has_come, self.give_up)
        """When to wake the sites that are parked until a time."""
        self._looked_at = 0.0
        self._asked_in_vain = False
        self.progress = Progress(
            stats,
            settings.getfloat("LOGSTATS_INTERVAL"),
            lambda: self.sites if self.is_open else None,
            self.interval_of,
            places,
        )
        """Counts and logs what waits."""

    def connect(self, gate: Readiness, turns: Turns, pauses: Callable[[], int]) -> None:
        """Set the gate and the turns, which say what blocks a request.

        ``pauses()`` returns how many fetches pause between two attempts.
        From now on :func:`frontier_of` finds this object, so the scheduler can use it.
        """
        self._gate = gate
        self._turns = turns
        concurrent = self._crawler.settings.getint("CONCURRENT_REQUESTS")
        self._demand = FetchDemand(concurrent, pauses, self.fetch_freed)
        _OF_CRAWL[self._crawler] = ref(self)

    # --- what the scheduler and its queues call

    def open(self) -> None:
        """Note that a scheduler is about to open its queues, and asks this object from now on."""
        self.is_open = self._places.lends = True

    def opened(self) -> None:
        """Use a front if the queues of the scheduler, which are open, have not joined."""
        if self.shared_queue is not None:
            self._front = self._cluster = ClusterFront(
                self._crawler, self.shared_queue, self._turns, self._clock, self._stats
            )
        elif not self._queues:
            self._front = Front(self._crawler.settings)
        if self._front is not None:
            self.sites = Sites(self, self.scrapy.wake, by_priority=True)
            self.sites.join(self._front, {})

    def drop_read_ahead(self) -> None:
        """Forget what was read ahead: other workers have it now."""
        self.opened()

    def done(self, requests: Iterable[Request]) -> list[Request]:
        """Return those requests that neither the engine nor the front has."""
        in_progress, kept = self.scrapy.in_progress, self._front.requests if self._front else ()
        return [each for each in requests if each not in in_progress and each not in kept]

    def join(self, queues: SchedulerQueues, sizes: dict[str, int]) -> None:
        """Add the queues of a scheduler, with the number of requests by key."""
        self._queues.append(queues)
        self._guarded(self.sites.join, queues, sizes)

    def key_of(self, request: Request) -> str | None:
        """Return the key of the site that a request belongs to; None after a fault."""
        return self._guarded(self._gate.key_of, request)

    def pushed(self, key: str) -> None:
        """Note that a queue has got a request of a site."""
        self._guarded(self.sites.pushed, key)

    def distinct(self, request: Request, kept: Container[Request]) -> Request:
        """Return a request, or a copy if the same object is kept or under way already.

        A spider may yield one object twice, but what is known of a request is kept by object.
        """
        is_in_use = request in kept or request in self.scrapy.in_progress
        return request.copy() if is_in_use else request

    @property
    def has_read_ahead(self) -> bool:
        """Whether requests were read ahead into a front, so that the base does not have them."""
        return self._front is not None and bool(self._front.requests)

    def next(self, pop: Callable[[], Request | None]) -> Request | None:
        """Return the next request that nothing blocks; None if there is none for now."""
        if self._cluster is not None and not self._cluster.queue.check():
            request = None  # the queue wakes the engine when it answers again
        elif self._front is not None:
            request = self._next_of_front(self._front, pop)
            if request is None and self._cluster is not None:
                self._cluster.read_start_list()
        else:
            if self.chosen is None:
                self.chosen = self._choose()
            request = None if self.chosen is None and self.is_open else pop()
        self._asked_in_vain = request is None
        sites, progress = self.sites, self.progress
        if sites.sites_waiting or sites.waited or progress.is_timing:
            self._guarded(self._count)
        # A stop has to know, after a fault as well, which requests came from the scheduler.
        if request is not None and not self.is_open:
            self.states.begin(request, Stage.HANDED_OUT)
        return request

    def close(self, enqueue: Callable[[Request], bool]) -> None:
        """Park no more sites, and give what was read ahead back to the base, which will close."""
        # A fault here must not keep the base from closing, which writes down what its queues have.
        self._guarded(self.progress.count_time, False)
        try:
            self._demand.close()
            self._agenda.alarm.cancel()
        except Exception as error:  # noqa: BLE001
            self.give_up(error)
        self.is_open = False
        if self._front is not None:
            self._front.give_back(enqueue, self._crawler, self._stats)

    def _choose(self) -> Request | None:
        """Return the request that goes next; None if there is none, or after a fault."""
        # Even without a site, the turns are looked at while a request waits for one.
        return self._guarded(self._ask_sites) if self.sites.by_key or self._turns.awaited else None

    def _ask_sites(self) -> Request | None:
        if monotonic() >= self._looked_at + _LOOK:
            self._end_lost()
        head = self.sites.next()
        if head is None and self._end_lost():
            head = self.sites.next()
        return None if head is None else head.request

    def _next_of_front(self, front: Front, pop: Callable[[], Request | None]) -> Request | None:
        for _ in range(MOST_ASKED):
            request = self._choose()
            if not self.is_open:
                return self._next_after_fault(front, pop)
            if request is not None:
                del front.requests[request]
                return request
            if self.sites.is_ready or front.is_full() or (popped := pop()) is None:
                return None
            request = self._guarded(self.distinct, popped, front.requests)
            if request is None:  # a fault must not lose it
                return popped
            front.requests[request] = None
            self._guarded(self._read_ahead, front, request)
        self.scrapy.wake()
        return None

    @staticmethod
    def _next_after_fault(front: Front, pop: Callable[[], Request | None]) -> Request | None:
        """Return what was read ahead, the oldest first, and then what the base has."""
        if front.requests:
            request = next(iter(front.requests))
            del front.requests[request]
            return request
        popped = pop()
        return None if popped is None else restored(popped)

    def _read_ahead(self, front: Front, request: Request) -> None:
        restored(request)
        key = self._gate.key_of(request)
        if self._cluster is not None:
            site, lacks_rules = self.sites.by_key.get(key), self.lacks_rules(key)
            if not self._cluster.admit(request, key, site, lacks_rules):
                return
        front.push(key, request)
        self.sites.pushed(key)

    # --- what the sites ask

    def hand_out(self, request: Request, may_share: bool) -> Block | Unblocked | None:
        """Hand out a request unless something blocks it; return what does.

        None is also returned after a fault in the check, as the gate then refuses the request. One
        that is ``REFUSED`` takes no room in its slot. One that is ``GIVEN_BACK`` has to wait, but
        in the queue that workers share.
        """
        state = self.states.get(request)
        if state is None or state.stage is not Stage.HEAD:
            state = self.states.begin(request, Stage.HEAD)
        slot = slot_of(request)
        has_room = not self._slots.is_full(slot) if may_share else self._slots.is_idle(slot)
        room = None if has_room else Block(State.ROOM, slot)
        try:
            block = self._gate.blocked_by(request, state, room)
        except Exception as error:  # noqa: BLE001
            self._stats.own_fault("The look at a request", error)
            block = None
        cluster = self._cluster
        if not isinstance(block, Block):
            if cluster is not None:
                cluster.handed_out(request, state, is_refused=block is REFUSED)
            if block is None:
                self._slots.handed_out(request, slot)
            state.stage = Stage.HANDED_OUT
        elif cluster and not cluster.keep(request, block, self.sites.is_parked_for(block)):
            return GIVEN_BACK
        elif block.state is State.UNTIL:
            self._agenda.set(block, min(block.what - self._clock(), _LONGEST) + monotonic())
        return block

    def lacks_rules(self, key: str) -> bool:
        """Return whether a site, given by its key, is governed by rules that are not known."""
        authority = authority_in(key)
        return authority is not None and not self._gate.knows(authority)

    def begin(self, request: Request, block: Block) -> None:
        """Begin to fetch the rules that block a request, or join the fetch that is under way."""
        self._demand.begins(block.what)
        self._gate.begin(request, self.states[request], block.what)

    def is_free(self, block: Block) -> bool:
        """Return whether a site that is blocked should be asked once more."""
        if block.state is State.FETCH:
            return self._demand.may_another_begin(self.sites.unasked)
        if block.state is State.TURN:
            goes_back = self._cluster is not None and self._cluster.returns(block.what)
            return goes_back or self._turns.is_due(block.what)
        # ROOM. Nothing else is asked about: RULES end by ``arrived``, UNTIL by ``time_has_come``.
        if self._front is not None:
            return not self._slots.is_full(block.what)
        return self._slots.is_idle(block.what)

    def is_full(self, block: Block) -> bool:
        """Return whether a slot has as many requests as it may send."""
        return self._slots.is_full(block.what)

    def interval_of(self, site: Site) -> float:
        """Return the interval between two requests of a site that waits for its turn."""
        block: Any = site.block
        return self._turns.interval_of(block.what)

    # --- events

    def arrived(self, authority: Authority) -> None:
        """Note that the rules of an authority have come, or that their fetch has failed."""
        self._guarded(self._demand.ended, authority)
        self._guarded(self.sites.arrived, Block(State.RULES, authority))

    def ask_again(self, host: str) -> None:
        """Ask a site that waits for the turn of a host once more, if the host is due.

        In a cluster, a site is also asked if the wait is long, so that its request goes back.
        """
        self._guarded(self.sites.freed, Block(State.TURN, host))

    def sent(self, request: Request) -> None:
        """Note that a request has passed the last step."""
        self._guarded(self._slots.sent, request)

    def left(self, request: Request, *, was_sent: bool) -> None:
        """Note that the download of a request has ended, or that it was not sent after all."""
        self._guarded(self._slots.left, request)
        state = self.states.get(request)
        if self._cluster is not None and state is not None and was_sent:
            self._guarded(self._cluster.ended, request, state)

    def _slot_freed(self, slot: str) -> None:
        self._guarded(self.sites.slot_freed, Block(State.ROOM, slot))

    def fetch_freed(self) -> None:
        """Note that another fetch may begin: one takes longer than most, or pauses."""
        self._guarded(self.sites.freed, FETCH)

    def _time_has_come(self, block: Block) -> None:
        self._guarded(self.sites.time_has_come, block)

    def _end_lost(self) -> bool:
        """End the requests that the downloader no longer has; return whether there were any.

        No event tells that a request was answered from a cache, dropped or cancelled.
        """
        self._looked_at = monotonic()
        return self._turns.end_lost()

    # --- faults

    def _guarded(self, do: Callable[..., T], *args: Any) -> T | None:
        """Return what ``do`` returns; None after a fault, or while the frontier is not open."""
        if not self.is_open:
            return None
        try:
            return do(*args)
        except Exception as error:  # noqa: BLE001
            self.give_up(error)
            return None

    def give_up(self, error: Exception) -> None:
        """Stop choosing requests, because of a fault."""
        self.is_open = False
        then = "requests wait in the downloader from now on"
        self._stats.own_fault("The frontier", error, then)
        self.scrapy.wake()

    # --- what others ask

    def reached_gate(self, request: Request) -> RequestState:
        """Return the state of a request at the gate."""
        state = self.states.get(request)
        if state is None:
            state = self.states.begin(restored(request), Stage.CHECKED)
        state.is_scheduled = state.stage is Stage.HANDED_OUT
        state.stage = Stage.CHECKED
        return state

    def is_wanted(self, host: str) -> bool:
        """Return whether a site is parked for the turn of a host, or was woken for it."""
        return self.is_open and self.sites.is_wanted(Block(State.TURN, host))

    def waiting_for(self, authority: Authority) -> list[Request]:
        """Return requests that wait for the rules of an authority in the scheduler."""
        return self._guarded(self.sites.heads_for, Block(State.RULES, authority)) or []

    @property
    def waiting(self) -> int:
        """How many requests wait in the scheduler."""
        return self.sites.requests_waiting if self.is_open else 0

    @property
    def next_request_delay(self) -> float | None:
        """The seconds after which a site may be ready; None if no site waits for a time."""
        if not self.is_open:
            return None
        delays = (each.alarm.seconds_left for each in (self._turns.agenda, self._agenda))
        return min((delay for delay in delays if delay is not None), default=None)

    @property
    def start_pause(self) -> float:
        """The seconds by which the next request of ``start()`` is put off.

        They are 0 unless many requests are in memory, while the engine has room and nothing to do.
        """
        return self._guarded(self._pause_of_start) or 0.0

    def _pause_of_start(self) -> float:
        is_slow = self._asked_in_vain and not self._crawler.settings["JOBDIR"]
        return max(sum(map(len, self._queues)) - _MANY, 0) * _PAUSE if is_slow else 0.0

    def _count(self) -> None:
        is_idle = self._asked_in_vain and self._slots.are_idle
        self.progress.count(self.sites, is_idle)
