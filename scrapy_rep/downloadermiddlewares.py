"""The gate in front of each request: robots.txt first (RFC 9309 section 2)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.cache import RobotsCache
from scrapy_rep.closing import Closing
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.fetcher import METER, RobotsFetcher
from scrapy_rep.identity import Identity
from scrapy_rep.inquiry import Inquiry
from scrapy_rep.pace import Pacer
from scrapy_rep.protocol.authority import Authority, authority_of
from scrapy_rep.protocol.outcome import Cause
from scrapy_rep.protocol.rules import RobotsTxt, Verdict
from scrapy_rep.robotparser import RepRobotParser
from scrapy_rep.settings import RepSettings, product_tokens
from scrapy_rep.shelf import KEPT_COMPRESSED, open_shelf
from scrapy_rep.stats import RepStats
from scrapy_rep.throttling import Throttle
from scrapy_rep.waiting import DeadlineError, Parking, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.known import Known

# Scrapy knows this signal since 2.15; before, nobody can listen to it.
_ROBOTS_PARSED = getattr(signals, "robots_parsed", None)


class RepDownloaderMiddleware:
    """Lets through what robots.txt allows, and drops the rest with a reason.

    A dropped request raises :class:`RobotsForbidden` or :class:`RobotsUnreachable`. The instance
    of a crawl is ``crawler.get_downloader_middleware(RepDownloaderMiddleware)``.
    """

    def __init__(self, crawler: Crawler):
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured("ROBOTSTXT_OBEY is off")
        self._crawler = crawler
        self._settings = RepSettings.from_settings(crawler.settings)
        self._stats = RepStats(crawler.stats)
        self._identity = Identity(crawler, self._settings, self._stats)
        self._parking = Parking(crawler, self._settings.park_limit, self._stats)
        fetcher = RobotsFetcher(crawler, self._settings, self._stats, self._parking, time.time)
        self._shelf = open_shelf(crawler, self._settings, self._stats)
        self._closing = Closing(
            crawler,
            interrupt=self._interrupt,
            busy=lambda: self._cache.flights > 0 or self._throttle.waiting > 0,
        )
        self._throttle = Throttle(
            crawler, self._settings, self._stats, self._parking, self._closing
        )
        self._pacer = Pacer(self._settings, self._stats, self._throttle)
        self._cache = RobotsCache(
            inquiry=Inquiry(
                fetch=fetcher.fetch,
                shelf=self._shelf,
                clock=time.time,
                policy=self._settings.policy,
                stats=self._stats,
                timeout=self._settings.timeout,
                retry_delays=self._settings.retry_delays,
            ),
            parse=self._parse,
            announce=self._announce,
            watch=self._closing.watch,
            clock=time.time,
            policy=self._settings.policy,
            stats=self._stats,
            memory_limit=self._settings.memory_limit
            - self._settings.memory_limit // KEPT_COMPRESSED,
        )
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepDownloaderMiddleware:
        """Return the gate of ``crawler``; raise ``NotConfigured`` where ``ROBOTSTXT_OBEY`` is off.

        Raises ``ValueError`` for a bad setting.
        """
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | None:
        """Let ``request`` pass, or raise why not.

        With fresh rules in memory this awaits nothing.
        """
        try:
            return await self._gate(request)
        except (IgnoreRequest, CancelledError):
            raise
        except Exception as error:
            # A fault of ours, or of what surrounds us, is no permission.
            self._stats.own_fault("The check of a request", error)
            raise self._unreachable(request, None, Cause.ERROR, str(error)) from error

    async def _gate(self, request: Request) -> Request | None:
        if request.meta.get("dont_obey_robotstxt"):
            if METER not in request.meta:
                self._stats.inc(names.BYPASSED)
            return None
        url = request.url
        try:
            authority = authority_of(url)
        except ValueError as error:
            raise self._unreachable(request, None, Cause.URL, str(error)) from None
        if authority is None:  # neither http nor https: no robots.txt governs it
            return None
        agent = self._identity.of(request)
        known = self._cache.resident(authority, time.time())
        if known is not None:
            self._stats.inc(names.HIT)
            if (
                known.at_will == agent
                and known.robots is not None
                and not known.stale
                and known.robots.allowed(url, agent)
            ):
                self._stats.inc(names.ALLOWED)
                return None
        elif url.endswith("/robots.txt") and url == authority.robots_uri:
            # Allowed by definition (RFC 9309 section 2.2.2), so it waits for nothing.
            self._stats.inc(names.ALLOWED)
            return None
        elif (known := self._cache.consult(authority, request)) is not None:
            self._stats.inc(names.HIT)
        else:
            with self._parking.place():
                known = await self._cache.lookup(authority, request)
            again = self._closing.give_back(request) if known.interrupted else None
            if again is not None:
                return again
        self._apply(request, authority, known, agent)
        return None

    async def explain(self, url: str, agent: str | Sequence[str] | None = None) -> Verdict:
        """Return the verdict on ``url`` for ``agent`` (the crawler's own, if ``None``).

        Fetches the robots.txt if it is not known. Raises ``ValueError`` for an http or https
        URL without a usable host.
        """
        authority = authority_of(url)
        if authority is None:
            return Verdict(allowed=True, reason="no robots.txt governs this scheme")
        tokens = self._identity.default if agent is None else product_tokens(agent)
        known = await self._cache.lookup(authority, None)
        verdict = known.verdict(authority, url, tokens)
        refusal = self._pacer.refusal(authority, known, tokens) if verdict.allowed else None
        return refusal.verdict if refusal is not None else verdict

    def cache_info(self) -> dict[str, int]:
        """Return what is known and under way: authorities, octets, fetches, waiting requests."""
        return {
            "authorities": sum(1 for _ in self._cache.entries()),
            "octets": self._cache.octets,
            "fetches": self._cache.flights,
            "waiting": self._parking.waiting,
        }

    def _apply(
        self, request: Request, authority: Authority, known: Known, agent: tuple[str, ...]
    ) -> None:
        """Count and say the verdict; raise it if it is a refusal."""
        verdict = known.verdict(authority, request.url, agent)
        self._cache.weigh(authority, known)
        if known.stale:
            self._stats.inc(names.STALE)
        refusal = None
        if verdict.allowed:
            refusal = self._pacer.admit(request, authority, known, agent)
        if refusal is not None:
            self._stats.forbidden(request.method, request.url, refusal.verdict)
            raise RobotsForbidden(refusal.verdict, authority, refusal.retry_at)
        if verdict.allowed:
            self._stats.inc(names.ALLOWED)
        elif known.unreachable:
            cause, retry_at = known.entry.cause, known.entry.retry_at
            raise self._unreachable(request, authority, cause, retry_at=retry_at)
        else:
            self._stats.forbidden(request.method, request.url, verdict)
            raise RobotsForbidden(verdict, authority)

    def _unreachable(
        self,
        request: Request,
        authority: Authority | None,
        cause: Cause | str,
        detail: str = "",
        retry_at: float | None = None,
    ) -> RobotsUnreachable:
        said = f"{cause}: {detail}" if detail else str(cause)
        self._stats.unreachable(request.method, request.url, said)
        verdict = Verdict(allowed=False, reason="unreachable")
        return RobotsUnreachable(verdict, authority, cause, retry_at)

    def _parse(self, body: bytes) -> RobotsTxt:
        settings = self._settings
        return RobotsTxt.parse(body, profile=settings.profile, max_size=settings.max_size)

    async def _announce(self, robots: RobotsTxt, page: Any) -> None:
        if _ROBOTS_PARSED is None:
            return
        sent = self._crawler.signals.send_catch_log_async(
            signal=_ROBOTS_PARSED, robotparser=RepRobotParser(robots), request=page
        )
        try:
            await within(self._settings.timeout, sent)
        except DeadlineError as error:  # a listener hangs; who waits for the rules must not
            self._stats.own_fault("A listener to robots_parsed", error)

    def _interrupt(self, started_before: float) -> None:
        self._cache.interrupt(started_before)
        self._throttle.give_up()

    def _spider_closed(self) -> None:
        self._closing.stop()
        self._cache.interrupt()
        self._shelf.close()
