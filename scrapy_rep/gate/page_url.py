"""The page that a request asks for, and whether a response is of another page.

A request asks for its own URL, or for one that a service is to fetch.

A rendering service, a proxy or an API that is addressed by URL is asked for
``http://service/?url=https://example.org/page``, and fetches ``https://example.org/page``.
``request.meta["robotstxt_page"]`` names that page, and the rules of its site govern the request
(RFC 9309 section 2.3).

A redirect copies the meta of a request, and spiders copy the meta of a response into further
requests. What such a copy asks for depends on where it goes:

- A request to the same service (host and port) still asks for the page that is named.
- A request to another host is for that host: its own URL counts, and still does if it is redirected
  back. Otherwise the rules of one site would admit requests to others.

To tell them apart, the meta also notes which service was first asked for the page.
``redirect_urls`` cannot tell: in a copied meta it may come from an earlier request.

A browser or a service may follow a redirect by itself. Then ``response.url``, the final URL, is
that of another page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from w3lib.url import safe_url_string

from scrapy_rep.access.authority import DEFAULT_PORTS, LONGEST_NAME, authority_of, has_scheme
from scrapy_rep.scrapy_names import modules_that_download

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

    from scrapy_rep.access.authority import Authority

PAGE = "robotstxt_page"
"""The key of the meta of a request that names the page.

The address of a robots.txt is refused there, with or without a query. It is always allowed, so that
a request which names it instead of the page would pass whatever that robots.txt says.
"""

_ASKED = "scrapy_rep_asked"
"""The key under which the meta notes a page and the service that was first asked for it.

The service is ``None`` when a copy of the request has gone elsewhere.
"""

_ORIGIN = re.compile("[^:/?]*://[^/?]*")


class Asked(NamedTuple):
    """A request at the gate: the page that it is for, what governs that, and for which agent.

    ``url`` is that of the request, or the one that its meta names; the final URL of a response; or
    the one that ``explain`` is asked about.
    """

    request: Request
    url: str
    authority: Authority
    agent: tuple[str, ...]


def requested_url(url: str) -> str:
    """Return a URL as a request of Scrapy has it: what is sent, and what rules are matched with.

    Scrapy drops tabs, line ends, spaces around the URL and a ``?`` before an empty query, takes a
    backslash for a slash, and quotes what may not stand in a URL. Octets that are not UTF-8 are
    quoted, too, if they were decoded to surrogates, as those of a command line are.
    Raises ``ValueError`` for an http or https URL without a usable host and port, and for text that
    cannot be encoded.
    """
    octets = url.encode("utf-8", "surrogateescape")
    try:
        if not url.isascii():
            host = urlsplit(url.replace("\\", "/")).hostname or ""
            if len(host) > LONGEST_NAME and not host.isascii():
                raise ValueError
        return safe_url_string(octets)
    except ValueError:
        # What is wrong is not quoted: it may be part of a password.
        raise ValueError("no usable host and port in the URL") from None


def decoding(settings: BaseSettings) -> Callable[[str], str]:
    """Return a function that returns the URL of a request as a download handler sends it.

    That of aiohttp, which Scrapy uses without a reactor, decodes some escapes that are not the same
    as their characters (RFC 3986 section 2.2): for ``/a%28b`` it asks the server for ``/a(b``.
    """

    @cache
    def decodes(scheme: str) -> bool:
        if scheme not in DEFAULT_PORTS:
            return False
        # A crawl without a reactor puts it in the place of the default, before its first request.
        is_default = scheme not in settings.getdict("DOWNLOAD_HANDLERS")
        if is_default and not settings.getbool("TWISTED_REACTOR_ENABLED", True):
            return True
        return any("aiohttp" in name for name in modules_that_download(settings, scheme))

    def sent(url: str) -> str:
        if "%" not in url or not decodes(url.partition(":")[0].lower()):
            return url
        from yarl import URL  # aiohttp needs it, and so has installed it

        return str(URL(url))

    return sent


def sending(settings: BaseSettings) -> Callable[[Request, str], str]:
    """Return a function that returns the page of a request as a download handler sends it.

    What ``verbatim_url`` keeps, such as white space around a URL, handlers drop. How a service asks
    for a page that its request names is not known.
    """
    decoded = decoding(settings)

    def sent(request: Request, page: str) -> str:
        if "verbatim_url" in request.meta:
            return requested_url(page)
        return decoded(page) if page == request.url else page

    return sent


def governed(url: str) -> tuple[str, Authority | None]:
    """Return a URL as a request has it, and the authority that governs it.

    Raises ``ValueError`` as :func:`requested_url` does, and for text that is not an absolute URL.
    """
    url = requested_url(url)
    authority = authority_of(url)
    if authority is None and not has_scheme(url):
        raise ValueError("not an absolute URL: it has no scheme")
    return url, authority


def page_of(request: Request) -> str:
    """Return the URL whose robots.txt and path govern ``request``.

    If the meta names a page, this notes there which service was first asked for it.
    Raises ``ValueError`` if the meta of the request names something that is not the URL of a page.
    """
    named = request.meta.get(PAGE)
    return request.url if named is None else _named_page(request, named)


def _named_page(request: Request, named: object) -> str:
    try:
        page = requested_url(named) if isinstance(named, str) else ""
        usable = authority_of(page) is not None
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"meta[{PAGE!r}] is not an http or https URL with a host")
    if unquote(urlsplit(page).path) == "/robots.txt":
        raise ValueError(
            f"meta[{PAGE!r}] is the address of a robots.txt; it has to be the URL of the page that "
            "the request is for"
        )
    service = _service(request.url)
    asked = request.meta.get(_ASKED)
    if asked is None or asked[0] != page:
        asked = [page, service]
    elif asked[1] != service:
        asked = [page, None]
    # A new list, because a copy of a request shares the values of its meta. A list, because
    # schedulers may store it as JSON.
    request.meta[_ASKED] = asked
    return page if asked[1] is not None else request.url


def leads_elsewhere(request: Request, final_url: str) -> bool:
    """Return whether the final URL of a response is that of another page than was asked for.

    It is not if only the fragment, the user information or the spelling of the origin differs. A
    service may answer for the page that is named at any of its own URLs.
    Raises ``ValueError`` if one of the URLs is http or https and has no usable host.
    """
    if request.url.startswith("s3:"):  # Scrapy asks for the https URL of the same object
        return False
    page = page_of(request)
    if page != request.url and _service(final_url) == _service(request.url):
        return False
    return resource(page) != resource(final_url)


def resource(url: str) -> tuple[Authority | None, str]:
    """Return what all spellings of a URL share between which no rule can tell.

    That is the authority, and the rest without the fragment; without an authority, the whole URL.
    Raises ``ValueError`` for an http or https URL without a usable host.
    """
    url = url.partition("#")[0]
    authority = authority_of(url)
    if authority is None:
        return None, url
    origin = _ORIGIN.match(url)
    path = url[origin.end() :] if origin is not None else url
    return authority, path if path.startswith("/") else f"/{path}"


def _service(url: str) -> str:
    """Return what the URLs of one service share: host and port, by http or https."""
    authority = authority_of(url)
    if authority is None:
        return url.partition(":")[0]
    default = authority.port == DEFAULT_PORTS[authority.scheme]
    return authority.host if default else f"{authority.host} {authority.port}"
