"""The download of a robots.txt: it can be ended early, and it decodes the body itself.

Scrapy's downloader offers no way to cancel a download. An abandoned one would go on until its own
timeout, beyond the end of the crawl.

The body is decoded between the download handler and the downloader middlewares, because
``HttpCompressionMiddleware`` takes half a compressed body for a whole one
(:mod:`scrapy_rep.fetching.content_codings`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any
from zlib import crc32

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred

from scrapy_rep.fetching.responses import decoded

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    Download = Callable[[Request], Coroutine[Any, Any, Response]]
    Check = Callable[[Request], Coroutine[Any, Any, None]]
    Received = Callable[[Request, Response, bool], None]

DOWNLOAD = "scrapy_rep_download"
"""The meta key that marks a robots.txt request of this package."""


class CancellableDownload:
    """One download: a check before it, a count of its octets, and a way to end it.

    ``limit`` is how many octets of a body are read, before and after decoding. ``check`` is awaited
    when the request has passed all components and is about to be sent; an exception ends the
    download. ``received`` is called with the request, the response as the server sent it, and
    whether its body was cut at the limit.
    """

    __slots__ = (
        "_cancel",
        "_check",
        "_checksum",
        "_limit",
        "_received",
        "cut",
        "octets",
        "was_run",
    )

    def __init__(
        self, limit: int, check: Check | None = None, received: Received | None = None
    ) -> None:
        self.octets = 0
        """The octets of the body that have come, as far as the download handler reports them."""
        self.cut = False
        """Whether the body was cut, during the download or while it was decoded."""
        self.was_run = False
        """Whether :meth:`run` made the download; a custom downloader may not allow it."""
        self._checksum = 0
        self._limit = limit
        self._check = check
        self._received = received
        self._cancel: Callable[[], Any] | None = None

    def end(self) -> None:
        """End the download if it is still under way: the connection is closed."""
        if self._cancel is not None:
            self._cancel()

    def receive(self, octets: bytes) -> bool:
        """Count octets of the body; return True if there are more than the limit in all."""
        self.octets += len(octets)
        self._checksum = crc32(octets, self._checksum)
        return self.octets > self._limit

    def is_body(self, body: bytes) -> bool:
        """Return True if the body of a response is what was received, as far as that can be told.

        If :meth:`run` was not used, as on a custom downloader, another component may have decoded
        the body, perhaps only half of it.
        """
        return self.was_run or not self.octets or crc32(body) == self._checksum

    async def run(self, download: Download, request: Request, announced: bool) -> Response:
        """Return the response to ``request``, unless :meth:`end` is called before.

        If each chunk of the body is ``announced``, the body is cut at the limit. Scrapy's own
        handlers announce them, and are not told of the limit, because they would refuse the body.
        """
        request.meta["download_maxsize"] = 0 if announced else self._limit
        if is_asyncio_available():
            task = asyncio.current_task()
            self._cancel = task.cancel if task is not None else None
            response = await self._exchange(download, request)
        else:
            work: Deferred[Response] = Deferred.fromCoroutine(self._exchange(download, request))
            self._cancel = work.cancel
            response = await work
        request.meta["download_maxsize"] = self._limit
        return response

    async def _exchange(self, download: Download, request: Request) -> Response:
        if self._check is not None:
            await self._check(request)
        self.octets = self._checksum = 0
        response = await download(request)
        if self._received is not None:
            self._received(request, response, self.octets > self._limit)
        # Before HttpCompressionMiddleware sees it.
        response, self.cut = decoded(response, self._limit)
        self.was_run = True
        return response
