"""The rules of each authority, fetched once and kept in memory, for one crawl (RFC 9309 2.4).

A request asks in two steps:

- :meth:`RobotsCache.consult` returns what is in memory and holds now, which is one look-up.
  Otherwise it decides anew, brings back what was evicted, and asks a store that answers at once.
  It never waits.
- :meth:`RobotsCache.begin` and :meth:`RobotsCache.fetch` begin a refresh, which asks the store and
  fetches, or join the one that is under way. A request that is in the scheduler stays there
  meanwhile, and ``ended`` tells of the end; one that waits in place awaits ``fetch``.

Each authority has one refresh at a time. It belongs to no request: a request that is cancelled does
not end it, and each request that waits for it has its own Deferred. If what ``consult`` found
cannot be used as it is, it is handed on as a :class:`Miss`, so that a refresh reads nothing twice.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

from scrapy_rep import stats as names
from scrapy_rep.access.entry import Entry, without_proxied
from scrapy_rep.access.outcome import Cause, Unreachable
from scrapy_rep.access.policy import Decision, Fetch, Standing, learn, standing
from scrapy_rep.sites.asking import requester_of
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.sites.refresh import Miss

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
    from scrapy_rep.sites.refresh import Refresher


MOST_COMPILED: Final = 2_000
"""The most authorities whose rules stay compiled: those whose rules were compiled last. The others
take a third of the memory, and for a hundred rules 50 microseconds when they are needed again. So a
crawl of 10,000 sites has 216 MiB instead of 235; without any rules it has 198."""


class RulesSignal(Protocol):
    """Sent whenever rules come into force, before any request is judged by them."""

    @property
    def is_heard(self) -> bool:
        """Whether anything may listen: False once nothing did, or if Scrapy lacks the signal."""

    async def send(self, robots: ParsedRobotsTxt, request: Any) -> None:
        """Return when the listeners are done, or too slow. ``request`` asked for the rules."""


class SingleFlight:
    """One refresh under way, which brings one result to all requests that wait for it.

    ``started`` is a time of the monotonic clock. ``waiters`` maps a Deferred for each request that
    waits in place to that request. ``result`` is ``None`` until there is one.
    """

    def __init__(self) -> None:
        self.started = monotonic()
        self.waiters: dict[Deferred[CachedRules], Any] = {}
        self.result: CachedRules | None = None
        self.task: Deferred[None] | None = None

    async def wait(self, request: Any) -> CachedRules:
        """Return the result for a request that waits in place."""
        if self.result is not None:  # without asyncio a flight may end before it is joined
            return self.result
        waiter: Deferred[CachedRules] = Deferred()
        self.waiters[waiter] = request
        try:
            return await maybe_deferred_to_future(waiter)
        finally:
            self.waiters.pop(waiter, None)

    def resolve(self, result: CachedRules | None) -> None:
        """Give every waiter the result, or an error if a fault has left not even a failure."""
        self.result = result
        waiters, self.waiters = self.waiters, {}
        for waiter in waiters:
            if waiter.called:
                continue
            if result is None:
                waiter.errback(RuntimeError("the fetch of robots.txt was lost"))
            else:
                waiter.callback(result)


class RobotsCache:
    """Rules by authority, in ``memory_limit`` octets; the least recently used ones are evicted.

    ``refresher`` finds out what is known of an authority, ``parse`` makes rules of its bytes, and
    ``signal`` is sent whenever rules come into force. ``started()`` is called when a refresh
    begins, and ``ended(authority)`` when it has ended. ``waiting(authority)`` are the requests
    that wait for it in the scheduler.
    """

    def __init__(
        self,
        refresher: Refresher,
        signal: RulesSignal,
        *,
        parse: Callable[[bytes], ParsedRobotsTxt],
        started: Callable[[], None],
        ended: Callable[[Authority], None],
        waiting: Callable[[Authority], list[Any]],
        memory_limit: int,
    ):
        self._store, self._policy = refresher.store, refresher.policy
        self._stats, self._clock = refresher.stats, refresher.clock
        self.refresher = refresher
        self._parse = parse
        self._signal = signal
        self._started = started
        self._ended = ended
        self._waiting = waiting
        self._memory_limit = memory_limit
        self._resident: OrderedDict[Authority, CachedRules] = OrderedDict()
        self._compiled: OrderedDict[Authority, CachedRules] = OrderedDict()
        """The resident rules that may be compiled; those compiled longest ago come first."""
        self._flights: dict[Authority, SingleFlight] = {}
        self.octets = 0
        """The memory that the resident rules take."""

    def has_usable(self, authority: Authority) -> bool:
        """Return whether memory holds something that policy lets be used now, however old."""
        cached, now = self._resident.get(authority), self._clock()
        return cached is not None and (
            cached.since <= now < cached.until
            or standing(cached.entry, now, self._policy).decision is not Decision.WAIT
        )

    def held(self, authority: Authority) -> CachedRules | None:
        """Return what memory holds, whether it may still be used or not."""
        return self._resident.get(authority)

    def consult(self, authority: Authority, request: Any) -> CachedRules | Miss:
        """Return what is at hand if policy lets it be used, however old; awaits nothing.

        Begins a refresh in the background where policy asks for one, on behalf of ``request``.
        """
        cached, now = self._resident.get(authority), self._clock()
        if cached is None:
            return self._bring_back(authority, request)
        if cached.since <= now < cached.until:
            self._resident.move_to_end(authority)
            return _if_it_holds(authority, request, cached)
        current = standing(cached.entry, now, self._policy)
        if current.decision is Decision.WAIT:
            return Miss(cached.entry, is_resident=True)
        self._resident.move_to_end(authority)
        if current.fetch is Fetch.BACKGROUND:
            self._flight(authority, request, Miss(cached.entry, is_resident=True))
        known = cached.decision, cached.answer, cached.failure
        if known != (current.decision, current.answer, current.failure):
            cached = self._cached(authority, cached.entry, current, now)
            self._keep(authority, cached)
        cached.until = current.until
        return _if_it_holds(authority, request, cached)

    def begin(self, authority: Authority, request: Any, miss: Miss) -> None:
        """Begin a refresh, or join the one under way, after :meth:`consult` returned ``miss``.

        ``ended(authority)`` tells when it has ended.
        """
        self._stats.inc(names.MISS)
        self._flight(authority, request, miss)

    async def fetch(self, authority: Authority, request: Any, miss: Miss) -> CachedRules:
        """Return what a refresh brings, after :meth:`consult` returned ``miss``.

        A refusal of the request that a refresh was made for may not hold for ``request``: then
        another one follows. That ends, as each adds a request for which it holds.
        """
        self._stats.inc(names.MISS)
        found: CachedRules | Miss = miss
        while isinstance(found, Miss):
            flight = self._flight(authority, request, found)
            found = _if_it_holds(authority, request, await flight.wait(request))
        return found

    async def lookup(self, authority: Authority, request: Any) -> CachedRules:
        """Return the rules of ``authority``, after a refresh if policy asks for one."""
        found = self.consult(authority, request)
        return await self.fetch(authority, request, found) if isinstance(found, Miss) else found

    def __len__(self) -> int:
        """Return the number of authorities of which memory holds something."""
        return len(self._resident)

    def weigh(self, authority: Authority, cached: CachedRules) -> None:
        """Measure rules again: they grow as agents ask for their groups."""
        if self._resident.get(authority) is cached:
            self.octets += cached.weigh()
            if cached.robots is not None:
                self._compiled[authority] = cached
            self._evict()

    @property
    def flights(self) -> int:
        """How many fetches are under way, those included that pause between two attempts."""
        return len(self._flights)

    def interrupt(
        self, started_before: float = math.inf, spare: Callable[[Any], bool] = lambda _: False
    ) -> None:
        """End the refreshes that began before a time of the monotonic clock.

        Requests that still wait for them end because the crawl is closing. A refresh goes on if
        ``spare(request)`` is true of a request that waits for it.
        """
        for authority, flight in list(self._flights.items()):
            if flight.started < started_before and not any(map(spare, flight.waiters.values())):
                del self._flights[authority]
                flight.resolve(self._failure(authority, Cause.CLOSING))
                if flight.task is not None:
                    flight.task.cancel()

    def end_lost(self) -> None:
        """End the refreshes that have taken longer than any should: a fault has lost them.

        The authority is unreachable then, and what waits for it goes on.
        """
        began = monotonic() - self.refresher.longest
        for authority, flight in list(self._flights.items()):
            if flight.started > began:
                break  # those behind it began later
            del self._flights[authority]
            lost = self._failure(authority, Cause.TIMEOUT)
            self._keep(authority, lost)
            flight.resolve(lost)
            if flight.task is not None:
                flight.task.cancel()
            self._ended(authority)

    def _flight(self, authority: Authority, request: Any, miss: Miss) -> SingleFlight:
        flight = self._flights.get(authority)
        if flight is None:
            self._started()
            flight = SingleFlight()
            running = self._run(authority, request, miss, flight)
            # Only now, as nothing would end a flight that has no task.
            self._flights[authority] = flight
            flight.task = deferred_from_coro(running)
            # A cancelled flight has its result already. What waits in the scheduler is told twice,
            # as nothing else would wake it if the first time failed.
            flight.task.addBoth(lambda _: self._end_again(authority))
        return flight

    def _end_again(self, authority: Authority) -> None:
        if authority not in self._flights:  # the next one may have begun
            self._ended(authority)

    async def _run(
        self, authority: Authority, request: Any, miss: Miss, flight: SingleFlight
    ) -> None:
        cached = None
        try:
            cached = await self._refresh(authority, request, miss, flight)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # a fault is no permission
            self._stats.own_fault(f"The fetch of {authority.robots_uri}", error)
        finally:
            if self._flights.get(authority) is flight:
                del self._flights[authority]
            try:
                if flight.result is None and cached is None:  # a fault, or it was cancelled
                    cached = self._failure(authority, Cause.ERROR)
                    # Requests that were returned meanwhile would begin the next flight otherwise.
                    self._keep(authority, cached)
            finally:
                if flight.result is None:  # else it was interrupted
                    flight.resolve(cached)
                self._ended(authority)

    async def _refresh(
        self, authority: Authority, request: Any, miss: Miss, flight: SingleFlight
    ) -> CachedRules:
        def waiting() -> list[Any]:
            return list(dict.fromkeys([*flight.waiters.values(), *self._waiting(authority)]))

        entry = await self.refresher.refresh(authority, request, miss, waiting=waiting)
        before = self._resident.get(authority)
        now = self._clock()
        cached = self._cached(authority, entry, standing(entry, now, self._policy), now)
        if cached.robots is not None and (before is None or cached.robots is not before.robots):
            await self._signal.send(cached.robots, request)
        self._keep(authority, cached)
        return cached

    def _bring_back(self, authority: Authority, request: Any) -> CachedRules | Miss:
        """Return what was evicted or stored, if neither that nor a listener has to be awaited."""
        if authority in self._flights:
            return Miss()
        entry, is_complete = self._store.evicted(authority), False
        is_new = entry is None and self._signal.is_heard
        if entry is None:
            entry, is_complete = self._store.get_nowait(authority)
        now = self._clock()
        current = standing(entry, now, self._policy)
        if entry is None or current.decision is Decision.WAIT or is_new:
            return Miss(entry, is_complete=is_complete)
        cached = self._cached(authority, entry, current, now)
        self._keep(authority, cached)
        if current.fetch is Fetch.BACKGROUND:
            self._flight(authority, request, Miss(entry, is_resident=True))
        return _if_it_holds(authority, request, cached)

    def _cached(
        self, authority: Authority, entry: Entry, current: Standing, now: float
    ) -> CachedRules:
        """Return what ``entry`` means now, with the rules already parsed where they still hold."""
        body, old = current.body, self._resident.get(authority)
        robots = None
        if body is not None:
            robots = old.robots if old is not None and old.body == body else self._parse(body)
        return CachedRules(entry, current, robots, now)

    def _failure(self, authority: Authority, cause: Cause) -> CachedRules:
        """Return what holds for an authority without an answer: disallow all.

        After a fault, a good copy is followed if its rules are in memory.
        """
        now = self._clock()
        old = self._resident.get(authority)
        before = old.entry if old else self._store.evicted(authority)
        entry = learn(before, Unreachable(cause, ours=True), now, self._policy)
        if cause is not Cause.CLOSING and old is not None and old.robots is not None:
            current = standing(entry, now, self._policy)
            if current.decision is Decision.FOLLOW:
                return CachedRules(entry, current, old.robots, now)
        refused = standing(Entry(failure=entry.failure), now, self._policy)
        return CachedRules(entry, refused, None, now)

    def _keep(self, authority: Authority, cached: CachedRules) -> None:
        """Keep ``cached`` in memory, in place of what was there before."""
        old = self._resident.pop(authority, None)
        self._compiled.pop(authority, None)
        self.octets -= old.size if old else 0
        self._resident[authority] = cached
        self.weigh(authority, cached)

    def _evict(self) -> None:
        """Free the compiled rules beyond :data:`MOST_COMPILED`, and what goes beyond the limit."""
        while len(self._compiled) > MOST_COMPILED:
            _, cached = self._compiled.popitem(last=False)
            cached.drop_compiled()
            self.octets += cached.weigh()
        # The newest stays, even if it alone is over the limit: it was asked for just now.
        while self.octets > self._memory_limit and len(self._resident) > 1:
            authority, cached = self._resident.popitem(last=False)
            self._compiled.pop(authority, None)
            self.octets -= cached.size
            self._store.demote(authority, without_proxied(cached.entry))
            self._stats.inc(names.EVICTED)


def _if_it_holds(authority: Authority, request: Any, cached: CachedRules) -> CachedRules | Miss:
    """Return ``cached``, or a miss if it is a refusal that does not hold for ``request``."""
    if cached.refusal is None:
        return cached
    requester = requester_of(request, authority)
    if cached.refusal.holds_for(requester):
        return cached
    return Miss(cached.entry, is_resident=True, requester=requester)
