"""The downloader middleware: it makes the parts of this package and connects them to Scrapy."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from twisted.internet.defer import CancelledError

from scrapy_rep.awaiting import Turns
from scrapy_rep.caching.cache import RobotsCache
from scrapy_rep.caching.refresh import Inquiry
from scrapy_rep.caching.store_adapter import Shelf, open_shelf
from scrapy_rep.fetching.fetcher import RobotsFetcher
from scrapy_rep.gate import Gate
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.outcome import Cause
from scrapy_rep.protocol.robotstxt import RobotsTxt
from scrapy_rep.robotparser import announce, heard
from scrapy_rep.scheduling import fetches
from scrapy_rep.scheduling.hosts import Hosts
from scrapy_rep.scheduling.politeness import Politeness
from scrapy_rep.scheduling.room import WaitingRoom
from scrapy_rep.scheduling.shutdown import Shutdown
from scrapy_rep.scrapy_internals import ScrapyInternals, UnknownScrapyError
from scrapy_rep.settings import RepSettings, obeys, product_tokens, unknown_settings
from scrapy_rep.start_requests import StartRequests
from scrapy_rep.stats import RepStats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.gate import LookUp
    from scrapy_rep.protocol.robotstxt import Verdict


_UNKNOWN_SCRAPY = "unknown_scrapy"
"""The reason with which a crawl closes if Scrapy lacks what this package cannot do without."""


class RepDownloaderMiddleware:
    """Lets through what robots.txt allows, and drops the rest with a reason.

    A dropped request raises :class:`RobotsForbidden` or :class:`RobotsUnreachable`. The instance
    of a crawl is ``crawler.get_downloader_middleware(RepDownloaderMiddleware)``.
    """

    def __init__(self, crawler: Crawler):
        if not obeys(crawler.settings):
            raise NotConfigured("ROBOTSTXT_OBEY is off")
        settings = RepSettings.from_settings(crawler.settings)
        self._stats = RepStats(crawler.stats)
        for name, nearest in unknown_settings(crawler.settings):
            self._stats.unknown_setting(name, nearest)
        self._starts = StartRequests(self._stats)
        inside = self._inside = ScrapyInternals(crawler, self._stats.switched_off)
        at_once = fetches.most_at_once(crawler.settings.getint("CONCURRENT_REQUESTS"))
        self._turns = Turns(at_once, fetches.COUNTED_FOR)
        hosts = Hosts(settings.max_crawl_delay, time.time)
        limit = settings.park_limit
        self._room = WaitingRoom(crawler, inside, hosts, self._turns, limit, self._stats)
        self._shelf = open_shelf(crawler, settings, self._stats, time.time)
        self._shutdown = Shutdown(crawler, inside.engine, self._interrupt, self._busy)
        self._cache = self._make_cache(crawler, settings, self._shelf)
        self._gate = Gate(
            identity=Identity(crawler, settings, self._stats),
            cache=self._cache,
            politeness=Politeness(crawler, inside, settings, self._stats, self._room, time.time),
            room=self._room,
            shutdown=self._shutdown,
            stats=self._stats,
            clock=time.time,
        )
        crawler.signals.connect(self._engine_started, signal=signals.engine_started)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepDownloaderMiddleware:
        """Return the middleware of a crawl; raise ``NotConfigured`` if ``ROBOTSTXT_OBEY`` is off.

        Raises ``ValueError`` for a bad setting.
        """
        try:
            return cls(crawler)
        except ValueError:
            # Scrapy 2.14 ends with status 0 after any error if the crawler has a spider.
            crawler.spider = None
            raise

    async def process_request(self, request: Request) -> Request | None:
        """Let ``request`` pass, or raise why not.

        A request is returned only while the crawl closes, to be scheduled for its next run.
        """
        self._starts.begin(request)
        try:
            self._inside.check()
            return await self._gate.check(request)
        except IgnoreRequest as error:
            self._starts.end(request, error)
            # The frames of the check hold the rules, which would live as long as the exception.
            raise error.with_traceback(None) from None
        except CancelledError as error:
            self._starts.end(request, error)
            raise
        except Exception as error:
            # A failure here, or in what surrounds the gate, is not permission.
            if not isinstance(error, UnknownScrapyError):  # for which the crawl is about to end
                self._stats.own_fault("The check of a request", error)
            refusal = self._gate.refuse(request, Cause.ERROR, str(error))
            self._starts.end(request, refusal)
            raise refusal from error

    async def explain(self, url: str, agent: str | Sequence[str] | None = None) -> Verdict:
        """Return the verdict on ``url`` for ``agent`` (the crawler's own, if ``None``).

        Fetches the robots.txt if it is not known. Raises ``ValueError`` for text that is
        not an absolute URL, for an http or https URL without a usable host, and for an agent
        without a name.
        """
        return (await self.look_up(url, agent)).verdict

    async def look_up(self, url: str, agent: str | Sequence[str] | None = None) -> LookUp:
        """Return the verdict on ``url`` with the agent, the authority, and what is known of it.

        Fetches and raises as :meth:`explain` does.
        """
        return await self._gate.look_up(url, None if agent is None else product_tokens(agent))

    def cache_info(self) -> dict[str, int]:
        """Return what is known and under way: authorities, octets, fetches, waiting requests."""
        return {
            "authorities": len(self._cache),
            "octets": self._cache.octets,
            "fetches": self._cache.flights,
            "waiting": self._room.waiting,
        }

    def _make_cache(self, crawler: Crawler, settings: RepSettings, shelf: Shelf) -> RobotsCache:
        fetcher = RobotsFetcher(
            crawler, self._inside, settings, self._stats, self._room, self._turns, time.time
        )
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
            announce=partial(
                announce, crawler, self._inside.listeners, self._stats, settings.timeout
            ),
            clock=time.time,
            policy=settings.policy,
            stats=self._stats,
            watch=self._shutdown.watch,
            heard=partial(heard, self._inside.listeners),
            memory_limit=settings.memory_limit - shelf.memory_limit,
        )

    def _busy(self) -> bool:
        return bool(self._cache.flights or self._room.waiting)

    def _interrupt(self, started_before: float) -> None:
        self._cache.interrupt(started_before)
        self._room.give_up()

    async def _engine_started(self) -> None:
        """End the crawl before its first request if Scrapy lacks what cannot be done without."""
        try:
            self._inside.check()
        except UnknownScrapyError as error:
            self._stats.unknown_scrapy(str(error))
            await self._inside.engine.end(_UNKNOWN_SCRAPY)

    def _spider_closed(self) -> None:
        self._starts.close()
        self._shutdown.stop()
        self._cache.interrupt()
        self._room.close()
        self._shelf.close()
