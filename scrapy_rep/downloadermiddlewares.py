"""The downloader middleware: Scrapy on one side, the gate and its rooms on the other."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from twisted.internet.defer import CancelledError

from scrapy_rep.cache import RobotsCache
from scrapy_rep.closing import Closing
from scrapy_rep.fetcher import RobotsFetcher
from scrapy_rep.gate import Gate
from scrapy_rep.identity import Identity
from scrapy_rep.inquiry import Inquiry
from scrapy_rep.lanes import Lanes
from scrapy_rep.pace import Pacer
from scrapy_rep.parking import Parking
from scrapy_rep.protocol.outcome import Cause
from scrapy_rep.protocol.rules import RobotsTxt
from scrapy_rep.robotparser import announce, heard
from scrapy_rep.settings import RepSettings, product_tokens
from scrapy_rep.shelf import Shelf, open_shelf
from scrapy_rep.stats import RepStats
from scrapy_rep.throttling import Throttle
from scrapy_rep.waiting import Turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.protocol.rules import Verdict


_FETCHES = 64
"""Fetches under way at once, at least; those that take longer than a while are not counted."""

_A_WHILE = 1.0
"""Seconds."""


class RepDownloaderMiddleware:
    """Lets through what robots.txt allows, and drops the rest with a reason.

    A dropped request raises :class:`RobotsForbidden` or :class:`RobotsUnreachable`. The instance
    of a crawl is ``crawler.get_downloader_middleware(RepDownloaderMiddleware)``.
    """

    def __init__(self, crawler: Crawler):
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured("ROBOTSTXT_OBEY is off")
        settings = RepSettings.from_settings(crawler.settings)
        self._stats = RepStats(crawler.stats)
        self._lanes = Lanes(crawler)
        most = max(_FETCHES, crawler.settings.getint("CONCURRENT_REQUESTS"))
        self._turns = Turns(most, _A_WHILE)
        self._parking = Parking(crawler, self._lanes, self._turns, settings.park_limit, self._stats)
        self._shelf = open_shelf(crawler, settings, self._stats)
        self._closing = Closing(crawler, self._interrupt, self._busy)
        self._throttle = Throttle(
            crawler, settings, self._stats, self._lanes, self._closing, time.time
        )
        self._cache = self._make_cache(crawler, settings, self._shelf)
        self._gate = Gate(
            identity=Identity(crawler, settings, self._stats),
            cache=self._cache,
            pacer=Pacer(settings, self._stats, self._throttle, time.time),
            parking=self._parking,
            closing=self._closing,
            stats=self._stats,
            clock=time.time,
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

        A request is returned only while the crawl closes, to be scheduled for its next run.
        """
        try:
            return await self._gate.check(request)
        except (IgnoreRequest, CancelledError):
            raise
        except Exception as error:
            # A fault of ours, or of what surrounds us, is no permission.
            self._stats.own_fault("The check of a request", error)
            raise self._gate.refuse(request, Cause.ERROR, str(error)) from error

    async def explain(self, url: str, agent: str | Sequence[str] | None = None) -> Verdict:
        """Return the verdict on ``url`` for ``agent`` (the crawler's own, if ``None``).

        Fetches the robots.txt if it is not known. Raises ``ValueError`` for text that is
        not an absolute URL, for an http or https URL without a usable host, and for an agent
        without a name.
        """
        return await self._gate.explain(url, None if agent is None else product_tokens(agent))

    def cache_info(self) -> dict[str, int]:
        """Return what is known and under way: authorities, octets, fetches, waiting requests."""
        return {
            "authorities": len(self._cache),
            "octets": self._cache.octets,
            "fetches": self._cache.flights,
            "waiting": self._parking.waiting,
        }

    def _make_cache(self, crawler: Crawler, settings: RepSettings, shelf: Shelf) -> RobotsCache:
        fetcher = RobotsFetcher(crawler, settings, self._stats, self._lanes, self._turns, time.time)
        inquiry = Inquiry(
            fetch=fetcher.fetch,
            shelf=shelf,
            clock=time.time,
            policy=settings.policy,
            stats=self._stats,
            timeout=settings.timeout,
            retry_delays=settings.retry_delays,
        )
        return RobotsCache(
            inquiry=inquiry,
            shelf=shelf,
            parse=partial(RobotsTxt.parse, profile=settings.profile, max_size=settings.max_size),
            announce=partial(announce, crawler, self._stats, settings.timeout),
            clock=time.time,
            policy=settings.policy,
            stats=self._stats,
            watch=self._closing.watch,
            heard=partial(heard, crawler),
            memory_limit=settings.memory_limit - shelf.share_of(settings.memory_limit),
        )

    def _busy(self) -> bool:
        return bool(self._cache.flights or self._throttle.waiting or self._parking.waiting)

    def _interrupt(self, started_before: float) -> None:
        self._cache.interrupt(started_before)
        self._parking.give_up()
        self._throttle.give_up()

    def _spider_closed(self) -> None:
        self._closing.stop()
        self._parking.give_up()
        self._cache.interrupt()
        self._shelf.close()
