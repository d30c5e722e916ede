"""The engine: whether the crawl is closing, how to wake the engine or end the crawl.

It also tells direct downloads from requests of the scheduler. When a crawl stops, the latter go
back to the scheduler or end. But nothing would make a direct download again: of 24 files of a media
pipeline on a paced host, 21 were lost without this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.scrapy_internals.names import Feature

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.scrapy_internals.switches import Switches

_DIRECT = "scrapy_rep_direct"
"""The meta key of direct downloads. A redirected or retried request inherits it."""


class Engine:
    """The engine of a crawl."""

    def __init__(self, crawler: Crawler, on: Switches):
        self._crawler = crawler
        self._on = on
        self._marks = False

    def mark_direct_downloads(self) -> None:
        """Mark the requests of ``download_async`` from now on. Does nothing when called again.

        These are the files of media pipelines, and what a callback or a middleware downloads.
        """
        if not self._marks:
            self._marks = True
            engine: Any = self._crawler.engine
            download = engine.download_async

            def marked(request: Request) -> Coroutine[Any, Any, Response]:
                request.meta[_DIRECT] = True
                found: Coroutine[Any, Any, Response] = download(request)
                return found

            engine.download_async = marked

    @staticmethod
    def is_direct(request: Request) -> bool:
        """Return whether a request is a direct download: it did not come from the scheduler."""
        return _DIRECT in request.meta

    @property
    def is_stopping(self) -> bool:
        """Whether the spider is being closed, or is not open: nothing new should begin."""
        slot = self._slot
        return slot is None or slot.closing is not None

    @property
    def is_over(self) -> bool:
        """Whether the downloader is closed, or about to be; a download begun now never ends."""
        slot = self._slot
        return slot is None or (slot.closing is not None and slot.closing.called)

    @property
    def has_throttler(self) -> bool:
        """Whether Scrapy has a throttler: it is planned, and in no release yet."""
        return any(
            hasattr(home, "throttler") and home.throttler
            for home in (self._crawler, self._crawler.engine)
        )

    def wake(self) -> None:
        """Have the engine look for requests now. By itself it does so only when one has ended."""
        if Feature.WAKING in self._on and not self.is_stopping:
            self._slot.nextcall.schedule()

    async def end(self, reason: str) -> None:
        """End the crawl, which has just sent ``engine_started``, before its first request."""
        begun: Deferred[None] = Deferred()
        call_later(0, begun.callback, None)
        await maybe_deferred_to_future(begun)  # lets the other listeners finish first
        if Feature.REASON in self._on:
            await self._crawler.engine.close_spider_async(reason=reason)
        if Feature.STOPPING in self._on:
            await self._crawler.engine.stop_async()

    @property
    def _slot(self) -> Any:
        return self._crawler.engine._slot  # noqa: SLF001
