"""The spider middleware: counts what pages ask of crawlers and, if asked, obeys it.

It also ends a crawl whose downloader middleware was not built, and slows ``start()`` down while a
great many requests wait. So it stays enabled even if ``REP_PAGE_DIRECTIVES`` and
``REP_PREFERENCES`` are ``off``; then it reads no page. A page is read once, when its response is
on the way to the callback. Start requests have no page, and are not changed.
"""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from scrapy_rep import stats as names
from scrapy_rep.awaiting import sleep
from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware, failing_at_start
from scrapy_rep.frontier.frontier import Frontier, frontier_of
from scrapy_rep.gate.nofollow import marked, marked_in_place
from scrapy_rep.gate.page_responses import DIRECTIVES, page_source, preferences_in_a_crawl
from scrapy_rep.pages.directives import NOFOLLOW, NOINDEX, NONE, RESTRICTIONS, PageDirectives, read
from scrapy_rep.pages.links import canonical, urls_not_to_follow
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.vocabularies import CATEGORIES, DISALLOWED
from scrapy_rep.robotstxt.printable import without_credentials
from scrapy_rep.robotstxt.product_token import tokens_of
from scrapy_rep.robotstxt.profiles import RFC9309, named
from scrapy_rep.settings import NOT_BUILT, RepSettings
from scrapy_rep.stats import RepStats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger("scrapy_rep")

_UNREADABLE = PageDirectives(restrictions=frozenset((NOINDEX, NOFOLLOW)))
"""Stands for a page that could not be read because of a fault in this package: the strictest."""

_LIMITS = ("max_snippet", "max_video_preview", "max_image_preview", "unavailable_after")
"""The fields of page directives that are counted if the page sets them."""


