"""How a robots.txt is requested: as its pages are, or the answer would say nothing about them.

At first a fetch takes only the transport of the page's request: its proxy, and the other
:data:`TRANSPORT_KEYS`. If a site refuses the question as it was put, that does not mean that it has
no rules: then the fetch asks once more, with the login or the User-Agent of the page, or the
headers of the crawl (:data:`SECOND_QUESTIONS`). The redirects of a fetch share cookies, which are
gone at its end: nothing of them reaches a page, and no cookie of a page reaches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.message import Message
from enum import Enum
from http.cookiejar import CookieJar
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import Request as UrlRequest

from scrapy.utils.url import url_is_from_any_domain
from w3lib.http import basic_auth_header

from scrapy_rep.access.authority import usable_authority_of
from scrapy_rep.access.entry import REFUSALS, UNAUTHORIZED, Requester
from scrapy_rep.scrapy_names import PROXY_LOGIN, has_headers

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.entry import Answer

TRANSPORT_KEYS = (
    "proxy",
    "bindaddress",
    "impersonate",
    "impersonate_args",
    "impersonate_curl_options",
)
"""The meta keys that choose how a request is sent: robots.txt is requested as its page is.

``proxy`` may be None, for no proxy. ``bindaddress`` is Scrapy's, too; the others are those of
scrapy-impersonate.
"""

_NEGOTIATION = {"Accept": "text/plain, */*;q=0.5", "Accept-Encoding": "identity"}

# A header that is set, even without a value, is not filled in from the project's defaults.
_KEPT_BACK = dict.fromkeys(("Cookie", "Referer", "If-Range", "Range"))

_MOST_COOKIES: Final = 50
_LONGEST_COOKIE: Final = 4096
"""Octets of a cookie, as in browsers (RFC 6265 section 6.1). More could make a request too large,
which a server may answer as if there were no robots.txt."""


class Again(Enum):
    """What the second request for a robots.txt adds to the first."""

    LOGIN = "the login of the page, if it is for this very authority"
    USER_AGENT = "the User-Agent of the page, if that is another one"
    NEGOTIATION = "the Accept and Accept-Encoding of the crawl"


SECOND_QUESTIONS: dict[int, Again] = {
    UNAUTHORIZED: Again.LOGIN,
    **dict.fromkeys(REFUSALS - {UNAUTHORIZED}, Again.USER_AGENT),
    406: Again.NEGOTIATION,
    415: Again.NEGOTIATION,
}
"""What is asked after an answer that may be due to how the question was put; each once a fetch."""


class Question:
    """What the requests of one fetch take over from ``page_request`` and from earlier answers.

    ``uri`` is that of the current hop, ``trail`` are the redirects that were followed. ``copy`` is
    what a conditional request may confirm. ``requests_left`` yields once for each request that may
    still be made, ``most`` in all, and ``request`` is the last one that was made. ``again`` is what
    the answers so far have called for.
    """

    def __init__(
        self, authority: Authority, page_request: Request | None, copy: Answer | None, most: int
    ):
        self.uri = authority.robots_uri
        self.trail: list[str] = []
        self.requester = requester_of(page_request, authority)
        self.requests_left = iter(range(most))
        self.request: Request | None = None
        self.authority = authority
        self._page_request = page_request
        self._copy = copy
        self._cookies: CookieJar | None = None
        self.again: set[Again] = set()

    @property
    def validated(self) -> Answer | None:
        """The copy that this hop may confirm.

        Validators speak of one URI (RFC 9110 section 13.1), so they go to no other hop.
        """
        return self._copy if self._copy is not None and self._copy.uri == self.uri else None

    @property
    def _is_at_home(self) -> bool:
        """Whether this hop is at the site that was asked first: credentials are for no other."""
        return self.uri.startswith(f"{self.authority}/")

    def meta(self) -> dict[str, Any]:
        """Return what is inherited from the meta of the page."""
        page = {} if self._page_request is None else self._page_request.meta
        # A request that is retried has its login no longer in the URL of its proxy.
        keys = (*TRANSPORT_KEYS, PROXY_LOGIN) if "proxy" in page else TRANSPORT_KEYS
        return {key: page[key] for key in keys if key in page}

    def headers(self, user_agent: bytes | None, *, negotiates: bool) -> dict[str, Any]:
        """Return the headers of the next request; it has ``user_agent``, unless that was refused.

        ``negotiates`` says that the download handler sets ``Accept`` and the like by itself.
        """
        if Again.USER_AGENT in self.again:
            user_agent = self.requester.user_agent
        given: dict[str, Any] = {"User-Agent": user_agent, "Cookie": self._cookie()}
        kept_back = {**_KEPT_BACK}
        if negotiates:
            kept_back.update(dict.fromkeys(_NEGOTIATION))
        elif Again.NEGOTIATION not in self.again:
            given.update(_NEGOTIATION)
        if not self._is_at_home:
            kept_back["Authorization"] = None
        elif Again.LOGIN in self.again:
            given["Authorization"] = self.requester.login
        if self._page_request is not None and PROXY_LOGIN in self.meta():
            given["Proxy-Authorization"] = self._page_request.headers.get("Proxy-Authorization")
        if (copy := self.validated) is not None:
            given["If-None-Match"] = copy.etag
            given["If-Modified-Since"] = copy.last_modified
        return {**kept_back, **{key: value for key, value in given.items() if value is not None}}

    def answered(self, response: Response) -> None:
        """Keep the cookies of an answer for later hops."""
        values = response.headers.getlist("Set-Cookie")
        if not values:
            return
        jar = self._cookies = CookieJar() if self._cookies is None else self._cookies
        fields = Message()
        for value in values[: _MOST_COOKIES - len(jar)]:
            if len(value) <= _LONGEST_COOKIE:
                fields["Set-Cookie"] = value.decode("latin-1")
        given: Any = SimpleNamespace(info=lambda: fields)  # all that a jar asks of a response
        jar.extract_cookies(given, UrlRequest(self.uri))  # noqa: S310

    def ask_again(self, status: int) -> bool:
        """Note what an answer with ``status`` calls for; return whether the hop is asked again."""
        again = SECOND_QUESTIONS.get(status)
        if again is None or again in self.again or (again is Again.LOGIN and not self._is_at_home):
            return False
        self.again.add(again)
        if again is Again.USER_AGENT:
            sent = None if self.request is None else self.request.headers.get("User-Agent")
            return self.requester.user_agent not in (None, sent)
        return again is not Again.LOGIN or self.requester.login is not None

    def _cookie(self) -> bytes | None:
        if self._cookies is None:
            return None
        request = UrlRequest(self.uri)  # noqa: S310  # it is not sent
        self._cookies.add_cookie_header(request)
        return request.get_header("Cookie", "").encode("latin-1") or None


def requester_of(page_request: Request | None, authority: Authority) -> Requester:
    """Return the traits of a request that may make ``authority`` refuse its robots.txt."""
    if page_request is None:
        return Requester()
    is_sent = has_headers(page_request) and usable_authority_of(page_request.url) == authority
    user_agent = (page_request.headers.get("User-Agent") or None) if is_sent else None
    return Requester(way_of(page_request.meta), login_of(page_request, authority), user_agent)


def way_of(meta: Mapping[str, Any]) -> str:
    """Return by which proxy, from which address and as which browser a request is sent, or ""."""
    proxy = str(meta.get("proxy") or "").rpartition("@")[2].rpartition("//")[2].rstrip("/")
    more = [meta.get(key) or "" for key in ("bindaddress", "impersonate")]
    return " ".join([proxy, *map(str, more)]).strip()


def login_of(page_request: Request, authority: Authority) -> bytes | None:
    """Return the ``Authorization`` with which a page of ``authority`` is requested.

    ``None`` if the request has none. It may also come from the user information of the URL, as in
    crawls without a reactor, or from the meta keys ``http_user`` and ``http_pass``, which
    HttpAuthMiddleware reads. The request may be for another host, such as a service that fetches
    the page: then its login is for that host.
    """
    url, meta = page_request.url, page_request.meta
    if usable_authority_of(url) != authority:
        return None
    sent = page_request.headers.get("Authorization")
    if sent:
        return bytes(sent)
    user, word = meta.get("http_user") or "", meta.get("http_pass") or ""
    domain = meta.get("http_auth_domain")
    if (user or word) and (not domain or url_is_from_any_domain(url, [domain])):
        return basic_auth_header(user, word)
    parts = urlsplit(url)
    if parts.username or parts.password:
        return basic_auth_header(unquote(parts.username or ""), unquote(parts.password or ""))
    return None
