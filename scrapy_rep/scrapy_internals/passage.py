"""The last step of a request before its download, and the first step of its response after it.

Scrapy sends a signal when a request reaches its downloader slot, but nothing can hold a request up
there. So a method is added behind those of all downloader middlewares. A separate middleware could
do the same, but every project would have to enable it, and in the right order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from scrapy_rep.scrapy_internals.names import Feature

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.scrapy_internals.switches import Switches

    Before = Callable[[Request], Awaitable[Request | None] | None]
    After = Callable[[Request], None]


class Passage:
    """The point where requests leave the downloader middlewares, and responses enter them."""

    def __init__(self, crawler: Crawler, on: Switches):
        self._crawler = crawler
        self._on = on
        self._is_watched = False
        self._sent: set[Request] = set()

    @property
    def exists(self) -> bool:
        """Whether a request can be held up here; a custom downloader may not allow it."""
        return Feature.PASSAGE in self._on

    @property
    def sent(self) -> AbstractSet[Request]:
        """The requests past this point, kept only if the downloader has no slots."""
        self._sent &= self._crawler.engine.downloader.active  # what was cancelled never comes back
        return self._sent

    def watch(self, before: Before, after: After) -> None:
        """Call ``before`` with each request that is about to be sent; it may hold it up.

        ``before`` may return what ``process_request`` may. ``after`` is called when the response or
        an error is there, but only if the downloader has no slots: otherwise the signal
        ``request_left_downloader`` says it sooner. Does nothing when called again.
        """
        if not self.exists or self._is_watched:
            return
        self._is_watched = True
        if Feature.SLOTS in self._on:
            self._extend("process_request", last=before)
            return
        both = _Both(before, after, self._sent)
        self._extend("process_request", last=both.send)
        self._extend("process_response", first=both.receive)
        self._extend("process_exception", first=both.fail)

    def _extend(self, name: str, *, first: Any = None, last: Any = None) -> None:
        """Add a method to those of the middlewares.

        They are not changed in place, as a request may be on its way through them.
        """
        methods: Any = self._crawler.engine.downloader.middleware.methods
        methods[name] = deque(filter(None, (first, *methods[name], last)))


class _Both:
    """Both steps, in a downloader without slots. ``sent`` holds the requests between them."""

    def __init__(self, before: Before, after: After, sent: set[Request]):
        self._before = before
        self._after = after
        self._sent = sent

    async def send(self, request: Request) -> Request | None:
        """The last ``process_request``."""
        held = self._before(request)
        instead = await held if held is not None else None
        if instead is None:
            self._sent.add(request)
        return instead

    def receive(self, request: Request, response: Response) -> Response:
        """The first ``process_response``."""
        self._end(request)
        return response

    def fail(self, request: Request, exception: Exception) -> None:
        """The first ``process_exception``."""
        self._end(request)

    def _end(self, request: Request) -> None:
        if request in self._sent:
            self._sent.discard(request)
            self._after(request)
