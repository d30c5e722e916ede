"""The way of one request: which site's rules govern it, for which agent, and may it pass.

RFC 9309 section 2. A request that may not pass ends in :class:`RobotsForbidden` or
:class:`RobotsUnreachable`; a request whose rules are unknown never passes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_rep import stats as names
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.caching.cached_rules import CachedRules, LookUp
from scrapy_rep.caching.context import Miss
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.judge import Judge
from scrapy_rep.nofollow import NOFOLLOW, reason_of
from scrapy_rep.page_url import Asked, page_of
from scrapy_rep.protocol.authority import Authority, authority_of, has_scheme
from scrapy_rep.protocol.outcome import Cause
from scrapy_rep.protocol.robotstxt import Verdict
from scrapy_rep.scheduling.shutdown import TOO_LATE

if TYPE_CHECKING:
    from scrapy_rep.caching.cache import RobotsCache
    from scrapy_rep.identity import Identity
    from scrapy_rep.overrides.application import AppliedOverrides
    from scrapy_rep.protocol.requested_pace import RequestedPace
    from scrapy_rep.recording.recorder import DecisionRecorder
    from scrapy_rep.scheduling.politeness import Politeness
    from scrapy_rep.scheduling.queues import Waiting
    from scrapy_rep.scheduling.room import WaitingRoom
    from scrapy_rep.scheduling.shutdown import Shutdown
    from scrapy_rep.stats import RepStats
    from scrapy_rep.usage.admission import UseOfPages


class Gate:
    """Lets requests through, or says why not.

    ``clock()`` is in seconds since the epoch; ``fetch_key`` marks the package's own requests.
    ``use``, ``overrides`` and ``recorder`` are there if settings ask for them.
    """

    def __init__(
        self,
        *,
        identity: Identity,
        cache: RobotsCache,
        politeness: Politeness,
        room: WaitingRoom,
        shutdown: Shutdown,
        stats: RepStats,
        clock: Callable[[], float],
        fetch_key: str,
        use: UseOfPages | None = None,
        overrides: AppliedOverrides | None = None,
        recorder: DecisionRecorder | None = None,
    ):
        self._identity = identity
        self._cache = cache
        self._politeness = politeness
        self._room = room
        self._shutdown = shutdown
        self._stats = stats
        self._clock = clock
        self._fetch_key = fetch_key
        self._use = use
        self._overrides = overrides
        self._recorder = recorder
        self.judge = Judge(cache.pace, politeness.refusal, use, overrides)
        """Says what the gate would do, and does nothing."""
        self._is_watched = overrides is not None or recorder is not None

    async def check(self, request: Request) -> Request | None:
        """Let ``request`` pass; return it if it is to be scheduled again, as the crawl closes.

        With fresh rules in memory, and no pace asked for, this awaits nothing. Raises
        ``RobotsForbidden`` or ``RobotsUnreachable`` if it may not pass.
        """
        if request.meta.get("dont_obey_robotstxt"):
            if self._fetch_key not in request.meta:
                self._stats.inc(names.BYPASSED)
                self._stats.inc(names.OVERRIDES_USED)
            return None
        if self._shutdown.keeps:
            self._shutdown.take_up(request)
        url, authority = self._page(request)
        if authority is None:  # neither http nor https: no robots.txt governs it
            return None
        agent = self._identity.of(request)
        cached = self._cache.resident(authority, self._clock())
        if cached is None:
            if url.endswith("/robots.txt") and url == authority.robots_uri:
                # Allowed by definition (RFC 9309 section 2.2.2), so it waits for nothing.
                self._stats.inc(names.ALLOWED)
                return None
            found = self._cache.consult(authority, request)
            if isinstance(found, Miss):
                return await self._wait(Asked(request, url, authority, agent), found)
            cached = found
        self._stats.inc(names.HIT)
        use = self._use
        if (
            cached.unpaced_agent != agent
            or (use is not None and use.concerns(cached))
            or self._room.must_wait(request)
            or self._is_watched
            or not cached.allows(authority, url, agent)
        ):
            return await self._go_on(Asked(request, url, authority, agent), cached)
        self._count(cached)  # as most requests: nothing but the rules has a say in them
        return None

    async def _go_on(self, asked: Asked, cached: CachedRules) -> Request | None:
        """Let a request pass whose rules are known, at once if nothing holds it up."""
        if self._lacks_a_file(asked, cached):
            return await self._wait(asked, cached)
        self._admit(asked, cached)
        if self._room.must_wait(asked.request):
            return await self._wait(asked, cached)
        self._pass(asked, cached)
        return None

    def may_be_sent(self, request: Request) -> bool:
        """Note that a request that has passed the gate is about to be sent.

        Returns ``False`` if it has lost its turn meanwhile, and first has to be held up.
        """
        return self._room.arrive(request)

    async def hold_up(self, request: Request) -> Request | None:
        """Let a request pass when it has another turn; return what :meth:`check` does.

        The rules may have changed meanwhile, so it is checked again.
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

    def _page(self, request: Request) -> tuple[str, Authority | None]:
        """Return the URL of the page that ``request`` is for, and the authority that governs it.

        Raises ``RobotsForbidden`` if the page that the request was found on asks not to follow it.
        """
        try:
            url = page_of(request)
            authority = authority_of(url)
        except ValueError as error:
            raise self.refuse(request, Cause.URL, str(error)) from None
        if NOFOLLOW in request.meta:
            self._stop_nofollow(request, url, authority)
        return url, authority

    async def _wait(
        self, asked: Asked, found: CachedRules | Miss, *, late: bool = False
    ) -> Request | None:
        """Let a request pass that has to wait: for rules after a miss, else for its turn alone.

        A ``late`` one was counted when it passed the gate.
        """
        self._shutdown.watch()
        request, authority = asked.request, asked.authority
        place: Waiting | None = None
        while True:
            lacks = isinstance(found, Miss) or self._lacks_a_file(asked, found)
            cached = None if isinstance(found, Miss) or lacks else found
            with self._room.place(
                request, authority.host, for_rules=lacks, late=late, before=place
            ) as place:
                if cached is None:
                    fetched = await self._fetch(asked, found)
                    if not isinstance(fetched, CachedRules):
                        return self._give_back(request, fetched)
                    cached = fetched
                    del fetched
                    self._admit(asked, cached)
                # A thousand requests may wait for their turns. None of them keeps rules in memory,
                # unless rules that come back would have to be announced once more.
                kept = cached if self._cache.is_heard else None
                del cached, found
                if not await self._room.turn(place):
                    return self._give_back(request, partial(IgnoreRequest, TOO_LATE))
            # The turn may have been long in coming: these rules may be no longer in force.
            now = self._clock()
            if kept is None or not kept.holds(now):
                kept = self._cache.resident(authority, now)
            found = kept or self._cache.consult(authority, request)
            if isinstance(found, Miss) or self._lacks_a_file(asked, found):
                continue
            self._admit(asked, found)
            if not late:
                self._pass(asked, found)
            return None

    async def _fetch(
        self, asked: Asked, found: CachedRules | Miss
    ) -> CachedRules | Callable[[], Exception]:
        """Return the rules after all that was missing is fetched.

        If that was cut short because the crawl closes, return what makes the exception to raise.
        """
        request, url, authority, agent = asked
        if isinstance(found, Miss):
            try:
                found = await self._cache.fetch(authority, request, found)
            except DeadlineError as error:
                raise self.refuse(request, Cause.TIMEOUT, str(error), authority, url=url) from None
            if found.interrupted:
                return partial(self.refuse, request, Cause.CLOSING, "", authority, url=url)
        use = self._use
        if use is None or not use.concerns(found):
            return found
        if not self._verdict(url, authority, found, agent).allowed:
            return found
        known = await use.wait(request, authority, found, agent)
        return found if known else partial(IgnoreRequest, TOO_LATE)

    def _lacks_a_file(self, asked: Asked, cached: CachedRules) -> bool:
        """Return whether a file about use must be fetched before a request may go on."""
        use, (request, _, authority, agent) = self._use, asked
        return use is not None and not use.is_ready(request, authority, cached, agent)

    def _give_back(self, request: Request, too_late: Callable[[], Exception]) -> Request:
        """Return the request to schedule again; raise ``too_late()`` if nothing would keep it."""
        again = self._shutdown.give_back(request)
        if again is None:
            raise too_late()
        return again

    async def explain(self, url: str, agent: tuple[str, ...] | None = None) -> Verdict:
        """Return the verdict on a URL, after a fetch of its robots.txt if that is not known.

        Raises ``ValueError`` for text that is not an absolute URL, and for an http or https URL
        without a usable host.
        """
        return (await self.look_up(url, agent)).verdict

    async def look_up(self, url: str, agent: tuple[str, ...] | None = None) -> LookUp:
        """Return the verdict on a URL, and what it rests on; raises what :meth:`explain` does."""
        authority = authority_of(url)
        agent = agent or self._identity.default
        if authority is None:
            if not has_scheme(url):
                raise ValueError("not an absolute URL: it has no scheme")
            verdict = Verdict(allowed=True, reason="no robots.txt governs this scheme")
            return LookUp(verdict, agent, None, None)
        try:
            cached = await self._cache.lookup(authority, None)
        except DeadlineError:
            return LookUp(Verdict(allowed=False, reason="unreachable"), agent, authority, None)
        use = self._use
        if use is not None and use.refuses and self._verdict(url, authority, cached, agent).allowed:
            await use.wait(Request(url), authority, cached, agent)
        verdict, by = self.judge.judge(url, authority, cached, agent)
        return LookUp(verdict, agent, authority, cached, by)

    def refuse(
        self,
        request: Request,
        cause: Cause | str,
        detail: str = "",
        authority: Authority | None = None,
        retry_at: float | None = None,
        url: str = "",
    ) -> RobotsUnreachable:
        """Count a request whose rules are undefined, and return what it ends in.

        ``url`` is the URL of the page that the request is for, if that is not its own.
        """
        said = f"{cause}: {detail}" if detail else str(cause)
        self._stats.unreachable(request.method, url or request.url, said)
        verdict = Verdict(allowed=False, reason="unreachable")
        return RobotsUnreachable(verdict, authority, cause, retry_at)

    def _admit(self, asked: Asked, cached: CachedRules) -> None:
        """Raise why a request may not pass; have the host of an allowed one keep its pace."""
        request, url, authority, agent = asked
        if self._overrides is not None and authority in self._overrides:
            self._admit_by_override(self._overrides, asked, cached)
            return
        if not cached.allows(authority, url, agent):
            self._stop(asked, cached)
        if self._use is not None and self._use.concerns(cached):
            self._use.admit(request, url, authority, cached, agent)
        if cached.unpaced_agent != agent:
            pace = self._cache.pace(authority, cached, agent)
            self._have_pace_kept(asked, pace)

    def _admit_by_override(
        self, overrides: AppliedOverrides, asked: Asked, cached: CachedRules
    ) -> None:
        """Do what :meth:`_admit` does, at an authority that has overrides."""
        request, url, authority, agent = asked
        verdict, by = overrides.verdict(url, authority, cached, agent)
        self._cache.weigh(authority, cached)
        if not verdict.allowed:
            if by is None and cached.unreachable and verdict.rule is None:
                self._stop(asked, cached)
            overrides.use(by)
            self._stats.forbidden(request.method, url, verdict)
            raise RobotsForbidden(verdict, authority)
        if self._use is not None and self._use.concerns(cached):
            self._use.admit(request, url, authority, cached, agent)
        pace = overrides.pace(url, authority, cached, agent)
        self._have_pace_kept(asked._replace(agent=pace.asker), pace.pace)

    def _verdict(
        self, url: str, authority: Authority, cached: CachedRules, agent: tuple[str, ...]
    ) -> Verdict:
        """Return the verdict of the rules or of an override."""
        return self.judge.by_rules(url, authority, cached, agent).verdict

    def _have_pace_kept(self, asked: Asked, pace: RequestedPace | None) -> None:
        """Have the host of an allowed request keep a pace; raise if it is out of bounds."""
        request, url, authority, agent = asked
        refusal = self._politeness.admit(request, authority, agent, pace)
        if refusal is not None:
            self._stats.forbidden(request.method, url, refusal.verdict)
            raise RobotsForbidden(refusal.verdict, authority, refusal.retry_at)

    def _pass(self, asked: Asked, cached: CachedRules) -> None:
        """Count a request that goes on, and note what is said about the use of its page."""
        if self._use is not None and self._use.concerns(cached):
            request, url, authority, agent = asked
            self._use.note(request, url, authority, cached, agent)
        if self._is_watched:
            self._report(asked, cached)
        self._count(cached)

    def _report(self, asked: Asked, cached: CachedRules) -> None:
        """Note which override a request that passes owes that to, and record the decision."""
        request, url, authority, agent = asked
        judge = None
        if self._overrides is not None and authority in self._overrides:
            self._overrides.note(request.method, url, authority, cached, agent)
            judge = self._verdict
        if self._recorder is not None:
            self._recorder.passed(request, url, authority, cached, agent, judge)

    def _count(self, cached: CachedRules) -> None:
        if cached.stale:
            self._stats.inc(names.STALE)
        self._stats.inc(names.ALLOWED)

    def _stop_nofollow(self, request: Request, url: str, authority: Authority | None) -> NoReturn:
        """Raise that a page asks not to follow its links; no rules are needed for that."""
        verdict = Verdict(allowed=False, reason=reason_of(request))
        self._stats.inc(names.PAGE_REQUESTS_REFUSED)
        self._stats.forbidden(request.method, url, verdict)
        raise RobotsForbidden(verdict, authority)

    def _stop(self, asked: Asked, cached: CachedRules) -> NoReturn:
        """Raise why a request may not pass."""
        request, url, authority, agent = asked
        if cached.unreachable:
            cause = cached.failure.cause if cached.failure is not None else Cause.ERROR
            raise self.refuse(request, cause, "", authority, cached.until, url)
        if cached.stale:
            self._stats.inc(names.STALE)
        verdict = cached.verdict(authority, url, agent)
        self._cache.weigh(authority, cached)
        self._stats.forbidden(request.method, url, verdict)
        raise RobotsForbidden(verdict, authority)
