"""What Scrapy makes for one crawl: a middleware, an extension, a download handler."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler


class Component:
    """It has the crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler: Any = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Scrapy's way to make one."""
        return cls(crawler)
