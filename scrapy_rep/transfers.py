"""A download of Scrapy's that can be ended before its time.

Scrapy's downloader keeps no handle of a transfer, so that one which nobody waits for any more
would go on until its own timeout, beyond the end of the crawl.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred

from scrapy_rep.engine import downloader_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    Download = Callable[[Request], Coroutine[Any, Any, Response]]

TRANSFER = "scrapy_rep_transfer"
"""The meta key by which a robots.txt request of this package is known."""


class Transfer:
    """One exchange of octets: how many came, and a way to end it.

    ``most_inflated`` bounds, in octets, what other components may decode the body to.
    """

    __slots__ = ("_cancel", "_most_inflated", "octets")

    def __init__(self, most_inflated: int) -> None:
        self.octets = 0
        self._most_inflated = most_inflated
        self._cancel: Callable[[], Any] | None = None

    def end(self) -> None:
        """End the exchange if it is still under way: the connection is closed."""
        if self._cancel is not None:
            self._cancel()

    async def run(self, download: Download, request: Request) -> Response:
        """Return what ``request`` brings, unless :meth:`end` is called before."""
        # On the wire the body is cut at the limit; from then on this key is read by what decodes.
        request.meta["download_maxsize"] = 0
        if is_asyncio_available():
            task = asyncio.current_task()
            self._cancel = task.cancel if task is not None else None
            response = await download(request)
        else:
            work: Deferred[Response] = Deferred.fromCoroutine(download(request))
            self._cancel = work.cancel
            response = await work
        request.meta["download_maxsize"] = self._most_inflated
        return response


def track(crawler: Crawler) -> None:
    """Have the downloader run each :class:`Transfer` that a request carries."""
    handlers: Any = getattr(downloader_of(crawler), "handlers", None)
    download = getattr(handlers, "download_request_async", None)
    if download is None or isinstance(download, _Tracked):
        return  # a downloader of the user's own: its transfers end when they do
    handlers.download_request_async = _Tracked(download, handlers)


class _Tracked:
    """``download_request_async`` of a crawl, with an eye on the requests of this package."""

    __slots__ = ("_download", "_handlers")

    def __init__(self, download: Download, handlers: Any):
        self._download = download
        self._handlers = handlers

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        transfer: Transfer | None = request.meta.get(TRANSFER)
        if transfer is None:
            return self._download(request)
        _unbind(self._handlers)
        return transfer.run(self._download, request)


def _unbind(handlers: Any) -> None:
    """Have no handler make a request wait for a connection; the downloader bounds them already.

    Without a Twisted reactor Scrapy's handler has no more connections than CONCURRENT_REQUESTS, and
    those that fetch a robots.txt come on top of that.
    """
    for handler in getattr(handlers, "_handlers", {}).values():
        connector: Any = getattr(getattr(handler, "_session", None), "connector", None)
        if getattr(connector, "_limit", 0):
            connector._limit = 0  # noqa: SLF001  # it can be told in no other way
