"""Download handlers that are not Scrapy's, for crawls under an asyncio event loop."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object

from tests.crawl.middlewares import Component


class TooLargeError(IgnoreRequest):
    """The body is longer than `download_maxsize`."""


class SilentHandler(Component):
    """A small HTTP client that heeds `download_maxsize` and sends no signal.

    The stat `handler/most` is the most that it held of one body.
    """

    lazy = True

    async def download_request(self, request: Request) -> Response:
        """One connection, which is closed at the end of the body."""
        parts = urlsplit(request.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            lines = [f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close"]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            body = await self._body(reader, request.meta.get("download_maxsize", 0))
        finally:
            writer.transport.abort()
        status = int(head[0].split()[1])
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        return TextResponse(request.url, status, headers, body, request=request)

    async def _body(self, reader: asyncio.StreamReader, most: int) -> bytes:
        body = bytearray()
        while octets := await reader.read(65_536):
            body += octets
            self.crawler.stats.max_value("handler/most", len(body))
            if most and len(body) > most:
                raise TooLargeError(f"more than {most} octets")
        return bytes(body)

    async def close(self) -> None:
        """There is nothing to close."""


class WrappingHandler(HTTP11DownloadHandler):
    """Scrapy's own, with something about it: what it does is not known to be Scrapy's."""

    async def download_request(self, request: Request) -> Response:
        """Counts, and lets Scrapy's do it."""
        self._crawler.stats.inc_value("handler/requests")
        return await super().download_request(request)


class BlankHandler(HTTP11DownloadHandler):
    """Scrapy's own, but it sends headers without a value, too, as scrapy-impersonate does."""

    async def download_request(self, request: Request) -> Response:
        """Lets Scrapy's do it."""
        headers = {name: values or [""] for name, values in request.headers.items()}
        return await super().download_request(request.replace(headers=headers))


class DeferredHandler(HTTP11DownloadHandler):
    """Scrapy's own, of the older kind that many plugins still have: it returns a Deferred."""

    def download_request(self, request: Request, spider: Any) -> Any:  # type: ignore[override]
        """Lets Scrapy's do it."""
        return deferred_from_coro(super().download_request(request))


class FollowingHandler(Component):
    """Follows the redirects of pages by itself, as a browser does: `response.url` is the last URL.

    What is downloaded is left to Scrapy's own handler under this reactor, or without one.
    """

    lazy = True

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        own = crawler.settings["DOWNLOAD_HANDLERS_BASE"]["http"]
        self._own: Any = build_from_crawler(load_object(own), crawler)

    async def download_request(self, request: Request) -> Response:
        """The response at the end of the redirects, or the first one for a robots.txt."""
        response: Response = await self._own.download_request(request)
        while "Location" in response.headers and not request.url.endswith("/robots.txt"):
            url = response.urljoin(response.headers["Location"].decode())
            response = await self._own.download_request(request.replace(url=url))
        return response

    async def close(self) -> None:
        """The own handler is closed."""
        await self._own.close()
