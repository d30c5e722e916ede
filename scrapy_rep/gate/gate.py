"""The way of one request: which rules govern it, for which agent, and whether it may pass.

RFC 9309 section 2. A request that may not pass ends in :class:`RobotsForbidden` or
:class:`RobotsUnreachable`; a request whose rules are unknown never passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.outcome import Cause
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.exceptions import BY_PAGE_DIRECTIVE, RobotsForbidden
from scrapy_rep.gate.nofollow import NOFOLLOW_KEY, is_marked, reason_of
from scrapy_rep.gate.page_url import PAGE, Asked, leads_elsewhere, page_of
from scrapy_rep.robotstxt.verdict import Verdict
from scrapy_rep.sites.refresh import Miss

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.gate.account import Account
    from scrapy_rep.gate.identity import Identity
    from scrapy_rep.gate.judge import Judge, Judgement
    from scrapy_rep.sites.cache import RobotsCache
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting.places import Places
    from scrapy_rep.waiting.trips import Trip
    from scrapy_rep.waiting.turns import Turns
    from scrapy_rep.waiting.withheld import Lack, Withheld

_LATE = "no answer, although the time for all attempts is over"


class Gate:
    """Lets requests through, or says why not.

    ``clock()`` is in seconds since the epoch.
    """

    def __init__(
        self,
        *,
        identity: Identity,
        cache: RobotsCache,
        judge: Judge,
        turns: Turns,
        withheld: Withheld,
        places: Places,
        account: Account,
        stats: RepStats,
        clock: Callable[[], float],
    ):
        self._identity = identity
        self._cache = cache
        self._judge = judge
        self._turns = turns
        self._withheld = withheld
        self._places = places
        self._account = account
        self._stats = stats
        self._clock = clock
        self._in_place: set[Request] = set()

    # --- what the scheduler asks

    def lacks(self, request: Request, trip: Trip, *, waited: bool) -> Lack | None:
        """Return what a request lacks before it may be handed out; None if nothing.

        ``waited`` says that the request was withheld. If that was for its rules, the pace which
        they ask for may not be known yet.
        """
        try:
            self._find_page(request, trip)
        except ValueError:
            return None  # the gate refuses it
        authority = trip.authority
        if authority is None or request.meta.get("dont_obey_robotstxt"):
            return None
        if NOFOLLOW_KEY in request.meta and is_marked(request):
            return None  # no rules are needed to refuse it
        cached = self._cache.resident(authority, self._clock(), request)
        if cached is None:
            has_to_wait = not (trip.is_late or authority.has_its_rules_at(trip.url))
            return authority if has_to_wait else None
        if waited and not self._enter_pace(request, trip.url, authority, cached):
            return None  # the gate refuses it
        if self._turns.hosts and not self._turns.reserve(request, trip):
            return authority.host
        return None

    def is_fetching(self, authority: Authority) -> bool:
        """Return whether the rules of an authority are being fetched."""
        return self._cache.is_fetching(authority)

    def _enter_pace(
        self, request: Request, url: str, authority: Authority, cached: CachedRules
    ) -> bool:
        """Return whether a request is allowed; if so, keep the pace that its rules ask for."""
        try:
            asked = Asked(request, url, authority, self._identity.of(request))
        except ValueError:
            return False
        judgement = self._judge.judge(asked, cached)
        if judgement.refusal is not None:
            return False
        self._keep_pace(asked, judgement)
        return True

    @staticmethod
    def _find_page(request: Request, trip: Trip) -> None:
        """Note the page that a request is for, and the authority that governs it.

        Raises ``ValueError`` for a URL without a usable host.
        """
        url = page_of(request) if PAGE in request.meta else request.url
        authority = trip.authority = authority_of(url)
        trip.host = "" if authority is None else authority.host
        trip.url = url

    # --- what the middleware asks

    async def check(self, request: Request) -> Request | None:
        """Let ``request`` pass; return it if it has to come back, because it lacks something.

        This awaits nothing if fresh rules are in memory, nor if the request came from the
        scheduler. Raises ``RobotsForbidden`` or ``RobotsUnreachable`` if the request may not pass.
        """
        trip = self._withheld.take_over(request)
        is_bypassed = request.meta.get("dont_obey_robotstxt")
        try:
            # A middleware in front of the gate may have named a page since the scheduler asked.
            if trip.url != request.url or PAGE in request.meta:
                self._find_page(request, trip)
        except ValueError as error:
            if not is_bypassed:
                raise self._account.unreachable(request, Cause.URL, str(error)) from None
        if is_bypassed:
            self._account.bypassed(request)
            return None
        authority = trip.authority
        if NOFOLLOW_KEY in request.meta and is_marked(request):
            self._stop_nofollow(request, trip.url, authority)
        if authority is None:  # neither http nor https: no robots.txt governs it
            return None
        try:
            asked = Asked(request, trip.url, authority, self._identity.of(request))
            return await self._check(asked, trip)
        finally:
            if trip.is_first:
                trip.is_first = False
                self._withheld.answered(request, authority)

    async def _check(self, asked: Asked, trip: Trip) -> Request | None:
        """Let a request pass that a robots.txt governs; return as :meth:`check` does."""
        request, url, authority, _ = asked
        cached = self._cache.resident(authority, self._clock(), request)
        if cached is None:
            if authority.has_its_rules_at(url):
                self._account.passed_without_rules(asked)
                return None
            found = await self._look_up(asked, trip)
            if found is None:
                return self._withheld.give_back(request)
            cached = found
        if trip.is_looked_up:
            trip.is_looked_up = False
        else:
            self._stats.inc(names.HIT)
        judgement = self._judge.judge(asked, cached)
        self._admit(asked, cached, judgement)
        trip.judged_until = cached.until
        if trip.is_scheduled:
            if self._turns.hosts and not self._turns.reserve(request, trip):
                trip.is_looked_up = True
                return self._withheld.give_back(request)
        elif trip.comes_for_turn:
            return None  # it was counted when it passed before
        self._account.passed(asked, cached, judgement)
        self._stats.inc(names.ALLOWED)
        return None

    async def _look_up(self, asked: Asked, trip: Trip) -> CachedRules | None:
        """Return rules that are not in memory; None if the request has to come back for them."""
        request, _, authority, _ = asked
        found = self._cache.consult(authority, request)
        if not isinstance(found, Miss):
            return found
        if trip.is_late:
            trip.is_late = False
            raise self._account.unreachable(request, Cause.TIMEOUT, _LATE, authority, asked.url)
        was_looked_up, trip.is_looked_up = trip.is_looked_up, True
        # The scheduler withholds it meanwhile. But if it was returned before, they may be missing
        # each time: a middleware in front of the gate may hold it up for longer than they live.
        if trip.is_scheduled and not was_looked_up:
            following = deferred_from_coro(self._follow(asked, trip, found))
            following.addErrback(lambda _: None)  # it was cancelled, by a forced stop
            return None
        rules = await self._wait_in_place(asked, found)
        return rules if self._withheld.is_open and not rules.interrupted else None

    async def _follow(self, asked: Asked, trip: Trip, miss: Miss) -> None:
        """Wait for the flight of a request that the scheduler withholds meanwhile.

        The request is refused if it comes back and finds no rules again, because the flight was
        lost, is too late, or has left nothing in memory.
        """
        request, _, authority, _ = asked
        try:
            await self._cache.fetch(authority, request, miss)
            trip.is_late = self._cache.held(authority) is None
        except Exception as error:  # noqa: BLE001  # the request has to come back in any case
            trip.is_late = True
            if not isinstance(error, (DeadlineError, CancelledError)):
                self._stats.own_fault("The wait for rules", error)
        self._withheld.landed(authority)

    async def _wait_in_place(self, asked: Asked, miss: Miss) -> CachedRules:
        """Return the rules for a request that waits where it is.

        That is a direct download, a response, or a request that has waited for its turn.

        A stop waits for requests that did not come from the scheduler. For others, the rules that
        are returned may be ``interrupted``, if the request can be made in the next run.
        """
        request, url, authority, _ = asked
        trip = self._withheld.trips.get(request)
        is_scheduled = trip is not None and trip.is_scheduled
        if not is_scheduled:
            self._in_place.add(request)
        try:
            with self._places.lent():
                found = await self._cache.fetch(authority, request, miss)
        except DeadlineError:
            self._withheld.landed(authority)
            raise self._account.unreachable(request, Cause.TIMEOUT, _LATE, authority, url) from None
        finally:
            self._in_place.discard(request)
        if found.interrupted and not (is_scheduled and self._withheld.keeps):
            raise self._account.unreachable(request, Cause.CLOSING, "", authority, url)
        return found

    async def check_final_url(self, request: Request, url: str) -> Request | None:
        """Judge the final URL of a response, if that is of another page than was asked for.

        Awaits its rules if they are not known, and holds up no other request meanwhile. Returns
        the request if the crawl closes before they are, and the scheduler keeps its queue. Raises
        as :meth:`check` does.
        """
        if request.meta.get("dont_obey_robotstxt"):
            return None
        try:
            authority = authority_of(url) if leads_elsewhere(request, url) else None
        except ValueError as error:
            raise self._account.unreachable(request, Cause.URL, str(error), url=url) from None
        if authority is None or authority.has_its_rules_at(url):
            return None
        asked = Asked(request, url, authority, self._identity.of(request))
        requested = page_of(request)
        self._stats.led_elsewhere(request.method, requested, url)
        found = self._known(asked)
        if isinstance(found, Miss):
            found = await self._wait_in_place(asked, found)
        if found.interrupted:
            return self._withheld.give_back(request)
        judgement = self._judge.judge_final_url(asked, found)
        self._admit(asked, found, judgement)
        self._account.passed(asked, found, judgement, requested)
        return None

    async def check_again(self, request: Request) -> Request | None:
        """Judge a request that has waited for its turn, perhaps for hours, by the current rules.

        It was counted when it passed before. Awaits its rules if they are no longer known. Then, or
        if the pace has become slower, it waits for its turn once more. Other requests to the host
        go meanwhile, as the rules may be those of another port. Returns or raises as
        :meth:`check_final_url` does.
        """
        turns, trip = self._turns, self._withheld.trips[request]
        authority = trip.authority
        if authority is None or authority.has_its_rules_at(trip.url):
            return None
        asked = Asked(request, trip.url, authority, self._identity.of(request))
        has_turn = True
        while True:
            found = self._known(asked)
            if isinstance(found, Miss):
                # Only once, as rules that live for less than it takes until its next turn would be
                # missing for ever.
                if not trip.gave_way:
                    trip.gave_way, has_turn = True, False
                    turns.not_sent(request)
                found = await self._wait_in_place(asked, found)
            if found.interrupted:
                return self._withheld.give_back(request)
            before = turns.interval_for(request)
            judgement = self._judge.judge(asked, found)
            self._admit(asked, found, judgement)
            if found.until != trip.judged_until:
                trip.judged_until = found.until
                self._account.passed(asked, found, judgement)
            if has_turn and turns.interval_for(request) <= before:
                return None
            turns.not_sent(request)
            waits = turns.arrive(request)
            again = None if waits is None else await waits
            if waits is None or again is not None:
                return again
            has_turn = True

    def _known(self, asked: Asked) -> CachedRules | Miss:
        """Return the rules for what waits where it is if they are not known."""
        request, _, authority, _ = asked
        resident = self._cache.resident(authority, self._clock(), request)
        found = resident or self._cache.consult(authority, request)
        if not isinstance(found, Miss):
            self._stats.inc(names.HIT)
        return found

    def is_in_place(self, request: object) -> bool:
        """Return whether a request waits for its rules in place, so that a stop waits for it."""
        return request in self._in_place

    def _admit(self, asked: Asked, cached: CachedRules, judgement: Judgement) -> None:
        """Raise why a request may not pass; otherwise keep the pace that its rules ask for."""
        if judgement.refusal is not None:
            self._account.refused(asked, cached, judgement, judgement.refusal)
            raise judgement.refusal
        self._keep_pace(asked, judgement)

    def _keep_pace(self, asked: Asked, judgement: Judgement) -> None:
        if judgement.pace is not None:
            pace, asker, _ = judgement.pace
            if pace is not None or asked.authority.host in self._turns.hosts:
                self._turns.keep(asked.request, asked.authority, pace, asker)

    def _stop_nofollow(self, request: Request, url: str, authority: Authority | None) -> NoReturn:
        """Refuse a request because its page asks not to follow links; that needs no rules."""
        verdict = Verdict(allowed=False, reason=reason_of(request))
        self._stats.inc(names.PAGE_REQUESTS_REFUSED)
        self._stats.forbidden(request.method, url, verdict, BY_PAGE_DIRECTIVE)
        raise RobotsForbidden(verdict, authority, by=BY_PAGE_DIRECTIVE)
