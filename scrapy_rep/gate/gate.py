"""The way of one request: which rules govern it, for which agent, and whether it may pass.

RFC 9309 section 2. A request that may not pass ends in :class:`RobotsForbidden` or
:class:`RobotsUnreachable`; a request whose rules are unknown never passes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn
from weakref import WeakSet

from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.outcome import Cause
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.exceptions import BY_PAGE_DIRECTIVE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.judge import Judgement
from scrapy_rep.gate.nofollow import NOFOLLOW_KEY, is_marked, reason_of
from scrapy_rep.gate.page_url import PAGE, Asked, leads_elsewhere, page_of
from scrapy_rep.gate.use import note
from scrapy_rep.robotstxt.verdict import Verdict
from scrapy_rep.sites.context import Miss

if TYPE_CHECKING:
    from scrapy import Request
    from twisted.python.failure import Failure

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.gate.account import Account
    from scrapy_rep.gate.identity import Identity
    from scrapy_rep.gate.judge import Judge
    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.sites.cache import RobotsCache
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting.pace import Paces
    from scrapy_rep.waiting.places import Places
    from scrapy_rep.waiting.stop import StopWatch
    from scrapy_rep.waiting.turns import Turns
    from scrapy_rep.waiting.withheld import Lack, Withheld


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
        paces: Paces,
        turns: Turns,
        withheld: Withheld,
        places: Places,
        stop: StopWatch,
        scrapy: ScrapyNames,
        stats: RepStats,
        clock: Callable[[], float],
        account: Account,
    ):
        self._identity = identity
        self._cache = cache
        self._judge = judge
        self._paces = paces
        self._turns = turns
        self._withheld = withheld
        self._stop = stop
        self._places = places
        self._scrapy = scrapy
        self._stats = stats
        self._clock = clock
        self._account = account
        self._first: dict[Authority, Request] = {}
        self._looked_up: WeakSet[Request] = WeakSet()
        self._late: WeakSet[Request] = WeakSet()
        self._in_place: set[Request] = set()

    # --- what the scheduler asks

    def lacks(self, request: Request, *, waited: bool) -> Lack | None:
        """Return what a request lacks before it may be handed out; None if nothing.

        ``waited`` says that the request has waited for its rules, so that the pace which they ask
        for may not be known yet.
        """
        if request.meta.get("dont_obey_robotstxt"):
            return None
        try:
            url = page_of(request)
            authority = authority_of(url)
        except ValueError:
            return None  # the gate refuses it
        if authority is None or is_marked(request):
            return None  # no rules are needed to let it pass, or to refuse it
        cached = self._cache.resident(authority, self._clock())
        if cached is None:
            if authority.has_its_rules_at(url) or request in self._late:
                return None
            if self.is_awaited(authority):
                return authority
            self._first[authority] = request
            return None
        if waited and not self._enter_pace(Asked(request, url, authority, ()), cached):
            return None  # the gate refuses it
        if self._turns.hosts and not self._turns.reserve(authority.host, request):
            return authority.host
        return None

    def look(self) -> None:
        """Have the requests go on that wait for one that the downloader no longer has."""
        if self._first:
            active = self._scrapy.active
            for authority, request in list(self._first.items()):
                if request not in active:
                    self._answered(authority)
        self._turns.look()

    def is_under_way(self, request: Request) -> bool:
        """Return whether a request has passed the last step, and its download has not ended."""
        return self._turns.is_under_way(request)

    def offer(self, host: str) -> None:
        """Have the next request to a host go on if the one whose turn it was left it."""
        self._turns.offer(host)

    def is_awaited(self, authority: Authority) -> bool:
        """Return whether the rules of an authority are still to come."""
        return authority in self._first or self._cache.is_fetching(authority)

    def landed(self, authority: Authority) -> None:
        """Have the requests go on that wait for the rules of an authority."""
        if authority not in self._first:
            self._withheld.have_rules(authority)

    def is_in_place(self, page: object) -> bool:
        """Return whether a request waits for its rules in place, so that a stop waits for it."""
        return page in self._in_place

    def _enter_pace(self, asked: Asked, cached: CachedRules) -> bool:
        """Have the host of an allowed request keep its pace; return whether it is allowed."""
        try:
            asked = asked._replace(agent=self._identity.of(asked.request))
        except ValueError:
            return False
        judgement = self._judge.judge(asked, cached)
        if judgement.refusal is not None:
            return False
        self._keep_pace(asked, judgement)
        return True

    def _answered(self, authority: Authority) -> None:
        """Note that the first request of a site has its answer, or is gone."""
        self._first.pop(authority, None)
        if not self._cache.is_fetching(authority):
            self._withheld.have_rules(authority)

    # --- what the middleware asks

    async def check(self, request: Request) -> Request | None:
        """Let ``request`` pass; return it if it has to come again, because it lacks something.

        This awaits nothing if fresh rules are in memory, nor if the request came from the
        scheduler. Raises ``RobotsForbidden`` or ``RobotsUnreachable`` if the request may not pass.
        """
        meta = request.meta
        is_scheduled = self._withheld.take_over(request)
        if meta.get("dont_obey_robotstxt"):
            self._account.bypassed(request)
            return None
        url, authority = self._page(request)
        if authority is None:  # neither http nor https: no robots.txt governs it
            return None
        try:
            asked = Asked(request, url, authority, self._identity.of(request))
            return await self._check(asked, is_scheduled=is_scheduled)
        finally:
            if self._first.get(authority) is request:
                self._answered(authority)

    async def _check(self, asked: Asked, *, is_scheduled: bool) -> Request | None:
        """Let a request pass that a robots.txt governs; return as :meth:`check` does."""
        request, url, authority, _ = asked
        cached = self._cache.resident(authority, self._clock())
        if cached is None:
            if authority.has_its_rules_at(url):
                self._account.passed_without_rules(asked)
                return None
            found = await self._look_up(asked, is_scheduled=is_scheduled)
            if found is None:
                return self._withheld.give_back(request)
            cached = found
        if request in self._looked_up:
            self._looked_up.discard(request)
        else:
            self._stats.inc(names.HIT)
        judgement = self._admit(asked, cached)
        if is_scheduled:
            if self._turns.hosts and not self._turns.reserve(authority.host, request):
                self._looked_up.add(request)
                return self._withheld.give_back(request)
            self._turns.passes(request)
        elif self._turns.has_returned(request):
            return None  # it was counted when it passed before
        self._account.passed(asked, cached, judgement)
        return None

    async def _look_up(self, asked: Asked, *, is_scheduled: bool) -> CachedRules | None:
        """Return rules that are not in memory; None if the request has to come again for them."""
        request, _, authority, _ = asked
        found = self._cache.consult(authority, request)
        if not isinstance(found, Miss):
            return found
        if request in self._late:
            raise self._refuse_late(asked)
        self._looked_up.add(request)
        if is_scheduled:
            self._begin_flight(request, authority, found)
            return None
        rules = await self._wait_in_place(asked, found)
        return rules if self._withheld.is_open else None

    def _begin_flight(self, request: Request, authority: Authority, miss: Miss) -> None:
        """Begin a flight for a request that the scheduler withholds meanwhile."""
        flight = deferred_from_coro(self._cache.fetch(authority, request, miss))
        flight.addErrback(partial(self._note_late, request))
        self._stop.watch()

    def _note_late(self, request: Request, failure: Failure) -> None:
        """Have a request be refused when it comes again: its flight was lost, or is too late."""
        error = failure.value
        if error is not None and not isinstance(error, (DeadlineError, CancelledError)):
            self._stats.own_fault("The wait for rules", error)
        self._late.add(request)
        authority = authority_of(page_of(request))
        if authority is not None:
            self.landed(authority)

    async def _wait_in_place(self, asked: Asked, miss: Miss) -> CachedRules:
        """Return the rules for a request that waits where it is: a direct download, or a response.

        A stop waits for what did not come from the scheduler. Otherwise the rules that are returned
        may be ``interrupted``, if the request can be made in the next run.
        """
        request, url, authority, _ = asked
        is_scheduled = self._turns.is_of_scheduler(request)
        if not is_scheduled:
            self._in_place.add(request)
        try:
            with self._places.lent():
                found = await self._cache.fetch(authority, request, miss)
        except DeadlineError as error:
            self.landed(authority)
            raise self._account.unreachable(
                request, Cause.TIMEOUT, str(error), authority, url
            ) from None
        finally:
            self._in_place.discard(request)
        if found.interrupted and not (is_scheduled and self._withheld.keeps):
            raise self._account.unreachable(request, Cause.CLOSING, "", authority, url)
        return found

    def _refuse_late(self, asked: Asked) -> RobotsUnreachable:
        request, url, authority, _ = asked
        self._late.discard(request)
        said = "no answer, although the time for all attempts is over"
        return self._account.unreachable(request, Cause.TIMEOUT, said, authority, url)

    async def check_final_url(self, request: Request, url: str) -> Request | None:
        """Judge the final URL of a response, if that is of another page than was asked for.

        Awaits its rules if they are not known; the request keeps no other from being made
        meanwhile. Returns the request if the crawl closes before they are, and the scheduler keeps
        its queue. Raises as :meth:`check` does.
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
        self._stats.led_elsewhere(request.method, page_of(request), url)
        resident = self._cache.resident(authority, self._clock())
        found = resident or self._cache.consult(authority, request)
        if isinstance(found, Miss):
            found = await self._wait_in_place(asked, found)
            if found.interrupted:
                return self._withheld.give_back(request)
        else:
            self._stats.inc(names.HIT)
        refusal, verdict, override = self._judge.judge_final_url(asked, found)
        if refusal is not None:
            self._account.refused(asked, found, Judgement(refusal, override=override), refusal)
            raise refusal
        note(request, self._judge.use_of(asked, found))
        self._account.answered(asked, found, verdict, override)
        return None

    def _page(self, request: Request) -> tuple[str, Authority | None]:
        """Return the URL of the page that ``request`` is for, and the authority that governs it.

        Raises ``RobotsForbidden`` if the page that the request was found on asks not to follow it.
        """
        meta = request.meta
        try:
            # As page_of does, without a call: every request comes by here.
            url = page_of(request) if PAGE in meta else request.url
            authority = authority_of(url)
        except ValueError as error:
            raise self._account.unreachable(request, Cause.URL, str(error)) from None
        if NOFOLLOW_KEY in meta and is_marked(request):
            self._stop_nofollow(request, url, authority)
        return url, authority

    def _admit(self, asked: Asked, cached: CachedRules) -> Judgement:
        """Raise why a request may not pass; have the host of an allowed one keep its pace."""
        judgement = self._judge.judge(asked, cached)
        if judgement.refusal is not None:
            self._account.refused(asked, cached, judgement, judgement.refusal)
            raise judgement.refusal
        self._keep_pace(asked, judgement)
        return judgement

    def _keep_pace(self, asked: Asked, judgement: Judgement) -> None:
        if judgement.pace is not None:
            pace, asker, _ = judgement.pace
            self._paces.keep(asked.request, asked.authority, pace, asker)

    def _stop_nofollow(self, request: Request, url: str, authority: Authority | None) -> NoReturn:
        """Raise that a page asks not to follow its links; no rules are needed for that."""
        verdict = Verdict(allowed=False, reason=reason_of(request))
        self._stats.inc(names.PAGE_REQUESTS_REFUSED)
        self._stats.forbidden(request.method, url, verdict, BY_PAGE_DIRECTIVE)
        raise RobotsForbidden(verdict, authority, by=BY_PAGE_DIRECTIVE)
