"""`scrapy crawl demo` crawls the demo web, and shows what robots.txt made of each request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import Response

from example.demoweb import DemoWeb
from example.report import ReportingSpider


class DemoSpider(ReportingSpider):
    """Starts the demo web, crawls it by its links, and stops it."""

    name = "demo"
    # By default an unreachable robots.txt is asked for again after 1 and after 5 seconds, while
    # the requests wait. The demo's stays unreachable, so we spare ourselves the wait.
    custom_settings = {"REP_RETRY_DELAYS": []}

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.web = DemoWeb()
        self.names = {origin: name for name, origin in self.web.origins.items()}
        # "elsewhere" stays outside: a robots.txt may lead there, the spider does not go there.
        self.origins = [o for name, o in self.web.origins.items() if name != "elsewhere"]
        self.allowed_domains = [urlsplit(origin).hostname for origin in self.origins]

    async def start(self) -> AsyncIterator[Request]:
        # Several requests to each site at once: they share one robots.txt, and wait for it.
        for origin in self.origins:
            for page in ("/", "/shop", "/private/"):
                yield self.ask(origin + page)
        # One request may go by another name than the rest of the crawl.
        for page in ("/shop", "/private/"):
            url = self.web.origins["groups"] + page
            yield self.ask(url, meta={"robotstxt_user_agent": "otherbot"}, dont_filter=True)

    def follow(self, response: Response) -> Iterator[Request]:
        for link in response.css("a::attr(href)").getall():
            yield self.ask(response.urljoin(link))

    def closed(self, reason: str) -> None:
        super().closed(reason)
        self.web.stop()
