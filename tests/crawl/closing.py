"""Spiders that are stopped in the middle, say how long the stop took, or ask the middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from time import monotonic
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from scrapy_rep import RepDownloaderMiddleware
from tests.crawl.spiders import RequestsSpider


class ClosingSpider(RequestsSpider):
    """Closed `close_after` seconds after it opens; it keeps what happened on the way.

    With `parked` the seconds count from when this many requests wait for a robots.txt, with `after`
    from when this stat is there. Stats: `closing/seconds` from the first sign of the stop to the
    end, `idle/waiting` how often the spider was called idle while requests waited for a robots.txt.
    """

    close_after: float | None = None
    parked = 0
    after = ""
    stopping_since: float | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> ClosingSpider:
        """The spider listens to what becomes of the crawl."""
        spider: ClosingSpider = super().from_crawler(crawler, *args, **kwargs)
        connect = crawler.signals.connect
        connect(spider.opened, signal=signals.spider_opened)
        connect(spider.idle, signal=signals.spider_idle)
        connect(spider.at_the_end, signal=signals.spider_closed)
        return spider

    @property
    def gate(self) -> RepDownloaderMiddleware:
        """The middleware of this crawl."""
        gate: Any = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        return gate

    @property
    def waiting(self) -> int:
        """How many requests wait; Scrapy's own middleware does not tell."""
        return self.gate.cache_info()["waiting"] if self.gate else 0

    def opened(self) -> None:
        """The stop is arranged."""
        if self.close_after is None:
            return
        begins = not self.after or self.crawler.stats.get_value(self.after) is not None
        if begins and self.waiting >= self.parked:
            call_later(self.close_after, self.stop)
        else:
            call_later(0.01, self.opened)

    def stop(self) -> None:
        """The engine is told to close the spider."""
        if self.crawler.engine is None or self.crawler.engine.spider is None:
            return  # it was over before
        self.stopping_since = monotonic()
        self.crawler.stats.set_value("closing/waiting", self.waiting)
        closing = self.crawler.engine.close_spider_async(reason="stopped")
        deferred_from_coro(closing).addErrback(lambda _: None)  # it was too late

    def idle(self) -> None:
        """Scrapy takes the spider for idle."""
        self.crawler.stats.inc_value("idle/all")
        if self.waiting:
            self.crawler.stats.inc_value("idle/waiting")

    def at_the_end(self) -> None:
        """The time is taken."""
        if self.stopping_since is not None:
            taken = monotonic() - self.stopping_since
            self.crawler.stats.set_value("closing/seconds", taken)


class FetchingSpider(ClosingSpider):
    """Each page it gets makes it fetch another URL, outside the scheduler, and wait for it."""

    inner = ""

    async def page(self, response: Response) -> None:  # type: ignore[override]
        """The inner fetch, and how it ended."""
        self._note(response.meta, status=response.status, final=response.url)
        try:
            inner = await self.crawler.engine.download_async(Request(self.inner))
            outcome = str(inner.status)
        except IgnoreRequest as error:
            outcome = type(error).__name__
        self.crawler.stats.set_value("inner", outcome)


class ItemSpider(ClosingSpider):
    """Each page gives an item, which may ask for files."""

    files: Iterable[str] = ()

    def found(self, response: Response) -> Iterable[Any]:
        """The item, which is kept."""
        self.item = {"url": response.url, "file_urls": [*self.files]}
        yield self.item


class AskingSpider(ClosingSpider):
    """Asks about `questions` (URL, agent) before its requests, and keeps the answers."""

    questions: list[tuple[str, Any]]

    async def start(self) -> AsyncIterator[Any]:
        """First the questions."""
        self.answers: list[Any] = []
        self.infos = [self.gate.cache_info()]
        for url, agent in self.questions:
            self.answers.append(await self.answer(url, agent))
        self.infos.append(self.gate.cache_info())
        async for request in super().start():
            yield request

    async def answer(self, url: str, agent: Any) -> Any:
        """The verdict, or why there is none."""
        try:
            return await self.gate.explain(url, agent)
        except ValueError as error:
            return error
