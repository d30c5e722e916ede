"""The fetch of one robots.txt, through Scrapy's own downloader (RFC 9309 section 2.3).

Unless it is cancelled, :meth:`RobotsFetcher.fetch` always returns an outcome. For any failure that
it does not know, that is Unreachable.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import REFUSALS, UNAUTHORIZED, Answer
from scrapy_rep.access.freshness import retry_after
from scrapy_rep.access.outcome import Cause, Meaning, NotModified, Outcome, Unreachable, meaning_of
from scrapy_rep.awaiting import CancelledElsewhereError, with_timeout
from scrapy_rep.robotstxt.printable import without_logins
from scrapy_rep.scrapy_names import modules_that_download
from scrapy_rep.signals import SignalSender
from scrapy_rep.sites.asking import Again, Question, way_of
from scrapy_rep.sites.exchange import (
    EXCHANGE,
    Announcements,
    Exchange,
    FetchPlaces,
    TooManyRequestsError,
    listen,
)
from scrapy_rep.sites.redirects import RefusedError, answered_by_public, target_of
from scrapy_rep.sites.responses import (
    body_of,
    cause_of,
    chain_of,
    is_of_proxy,
    lifetime_of,
    validators_of,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

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
    "max_proxies_to_try": 5,  # scrapy-rotating-proxies, for which a 404 is a ban: fewer than 20
    "dont_cache": True,  # HttpCacheMiddleware
    "dont_merge_cookies": True,  # CookiesMiddleware
    "autothrottle_dont_adjust_delay": True,
    "dont_throttle": True,  # the throttler of versions of Scrapy to come
    "download_fail_on_dataloss": True,  # half a robots.txt is not used
}
_LONGEST_DETAIL = 500

_MOST_REQUESTS = 20
"""Requests of one fetch, whichever component makes them: a middleware may repeat each 503.

If ``REP_MAX_REDIRECTS`` is so large that its hops need more, they may be as many.
"""

_LATELY, _MOST_ASKING = 60.0, 10_000
"""For how many seconds, and of how many sites, it is remembered that they ask for a login."""

_REFUSED_BEYOND = 8
"""A body whose Content-Length is more than this many times the limit is refused instead of cut.

A download handler that does not announce the head of a response reads as much as this, too.
"""

_ON_THE_WAY = frozenset((Cause.DNS, Cause.CONNECTION, Cause.TLS, Cause.TIMEOUT))
"""What fails before there is a status; on the way through a proxy it is the proxy's failure."""

_NO_FILE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS})


def _lacks_a_file(error: BaseException) -> bool:
    """Return whether the crawler could not open a socket; Twisted has a name of its own for it."""
    return getattr(error, "errno", None) in _NO_FILE or getattr(error, "osError", None) in _NO_FILE


