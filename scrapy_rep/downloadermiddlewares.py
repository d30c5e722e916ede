"""The two downloader middlewares: the gate, and the last step behind all others.

The first one owns the parts of a crawl (:mod:`scrapy_rep.parts`) and connects them to Scrapy.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy import signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.python import global_object_name
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.access.outcome import Cause
from scrapy_rep.awaiting import sleep
from scrapy_rep.parts import Parts
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.scrapy_names import UnknownScrapyError
from scrapy_rep.settings import check_obeyed, obeys
from scrapy_rep.sites.exchange import EXCHANGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.robotstxt.verdict import Verdict


logger = logging.getLogger("scrapy_rep")

_UNKNOWN_SCRAPY = "unknown_scrapy"
"""The reason with which a crawl closes if Scrapy lacks something necessary."""


@contextmanager
def failing_at_start(crawler: Crawler) -> Iterator[None]:
    """Raise ``NotConfigured`` if ``ROBOTSTXT_OBEY`` is off; make a ``ValueError`` end the process.

    It ends with a status other than 0 then. Scrapy 2.14 ends with 0 after any error at the start if
    the crawler has a spider.
    """
    try:
        if not obeys(crawler.settings):
            raise NotConfigured("ROBOTSTXT_OBEY is off")
        yield
    except ValueError:
        crawler.spider = None
        raise


class RepDownloaderMiddleware:
    """Lets through what robots.txt allows, and drops the rest with a reason.

    A dropped request raises :class:`RobotsForbidden` or :class:`RobotsUnreachable`. The instance of
    a crawl is ``crawler.get_downloader_middleware(RepDownloaderMiddleware)``; its :meth:`explain`
    answers for URLs that are not requested.
    """

    def __init__(self, crawler: Crawler):
        parts = self._parts = Parts(crawler)
        self._crawler = crawler
        self._has_last_step = True
        self.explainer = parts.explainer
        """Answers for URLs that are not requested."""
        crawler.signals.connect(self._engine_started, signal=signals.engine_started)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepDownloaderMiddleware:
        """Return the middleware of a crawl; raise ``NotConfigured`` if ``ROBOTSTXT_OBEY`` is off.

        Raises ``ValueError`` for a bad setting, and in place of any other ``NotConfigured``: after
        that exception, Scrapy would go on without the middleware, and obey no robots.txt.
        """
        with failing_at_start(crawler):
            try:
                return cls(crawler)
            except NotConfigured as error:
                why = printable(str(error)) or "a component of it is not configured"
                raise ValueError(f"robots.txt cannot be obeyed: {why}") from error

    async def process_request(self, request: Request) -> Request | None:
        """Let ``request`` pass, or raise why not.

        If the crawl closes while the request waits for its rules or its turn, it is returned.
        """
        if request in self._parts.places.fetches:  # for a robots.txt itself
            return None
        try:
            self._parts.scrapy.check()
            returned = await self._parts.gate.check(request)
        except Exception as error:  # noqa: BLE001  # it ends in a refusal
            self._end(request, error)
        if returned is None and not self._has_last_step:
            returned = await self.arrive(request)
            self.left(request)  # the interval is kept from one start to the next
        return returned

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Return ``response``, unless the rules of the page that it is of forbid it.

        That may be another page than was asked for: browsers and services follow redirects by
        themselves. A request is returned only if the crawl closes while it waits for rules.
        """
        url = response.url
        if url == request.url:
            return response
        try:
            self._parts.scrapy.check()
            returned = await self._parts.gate.check_final_url(request, url)
        except Exception as error:  # noqa: BLE001  # it ends in a refusal
            self._end(request, error, url)
        return response if returned is None else returned

    async def arrive(self, request: Request) -> Request | None:
        """Let ``request`` be sent, at the last step; return it if it has to come back.

        One that had to wait for its turn is judged again: the rules may have changed meanwhile.
        """
        try:
            returned = await self._parts.gate.check_as_sent(request)
            if returned is not None:
                return returned
            waits = self._parts.turns.arrive(request)
            if waits is None:
                return None
            self._parts.watch_for_stop()
            returned = await waits
            return await self._parts.gate.check_again(request) if returned is None else returned
        except Exception as error:  # noqa: BLE001
            self._parts.turns.left(request, was_sent=False)
            self._end(request, error)

    def left(self, request: Request) -> None:
        """Note, at the last step, that a download has ended."""
        self._parts.turns.left(request)

    def _end(self, request: Request, error: Exception, final_url: str = "") -> NoReturn:
        """Raise what a request ends in after an error in its check, or in that of its response.

        A failure here, or in what surrounds the gate, is not permission.
        """
        if isinstance(error, CancelledError):
            raise error
        if final_url:
            self._parts.stats.inc(names.FINAL_URLS_REFUSED)
        if isinstance(error, IgnoreRequest):
            self._parts.account.ended(request, error, final_url)
            # The frames of the check hold the rules, which would live as long as the exception.
            cause = error.__cause__ and error.__cause__.with_traceback(None)
            raise error.with_traceback(None) from cause
        if not isinstance(error, UnknownScrapyError):  # for which the crawl is about to end
            self._parts.stats.own_fault("The check of a request", error)
        refusal = self._parts.account.unreachable(request, Cause.ERROR, str(error), url=final_url)
        self._parts.account.ended(request, refusal, final_url)
        raise refusal from error

    async def explain(self, url: str, agent: str | Sequence[str] | None = None) -> Verdict:
        """Return the verdict on a request for ``url`` by ``agent`` (``None``: the crawler's own).

        Fetches the robots.txt if it is not known. Raises ``ValueError`` for text that is not an
        absolute URL, for an http or https URL without a usable host, and for an agent without a
        name.
        """
        return (await self.explainer.look_up(url, agent)).verdict

    def agents(self, request: Request | None) -> tuple[str, ...]:
        """Return the product tokens that ``request`` goes by, in order of preference.

        Without a request, or if the request names something that is not a token, these are the
        tokens of the crawl.
        """
        identity = self._parts.identity
        return identity.default if request is None else identity.usable(request)

    def cache_info(self) -> dict[str, int]:
        """Return how many sites, bytes, fetches and waiting requests there are now."""
        return {
            "sites": len(self._parts.cache),
            "bytes": self._parts.cache.octets,
            "fetches": self._parts.cache.flights,
            "waiting": self._parts.frontier.waiting + self._parts.places.waiting,
        }

    async def _engine_started(self) -> None:
        """Begin the crawl; end it if Scrapy lacks something.

        In ``scrapy shell`` there is no spider yet. A crawl may also be over already, as when a
        listener of ``spider_opened`` closes it.
        """
        engine: Any = self._crawler.engine
        if engine.spider is None:
            if self._crawler.spider is None:
                self._crawler.signals.connect(self._begin, signal=signals.spider_opened)
            return
        self._begin()
        try:
            self._parts.scrapy.check()
        except UnknownScrapyError as error:
            logger.error("%s; the crawl ends without a request", error)
            await self._end_crawl()

    def _begin(self) -> None:
        """Log the names that the crawler goes by, and open what needs an open spider."""
        tokens = self._parts.identity.searched_for
        hint = ". Set USER_AGENT to the name of your crawler" if tokens == ("Scrapy",) else ""
        logger.info("Obeying robots.txt as %s%s", ", else ".join(map(printable, tokens)), hint)
        self._parts.open()
        self._log_setup()

    def _log_setup(self) -> None:
        """Log which parts of this package are not enabled, and what else checks requests."""
        if self._enabled(RepLastStep) is None:
            self._has_last_step = False
            logger.warning(
                "RepLastStep is not in DOWNLOADER_MIDDLEWARES: requests to hosts that ask for a "
                "pace are spaced before other middlewares, which may hold them up"
            )
        if (other := self._enabled(RobotsTxtMiddleware)) is not None:
            logger.warning(
                "%s is enabled as well: both it and scrapy_rep check each request. Set it to None "
                "in DOWNLOADER_MIDDLEWARES if it is not needed",
                global_object_name(type(other)),
            )
        throttles = getattr(self._crawler, "throttler", None) is not None
        throttles &= self._crawler.settings.getbool("THROTTLER_ROBOTSTXT_OBEY", True)
        if throttles and self._parts.settings.crawl_delay:  # versions of Scrapy to come
            logger.info(
                "Scrapy's throttler keeps Crawl-delay as well as scrapy_rep. Set "
                "THROTTLER_ROBOTSTXT_OBEY to False if one is enough"
            )
        if not self._parts.frontier.is_open:
            logger.info(
                "Requests wait in the downloader, and count towards CONCURRENT_REQUESTS. Set "
                'SCHEDULER to "scrapy_rep.RepScheduler", so that they wait in the scheduler'
            )

    def _enabled(self, cls: type[Any]) -> Any:
        """Return the downloader middleware of a class; None if it is not enabled."""
        try:
            return self._crawler.get_downloader_middleware(cls)
        except AttributeError:  # a custom downloader may not show its middlewares
            return None

    async def _end_crawl(self) -> None:
        """End the crawl, which has just sent ``engine_started``, before its first request."""
        await sleep(0.0)  # lets the other listeners finish first
        engine: Any = self._crawler.engine
        await engine.close_spider_async(reason=_UNKNOWN_SCRAPY)
        await engine.stop_async()

    def _spider_closed(self, reason: str) -> None:
        if reason == "finished":  # after a stop, requests may be left over
            self._parts.stats.nothing_allowed()
        self._parts.close()


