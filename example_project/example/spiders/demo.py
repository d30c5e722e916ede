"""`scrapy crawl demo` crawls the demo web, and shows what robots.txt made of each request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import Response

from example.demoweb import DemoWeb
from example.report import ReportingSpider


class DemoSpider(ReportingSpider):
    """Starts the demo web, crawls it by its links, and stops it.

    With `sites`, a file of names and origins, it crawls a demo web that runs already.
    """

    name = "demo"
    # By default an unreachable robots.txt is asked for again after 1 and after 5 seconds, while
    # the requests wait. Here once more is enough: one site has recovered by then, one has not.
    custom_settings = {"REP_RETRY_DELAYS": [0.5]}

    def __init__(self, sites: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.web = None if sites else DemoWeb()
        lines = Path(sites).read_text().splitlines() if sites else self.web.lines()
        self.names = {origin: name for name, origin in map(str.split, lines)}
        # "elsewhere" stays outside: a robots.txt may lead there, the spider does not go there.
        self.origins = [origin for origin, name in self.names.items() if name != "elsewhere"]
        self.allowed_domains = [urlsplit(origin).hostname for origin in self.origins]

    async def start(self) -> AsyncIterator[Request]:
        # Several requests to each site at once: they share one robots.txt, and wait for it.
        for origin in self.origins:
            for page in ("/", "/shop", "/private/"):
                yield self.ask(origin + page)
        # One request may go by another name than the rest of the crawl.
        for page in ("/shop", "/private/"):
            url = self.origin_of("groups") + page
            yield self.ask(url, meta={"robotstxt_user_agent": "otherbot"}, dont_filter=True)

    def origin_of(self, site: str) -> str:
        return next(origin for origin, name in self.names.items() if name == site)

    def follow(self, response: Response) -> Iterator[Request]:
        for link in response.css("a::attr(href)").getall():
            yield self.ask(response.urljoin(link))

    def closed(self, reason: str) -> None:
        super().closed(reason)
        if self.web:
            self.web.stop()
