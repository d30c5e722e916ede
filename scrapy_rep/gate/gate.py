"""The way of one request: which rules govern it, for which agent, and whether it may pass.

RFC 9309 section 2. A request that may not pass ends in :class:`RobotsForbidden` or
:class:`RobotsUnreachable`; a request whose rules are unknown never passes.

The frontier asks :meth:`Gate.blocked_by` before it hands out a request, and the request is judged
then. At the middleware the judgement still holds unless something has changed since, so that each
request is judged once by each set of rules. At the last step it is judged again if it had to wait
for its turn, or if its robots.txt was refused to a request that was sent in another way. Rules are
missing at the middleware only for direct downloads, for requests that a middleware before the gate
has changed, and if they have expired since: these requests wait in place.

There are five ways into the gate:

| way             | asked               | missing rules | counted as       | its turn   | returns |
|-----------------|---------------------|---------------|------------------|------------|---------|
| blocked_by      | by the frontier     | block it      | nothing          | reserved   | block   |
| check           | by the middleware   | it waits here | allowed, refused | untouched  | request |
| check_final_url | for a response      | it waits here | refused          | untouched  | request |
| check_again     | after its turn came | it waits here | refused          | maybe anew | request |
| check_as_sent   | at the last step    | it waits here | refused          | not yet    | request |

*block* is what blocks the request; if nothing does, it is None or ``REFUSED``. *request* is the
request if it has to come back because the crawl closes, otherwise None; a refusal is raised.
:meth:`Gate.check_again` gives the turn back, and waits for another one, if rules are missing (once)
or the pace has become slower. :meth:`Gate.check_as_sent` does nothing unless the robots.txt was
refused to a request that was sent in another way.

A check looks for keys of the meta before it calls the functions that read them, which makes it 5 %
faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from weakref import ReferenceType, ref

from scrapy_rep import stats as names
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.outcome import Cause
from scrapy_rep.exceptions import BY_PAGE_DIRECTIVE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.frontier.limits import slot_of
from scrapy_rep.frontier.request_state import to_come_back
from scrapy_rep.frontier.states import REFUSED, Block, State, Unblocked
from scrapy_rep.gate.nofollow import NOFOLLOW_KEY, is_marked, reason_of
from scrapy_rep.gate.page_url import PAGE, Asked, leads_elsewhere, page_of
from scrapy_rep.robotstxt.verdict import Verdict
from scrapy_rep.sites.asking import requester_of
from scrapy_rep.sites.refresh import Miss

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.frontier.frontier import Frontier
    from scrapy_rep.frontier.places import Places
    from scrapy_rep.frontier.request_state import RequestState
    from scrapy_rep.frontier.turns import Turns
    from scrapy_rep.gate.account import Account
    from scrapy_rep.gate.identity import Identity
    from scrapy_rep.gate.judge import Judge, Judgement
    from scrapy_rep.sites.cache import RobotsCache
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats


class Judged(NamedTuple):
    """A judgement, with what it depends on.

    It is kept for as long as its request lives, so it must not refer to that request.
    """

    asked: tuple[str, Authority, tuple[str, ...]]
    """The page, its authority and the agent."""
    cached: ReferenceType[CachedRules]
    """A weak reference: a request may wait for hours, and keeps no rules in memory meanwhile."""
    judgement: Judgement


class Gate:
    """Lets requests through, or says why not.

    ``clock()`` is in seconds since the epoch; ``sent_url(request, page)`` returns the URL of
    a page as it is sent.
    """

    def __init__(
        self,
        *,
        identity: Identity,
        cache: RobotsCache,
        judge: Judge,
        turns: Turns,
        frontier: Frontier,
        places: Places,
        account: Account,
        stats: RepStats,
        clock: Callable[[], float],
        sent_url: Callable[[Request, str], str],
        defer_unreachable: float,
    ):
        self._identity = identity
        self._cache = cache
        self._judge = judge
        self._turns = turns
        self._frontier = frontier
        self._places = places
        self._account = account
        self._stats = stats
        self._clock = clock
        self._sent_url = sent_url
        self._defer_unreachable = defer_unreachable

    # --- what the frontier asks

    @staticmethod
    def key_of(request: Request) -> str:
        """Return the key of the site that a request belongs to: the authority that governs it.

        Requests that no rules govern have a key by their downloader slot that begins with ``-``, so
        that they never wait behind one that waits for rules.
        """
        meta = request.meta
        is_refused = NOFOLLOW_KEY in meta and is_marked(request)
        if not (is_refused or meta.get("dont_obey_robotstxt")):
            try:
                authority = authority_of(page_of(request) if PAGE in meta else request.url)
            except ValueError:
                authority = None
            if authority is not None:
                return str(authority)
        return f"-{slot_of(request)}"

    def knows(self, authority: Authority) -> bool:
        """Return whether the rules of an authority are in memory, and may be used now."""
        return self._cache.has_usable(authority)

    def blocked_by(
        self, request: Request, state: RequestState, room: Block | None
    ) -> Block | Unblocked | None:
        """Return what blocks a request: its rules, ``room``, or its turn, in this order.

        Nothing blocks a request that is refused. If rules were just fetched for a request, and are
        missing again, only ``room`` blocks it, and it waits for them in place: rules that expire at
        once would be fetched for ever otherwise.
        """
        try:
            self._find_page(request, state)
        except ValueError:
            return REFUSED
        authority = state.authority
        if authority is None or request.meta.get("dont_obey_robotstxt"):
            return room
        if NOFOLLOW_KEY in request.meta and is_marked(request):
            return REFUSED
        cached = self._cache.consult(authority, request)
        if isinstance(cached, Miss):
            if state.was_just_fetched or authority.has_its_rules_at(state.url):
                return room
            state.miss = cached
            return Block(State.RULES, authority)
        try:
            asked = Asked(request, state.url, authority, self._identity.of(request))
        except ValueError:
            return REFUSED
        return self._blocked_by(asked, cached, state, room)

    def _blocked_by(
        self, asked: Asked, cached: CachedRules, state: RequestState, room: Block | None
    ) -> Block | Unblocked | None:
        """Return what blocks a request whose rules are at hand."""
        state.was_just_fetched = False
        judgement = self._judgement(asked, cached, state)
        if self._defer_unreachable and (block := self._deferral(asked, cached, judgement)):
            state.is_looked_up = False
            return block
        if judgement.refusal is not None:
            return REFUSED
        if room is not None:
            if judgement.noted is not None:
                state.judged = None  # it refers to the rules, and the request may wait for hours
            return room
        if self._turns.hosts and not self._turns.reserve(asked.request, state):
            state.judged = None  # it may wait for days, and is judged again in 10 microseconds
            return Block(State.TURN, asked.authority.host)
        return None

    def _deferral(self, asked: Asked, cached: CachedRules, judgement: Judgement) -> Block | None:
        """Return until when a request to an unreachable site is parked; None if it is not.

        It waits for the next attempt, unless the site has been unreachable for too long by then.
        The log says when the requests of a site begin to wait, and when that ends.
        """
        authority, failure = asked.authority, cached.failure
        if failure is None or not cached.unreachable:
            self._stats.deferral_ends(authority, "can be fetched again: its requests go on")
            return None
        if not isinstance(judgement.refusal, RobotsUnreachable):
            return None  # an override decides
        if cached.until > failure.since + self._defer_unreachable:
            self._stats.deferral_ends(authority, "is given up: its requests are refused")
            return None
        self._stats.deferral_begins(authority, cached.until - self._clock())
        return Block(State.UNTIL, cached.until)

    def begin(self, request: Request, state: RequestState, authority: Authority) -> None:
        """Begin to fetch the rules that a request lacks, or join the fetch that is under way."""
        state.is_looked_up = state.was_just_fetched = True
        miss, state.miss = state.miss, None
        self._cache.begin(authority, request, miss)

    def _judgement(self, asked: Asked, cached: CachedRules, state: RequestState) -> Judgement:
        """Return the judgement on a request: the last one, if nothing has changed since.

        If the request may pass, the pace that its rules ask for is kept from then on.
        """
        judged: Judged | None = state.judged
        if (
            judged is not None
            and judged.cached() is cached
            and judged.asked == asked[1:]
            and not self._judge.may_change(asked.authority)
        ):
            return judged.judgement
        judgement = self._judge.judge(asked, cached)
        if judgement.refusal is None and judgement.pace is not None:
            requested, agent, _ = judgement.pace
            self._turns.keep(asked.request, asked.authority, requested, agent)
        state.judged = Judged(asked[1:], ref(cached), judgement)
        return judgement

    def _find_page(self, request: Request, state: RequestState) -> None:
        """Note the page that a request is for, and the authority that governs it.

        Raises ``ValueError`` for a URL without a usable host.
        """
        page = page_of(request) if PAGE in request.meta else request.url
        authority = state.authority = authority_of(page)
        state.host = "" if authority is None else authority.host
        state.url = self._sent_url(request, page)

    # --- what the middleware asks

    async def check(self, request: Request) -> Request | None:
        """Let ``request`` pass; return it if it has to come back, because the crawl closes.

        This awaits nothing if the rules are at hand. Raises ``RobotsForbidden`` or
        ``RobotsUnreachable`` if the request may not pass.
        """
        state = self._frontier.reached_gate(request)
        is_bypassed = request.meta.get("dont_obey_robotstxt")
        try:
            # A middleware in front of the gate may have named a page since the scheduler asked.
            if state.url != request.url or PAGE in request.meta:
                self._find_page(request, state)
        except ValueError as error:
            if not is_bypassed:
                raise self._account.unreachable(request, Cause.URL, str(error)) from None
        if is_bypassed:
            self._account.bypassed(request)
            return None
        authority = state.authority
        if NOFOLLOW_KEY in request.meta and is_marked(request):
            self._refuse_nofollow(request, state.url, authority)
        if authority is None:  # neither http nor https: no robots.txt governs it
            return None
        returned = await self._check(request, state, authority)
        if returned is None:
            self._stats.inc(names.ALLOWED)
        return returned

    async def _check(
        self, request: Request, state: RequestState, authority: Authority
    ) -> Request | None:
        """Let a request pass that a robots.txt governs; return or raise as :meth:`check` does."""
        asked = Asked(request, state.url, authority, self._identity.of(request))
        cached = self._cache.consult(authority, request)
        if isinstance(cached, Miss):
            if authority.has_its_rules_at(state.url):
                self._account.passed_without_rules(asked)
                return None
            cached = await self._wait_in_place(asked, cached)
            if cached.interrupted:
                return to_come_back(request)
        elif not state.is_looked_up:
            self._stats.inc(names.HIT)
        judgement = self._judgement(asked, cached, state)
        self._raise_refusal(asked, cached, judgement)
        self._account.passed(asked, cached, judgement)
        return None

    async def _rules(self, asked: Asked, found: CachedRules | Miss) -> CachedRules:
        """Return the rules that were found; if they are missing, the request waits for them."""
        if isinstance(found, Miss):
            return await self._wait_in_place(asked, found)
        self._stats.inc(names.HIT)
        return found

    async def _wait_in_place(self, asked: Asked, miss: Miss) -> CachedRules:
        """Return the rules for a request that waits where it is.

        A stop waits for requests that did not come from the scheduler. For others, the rules that
        are returned may be ``interrupted``, if the request can be made in the next run.
        """
        request, url, authority, _ = asked
        state = self._frontier.states.get(request) or self._frontier.reached_gate(request)
        with self._places.lent():
            found = await self._cache.fetch(authority, request, miss)
        if found.interrupted and not (state.is_scheduled and self._frontier.keeps):
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
        found = await self._rules(asked, self._cache.consult(authority, request))
        if found.interrupted:
            return to_come_back(request)
        judgement = self._judge.judge_final_url(asked, found)
        self._raise_refusal(asked, found, judgement)
        self._account.passed(asked, found, judgement, requested)
        return None

    async def check_again(self, request: Request) -> Request | None:
        """Judge a request that has waited for its turn, perhaps for hours, by the current rules.

        It was counted when it passed before. Awaits its rules if they are no longer known. Then, or
        if the pace has become slower, it waits for its turn once more. Other requests to the host
        go meanwhile, as the rules that it waits for may be those of another port. Returns or raises
        as :meth:`check_final_url` does.
        """
        turns, state = self._turns, self._frontier.states[request]
        authority = state.authority
        if authority is None or authority.has_its_rules_at(state.url):
            return None
        asked = Asked(request, state.url, authority, self._identity.of(request))
        has_turn = True
        while True:
            at_hand = self._cache.consult(authority, request)
            # Only once: rules that expire before its next turn would be missing for ever.
            if isinstance(at_hand, Miss) and not state.gave_turn_back:
                state.gave_turn_back, has_turn = True, False
                turns.left(request, was_sent=False)
            found = await self._rules(asked, at_hand)
            if found.interrupted:
                return to_come_back(request)
            interval, judged = turns.interval_of(state.host), state.judged
            judgement = self._judgement(asked, found, state)
            if judged is None or judged.cached() is not found or judged.judgement != judgement:
                self._raise_refusal(asked, found, judgement)
                self._account.passed(asked, found, judgement)
            if has_turn and turns.interval_of(state.host) <= interval:
                return None
            turns.left(request, was_sent=False)
            waits = turns.arrive(request)
            returned = None if waits is None else await waits
            if waits is None or returned is not None:
                return returned
            has_turn = True

    async def check_as_sent(self, request: Request) -> Request | None:
        """Judge a request again if its robots.txt was refused, but not to a request sent like it.

        A middleware behind the gate may have chosen its proxy, its User-Agent, or the browser that
        it impersonates. Returns or raises as :meth:`check` does.
        """
        state = self._frontier.states.get(request)
        if state is None or state.authority is None or request.meta.get("dont_obey_robotstxt"):
            return None
        cached = self._cache.held(state.authority)
        if cached is None or cached.refusal is None:
            return None
        is_robots_txt = state.authority.has_its_rules_at(state.url)
        requester = requester_of(request, state.authority)
        if requester.user_agent == self._identity.header_of_fetches:  # Scrapy has added it
            requester = requester._replace(user_agent=None)
        requesters = requester._replace(login=None), requester
        if is_robots_txt or any(map(cached.refusal.holds_for, requesters)):
            return None
        # All that wait here go on at once, so they must not be more than their slot may send.
        self._frontier.sent(request)
        try:
            return await self._check(request, state, state.authority)
        finally:
            self._frontier.left(request, was_sent=False)

    def is_direct(self, request: Request) -> bool:
        """Return whether a request is a direct download, so that a stop waits for its rules."""
        states = self._frontier.states
        return request in states and not states[request].is_scheduled

    def _raise_refusal(self, asked: Asked, cached: CachedRules, judgement: Judgement) -> None:
        """Raise why a request may not pass, if it may not."""
        if judgement.refusal is not None:
            self._account.refused(asked, cached, judgement, judgement.refusal)
            if (state := self._frontier.states.get(asked.request)) is not None:
                state.judged = None  # an exception that is raised refers to the request
            raise judgement.refusal

    def _refuse_nofollow(self, request: Request, url: str, authority: Authority | None) -> NoReturn:
        """Refuse a request from a page that asks not to follow its links; this needs no rules."""
        verdict = Verdict(allowed=False, reason=reason_of(request))
        self._stats.inc(names.PAGE_REQUESTS_REFUSED)
        self._stats.forbidden(request.method, url, verdict, BY_PAGE_DIRECTIVE)
        raise RobotsForbidden(verdict, authority, by=BY_PAGE_DIRECTIVE)