class RepLastStep:
    """Makes requests to hosts that ask for a pace wait for their turn, just before they are sent.

    It belongs in ``DOWNLOADER_MIDDLEWARES`` at an order behind all others, such as 100,000.
    """

    def __init__(self, crawler: Crawler):
        self._crawler = crawler
        self._middleware: RepDownloaderMiddleware | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepLastStep:
        """Return the last step of a crawl; raise ``NotConfigured`` if it does not obey.

        Raises ``ValueError`` if nothing in front of it obeys.
        """
        with failing_at_start(crawler):
            check_obeyed(crawler.settings)
            return cls(crawler)

    async def process_request(self, request: Request) -> Request | None:
        """Return when the request may be sent; return it if it has to come back.

        A middleware may have put a robots.txt request into the slot of its proxy, where pages and
        their delay would hold it up for longer than a fetch may take.
        """
        if (exchange := request.meta.get(EXCHANGE)) is not None:
            request.meta["download_slot"] = exchange.slot
        if self._middleware is None:
            self._middleware = self._crawler.get_downloader_middleware(RepDownloaderMiddleware)
        if self._middleware is None:
            return None
        return await self._middleware.arrive(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Note that a download has ended."""
        if self._middleware is not None:
            self._middleware.left(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note that a download has failed."""
        if (exchange := request.meta.get(EXCHANGE)) is not None:
            exchange.has_failed = True
        if self._middleware is not None:
            self._middleware.left(request)
