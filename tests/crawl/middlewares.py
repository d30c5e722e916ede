"""Downloader middlewares that hold requests up, or download others meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_rep.awaiting import sleep


class HoldingMiddleware:
    """Holds a request up for as many seconds as its query says."""

    async def process_request(self, request: Request) -> None:
        """The request goes on later."""
        if "?" in request.url:
            await sleep(float(request.url.partition("?")[2]))


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


class InnerMiddleware:
    """Downloads an inner page before each `/page`, or after the response of each `/after`.

    It is a page of the same site, or the URL in the query. Before any page it downloads the URLs in
    `meta["first"]`, as a login does.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> InnerMiddleware:
        """The middleware, which needs the engine."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """The inner pages first."""
        for url in request.meta.get("first", ()):
            await self._crawler.engine.download_async(Request(url))
        if "/page" in request.url:
            await self._download(request, "/page")

    async def process_response(self, request: Request, response: Response) -> Response:
        """The inner page before the spider gets the outer one."""
        if "/after" in request.url:
            await self._download(request, "/after")
        return response

    async def _download(self, request: Request, outer: str) -> None:
        inner = request.url.partition("?")[2] or request.url.replace(outer, "/inner")
        await self._crawler.engine.download_async(Request(inner, dont_filter=True))


def inner(settings: Callable[..., dict[str, Any]], order: int, **more: Any) -> dict[str, Any]:
    """The settings of a crawl with a middleware that downloads an inner page."""
    made = settings(**more)
    middleware = {f"{__name__}.InnerMiddleware": order}
    made["DOWNLOADER_MIDDLEWARES"] = {**made.get("DOWNLOADER_MIDDLEWARES", {}), **middleware}
    return made


class RenamingMiddleware:
    """Gives a response the URL in `meta["final_url"]`, as one that speaks to a service may."""

    def process_response(self, request: Request, response: Response) -> Response:
        """The response, perhaps with another URL."""
        return response.replace(url=request.meta.get("final_url", response.url))
