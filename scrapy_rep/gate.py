"""The way of one request: which site's rules govern it, for which agent, and may it pass.

RFC 9309 section 2. A request that may not pass ends in :class:`RobotsForbidden` or
:class:`RobotsUnreachable`; a request whose rules are unknown never passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from scrapy.exceptions import IgnoreRequest

from scrapy_rep import stats as names
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.fetching.cancellable_downloads import TRANSFER
from scrapy_rep.page_url import page_of
from scrapy_rep.protocol.authority import Authority, authority_of
from scrapy_rep.protocol.outcome import Cause
from scrapy_rep.protocol.robotstxt import Verdict
from scrapy_rep.scheduling.shutdown import TOO_LATE

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.caching.cache import RobotsCache
    from scrapy_rep.caching.cached_rules import Known
    from scrapy_rep.identity import Identity
    from scrapy_rep.scheduling.politeness import Politeness
    from scrapy_rep.scheduling.queues import Waiting
    from scrapy_rep.scheduling.room import WaitingRoom
    from scrapy_rep.scheduling.shutdown import Shutdown
    from scrapy_rep.stats import RepStats

_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
"""What an absolute URL begins with (RFC 3986 section 3.1)."""


class LookUp(NamedTuple):
    """A verdict, the agent it is for, and what is known of the authority that governs the URL."""

    verdict: Verdict
    agent: tuple[str, ...]
    authority: Authority | None
    known: Known | None


class Gate:
    """Lets requests through, or says why not; ``clock()`` is in seconds since the epoch."""

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
    ):
        self._identity = identity
        self._cache = cache
        self._politeness = politeness
        self._room = room
        self._shutdown = shutdown
        self._stats = stats
        self._clock = clock

    async def check(self, request: Request) -> Request | None:
        """Let ``request`` pass; return it if it is to be scheduled again, as the crawl closes.

        With fresh rules in memory, and no pace asked for, this awaits nothing. Raises
        ``RobotsForbidden`` or ``RobotsUnreachable`` if it may not pass.
        """
        if request.meta.get("dont_obey_robotstxt"):
            if TRANSFER not in request.meta:
                self._stats.inc(names.BYPASSED)
            return None
        if self._shutdown.keeps:
            self._shutdown.take_up(request)
        url, authority = self._page(request)
        if authority is None:  # neither http nor https: no robots.txt governs it
            return None
        agent = self._identity.of(request)
        known = self._cache.resident(authority, self._clock())
        if known is not None:
            self._stats.inc(names.HIT)
        elif url.endswith("/robots.txt") and url == authority.robots_uri:
            # Allowed by definition (RFC 9309 section 2.2.2), so it waits for nothing.
            self._stats.inc(names.ALLOWED)
            return None
        elif (known := self._cache.consult(authority, request)) is not None:
            self._stats.inc(names.HIT)
        else:
            return await self._wait(request, url, authority, agent, for_rules=True)
        if not known.allows(authority, url, agent):
            self._stop(request, url, authority, known, agent)
        self._keep_pace(request, url, authority, known, agent)
        if self._room.must_wait(request):
            return await self._wait(request, url, authority, agent, for_rules=False)
        self._pass(known)
        return None

    def _page(self, request: Request) -> tuple[str, Authority | None]:
        """Return the URL of the page that ``request`` is for, and the authority that governs it."""
        try:
            url = page_of(request)
            return url, authority_of(url)
        except ValueError as error:
            raise self.refuse(request, Cause.URL, str(error)) from None

    async def _wait(
        self,
        request: Request,
        url: str,
        authority: Authority,
        agent: tuple[str, ...],
        *,
        for_rules: bool,
    ) -> Request | None:
        """Check a request that has to wait, for rules or for its turn."""
        self._shutdown.watch()
        place: Waiting | None = None
        while True:
            with self._room.place(request, for_rules=for_rules, before=place) as place:
                known = await self._cache.lookup(authority, request)
                if known.interrupted:
                    too_late = partial(self.refuse, request, Cause.CLOSING, "", authority, url=url)
                    return self._give_back(request, too_late)
                if not known.allows(authority, url, agent):
                    self._stop(request, url, authority, known, agent)
                self._keep_pace(request, url, authority, known, agent)
                # A thousand requests may wait for their turns: none of them keeps rules in memory.
                recall = self._cache.reference(known)
                del known
                if not await self._room.turn(place):
                    return self._give_back(request, partial(IgnoreRequest, TOO_LATE))
            # The turn may have been long in coming: these rules may be no longer in force.
            now_known = recall()
            if now_known is None or not now_known.holds(self._clock()):
                now_known = self._cache.consult(authority, request)
            if now_known is None:
                for_rules = True
                continue
            if not now_known.allows(authority, url, agent):
                self._stop(request, url, authority, now_known, agent)
            self._keep_pace(request, url, authority, now_known, agent)
            self._pass(now_known)
            return None

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
        known = await self._cache.lookup(authority, None)
        verdict = known.verdict(authority, url, agent)
        refusal = self._politeness.refusal(authority, known, agent) if verdict.allowed else None
        return LookUp(refusal.verdict if refusal else verdict, agent, authority, known)

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

    def _keep_pace(
        self,
        request: Request,
        url: str,
        authority: Authority,
        known: Known,
        agent: tuple[str, ...],
    ) -> None:
        """Have the host of an allowed request keep its pace; raise why it may not pass now."""
        if known.at_will != agent:
            self._cache.weigh(authority, known)
            refusal = self._politeness.admit(request, authority, known, agent)
            if refusal is not None:
                self._stats.forbidden(request.method, url, refusal.verdict)
                raise RobotsForbidden(refusal.verdict, authority, refusal.retry_at)

    def _pass(self, known: Known) -> None:
        """Count a request that goes on."""
        if known.stale:
            self._stats.inc(names.STALE)
        self._stats.inc(names.ALLOWED)

    def _stop(
        self,
        request: Request,
        url: str,
        authority: Authority,
        known: Known,
        agent: tuple[str, ...],
    ) -> NoReturn:
        """Raise why a request may not pass."""
        if known.unreachable:
            cause = known.failure.cause if known.failure is not None else Cause.ERROR
            raise self.refuse(request, cause, "", authority, known.until, url)
        if known.stale:
            self._stats.inc(names.STALE)
        verdict = known.verdict(authority, url, agent)
        self._cache.weigh(authority, known)
        self._stats.forbidden(request.method, url, verdict)
        raise RobotsForbidden(verdict, authority)
