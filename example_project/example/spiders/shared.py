"""`scrapy crawl shared -a sites=sites.txt` is one of many workers that share a crawl.

They share a queue, by scrapy-redis's scheduler, and what robots.txt says, by scrapy_rep's store:
however many workers there are, each robots.txt is fetched once.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider, ScrapyDeprecationWarning
from scrapy.http import Response

from example.report import ReportingSpider

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
# scrapy-redis 0.9.1 calls Scrapy as its older versions wanted it; no harm is done.
warnings.filterwarnings("ignore", category=ScrapyDeprecationWarning, module="scrapy_redis")

PATIENCE = 3.0  # seconds that a worker waits for others to find something for it to do


class SharedSpider(ReportingSpider):
    """Takes requests from the shared queue, and puts there what it finds."""

    name = "shared"
    custom_settings = {
        # The queue, and what was seen already, are on the Redis server ...
        "REDIS_URL": REDIS_URL,
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        # ... and stay there when a worker ends, as others may still be at work.
        "SCHEDULER_PERSIST": True,
        # What robots.txt says is there, too.
        "REP_STORE": REDIS_URL,
        "REP_RETRY_DELAYS": [],
    }

    def __init__(self, sites: str = "sites.txt", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.origins = Path(sites).read_text().split()
        self.idle_since: float | None = None

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signal=signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        # Every worker asks for the same pages; the shared filter keeps one request for each.
        for origin in self.origins:
            for page in ("/", "/shop", "/private/"):
                yield self.ask(origin + page)

    def follow(self, response: Response) -> Iterator[Request]:
        for link in response.css("a::attr(href)").getall():
            yield self.ask(response.urljoin(link))

    def note(self, request: Request, *how: str) -> None:
        self.idle_since = None
        super().note(request, *how)

    def idle(self) -> None:
        """Stay for a while when the queue is empty: another worker may put something into it."""
        now = time.monotonic()
        self.idle_since = self.idle_since or now
        if now < self.idle_since + PATIENCE:
            raise DontCloseSpider
