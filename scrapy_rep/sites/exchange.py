"""One exchange for a robots.txt: what the server sent, as Scrapy's signals tell.

Every download handler of Scrapy announces the head of a response and each piece of its body, and
stops where a listener raises ``StopDownload``: so a body is cut at the limit. The downloader
announces the whole response, before any downloader middleware sees it.

``HttpCompressionMiddleware`` would take half a compressed body for a whole one, and refuse a small
body that is large decoded. So it is not shown the codings of a robots.txt: they are kept under a
name of their own in the header, and undone by :mod:`scrapy_rep.sites.responses`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_rep.access.outcome import Outcome, Unreachable
from scrapy_rep.signals import RobotsExchange, SignalSender, robots_fetched

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers
    from twisted.internet.defer import Deferred

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.entry import Answer

    Received = Callable[[Request, Response, bool], None]

EXCHANGE = "scrapy_rep_exchange"
"""The meta key that marks a robots.txt request of this package."""

_CODINGS = "Content-Encoding"
_KEPT_CODINGS = "X-Robots-Txt-Content-Encoding"


class FetchPlaces(Protocol):
    """Gives a fetch a place in the downloader, beyond the places for pages."""

    def fetching(self, request: Request) -> AbstractContextManager[None]:
        """Count the download of ``request`` as a fetch while the context lasts."""

    def fetched(self, request: Request) -> None:
        """Take note that ``request`` has left the downloader."""


class TooManyRequestsError(IgnoreRequest):
    """Other components have made more requests for one robots.txt than a fetch may take."""


class Exchange:
    """What is received in one exchange; ``limit`` is how many octets of a body are read.

    ``requests_left`` yields once for each request that its fetch may still make. ``received`` is
    called with the request, the response as the server sent it, and whether its body was cut at the
    limit.
    """

    def __init__(self, limit: int, requests_left: Iterator[int], received: Received):
        self.octets = 0
        """The octets of the body that have come, as far as the download handler reports them."""
        self.has_codings = False
        """Whether the head of the response announced a content coding."""
        self.was_announced = False
        """Whether Scrapy's signals told of the response; a custom downloader may not send them."""
        self.has_failed = False
        """Whether the last download has brought no response, or was not made."""
        self.slot = ""
        """The downloader slot of its requests, which is for them alone."""
        self._limit = limit
        self._requests_left = requests_left
        self._received = received
        self._running: Deferred[Response] | None = None

    async def run(
        self, download: Callable[[Request], Coroutine[Any, Any, Response]], request: Request
    ) -> Response:
        """Return the response of ``download(request)``, unless it is cancelled before.

        Other components may have a download repeated: this is called for each. Raises
        :class:`TooManyRequestsError` if the fetch may make no more.
        """
        self.has_failed = True
        if next(self._requests_left, None) is None:
            raise TooManyRequestsError("other components repeat its requests without end")
        # Headers without a value are for middlewares alone. scrapy-impersonate would send them, and
        # some servers answer an empty Range with 416, as if there were no robots.txt.
        blank = [name for name, values in request.headers.items() if not values]
        for name in blank:
            del request.headers[name]
        self._running = deferred_from_coro(download(request))
        try:
            response: Response = await maybe_deferred_to_future(self._running)
            self.has_failed = False
            return response
        finally:
            self._running = None
            request.headers.update(dict.fromkeys(blank))

    def cancel(self) -> None:
        """End the download if it is still under way: the connection is closed."""
        if self._running is not None:
            self._running.cancel()

    @property
    def is_cut(self) -> bool:
        """Whether more has come than is read."""
        return self.octets > self._limit

    def begin(self, headers: Headers) -> None:
        """Note the head of a response."""
        self.octets = 0
        self.has_codings = _CODINGS in headers
        self.was_announced = False

    def receive(self, octets: bytes) -> None:
        """Note a piece of the body; raise ``StopDownload`` if that is more than is read."""
        self.octets += len(octets)
        if self.is_cut:
            raise StopDownload(fail=False)

    def end(self, request: Request, response: Response) -> None:
        """Note the whole response, and keep its codings from other components."""
        self.was_announced = True
        self.has_failed = False  # a handler of an older kind is not run by this
        try:
            self._received(request, response, self.is_cut)
        finally:
            if codings := response.headers.pop(_CODINGS, None):
                response.headers[_KEPT_CODINGS] = codings


def codings_of(response: Response) -> list[bytes]:
    """Return the content codings that the body of a response still has."""
    kept = response.headers.getlist(_KEPT_CODINGS)
    return [*kept, *response.headers.getlist(_CODINGS)]


class Announcements:
    """Tells listeners of each exchange of one fetch: the signal ``robots_fetched``.

    Its ID stays with what is learnt from it, so that a decision can name the exchange that it rests
    on, in a later crawl, too. ``copy`` is what a conditional request may confirm.
    """

    def __init__(self, signals: SignalSender, authority: Authority, copy: Answer | None):
        self._signals = signals
        self._is_heard = signals.is_heard(robots_fetched)
        self._authority = authority
        self._copy = copy
        self._last_uri = self._last_id = ""

    def received(
        self, request: Request, response: Response, is_cut: bool, *, is_changed: bool = False
    ) -> None:
        """Send an exchange, if anything listens.

        ``is_cut`` says that the body was cut at the limit, and ``is_changed`` that a component of
        the crawler may have changed or made the response.
        """
        if not self._is_heard:
            return
        copy, uri = self._copy, request.url
        confirms = response.status == HTTPStatus.NOT_MODIFIED and copy and copy.uri == uri
        self._last_uri, self._last_id = uri, uuid4().urn
        exchange = RobotsExchange(
            self._last_id,
            self._authority,
            uri,
            request,
            response,
            is_cut=is_cut,
            is_changed=is_changed,
            copy=copy if confirms else None,
        )
        self._signals.send(robots_fetched, exchange=exchange)

    def ended(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the ID of its exchange; send a failure without a response."""
        if not self._is_heard:
            return outcome
        if not isinstance(outcome, Unreachable) or (self._last_id and outcome.status is not None):
            return replace(outcome, exchange=self._last_id)
        uri = self._last_uri or self._authority.robots_uri
        failed = RobotsExchange(
            uuid4().urn, self._authority, uri, previous=self._last_id, failure=outcome
        )
        self._signals.send(robots_fetched, exchange=failed)
        return replace(outcome, exchange=failed.id)


def listen(crawler: Crawler, places: FetchPlaces) -> None:
    """Hear of the exchanges of a crawl.

    The signals are sent for pages, too. That takes 10 microseconds a page, and 2.5 more for each
    further piece of its body.
    """
    for listener, signal in (
        (_headers_received, signals.headers_received),
        (_bytes_received, signals.bytes_received),
        (_response_downloaded, signals.response_downloaded),
        (places.fetched, signals.request_left_downloader),
    ):
        crawler.signals.connect(listener, signal=signal)


def _headers_received(headers: Headers, request: Request) -> None:
    if (exchange := request.meta.get(EXCHANGE)) is not None:
        exchange.begin(headers)


def _bytes_received(data: bytes, request: Request) -> None:
    if (exchange := request.meta.get(EXCHANGE)) is not None:
        exchange.receive(data)


def _response_downloaded(response: Response, request: Request) -> None:
    if (exchange := request.meta.get(EXCHANGE)) is not None:
        exchange.end(request, response)
