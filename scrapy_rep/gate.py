"""The way of one request: which rules govern it, for which agent, and whether it may pass.

RFC 9309 section 2. A request that may not pass ends in :class:`RobotsForbidden` or
:class:`RobotsUnreachable`; a request whose rules are unknown never passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from scrapy.exceptions import IgnoreRequest

from scrapy_rep import stats as names
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.outcome import Cause
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.caching.cached_rules import CachedRules
from scrapy_rep.caching.context import Miss
from scrapy_rep.exceptions import BY_PAGE_DIRECTIVE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.judgement import Judgement
from scrapy_rep.nofollow import NOFOLLOW_KEY, reason_of
from scrapy_rep.page_url import PAGE, Asked, leads_elsewhere, page_of
from scrapy_rep.robotstxt.verdict import UNREACHABLE, Verdict
from scrapy_rep.scheduling.shutdown import TOO_LATE
from scrapy_rep.usage.noted import note

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.caching.cache import RobotsCache
    from scrapy_rep.identity import Identity
    from scrapy_rep.judgement import Judge
    from scrapy_rep.overrides.application import AppliedOverrides
    from scrapy_rep.records.recorder import DecisionRecorder
    from scrapy_rep.scheduling.politeness import Politeness
    from scrapy_rep.scheduling.queues import Waiting
    from scrapy_rep.scheduling.room import WaitingRoom
    from scrapy_rep.scheduling.shutdown import Shutdown
    from scrapy_rep.stats import RepStats


class Gate:
    """Lets requests through, or says why not.

    ``clock()`` is in seconds since the epoch. ``overrides`` and ``recorder`` are there if settings
    ask for them.
    """

    def __init__(
        self,
        *,
        identity: Identity,
        cache: RobotsCache,
        judge: Judge,
        politeness: Politeness,
        room: WaitingRoom,
        shutdown: Shutdown,
        stats: RepStats,
        clock: Callable[[], float],
        overrides: AppliedOverrides | None = None,
        recorder: DecisionRecorder | None = None,
    ):
        self._identity = identity
        self._cache = cache
        self._judge = judge
        self._politeness = politeness
        self._room = room
        self._shutdown = shutdown
        self._stats = stats
        self._clock = clock
        self._overrides = overrides
        self._recorder = recorder
        self._is_watched = overrides is not None or recorder is not None

    async def check(self, request: Request) -> Request | None:
        """Let ``request`` pass; return it if it has to be scheduled again, as the crawl closes.

        This awaits nothing if fresh rules are in memory, the host asks for no pace, nothing waits
        for the same slot, and no record has to be waited for. Raises ``RobotsForbidden`` or
        ``RobotsUnreachable`` if the request may not pass.
        """
        meta = request.meta
        if meta.get("dont_obey_robotstxt"):
            await self._bypass(request)
            return None
        if self._shutdown.keeps:
            self._shutdown.take_up(request)
        url, authority = self._page(request)
        if authority is None:  # neither http nor https: no robots.txt governs it
            return None
        agent = self._identity.of(request)
        cached = self._cache.resident(authority, self._clock())
        if cached is None:
            if authority.has_its_rules_at(url):
                await self._pass_without_rules(Asked(request, url, authority, agent))
                return None
            found = self._cache.consult(authority, request)
            if isinstance(found, Miss):
                return await self._wait(Asked(request, url, authority, agent), found)
            cached = found
        self._stats.inc(names.HIT)
        if (
            cached.settled_agent != agent
            or self._room.must_wait(request)
            or self._is_watched
            or not cached.allows(authority, url, agent)
        ):
            return await self._go_on(Asked(request, url, authority, agent), cached)
        # The way of most requests: only the rules concern them. As _pass counts, without a call.
        if cached.stale:
            self._stats.inc(names.STALE)
        self._stats.inc(names.ALLOWED)
        return None

    async def _go_on(self, asked: Asked, cached: CachedRules) -> Request | None:
        """Let a request pass whose rules are known, at once if nothing holds it up."""
        judgement = self._admit(asked, cached)
        if self._room.must_wait(asked.request):
            return await self._wait(asked, cached)
        await self._pass(asked, cached, judgement)
        return None

    async def hold_up(self, request: Request) -> Request | None:
        """Let a request that has lost its turn pass when it has another one.

        The rules may have changed meanwhile, so it is judged again. Returns as :meth:`check` does.
        """
        url, authority = self._page(request)
        agent = self._identity.of(request)
        while authority is not None and not self._room.arrive(request):
            found = self._cache.resident(authority, self._clock())
            known = found or self._cache.consult(authority, request)
            again = await self._wait(Asked(request, url, authority, agent), known, late=True)
            if again is not None:
                return again
        return None

    async def check_final_url(self, request: Request, url: str) -> Request | None:
        """Judge the final URL of a response, if that is of another page than was asked for.

        Awaits its rules if they are not known; the request keeps no other from being made
        meanwhile. Returns and raises as :meth:`check` does.
        """
        if request.meta.get("dont_obey_robotstxt"):
            return None
        try:
            authority = authority_of(url) if leads_elsewhere(request, url) else None
        except ValueError as error:
            raise self.refuse(request, Cause.URL, str(error), url=url) from None
        if authority is None or authority.has_its_rules_at(url):
            return None
        asked = Asked(request, url, authority, self._identity.of(request))
        self._stats.led_elsewhere(request.method, page_of(request), url)
        resident = self._cache.resident(authority, self._clock())
        found = resident or self._cache.consult(authority, request)
        if isinstance(found, Miss):
            with self._room.hold(request, authority.host, for_rules=True):
                fetched = await self._fetch(asked, found)
            if not isinstance(fetched, CachedRules):
                return self._give_back(request, fetched)
            found = fetched
        else:
            self._stats.inc(names.HIT)
        refusal, verdict, override = self._judge.judge_final_url(asked, found)
        if refusal is not None:
            self._count_refusal(asked, found, Judgement(refusal, override=override), refusal)
            raise refusal
        if found.stale:
            self._stats.inc(names.STALE)
        note(request, self._judge.use_of(asked, found))
        # That the request is allowed was counted when it passed.
        if self._recorder is not None:
            with self._recorded(request):
                self._recorder.passed(asked, found, verdict, requested=page_of(request))
        if self._overrides is not None:
            self._overrides.count_allowed(asked, found, verdict, override, None)
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
            raise self.refuse(request, Cause.URL, str(error)) from None
        if NOFOLLOW_KEY in meta:
            self._stop_nofollow(request, url, authority)
        return url, authority

    async def _wait(
        self, asked: Asked, found: CachedRules | Miss, *, late: bool = False
    ) -> Request | None:
        """Let a request pass that has to wait, for its rules after a miss, otherwise to be let go.

        A ``late`` request has passed the gate before, and was counted then.
        """
        request, authority = asked.request, asked.authority
        waiting: Waiting | None = None
        while True:
            with self._room.hold(
                request,
                authority.host,
                for_rules=isinstance(found, Miss),
                late=late,
                before=waiting,
            ) as waiting:
                if isinstance(found, Miss):
                    fetched = await self._fetch(asked, found)
                    if not isinstance(fetched, CachedRules):
                        return self._give_back(request, fetched)
                    found = fetched
                    del fetched
                    # Most requests have to wait for nothing else, and are judged only once.
                    judgement = self._admit(asked, found)
                    if found.holds(self._clock()) and self._room.goes_at_once(waiting):
                        break
                    del judgement
                # A thousand requests may wait to be let go. None of them keeps rules in memory,
                # unless rules that come back would have to be announced once more.
                kept = found if self._cache.is_heard else None
                del found
                self._shutdown.watch()
                if not await self._room.until_let_go(waiting):
                    return self._give_back(request, partial(IgnoreRequest, TOO_LATE))
            # That may have taken long: these rules may be no longer in force.
            now = self._clock()
            if kept is None or not kept.holds(now):
                kept = self._cache.resident(authority, now)
            found = kept or self._cache.consult(authority, request)
            if not isinstance(found, Miss):
                judgement = self._admit(asked, found)
                break
        if not late:
            await self._pass(asked, found, judgement)
        return None

    async def _fetch(self, asked: Asked, miss: Miss) -> CachedRules | Callable[[], Exception]:
        """Return the rules after a miss.

        If the closing crawl cuts that short, return a function that makes the exception to raise.
        """
        request, url, authority, _ = asked
        try:
            found = await self._cache.fetch(authority, request, miss)
        except DeadlineError as error:
            raise self.refuse(request, Cause.TIMEOUT, str(error), authority, url) from None
        if found.interrupted:
            return partial(self.refuse, request, Cause.CLOSING, "", authority, url)
        return found

    def _give_back(self, request: Request, too_late: Callable[[], Exception]) -> Request:
        """Return the request to schedule again; raise ``too_late()`` if nothing would keep it."""
        again = self._shutdown.give_back(request)
        if again is None:
            raise too_late()
        return again

    def _admit(self, asked: Asked, cached: CachedRules) -> Judgement:
        """Raise why a request may not pass; have the host of an allowed one keep its pace."""
        judgement = self._judge.judge(asked, cached)
        if judgement.refusal is not None:
            self._count_refusal(asked, cached, judgement, judgement.refusal)
            raise judgement.refusal
        if judgement.pace is not None:
            pace, asker, _ = judgement.pace
            self._politeness.keep(asked.request, asked.authority, pace, asker)
        return judgement

    def _count_refusal(
        self,
        asked: Asked,
        cached: CachedRules,
        judgement: Judgement,
        refusal: RobotsForbidden | RobotsUnreachable,
    ) -> None:
        request, url, *_ = asked
        if isinstance(refusal, RobotsUnreachable):
            self._stats.unreachable(request.method, url, refusal.cause)
            return
        if cached.stale:
            self._stats.inc(names.STALE)
        if judgement.refused_for_use:
            self._stats.inc(names.PREFERENCES_SKIPPED)
        if self._overrides is not None:
            self._overrides.count_used(asked, cached, judgement.override, judgement.pace)
        self._stats.forbidden(request.method, url, refusal.verdict, refusal.by)

    async def _pass(self, asked: Asked, cached: CachedRules, judgement: Judgement) -> None:
        """Record and count a request that goes on, and note what is said about its use."""
        if self._recorder is not None:
            with self._recorded(asked.request):
                self._recorder.passed(asked, cached, judgement.verdict)
        if judgement.noted is not None:
            note(asked.request, judgement.noted)
        if self._overrides is not None and judgement.verdict is not None:
            self._overrides.count_allowed(
                asked, cached, judgement.verdict, judgement.override, judgement.pace
            )
        if cached.stale:
            self._stats.inc(names.STALE)
        self._stats.inc(names.ALLOWED)

    async def _pass_without_rules(self, asked: Asked) -> None:
        """Record and count a request for the rules themselves, which waits for none.

        It is allowed by definition (RFC 9309 section 2.2.2).
        """
        if self._recorder is not None:
            with self._recorded(asked.request):
                self._recorder.passed_without_rules(asked)
        self._stats.inc(names.ALLOWED)

    async def _bypass(self, request: Request) -> None:
        """Record and count a request that does not obey robots.txt."""
        if self._recorder is not None:
            with self._recorded(request):
                self._recorder.bypassed(request, self._identity.usable(request))
        self._stats.inc(names.BYPASSED)
        self._stats.inc(names.OVERRIDES_USED)

    @contextmanager
    def _recorded(self, request: Request) -> Iterator[None]:
        """Refuse a request whose decision cannot be recorded, if that is required."""
        try:
            yield
        except Exception as error:
            why = f"its decision cannot be recorded: {error}"
            raise self.refuse(request, Cause.ERROR, why) from error

    def refuse(
        self,
        request: Request,
        cause: Cause,
        detail: str = "",
        authority: Authority | None = None,
        url: str = "",
    ) -> RobotsUnreachable:
        """Count a request whose rules are undefined, and return what it ends in.

        ``url`` is the URL of the page that the request is for, if that is not its own.
        """
        said = f"{cause}: {detail}" if detail else str(cause)
        self._stats.unreachable(request.method, url or request.url, said)
        undefined = Verdict(allowed=False, reason=UNREACHABLE)
        return RobotsUnreachable(undefined, authority, cause, detail=detail)

    def _stop_nofollow(self, request: Request, url: str, authority: Authority | None) -> NoReturn:
        """Raise that a page asks not to follow its links; no rules are needed for that."""
        verdict = Verdict(allowed=False, reason=reason_of(request))
        self._stats.inc(names.PAGE_REQUESTS_REFUSED)
        self._stats.forbidden(request.method, url, verdict, BY_PAGE_DIRECTIVE)
        raise RobotsForbidden(verdict, authority, by=BY_PAGE_DIRECTIVE)
