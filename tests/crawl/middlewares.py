"""Downloader middlewares that hold requests up, or download others meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_rep import parts
from scrapy_rep.awaiting import sleep
from tests.crawl.clock import DAY


class Component:
    """What Scrapy makes for one crawl: a middleware, an extension, a download handler."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler: Any = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Scrapy's way to make one."""
        return cls(crawler)


def middleware(**methods: Callable[..., Any]) -> type[Any]:
    """A middleware of these functions, for crawls in this process: `process_request=...`."""
    return type("Middleware", (), {name: staticmethod(each) for name, each in methods.items()})


class HoldingMiddleware:
    """Holds a request up for as many seconds as its query says."""

    async def process_request(self, request: Request) -> None:
        """The request goes on later."""
        if "?" in request.url:
            await sleep(float(request.url.partition("?")[2]))


class AgeingMiddleware:
    """While it has a request, 40 days pass; for tests that have taken over the clock."""

    def process_request(self, request: Request) -> None:
        """Pass the time."""
        clock: Any = parts.time
        clock.seconds += 40 * DAY


class LoginMiddleware:
    """Holds each `/page` until `/login` has come, as one that keeps a session does."""

    def __init__(self) -> None:
        self._is_in = False

    async def process_request(self, request: Request) -> None:
        """Pages wait."""
        while "/page" in request.url and not self._is_in:  # in any reactor
            await sleep(0.01)

    def process_response(self, request: Request, response: Response) -> Response:
        """From here on nothing waits."""
        self._is_in = self._is_in or "/login" in request.url
        return response


class InnerMiddleware(Component):
    """Downloads an inner page before each `/page`, or after the response of each `/after`.

    It is a page of the same site, or the URL in the query. Before any page it downloads the URLs in
    `meta["first"]`, as a login does.
    """

    async def process_request(self, request: Request) -> None:
        """The inner pages first."""
        for url in request.meta.get("first", ()):
            await self.crawler.engine.download_async(Request(url))
        if "/page" in request.url:
            await self._download(request, "/page")

    async def process_response(self, request: Request, response: Response) -> Response:
        """The inner page before the spider gets the outer one."""
        if "/after" in request.url:
            await self._download(request, "/after")
        return response

    async def _download(self, request: Request, outer: str) -> None:
        inner = request.url.partition("?")[2] or request.url.replace(outer, "/inner")
        await self.crawler.engine.download_async(Request(inner, dont_filter=True))


def inner(by: Callable[..., dict[str, Any]], order: int) -> Callable[..., dict[str, Any]]:
    """What makes the settings of a project, with a middleware that downloads an inner page."""

    def settings(**more: Any) -> dict[str, Any]:
        made = by(**more)
        middleware = {f"{__name__}.InnerMiddleware": order}
        made["DOWNLOADER_MIDDLEWARES"] = {**made.get("DOWNLOADER_MIDDLEWARES", {}), **middleware}
        return made

    return settings


class RenamingMiddleware:
    """Gives a response the URL in `meta["final_url"]`, as one that speaks to a service may."""

    def process_response(self, request: Request, response: Response) -> Response:
        """The response, perhaps with another URL."""
        return response.replace(url=request.meta.get("final_url", response.url))
