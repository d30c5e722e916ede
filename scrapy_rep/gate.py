"""The way of one request: which site's rules govern it, for which agent, and may it pass.

RFC 9309 section 2. A request that may not pass ends in :class:`RobotsForbidden` or
:class:`RobotsUnreachable`; a request whose rules are unknown never passes.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from scrapy.exceptions import IgnoreRequest

from scrapy_rep import stats as names
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.caching.cached_rules import CachedRules
from scrapy_rep.caching.context import Miss
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.nofollow import refusal
from scrapy_rep.page_url import page_of
from scrapy_rep.protocol.authority import Authority, authority_of
from scrapy_rep.protocol.outcome import Cause
from scrapy_rep.protocol.robotstxt import Verdict
from scrapy_rep.scheduling.shutdown import TOO_LATE

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.caching.cache import RobotsCache
    from scrapy_rep.identity import Identity
    from scrapy_rep.scheduling.politeness import Politeness
    from scrapy_rep.scheduling.queues import Waiting
    from scrapy_rep.scheduling.room import WaitingRoom
    from scrapy_rep.scheduling.shutdown import Shutdown
    from scrapy_rep.stats import RepStats
    from scrapy_rep.usage.admission import UseOfPages

_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
"""What an absolute URL begins with (RFC 3986 section 3.1)."""


class LookUp(NamedTuple):
    """A verdict, the agent it is for, and what is known of the authority that governs the URL."""

    verdict: Verdict
    agent: tuple[str, ...]
    authority: Authority | None
    known: CachedRules | None


class Gate:
    """Lets requests through, or says why not.

    ``clock()`` is in seconds since the epoch. ``fetch_key`` is in the meta of the robots.txt
    requests of this package. ``use`` says what pages may be used for, if that is asked.
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

    async def check(self, request: Request) -> Request | None:
        """Let ``request`` pass; return it if it is to be scheduled again, as the crawl closes.

        With fresh rules in memory, and no pace asked for, this awaits nothing. Raises
        ``RobotsForbidden`` or ``RobotsUnreachable`` if it may not pass.
        """
        if request.meta.get("dont_obey_robotstxt"):
            if self._fetch_key not in request.meta:
                self._stats.inc(names.BYPASSED)
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
                return await self._wait(request, url, authority, agent, found)
            cached = found
        self._stats.inc(names.HIT)
        if self._lacks_a_file(request, authority, cached, agent):
            return await self._wait(request, url, authority, agent, cached)
        self._admit(request, url, authority, cached, agent)
        if self._room.must_wait(request):
            return await self._wait(request, url, authority, agent, cached)
        self._pass(request, url, authority, cached, agent)
        return None

    def arrive(self, request: Request) -> Awaitable[Request | None] | None:
        """Let a request be sent that has passed the gate, or hold it up if it has lost its turn.

        Returns what is to be awaited, or ``None``. The rules may have changed meanwhile: a request
        that is held up is checked again, as by :meth:`check`.
        """
        if self._room.arrive(request, obeys=not request.meta.get("dont_obey_robotstxt")):
            return None
        return self._hold_up(request)

    async def _hold_up(self, request: Request) -> Request | None:
        url, authority = self._page(request)
        agent = self._identity.of(request)
        while authority is not None and not self._room.arrive(request, obeys=True):
            found = self._cache.resident(authority, self._clock())
            known = found or self._cache.consult(authority, request)
            again = await self._wait(request, url, authority, agent, known, late=True)
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
        asked = refusal(request)
        if asked is not None:
            self._stop_nofollow(request, url, authority, asked)
        return url, authority

    async def _wait(
        self,
        request: Request,
        url: str,
        authority: Authority,
        agent: tuple[str, ...],
        found: CachedRules | Miss,
        *,
        late: bool = False,
    ) -> Request | None:
        """Let a request pass that has to wait: for rules after a miss, else for its turn alone.

        A ``late`` one was counted when it passed the gate.
        """
        self._shutdown.watch()
        place: Waiting | None = None
        while True:
            lacks = isinstance(found, Miss) or self._lacks_a_file(request, authority, found, agent)
            cached = None if isinstance(found, Miss) or lacks else found
            with self._room.place(request, for_rules=lacks, late=late, before=place) as place:
                if cached is None:
                    fetched = await self._fetch(request, url, authority, agent, found)
                    if not isinstance(fetched, CachedRules):
                        return self._give_back(request, fetched)
                    cached = fetched
                    del fetched
                    self._admit(request, url, authority, cached, agent)
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
            if isinstance(found, Miss) or self._lacks_a_file(request, authority, found, agent):
                continue
            self._admit(request, url, authority, found, agent)
            if not late:
                self._pass(request, url, authority, found, agent)
            return None

    async def _fetch(
        self,
        request: Request,
        url: str,
        authority: Authority,
        agent: tuple[str, ...],
        found: CachedRules | Miss,
    ) -> CachedRules | Callable[[], Exception]:
        """Return the rules after all that was missing is fetched.

        If that was cut short because the crawl closes, return what makes the exception to raise.
        """
        if isinstance(found, Miss):
            try:
                found = await self._cache.fetch(authority, request, found)
            except DeadlineError as error:
                raise self.refuse(request, Cause.TIMEOUT, str(error), authority, url=url) from None
            if found.interrupted:
                return partial(self.refuse, request, Cause.CLOSING, "", authority, url=url)
        use = self._use
        if use is None or not found.allows(authority, url, agent):
            return found
        known = await use.wait(request, authority, found, agent)
        return found if known else partial(IgnoreRequest, TOO_LATE)

    def _lacks_a_file(
        self, request: Request, authority: Authority, cached: CachedRules, agent: tuple[str, ...]
    ) -> bool:
        """Return whether a file about use must be fetched before ``request`` may go on."""
        use = self._use
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
            if not _SCHEME.match(url):
                raise ValueError("not an absolute URL: it has no scheme")
            verdict = Verdict(allowed=True, reason="no robots.txt governs this scheme")
            return LookUp(verdict, agent, None, None)
        try:
            cached = await self._cache.lookup(authority, None)
        except DeadlineError:
            return LookUp(Verdict(allowed=False, reason="unreachable"), agent, authority, None)
        verdict = cached.verdict(authority, url, agent)
        if verdict.allowed:
            refusal = self._politeness.refusal(self._cache.pace(authority, cached, agent))
            verdict = verdict if refusal is None else refusal.verdict
        return LookUp(verdict, agent, authority, cached)

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

    def _admit(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> None:
        """Raise why a request may not pass; have the host of an allowed one keep its pace."""
        if not cached.allows(authority, url, agent):
            self._stop(request, url, authority, cached, agent)
        if self._use is not None:
            self._use.admit(request, url, authority, cached, agent)
        if cached.unpaced_agent != agent:
            pace = self._cache.pace(authority, cached, agent)
            refusal = self._politeness.admit(request, authority, agent, pace)
            if refusal is not None:
                self._stats.forbidden(request.method, url, refusal.verdict)
                raise RobotsForbidden(refusal.verdict, authority, refusal.retry_at)

    def _pass(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> None:
        """Count a request that goes on, and note what is said about the use of its page."""
        if self._use is not None:
            self._use.note(request, url, authority, cached, agent)
        if cached.stale:
            self._stats.inc(names.STALE)
        self._stats.inc(names.ALLOWED)

    def _stop_nofollow(
        self, request: Request, url: str, authority: Authority | None, asked: str
    ) -> NoReturn:
        """Raise that a page asks not to follow its links; no rules are needed for that."""
        verdict = Verdict(allowed=False, reason=asked)
        self._stats.inc(names.PAGE_REQUESTS_REFUSED)
        self._stats.forbidden(request.method, url, verdict)
        raise RobotsForbidden(verdict, authority)

    def _stop(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> NoReturn:
        """Raise why a request may not pass."""
        if cached.unreachable:
            cause = cached.failure.cause if cached.failure is not None else Cause.ERROR
            raise self.refuse(request, cause, "", authority, cached.until, url)
        if cached.stale:
            self._stats.inc(names.STALE)
        verdict = cached.verdict(authority, url, agent)
        self._cache.weigh(authority, cached)
        self._stats.forbidden(request.method, url, verdict)
        raise RobotsForbidden(verdict, authority)
