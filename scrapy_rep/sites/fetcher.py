"""The fetch of one robots.txt, through Scrapy's own downloader (RFC 9309 section 2.3).

Whatever happens, :meth:`RobotsFetcher.fetch` returns an outcome. For any failure that it does not
know, that is Unreachable.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import load_object
from twisted.internet.defer import CancelledError, DeferredSemaphore

from scrapy_rep import stats as names
from scrapy_rep.access.authority import Authority
from scrapy_rep.access.freshness import retry_after
from scrapy_rep.access.outcome import (
    PROXY_AUTHENTICATION_REQUIRED,
    Cause,
    Meaning,
    NotModified,
    Outcome,
    Success,
    Unavailable,
    Unreachable,
    meaning_of,
)
from scrapy_rep.awaiting import CancelledElsewhereError, with_timeout
from scrapy_rep.scrapy_names import PROXY_LOGIN
from scrapy_rep.sites.exchange import EXCHANGE, Exchange, FetchPlaces, Reception
from scrapy_rep.sites.redirects import RefusedError, answered_by_public, target_of
from scrapy_rep.sites.responses import body_of, cause_of, lifetime_of, validators_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.access.entry import Answer
    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

# Each key keeps one component of Scrapy from changing what robots.txt seems to say.
_META: dict[str, Any] = {
    "dont_obey_robotstxt": True,  # this package: no robots.txt for a robots.txt
    "allow_offsite": True,  # OffsiteMiddleware: the page was let through already
    "dont_redirect": True,  # RedirectMiddleware, MetaRefreshMiddleware: hops are followed here
    "handle_httpstatus_all": True,
    "dont_retry": True,  # RetryMiddleware: the back-off is policy's
    "dont_cache": True,  # HttpCacheMiddleware
    "dont_merge_cookies": True,  # CookiesMiddleware
    "autothrottle_dont_adjust_delay": True,
    "download_fail_on_dataloss": True,  # half a robots.txt does not count
}
TRANSPORT_KEYS = ("proxy", "impersonate", "impersonate_args", "impersonate_curl_options")
"""The meta keys that choose how a request is sent: robots.txt is requested as its page is.

``proxy`` may be None, for no proxy. The others are those of scrapy-impersonate.
"""

_HEADERS = {"Accept": "text/plain, */*;q=0.5", "Accept-Encoding": "identity"}

# A header that is set, even without a value, is not filled in from the project's defaults.
_KEPT_BACK = dict.fromkeys((*_HEADERS, "Cookie", "Referer", "If-Range", "Range"))
_LONGEST_DETAIL = 500

_REFUSED_BEYOND = 8
"""A body whose Content-Length is more than this many times the limit is refused instead of cut.

A download handler that does not announce the head of a response reads as much as this, too.
"""

_ON_THE_WAY = frozenset((Cause.DNS, Cause.CONNECTION, Cause.TLS, Cause.TIMEOUT))
"""What fails before there is a status; on the way through a proxy it is the proxy's failure."""

_COUNTED_FOR = 0.25
"""Seconds for which a fetch counts as one of those that run at once.

Measured with 300 silent sites ahead of 100 pages of other sites, from the first fetch of all, on a
busy machine: 1.7 and 2.9 seconds with 256 at once. The pages alone took 1.0 to 1.5 seconds. With 64
at once, each counted for a second, it took 4.5 seconds.
"""

_AT_ONCE = 256
"""Fetches that run at once, or ``CONCURRENT_REQUESTS`` if that is more."""


