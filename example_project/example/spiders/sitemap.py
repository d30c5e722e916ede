"""`scrapy crawl sitemap -a url=https://example.org` fetches the pages that a site's sitemaps list.

Which sitemaps there are, the site's robots.txt says; it is fetched once, for this and for its
rules. Without a URL the spider crawls a site of the demo web. It needs Scrapy 2.18 or newer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urljoin

from scrapy import Request, signals
from scrapy.http import Response, XmlResponse
from scrapy.utils.sitemap import Sitemap

from example.demoweb import DemoWeb
from example.report import ReportingSpider
from scrapy_rep import RepDownloaderMiddleware


class SitemapSpider(ReportingSpider):
    """Has the plugin fetch a robots.txt, and takes the sitemaps from what it made of it."""

    name = "sitemap"

    def __init__(self, url: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.web = None if url else DemoWeb()
        self.url = url or self.web.origins["allows"]
        self.sitemaps: list[str] = []

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.parsed, signal=signals.robots_parsed)
        return spider

    def parsed(self, robotparser: Any) -> None:
        """Note the sitemaps of each robots.txt that comes into force."""
        self.sitemaps += robotparser.sitemaps()

    async def start(self) -> AsyncIterator[Request]:
        gate = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        await gate.explain(self.url)  # whatever it says: now the robots.txt is known
        for sitemap in self.sitemaps:
            yield self.ask(urljoin(self.url, sitemap))

    def follow(self, response: Response) -> Iterator[Request]:
        """Yield requests for what a sitemap lists, be it pages or further sitemaps."""
        if isinstance(response, XmlResponse):
            for entry in Sitemap(response.body):
                yield self.ask(entry["loc"])

    def closed(self, reason: str) -> None:
        super().closed(reason)
        if self.web:
            self.web.stop()