class RepSpiderMiddleware(BaseSpiderMiddleware):
    """Counts what pages ask of crawlers and, under ``REP_PAGE_DIRECTIVES = "obey"``, obeys it.

    A request found on a ``nofollow`` page ends in :class:`RobotsForbidden`. The items of a
    ``noindex`` page are dropped under ``REP_NOINDEX = "drop"``. What pages may be used for is
    counted too. Under ``REP_PREFERENCES = "drop"`` the items of a page are dropped if the page may
    not be used for a purpose of ``REP_PURPOSES``.
    """

    def __init__(self, crawler: Crawler):
        super().__init__(crawler)
        settings = RepSettings.from_settings(crawler.settings)
        if frontier_of(crawler) is None:  # later Scrapy would log three errors of its own as well
            raise ValueError(NOT_BUILT)
        self._reads = settings.page_directives != "off"
        self._obeys = settings.page_directives == "obey"
        self._drops_noindex = self._obeys and settings.noindex == "drop"
        self._link_nofollow = self._obeys and settings.link_nofollow
        self._reads_use = settings.preferences != "off"
        self._purposes = settings.purposes if settings.preferences == "drop" else ()
        self._profile = named(settings.profile)
        self._stats = RepStats(crawler.stats)
        self._links: WeakKeyDictionary[Response, frozenset[str]] = WeakKeyDictionary()
        self._disallowing: WeakKeyDictionary[Response, bool] = WeakKeyDictionary()
        """Whether a page disallows a purpose of the crawl."""
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepSpiderMiddleware:
        """Return the middleware of a crawl; raise ``NotConfigured`` if ``ROBOTSTXT_OBEY`` is off.

        Raises ``ValueError`` for a bad setting, and if ``RepDownloaderMiddleware`` was not built.
        """
        with failing_at_start(crawler):
            return cls(crawler)

    def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Return what ``start()`` yields; raise ``ValueError`` if nothing would check it.

        Only now can Scrapy be asked whether a subclass of the downloader middleware disabled itself
        after it was built.
        """
        frontier = frontier_of(self.crawler)
        if self._middleware is None or frontier is None:
            with failing_at_start(self.crawler):
                raise ValueError(NOT_BUILT)
        return self._slowed_down(super().process_start(start), frontier)

    async def _slowed_down(
        self, start: AsyncIterator[Any], frontier: Frontier
    ) -> AsyncIterator[Any]:
        """Yield what ``start()`` yields, ever more slowly while a great many requests wait.

        A spider that yields a request whenever the engine has room would go on for ever: the engine
        has room while no site is ready.
        """
        async for each in start:
            pause = frontier.start_pause
            if pause:
                await sleep(pause)
            yield each
            if pause and frontier.scrapy.is_closing:
                # Scrapy would take up all the rest in one go before it closes.
                return

    def process_spider_input(self, response: Response) -> None:
        """Read the page before its callback does."""
        if self._reads:
            self._page_directives(response)
        if self._reads_use:
            self._disallows_a_purpose(response)

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        """Mark a request that the page asks not to follow; the gate refuses it."""
        if response is None or not self._obeys:
            return request
        try:
            if request.meta.get("dont_obey_robotstxt"):
                return request
            source = self._nofollow(request, response)
            return request if source is None else marked(request, source)
        except Exception as error:  # noqa: BLE001  # no link may end a crawl
            self._stats.own_fault("The marking of a request", error)
            return marked_in_place(request)

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Return the item, or ``None``, which drops it.

        It is dropped if the page is not to be indexed, or disallows a purpose of the crawl.
        """
        if response is None:
            return item
        if self._purposes and self._disallows_a_purpose(response):
            request = response.request
            if request is None or not request.meta.get("dont_obey_robotstxt"):
                self._stats.inc(names.PREFERENCES_DROPPED)
                return None
        if self._drops_noindex:
            directives = self._page_directives(response)
            if directives.is_noindex(datetime.now(timezone.utc)):
                self._stats.inc(names.PAGE_ITEMS_DROPPED)
                page = without_credentials(response.url)
                logger.debug("An item of a noindex page is dropped: <%s>", page)
                return None
        return item

    def _page_directives(self, response: Response) -> PageDirectives:
        """Return what a page asks of the crawler, and keep it for callbacks.

        The first call reads and counts it.
        """
        directives = DIRECTIVES.get(response)
        if directives is None:
            try:
                tokens = tokens_of(self._agents(response), RFC9309)
                directives = read(page_source(response), tokens, self._profile)
                self._count_page(directives)
            except Exception as error:  # noqa: BLE001  # no page may end a crawl
                self._stats.own_fault("The reading of a page", error)
                directives = _UNREADABLE
            DIRECTIVES[response] = directives
        return directives

    def _count_page(self, page: PageDirectives) -> None:
        self._stats.inc(names.PAGES)
        limits = [name for name in _LIMITS if getattr(page, name) is not None]
        for name in (*page.restrictions, *limits):
            self._stats.inc(names.PAGES_SAYING.format(name))

    def _disallows_a_purpose(self, response: Response) -> bool:
        """Return whether anything that is said about a page disallows a purpose of the crawl.

        The first call reads the page and counts what it says. If that fails, the answer is True:
        a fault is no permission to use the page.
        """
        known = self._disallowing.get(response)
        if known is None:
            try:
                found = preferences_in_a_crawl(response, self._agents, self._profile)
                if found is not None:
                    self._count_use(found)
                known = found is not None and any(
                    found[purpose] == DISALLOWED for purpose in self._purposes
                )
            except Exception as error:  # noqa: BLE001  # no page may end a crawl
                self._stats.own_fault("The reading of usage preferences", error)
                known = True
            self._disallowing[response] = known
        return known

    def _count_use(self, found: Preferences) -> None:
        for category in CATEGORIES:
            if found.about(category):
                self._stats.inc(names.PREFERENCES.format(category, found[category]))
        if found.licenses:
            self._stats.inc(names.PREFERENCES_LICENSE)

    def _agents(self, response: Response) -> tuple[str, ...]:
        middleware = self._middleware
        return middleware.agents(response.request) if middleware is not None else ()

    @cached_property
    def _middleware(self) -> RepDownloaderMiddleware | None:
        return self.crawler.get_downloader_middleware(RepDownloaderMiddleware)

    def _nofollow(self, request: Request, response: Response) -> str | None:
        """Return the source that says nofollow for the request; ``None`` if there is none."""
        directives = self._page_directives(response)
        if NOFOLLOW in directives.restrictions:
            return _source_of_nofollow(directives)
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
        """Log in one line how many pages said what; nothing if no page said anything."""
        keys = {name: names.PAGES_SAYING.format(name) for name in (*sorted(RESTRICTIONS), *_LIMITS)}
        for category in CATEGORIES:
            keys[f"disallow {category}"] = names.PREFERENCES.format(category, DISALLOWED)
        counts = {what: self._stats.count(key) for what, key in keys.items()}
        summary = ", ".join([f"{count:,} {what}" for what, count in counts.items() if count])
        if summary:
            logger.info("What pages said: %s", summary)


def _source_of_nofollow(page: PageDirectives) -> str:
    for terms in ((NOFOLLOW, NONE), (NOINDEX,)):  # the second closes links in the text of 1996-98
        for statement in page.statements:
            if statement.name.lower() in terms:
                return statement.source
    return ""