class AtOnce:
    """Lets up to ``limit`` fetches run at once, and no longer counts one after a moment.

    A crawl that meets hundreds of sites at once fetches hundreds of robots.txt files. They are
    spread out a little, and each takes a file descriptor, of which a process often has no more than
    1,024. Sites that never answer do not hold up the others for long.
    """

    def __init__(self, limit: int):
        self._semaphore = DeferredSemaphore(limit)

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Wait until the fetch may run, first come, first served, and count it meanwhile."""
        granted: list[DeferredSemaphore] = []

        def release() -> None:
            if granted:
                granted.pop().release()

        try:
            # A caller may be cancelled after this was granted, and before it could begin.
            await maybe_deferred_to_future(self._semaphore.acquire().addCallback(granted.append))
        except BaseException:
            release()
            raise
        timer = call_later(_COUNTED_FOR, release)
        try:
            yield
        finally:
            timer.cancel()
            release()


class FetchRecord(Protocol):
    """Keeps the exchanges of one fetch."""

    def received(
        self, request: Request, response: Response, cut: bool, *, changed: bool = False
    ) -> None:
        """Keep an exchange: ``cut`` if the body was cut at the limit.

        ``changed`` if a component of the crawler may have changed or made the response.
        """

    def ended(self, authority: Authority, outcome: Outcome) -> Outcome:
        """Return the outcome with the ID of its record."""


class FetchArchive(Protocol):
    """Keeps the exchanges of all fetches."""

    def fetch(self, copy: Answer | None) -> FetchRecord:
        """Return what keeps one fetch; ``copy`` is what a conditional request may confirm."""


@dataclass(slots=True)
class _Fetch:
    """A fetch that is under way, with the ``uri`` of its present hop.

    ``trail`` are the redirects that were followed, ``request`` is the last request that was made.
    """

    authority: Authority
    page_request: Request | None
    copy: Answer | None
    kept: FetchRecord | None
    uri: str
    trail: list[str] = field(default_factory=list)
    request: Request | None = None

    @property
    def validated(self) -> Answer | None:
        """The copy that this hop may confirm.

        Validators speak of one URI (RFC 9110 section 13.1), so they go to no other hop.
        """
        return self.copy if self.copy is not None and self.copy.uri == self.uri else None


class RobotsFetcher:
    """Fetches robots.txt files for the crawl of ``crawler``.

    ``clock()`` is in seconds since the epoch. ``name()`` is the User-Agent to send, or ``None``
    where Scrapy adds one. ``archive`` keeps what is exchanged, if it is there.
    """

    def __init__(
        self,
        crawler: Crawler,
        scrapy: ScrapyNames,
        settings: RepSettings,
        stats: RepStats,
        places: FetchPlaces,
        clock: Callable[[], float],
        name: Callable[[], bytes | None],
        archive: FetchArchive | None = None,
    ):
        self._crawler = crawler
        self._scrapy = scrapy
        self._settings = settings
        self._stats = stats
        self._at_once = AtOnce(max(_AT_ONCE, crawler.settings.getint("CONCURRENT_REQUESTS")))
        self._places = places
        self._clock = clock
        self._name = name
        self._archive = archive
        self._reception = Reception(crawler, places)
        self._negotiates = cache(self._is_zyte_api)

    async def fetch(
        self, authority: Authority, page_request: Request | None, copy: Answer | None
    ) -> Outcome:
        """Return the outcome of one fetch of the robots.txt of ``authority``; raise no failure.

        The proxy of ``page_request``, the request that asks, is used. ``copy`` is what a
        conditional request may confirm. All hops and octets together take at most ``REP_TIMEOUT``.
        """
        kept = None if self._archive is None else self._archive.fetch(copy)
        outcome = await self._attempt(
            _Fetch(authority, page_request, copy, kept, authority.robots_uri)
        )
        return outcome if kept is None else kept.ended(authority, outcome)

    async def _attempt(self, fetch: _Fetch) -> Outcome:
        """Return the outcome, without its record."""
        self._stats.inc(names.REQUESTS)
        try:
            with self._reception:
                async with self._at_once.counted():
                    return await with_timeout(self._settings.timeout, self._follow(fetch))
        except CancelledError:  # the caller was cancelled; others come as CancelledElsewhereError
            raise
        except RefusedError as error:
            return Unreachable(Cause.REDIRECT, detail=str(error))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is not permission
            if not isinstance(error, IgnoreRequest):
                self._stats.inc(names.EXCEPTIONS.format(type(error)))
            cause = cause_of(error)
            # Another middleware may have chosen a proxy for the robots.txt alone.
            proxied = fetch.request is not None and bool(fetch.request.meta.get("proxy"))
            if proxied and cause in _ON_THE_WAY:
                cause = Cause.PROXY
            ours = proxied or cause in (Cause.ERROR, Cause.DROPPED)
            detail = str(error)[:_LONGEST_DETAIL] or type(error).__name__
            return Unreachable(cause, detail=detail, ours=ours)

    async def _follow(self, fetch: _Fetch) -> Outcome:
        """Follow redirects to an outcome."""
        deadline = monotonic() + self._settings.timeout
        kept, public = fetch.kept, True
        while True:
            received = None if kept is None else kept.received
            exchange = Exchange(self._settings.max_size, received)
            request = fetch.request = self._request(fetch, exchange)
            request.meta["download_timeout"] = max(deadline - monotonic(), 0.1)
            response = await self._download(request)
            if kept is not None and not exchange.was_shown:
                kept.received(request, response, cut=exchange.is_cut, changed=True)
            is_redirect = meaning_of(response.status) is Meaning.REDIRECT
            if fetch.trail or is_redirect:
                here = answered_by_public(request, response, fetch.uri)
                if fetch.trail and public and not here:
                    raise RefusedError(f"redirect from a public to a local address: {fetch.uri}")
                public = here
            if not is_redirect or len(fetch.trail) == self._settings.max_redirects:
                return self._outcome(fetch, request, response)
            fetch.uri = target_of(fetch.uri, response, public)
            fetch.trail.append(fetch.uri)
            self._stats.inc(names.REDIRECTS)

    async def _download(self, request: Request) -> Response:
        if self._scrapy.is_over:
            raise CancelledElsewhereError("the crawl is over")
        self._scrapy.run_by(EXCHANGE, urlsplit(request.url).scheme)
        try:
            with self._places.fetching(request):
                return await self._crawler.engine.download_async(request)
        except BaseException:  # too late, or the crawl closes
            request.meta[EXCHANGE].cancel()
            raise

    def _request(self, fetch: _Fetch, exchange: Exchange) -> Request:
        """Return the request of one hop."""
        uri, page_request = fetch.uri, fetch.page_request
        most = _REFUSED_BEYOND * self._settings.max_size
        meta = {**_META, EXCHANGE: exchange, "download_maxsize": most}
        negotiates = self._negotiates(urlsplit(uri).scheme)
        headers: dict[str, Any] = {} if negotiates else {**_HEADERS}
        # A new slot for each exchange, so that no delay holds up the next hop or attempt.
        meta["download_slot"] = f"robots.txt {next(self._reception.numbers)} {uri}"
        if page_request is not None:
            meta.update(
                {key: page_request.meta[key] for key in TRANSPORT_KEYS if key in page_request.meta}
            )
            if "proxy" in meta and PROXY_LOGIN in page_request.meta:
                # A request that is retried has its login no longer in the URL of its proxy.
                meta[PROXY_LOGIN] = page_request.meta[PROXY_LOGIN]
                headers["Proxy-Authorization"] = page_request.headers.get("Proxy-Authorization")
        headers["User-Agent"] = self._name()
        if (copy := fetch.validated) is not None:
            headers["If-None-Match"] = copy.etag
            headers["If-Modified-Since"] = copy.last_modified
        sent = {name: value for name, value in headers.items() if value is not None}
        # The project's own credentials are for the site that is asked first.
        is_first = not fetch.trail or uri.startswith(f"{fetch.authority}/")
        kept_back = _KEPT_BACK if is_first else {**_KEPT_BACK, "Authorization": None}
        return Request(uri, callback=NO_CALLBACK, headers={**kept_back, **sent}, meta=meta)

    def _is_zyte_api(self, scheme: str) -> bool:
        """Return True if the download handler for a scheme agrees with the server on a form.

        Zyte API's does: it warns of each request that has an ``Accept`` or ``Accept-Encoding``.
        """
        handler = self._crawler.settings.getwithbase("DOWNLOAD_HANDLERS").get(scheme)
        kinds = getattr(load_object(handler), "__mro__", ()) if handler is not None else ()
        return any(kind.__module__.partition(".")[0] == "scrapy_zyte_api" for kind in kinds)

    def _outcome(self, fetch: _Fetch, request: Request, response: Response) -> Outcome:
        """Return what the last response means; a redirect that is not followed is Unavailable."""
        status, now = response.status, self._clock()
        self._stats.inc(names.RESPONSES)
        self._stats.inc(names.response_status(status))
        meaning, life = meaning_of(status), lifetime_of(response, now)
        uri, trail = fetch.uri, tuple(fetch.trail)
        if meaning is Meaning.SUCCESS:
            limit = self._settings.max_size
            body, cut = body_of(response, request.meta[EXCHANGE], limit)
            etag, modified = validators_of(response)
            if cut:
                self._stats.inc(names.TRUNCATED)
            cut_at = limit if cut else None
            return Success(body, status, uri, trail, life, etag, modified, cut_at)
        if meaning is Meaning.NOT_MODIFIED and fetch.validated is not None:
            return NotModified(life)
        wait = retry_after(response.headers.get("Retry-After"), now)
        if status == PROXY_AUTHENTICATION_REQUIRED and request.meta.get("proxy"):
            return Unreachable(Cause.PROXY, status, wait, ours=True)
        if meaning in (Meaning.UNAVAILABLE, Meaning.REDIRECT):
            return Unavailable(status, uri, trail, life)
        return Unreachable(Cause.STATUS, status, wait)
