"""`scrapy crawl site -a url=https://example.org` crawls a real site, slowly and not far."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

from example.report import ReportingSpider

USAGE = "usage: scrapy crawl site -a url=https://example.org [-a pages=20]"


class SiteSpider(ReportingSpider):
    """Follows links within one host, a request a second, until it has made `pages` requests."""

    name = "site"
    custom_settings = {"DOWNLOAD_DELAY": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}

    def __init__(self, url: str = "", pages: str = "20", **arguments: Any) -> None:
        super().__init__(**arguments)
        host = host_of(url)
        if host is None:
            raise SystemExit(f"url={url}: not an http or https URL; {USAGE}")
        if not pages.isdecimal() or int(pages) < 1:
            raise SystemExit(f"pages={pages}: not a number from 1 on; {USAGE}")
        self.url, self.left = url, int(pages)
        # The site may redirect us from example.org to www.example.org, and not elsewhere.
        self.allowed_domains = [host.removeprefix("www.")]
        self.seen = {url}
        self.links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        print(f"At most {self.left} requests to {self.allowed_domains[0]}, one a second ...")
        self.left -= 1
        yield self.ask(self.url)

    def follow(self, response: Response) -> Iterator[Request]:
        if not isinstance(response, HtmlResponse):
            return
        for link in self.links.extract_links(response):
            here = host_of(link.url) == host_of(response.url)
            if here and self.left and link.url not in self.seen:
                self.left -= 1
                self.seen.add(link.url)
                yield self.ask(link.url)


def host_of(url: str) -> str | None:
    """Return the host of an http or https URL, `None` for anything else."""
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return None
