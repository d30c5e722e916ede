"""Spiders that go by bursts, how far apart requests arrived, and how fast this machine is now."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from time import perf_counter, process_time
from typing import Any

from scrapy import Request
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.signals import request_reached_downloader
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from tests.crawl.plugin import by_hand
from tests.site import Authority


def pages(shop: Authority, count: int) -> list[str]:
    """The URLs of so many pages of an authority."""
    return [shop.url(f"/{number}") for number in range(count)]


def gaps(*authorities: Authority) -> list[float]:
    """Seconds between the pages asked for, one after another, of all these authorities."""
    times = sorted(hit.received for authority in authorities for hit in authority.page_hits)
    return [later - earlier for earlier, later in pairwise(times)]


def keeps(shop: Authority, interval: float, by: Callable[..., Any]) -> bool:
    """Whether pages were asked for at an interval.

    Without the last step they are spaced where the gate is, so one may arrive late, and the next
    one sooner after that.
    """
    found = gaps(shop)
    if by is by_hand:
        return sum(found) >= (len(found) - 1) * interval
    return min(found, default=interval) >= interval


def taken(authorities: Iterable[Authority]) -> float:
    """Seconds from the first request to the last reply of them all."""
    hits = [hit for authority in authorities for hit in authority.hits]
    return max(hit.finished or 0.0 for hit in hits) - min(hit.received for hit in hits)


def at_once(*authorities: Authority) -> int:
    """The most pages that were served at the same time, as far as the server can tell."""
    hits = [hit for authority in authorities for hit in authority.page_hits]
    # The end of the last one may not be noted yet.
    steps = [(hit.received, 1) for hit in hits] + [(hit.sent or math.inf, -1) for hit in hits]
    return max(accumulate(step for _, step in sorted(steps)))


class SlotlessDownloader:
    """A downloader of a project's own: all at once, and no slots."""

    def __init__(self, crawler: Crawler) -> None:
        self.active: set[Request] = set()
        self._crawler = crawler
        self._handlers = DownloadHandlers(crawler)
        self.middleware = DownloaderMiddlewareManager.from_crawler(crawler)

    def fetch(self, request: Request) -> Deferred[Any]:
        """What a request comes to."""
        self.active.add(request)
        fetching = self.middleware.download_async(self._download, request)
        return deferred_from_coro(fetching).addBoth(self._done, request)

    def needs_backout(self) -> bool:
        """There is always room."""
        return False

    def close(self) -> None:
        """There is nothing to close."""

    async def _download(self, request: Request) -> Any:
        self._crawler.signals.send_catch_log(request_reached_downloader, request=request)
        return await self._handlers.download_request_async(request)

    def _done(self, result: Any, request: Request) -> Any:
        self.active.remove(request)
        return result


SLOTLESS = {
    "DOWNLOADER": f"{__name__}.{SlotlessDownloader.__name__}",
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
}
"""The settings of a project with such a downloader."""

HURRIED = {"CONCURRENT_REQUESTS": 32, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
"""Much more concurrency than a robots.txt with a delay agrees to."""

_SAMPLE = 0.05


def slowness() -> float:
    """How many times longer everything takes, because others use the processors; at least 1."""
    wall, used = perf_counter(), process_time()
    while process_time() - used < _SAMPLE:
        pass
    sample = (perf_counter() - wall) / _SAMPLE
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return max(1.0, sample, waiting)