class RobotsFetcher:
    """Fetches robots.txt files for the crawl of ``crawler``.

    ``clock()`` is in seconds since the epoch. ``user_agent()`` is the User-Agent to send, ``None``
    where Scrapy adds one.
    """

    def __init__(
        self,
        crawler: Crawler,
        scrapy: ScrapyNames,
        settings: RepSettings,
        stats: RepStats,
        places: FetchPlaces,
        clock: Callable[[], float],
        user_agent: Callable[[], bytes | None],
    ):
        self._crawler = crawler
        self._scrapy = scrapy
        self._settings = settings
        self._stats = stats
        self._places = places
        self._clock = clock
        self._user_agent = user_agent
        self._signals = SignalSender(crawler)
        self._slot_numbers = count()
        listen(crawler, places)
        self._negotiates = cache(self._is_zyte_api)
        self._asked_for_login: dict[Authority, float] = {}

    async def fetch(
        self, authority: Authority, page_request: Request | None, copy: Answer | None
    ) -> Outcome:
        """Return the outcome of one fetch of a robots.txt. A failure is an outcome, too.

        The proxy of ``page_request``, the request that asks, is used. ``copy`` is what a
        conditional request may confirm. All hops and octets together take at most ``REP_TIMEOUT``.
        """
        announcements = Announcements(self._signals, authority, copy)
        most = max(_MOST_REQUESTS, 1 + self._settings.max_redirects + len(Again))
        question = Question(authority, page_request, copy, most)
        # If so, the first question has the login already. Not for longer: the site may have opened
        # meanwhile, and its answer to a login that it does not ask for is not for other crawlers.
        is_asked_for = monotonic() < self._asked_for_login.get(authority, -inf) + _LATELY
        if is_asked_for:
            question.again.add(Again.LOGIN)
        outcome = await self._attempt(question, announcements)
        if Again.LOGIN in question.again and not is_asked_for:
            if len(self._asked_for_login) >= _MOST_ASKING:
                self._asked_for_login.clear()
            self._asked_for_login[authority] = monotonic()
        return announcements.ended(outcome)

    async def _attempt(self, question: Question, announcements: Announcements) -> Outcome:
        """Return the outcome, without the ID of its exchange."""
        self._stats.inc(names.REQUESTS)
        try:
            return await with_timeout(self._settings.timeout, self._follow(question, announcements))
        except CancelledError:  # the caller was cancelled; others come as CancelledElsewhereError
            raise
        except RefusedError as error:
            return Unreachable(Cause.REDIRECT, detail=str(error), error=error.with_traceback(None))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is not permission
            if not isinstance(error, IgnoreRequest):
                self._stats.inc(names.EXCEPTIONS.format(type(error)))
            cause = cause_of(error)
            # Another middleware may have chosen a proxy for the robots.txt alone.
            proxied = question.request is not None and bool(question.request.meta.get("proxy"))
            if proxied and cause in _ON_THE_WAY:
                cause = Cause.PROXY
            # A body that cannot be read is the site's, whatever brings it.
            ours = (proxied and cause is not Cause.CODING) or cause in (Cause.ERROR, Cause.DROPPED)
            ours = ours or any(map(_lacks_a_file, chain_of(error)))
            if isinstance(error, TooManyRequestsError):
                ours = False  # the site was asked often enough for now
            # A proxy's error may name it with the password that a request has for it.
            detail = without_logins(str(error))[:_LONGEST_DETAIL] or type(error).__name__
            for each in chain_of(error):  # their frames hold the fetch
                each.__traceback__ = None
            return Unreachable(cause, detail=detail, ours=ours, error=error)

    async def _follow(self, question: Question, announcements: Announcements) -> Outcome:
        """Follow redirects to an outcome, and ask again where an answer calls for that."""
        deadline = monotonic() + self._settings.timeout
        public = True
        while True:
            exchange = Exchange(
                self._settings.max_size, question.requests_left, announcements.received
            )
            request = question.request = self._request(question, exchange)
            request.meta["download_timeout"] = max(deadline - monotonic(), 0.1)
            response = await self._download(request)
            if exchange.has_failed:
                raise IgnoreRequest("another component answered in place of a failed download")
            if not exchange.was_announced:
                announcements.received(request, response, exchange.is_cut, is_changed=True)
            request = question.request = response.request or request  # one may have been repeated
            uri, trail = question.uri, question.trail
            is_redirect = meaning_of(response.status, self._settings.temporary) is Meaning.REDIRECT
            if trail or is_redirect:
                here = answered_by_public(request, response, uri)
                if trail and public and not here:
                    raise RefusedError(f"redirect from a public to a local address: {uri}")
                public = here
            question.answered(response)
            ours = is_of_proxy(request, response)
            if not ours and question.ask_again(response.status):
                continue
            if ours or not is_redirect or len(trail) == self._settings.max_redirects:
                return self._outcome(question, exchange, request, response)
            question.uri = target_of(uri, response, public)
            trail.append(question.uri)
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
        finally:
            self._scrapy.remove_slot(request.meta[EXCHANGE].slot)

    def _request(self, question: Question, exchange: Exchange) -> Request:
        """Return the request of one hop."""
        uri = question.uri
        most = _REFUSED_BEYOND * self._settings.max_size
        meta = {**_META, EXCHANGE: exchange, "download_maxsize": most, **question.meta()}
        # A new slot for each exchange, so that no delay holds up the next hop or attempt.
        exchange.slot = f"robots.txt {next(self._slot_numbers)} {uri}"
        meta["download_slot"] = exchange.slot
        negotiates = self._negotiates(urlsplit(uri).scheme)
        headers = question.headers(self._user_agent(), negotiates=negotiates)
        return Request(uri, callback=NO_CALLBACK, headers=headers, meta=meta)

    def _is_zyte_api(self, scheme: str) -> bool:
        """Return True if the download handler for a scheme is that of Zyte API.

        It negotiates with the server itself, and warns of each request that has an ``Accept`` or
        ``Accept-Encoding``.
        """
        modules = modules_that_download(self._crawler.settings, scheme)
        return any(name.partition(".")[0] == "scrapy_zyte_api" for name in modules)

    def _outcome(
        self, question: Question, exchange: Exchange, request: Request, response: Response
    ) -> Outcome:
        """Return what the last response means; a redirect that is not followed brings no rules.

        An answer of the crawler's own proxy is not that of the site.
        """
        status, now = response.status, self._clock()
        self._stats.inc(names.RESPONSES)
        self._stats.inc(names.response_status(status))
        meaning = meaning_of(status, self._settings.temporary)
        life = lifetime_of(response, now)
        answer = Answer(status, None, question.uri, tuple(question.trail), lifetime=life)
        if meaning is Meaning.SUCCESS:
            limit = self._settings.max_size
            body, cut = body_of(response, exchange, limit)
            etag, modified = validators_of(response)
            if cut:
                self._stats.inc(names.TRUNCATED)
            cut_at = limit if cut else None
            return replace(answer, body=body, etag=etag, last_modified=modified, cut_at=cut_at)
        if meaning is Meaning.NOT_MODIFIED and question.validated is not None:
            return NotModified(life)
        wait = retry_after(response.headers.get("Retry-After"), now)
        if is_of_proxy(request, response):
            return Unreachable(Cause.PROXY, status, wait, ours=True)
        if meaning is Meaning.REDIRECT:
            self._stats.redirected_on(question.authority, self._settings.max_redirects)
        if status in REFUSALS:
            way, requester = way_of(request.meta), question.requester
            if status == UNAUTHORIZED:  # whatever the User-Agent
                requester = requester._replace(user_agent=None)
            # A middleware may have chosen the proxy, for the robots.txt and for its page.
            refused = frozenset((requester, requester._replace(way=way)))
            user_agent = request.headers.get("User-Agent")
            return replace(answer, proxied=bool(way), refused_to=refused, refused_as=user_agent)
        if meaning in (Meaning.UNAVAILABLE, Meaning.REDIRECT):
            return answer
        return Unreachable(Cause.STATUS, status, wait)
