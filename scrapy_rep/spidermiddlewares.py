"""The spider middleware: counts what pages ask of crawlers and, if asked, obeys it.

It also ends a crawl whose downloader middleware was not built, and holds back ``start()`` while
many requests are withheld. So it stays enabled where ``REP_PAGE_DIRECTIVES`` and
``REP_PREFERENCES`` are ``off``, and reads no page then. A page is read once, when its response is
on the way to the callback. Start requests have no page, and are not changed.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from scrapy_rep import stats as names
from scrapy_rep.awaiting import sleep
from scrapy_rep.downloadermiddlewares import (
    RepDownloaderMiddleware,
    failing_at_start,
    is_obeying,
)
from scrapy_rep.gate.nofollow import marked, marked_in_place, unmarked
from scrapy_rep.page_responses import (
    keep_unread,
    kept,
    page_source,
    preferences_in_a_crawl,
    read_and_keep,
)
from scrapy_rep.pages.directives import NOFOLLOW, NOINDEX, NONE, PageDirectives
from scrapy_rep.pages.links import canonical, urls_not_to_follow
from scrapy_rep.preferences.statement import CATEGORIES, DISALLOWED, Preferences
from scrapy_rep.robotstxt.profiles import Profile, named
from scrapy_rep.settings import RepSettings, obeys
from scrapy_rep.stats import PageStats, RepStats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_PAUSE = 0.05
"""Seconds after which ``start()`` looks again whether it may go on."""

_UNREADABLE = PageDirectives(restrictions=frozenset((NOINDEX, NOFOLLOW)))
"""Stands for a page that a fault of this package kept from being read: it permits nothing."""

_NOT_BUILT = (
    "robots.txt cannot be obeyed: DOWNLOADER_MIDDLEWARES lacks RepDownloaderMiddleware, or Scrapy "
    "has disabled it"
)


class RepSpiderMiddleware(BaseSpiderMiddleware):
    """Counts what pages ask of crawlers and, under ``REP_PAGE_DIRECTIVES = "obey"``, obeys it.

    A request found on a ``nofollow`` page ends in :class:`RobotsForbidden`. The items of a
    ``noindex`` page are dropped under ``REP_NOINDEX = "drop"``. What pages may be used for is
    counted too. Under ``REP_PREFERENCES = "drop"`` the items of a page are dropped if the page may
    not be used for a purpose of ``REP_PURPOSES``.
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
        self._profile = named(settings.profile)
        self._stats = RepStats(crawler.stats)
        self._pages = PageStats(self._stats)
        self._links: WeakKeyDictionary[Response, frozenset[str]] = WeakKeyDictionary()
        self._dropped: WeakSet[Response] = WeakSet()
        self._middleware: RepDownloaderMiddleware | None = None
        self._use = None
        if settings.preferences != "off":
            self._use = UseOfResponses(settings, self._profile, self._stats, self._agents)
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
            is_held = False
            try:
                while self._withholds_many():
                    is_held = True
                    await sleep(_PAUSE)
            except Exception as error:  # noqa: BLE001  # the request in hand would be lost
                self._stats.own_fault("The look at what waits", error)
            yield each
            if is_held and self._is_closing():
                # Scrapy would take up all the rest in one go before it closes.
                return

    def _withholds_many(self) -> bool:
        middleware = self._found_middleware()
        return middleware is not None and middleware.withheld.holds_back_start

    def _is_closing(self) -> bool:
        middleware = self._found_middleware()
        return middleware is not None and middleware.withheld.is_closing

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
        middleware = self._found_middleware()
        return middleware.agents(response.request) if middleware is not None else ()

    def _found_middleware(self) -> RepDownloaderMiddleware | None:
        if self._middleware is None:
            self._middleware = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        return self._middleware

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
    for terms in ((NOFOLLOW, NONE), (NOINDEX,)):  # the second closes links in the text of 1996-98
        for statement in said.statements:
            if statement.name.lower() in terms:
                return statement.source
    return ""


class UseOfResponses:
    """Reads what each response says about the use of its page, once, and counts it.

    Under ``REP_PREFERENCES = "drop"`` the items of a page are dropped if anything that is said
    about it disallows one of ``REP_PURPOSES``.
    """

    def __init__(
        self,
        settings: RepSettings,
        profile: Profile,
        stats: RepStats,
        agent_of: Callable[[Response], tuple[str, ...]],
    ):
        self._stats = stats
        self._agent_of = agent_of
        self._profile = profile
        self._purposes = settings.purposes if settings.preferences == "drop" else ()
        self._seen: WeakSet[Response] = WeakSet()
        self._without_items: WeakSet[Response] = WeakSet()
        self._disallowed: Counter[str] = Counter()
        self.pages = 0
        """The pages that were read."""

    def see(self, response: Response) -> None:
        """Read a response before its callback does. A fault here is not permission to use it."""
        self._seen.add(response)
        self.pages += 1
        try:
            found = preferences_in_a_crawl(response, self._agent_of, self._profile)
        except Exception as error:  # noqa: BLE001  # no page may end a crawl
            self._stats.own_fault("The reading of usage preferences", error)
            self._without_items.add(response)
            return
        if found is not None:
            self._count(found)
            if any(found[purpose] == DISALLOWED for purpose in self._purposes):
                self._without_items.add(response)

    def drops_items(self, response: Response) -> bool:
        """Return whether an item of a page is dropped, and count it if so.

        A page that an earlier middleware keeps from the callback, as one with the status 404, may
        have items of its errback. It is read here.
        """
        if not self._purposes:
            return False
        if response not in self._seen:
            self.see(response)
        if response not in self._without_items:
            return False
        if response.request is not None and response.request.meta.get("dont_obey_robotstxt"):
            return False
        self._stats.inc(names.PREFERENCES_DROPPED)
        return True

    @property
    def disallowed(self) -> dict[str, int]:
        """How many pages disallow which use, by category."""
        return {one: self._disallowed[one] for one in CATEGORIES if self._disallowed[one]}

    def _count(self, found: Preferences) -> None:
        for category in CATEGORIES:
            if found.about(category):
                answer = found[category]
                self._stats.inc(names.PREFERENCES.format(category, answer))
                self._disallowed[category] += answer == DISALLOWED
        if found.licenses:
            self._stats.inc(names.PREFERENCES_LICENSE)
