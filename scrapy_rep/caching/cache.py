"""What is known of each authority, fetched once, for one crawl (RFC 9309 section 2.4).

The way in is :meth:`RobotsCache.resident` for what is in memory and fresh, which is a look-up, and
:meth:`RobotsCache.lookup` for everything else, which may wait. One flight per authority reads
the store and fetches; it belongs to no request, so that no cancelled request takes it along, and
each request that waits for it has its own Deferred.
"""

from __future__ import annotations

import math
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.caching.cached_rules import Known
from scrapy_rep.caching.single_flight import Flight
from scrapy_rep.protocol.entry import Answer, Entry, Failure, date_of
from scrapy_rep.protocol.outcome import Cause, Unreachable
from scrapy_rep.protocol.policy import (
    Decision,
    Fetch,
    Policy,
    decide,
    good_until,
    in_force,
    learn,
    retry_at,
)

if TYPE_CHECKING:
    from scrapy_rep.caching.refresh import Inquiry
    from scrapy_rep.caching.store_adapter import Shelf
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.protocol.robotstxt import RobotsTxt
    from scrapy_rep.stats import RepStats


class RobotsCache:
    """Memory, fetcher and policy, for one crawl.

    ``inquiry`` finds out what is to be known, ``parse(body)`` returns the rules, ``clock()``
    seconds since the epoch; ``announce(robots, page)`` is awaited whenever rules come into
    force, before any request is judged by them, and ``heard()`` says whether anything listens;
    ``watch()`` is called when a flight sets off. ``shelf`` keeps what memory has no room for, and
    may know what memory does not. ``memory_limit`` is in octets.
    """

    def __init__(
        self,
        *,
        inquiry: Inquiry,
        shelf: Shelf,
        parse: Callable[[bytes], RobotsTxt],
        announce: Callable[[RobotsTxt, Any], Awaitable[None]],
        clock: Callable[[], float],
        policy: Policy,
        stats: RepStats,
        watch: Callable[[], None] = lambda: None,
        heard: Callable[[], bool] = lambda: False,
        memory_limit: int = 64 * 1024 * 1024,
    ):
        self._inquiry = inquiry
        self._parse = parse
        self._announce = announce
        self._watch = watch
        self._shelf = shelf
        self._heard = heard
        self._clock = clock
        self._policy = policy
        self._stats = stats
        self._memory_limit = memory_limit
        self._known: OrderedDict[Authority, Known] = OrderedDict()
        self._flights: dict[Authority, Flight] = {}
        self._octets = 0

    def resident(self, authority: Authority, now: float) -> Known | None:
        """Return what memory holds if it is good at ``now``; awaits nothing."""
        known = self._known.get(authority)
        if known is not None and known.holds(now):
            self._known.move_to_end(authority)
            return known
        return None

    def consult(self, authority: Authority, page: Any) -> Known | None:
        """Return what is at hand if policy lets it be used, however old; awaits nothing.

        Sets off a fetch in the background where policy asks for one; ``page`` is the request
        that asks.
        """
        known = self._known.get(authority) or self._remember(authority)
        if known is None:
            return None
        now = self._clock()
        answer = decide(known.entry, now, self._policy)
        if answer.decision is Decision.WAIT:
            return None
        self._known.move_to_end(authority)
        if answer.fetch is Fetch.BACKGROUND:
            self._flight(authority, page)
        if answer.decision is not known.decision or known.until <= now:
            known = self._known_by(authority, known.entry)
            self._admit(authority, known)
        return known

    def reference(self, known: Known) -> Callable[[], Known | None]:
        """Return a function that returns ``known``, or ``None`` once memory has evicted it.

        If something listens to ``robots_parsed``, it always returns ``known``: rules that come back
        would have to be announced once more.
        """
        return (lambda: known) if self._heard() else weakref.ref(known)

    async def lookup(self, authority: Authority, page: Any) -> Known:
        """Return what is known of ``authority``, after a fetch if policy asks for one.

        Raises ``DeadlineError`` if no answer comes in the time that all attempts may take.
        """
        known = self.consult(authority, page)
        if known is not None:
            return known
        self._stats.inc(names.MISS)
        flight = self._flight(authority, page)
        try:
            # Flights set off one after another; each may have to wait for those before it.
            return await flight.wait(self._inquiry.patience + 0.1 * len(self._flights), page)
        except DeadlineError:
            if self._flights.get(authority) is flight:
                del self._flights[authority]
            raise

    def __len__(self) -> int:
        """Return of how many authorities memory holds something."""
        return len(self._known)

    def entries(self) -> Iterator[tuple[Authority, Known]]:
        """Yield what memory holds, least recently used first."""
        yield from list(self._known.items())

    def weigh(self, authority: Authority, known: Known) -> None:
        """Measure rules again: they grow as agents ask for their groups."""
        if self._known.get(authority) is known:
            self._octets += known.weigh()
            self._evict()

    @property
    def octets(self) -> int:
        """The memory that the resident rules take."""
        return self._octets

    @property
    def flights(self) -> int:
        """How many fetches are under way."""
        return len(self._flights)

    def interrupt(self, started_before: float = math.inf) -> None:
        """End the flights that set off before a time of the monotonic clock.

        Requests that still wait for them are told that the crawl is closing.
        """
        for authority, flight in list(self._flights.items()):
            if flight.started < started_before:
                del self._flights[authority]
                flight.land(self._failure(authority, Cause.CLOSING))
                if flight.task is not None:
                    flight.task.cancel()

    def _flight(self, authority: Authority, page: Any) -> Flight:
        flight = self._flights.get(authority)
        if flight is None:
            flight = self._flights[authority] = Flight()
            try:
                self._watch()
                flight.task = deferred_from_coro(self._fly(authority, page, flight))
            except Exception:
                self._flights.pop(authority, None)
                raise
            flight.task.addErrback(lambda _: None)  # a cancelled flight has landed already
        return flight

    async def _fly(self, authority: Authority, page: Any, flight: Flight) -> None:
        known = None
        try:
            known = await self._learn(authority, page, flight)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # a fault of ours is not permission
            self._stats.own_fault(f"The fetch of {authority.robots_uri}", error)
            known = self._failure(authority, Cause.ERROR)
            self._admit(authority, known)
        finally:
            if self._flights.get(authority) is flight:
                del self._flights[authority]
            if flight.brought is None:  # else it was interrupted, and has landed
                flight.land(known or self._failure(authority, Cause.ERROR))

    async def _learn(self, authority: Authority, page: Any, flight: Flight) -> Known:
        old = self._known.get(authority)
        before = old.entry if old else None
        entry = await self._inquiry.ask(
            authority, page, before, waiting=lambda: list(flight.waiters.values())
        )
        known = self._known_by(authority, entry)
        if known.robots is not None and (old is None or known.robots is not old.robots):
            await self._announce(known.robots, page)
        self._admit(authority, known)
        return known

    def _remember(self, authority: Authority) -> Known | None:
        """Return what was evicted or stored, if neither that nor a listener has to be awaited."""
        if authority in self._flights or self._heard():
            return None
        entry = self._shelf.evicted(authority)
        evicted = entry is not None
        if entry is None:
            entry = self._shelf.at_once(authority)
        if decide(entry, self._clock(), self._policy).decision is Decision.WAIT or entry is None:
            return None
        known = self._known_by(authority, entry)
        known.evicted = evicted
        self._admit(authority, known)
        return known

    def _known_by(self, authority: Authority, entry: Entry) -> Known:
        """Return what ``entry`` means now, with the rules already parsed where they still hold."""
        now = self._clock()
        answer, failure = in_force(entry, now, self._policy)
        decision = decide(entry, now, self._policy).decision
        robots = None
        if decision is Decision.FOLLOW and answer is not None and answer.body is not None:
            robots = self._parsed(authority, answer.body)
        until = good_until(entry, now, self._policy)
        return Known(
            entry, (answer, failure), decision, robots, _dated(answer, failure, now), until
        )

    def _parsed(self, authority: Authority, body: bytes) -> RobotsTxt:
        old = self._known.get(authority)
        if old is None or old.robots is None or old.answer is None or old.answer.body != body:
            return self._parse(body)
        return old.robots

    def _failure(self, authority: Authority, cause: Cause) -> Known:
        """Return what a request is told where there is no answer: disallow all."""
        now = self._clock()
        old = self._known.get(authority)
        before = old.entry if old else self._shelf.evicted(authority)
        entry = learn(before, Unreachable(cause), now, self._policy)
        failure = entry.failure
        until = retry_at(failure, self._policy) if failure is not None else now
        return Known(entry, (None, failure), Decision.DISALLOW_ALL, None, now, until)

    def _admit(self, authority: Authority, known: Known) -> None:
        """Keep ``known`` in memory, in the place of what was known before."""
        old = self._known.pop(authority, None)
        self._octets -= old.size if old else 0
        self._known[authority] = known
        self.weigh(authority, known)

    def _evict(self) -> None:
        # The newest stays, even if it alone is over the limit: it was asked for just now.
        while self._octets > self._memory_limit and len(self._known) > 1:
            authority, known = self._known.popitem(last=False)
            self._octets -= known.size
            self._shelf.demote(authority, known.entry, again=known.evicted)
            self._stats.inc(names.EVICTED)


def _dated(answer: Answer | None, failure: Failure | None, now: float) -> float:
    """Return the date of the newest of what is in force, ``now`` at the latest."""
    dates = [date_of(part) for part in (answer, failure) if part is not None]
    return min(now, max(dates, default=now))
