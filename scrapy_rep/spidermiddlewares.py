"""The spider middleware: counts what pages ask of crawlers and, if asked, obeys it.

It ends a crawl whose downloader middleware was not built. A page is read once, when its response is
on the way to the callback. Start requests have no page, and are not changed; but while the
scheduler withholds a great many, no more are taken up.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from scrapy_rep.awaiting import sleep
from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware, is_obeying
from scrapy_rep.nofollow import marked, marked_in_place, unmarked
from scrapy_rep.page_responses import keep_unread, kept, page_source, read_and_keep
from scrapy_rep.pages.links import canonical, urls_not_to_follow
from scrapy_rep.pages.profiles import page_profile
from scrapy_rep.pages.statements import NOFOLLOW, NOINDEX, PageDirectives
from scrapy_rep.pages.terms import NONE
from scrapy_rep.settings import RepSettings, failing_at_start, obeys
from scrapy_rep.stats import PageStats, RepStats
from scrapy_rep.usage.responses import UseOfResponses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_PAUSE = 0.05
"""Seconds after which ``start()`` looks again whether it may go on."""

_UNREADABLE = PageDirectives(restrictions=frozenset((NOINDEX, NOFOLLOW)))
"""Stands for a page that could not be read by a fault of this package, which permits nothing."""

_NOT_BUILT = (
    "robots.txt cannot be obeyed: DOWNLOADER_MIDDLEWARES lacks RepDownloaderMiddleware, or Scrapy "
    "has disabled it"
)


class RepSpiderMiddleware(BaseSpiderMiddleware):
    """Counts what pages ask of crawlers and, under ``REP_PAGE_DIRECTIVES = "obey"``, obeys it.

    A request found on a ``nofollow`` page ends in :class:`RobotsForbidden`. The items of a
    ``noindex`` page are dropped under ``REP_NOINDEX = "drop"``. What pages may be used for is
    counted too. Under ``REP_PREFERENCES = "drop"`` the items of pages are dropped that may not be
    used for a purpose of ``REP_PURPOSES``.
    """

    def __init__(self, crawler: Crawler):
        super().__init__(crawler)
        if not obeys(crawler.settings):
            raise NotConfigured("ROBOTSTXT_OBEY is off")
        settings = RepSettings.from_settings(crawler.settings)
        if not is_obeying(crawler):
            raise ValueError(_NOT_BUILT)
        self._reads = settings.page_directives != "off"
        self._obeys = settings.page_directives == "obey"
        self._drops = self._obeys and settings.noindex == "drop"
        self._link_nofollow = self._obeys and settings.link_nofollow
        self._profile = page_profile(settings.profile)
        self._stats = RepStats(crawler.stats)
        self._pages = PageStats(self._stats)
        self._links: WeakKeyDictionary[Response, frozenset[str]] = WeakKeyDictionary()
        self._dropped: WeakSet[Response] = WeakSet()
        self._gate: RepDownloaderMiddleware | None = None
        self._use = None
        if settings.preferences != "off":
            self._use = UseOfResponses(settings, self._profile, self._stats, self._agents)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepSpiderMiddleware:
        """Return the middleware of a crawl; raise ``NotConfigured`` if it has nothing to do.

        Raises ``ValueError`` for a bad setting, and if ``RepDownloaderMiddleware`` was not built.
        """
        with failing_at_start(crawler):
            return cls(crawler)

    def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Return what ``start()`` yields; raise ``ValueError`` if nothing would check it.

        Only now can Scrapy be asked whether a subclass of the downloader middleware disabled itself
        after it was built.
        """
        if self.crawler.get_downloader_middleware(RepDownloaderMiddleware) is None:
            with failing_at_start(self.crawler):
                raise ValueError(_NOT_BUILT)
        return self._held_back(super().process_start(start))

    async def _held_back(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield what ``start()`` yields, but wait while the scheduler withholds a great many.

        A spider that yields a request whenever the engine has room would go on for ever: the engine
        has room while nothing is ready.
        """
        async for each in start:
            while self._withholds_many():
                await sleep(_PAUSE)
            yield each

    def _withholds_many(self) -> bool:
        gate = self._found_gate()
        return gate is not None and gate.withheld.holds_back_start

    def process_spider_input(self, response: Response) -> None:
        """Read the page before its callback does."""
        if self._reads:
            self._said(response)
        if self._use is not None:
            self._use.see(response)

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        """Mark a request that the page asks not to follow; the gate refuses it."""
        if response is None or not self._obeys:
            return request
        try:
            if request.meta.get("dont_obey_robotstxt"):
                return request
            source = self._nofollow(request, response)
            return unmarked(request) if source is None else marked(request, source)
        except Exception as error:  # noqa: BLE001  # no link may end a crawl
            self._stats.own_fault("The marking of a request", error)
            return marked_in_place(request)

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Return the item, or ``None``, which drops it.

        It is dropped if the page is not to be indexed, or disallows a purpose of the crawl.
        """
        if response is None:
            return item
        if self._use is not None and self._use.drops_items(response):
            return None
        if not self._drops:
            return item
        if not self._said(response).is_noindex(datetime.now(timezone.utc)):
            return item
        self._pages.item_dropped(response.url, first=response not in self._dropped)
        self._dropped.add(response)
        return None

    def _said(self, response: Response) -> PageDirectives:
        """Return what a page says; it is read and counted when that is first asked for."""
        try:
            said = kept(response)
            if said is None:
                said = read_and_keep(response, self._agents(response), self._profile)
                self._pages.page(said)
        except Exception as error:  # noqa: BLE001  # no page may end a crawl
            self._stats.own_fault("The reading of a page", error)
            said = _UNREADABLE
            keep_unread(response, self._profile, said)
        return said

    def _agents(self, response: Response) -> tuple[str, ...]:
        gate = self._found_gate()
        return gate.agents(response.request) if gate is not None else ()

    def _found_gate(self) -> RepDownloaderMiddleware | None:
        if self._gate is None:
            self._gate = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        return self._gate

    def _nofollow(self, request: Request, response: Response) -> str | None:
        """Return the source that says nofollow for the request; ``None`` if there is none."""
        said = self._said(response)
        if NOFOLLOW in said.restrictions:
            return _source_of_nofollow(said)
        if self._link_nofollow:
            links = self._links_not_to_follow(response)
            if links and canonical(request.url) in links:
                return "rel"
        return None

    def _links_not_to_follow(self, response: Response) -> frozenset[str]:
        """Return the URLs that ``rel="nofollow"`` closes, in canonical form."""
        if response not in self._links:
            markup = page_source(response).markup
            self._links[response] = (
                frozenset() if markup is None else urls_not_to_follow(markup, response.url)
            )
        return self._links[response]

    def _spider_closed(self) -> None:
        use = self._use
        self._pages.close(0 if use is None else use.pages, {} if use is None else use.disallowed)


def _source_of_nofollow(said: PageDirectives) -> str:
    for names in ((NOFOLLOW, NONE), (NOINDEX,)):  # the second closes links in the text of 1996-98
        for statement in said.statements:
            if statement.name.lower() in names:
                return statement.source
    return ""
