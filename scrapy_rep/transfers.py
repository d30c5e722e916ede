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

if TYPE_CHECKING:
    from scrapy import Request
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
