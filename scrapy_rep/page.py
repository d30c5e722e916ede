"""The page that a request is for: its own URL, or the one that a service is asked to fetch.

A rendering service, a proxy or an API that is addressed by URL is asked for
``http://service/?url=https://example.org/page``, and fetches ``https://example.org/page``.
``request.meta["robotstxt_url"]`` names that page, and the rules of its site govern the request
(RFC 9309 section 2.3).

A redirect copies the meta of a request. As long as all hops lead to the same service, the
redirected request still asks for the page that is named. A redirect to any other host does not: it
is a request to that host, and its own URL counts. Otherwise the rules of one site would admit
requests to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from w3lib.url import safe_url_string

from scrapy_rep.protocol.authority import DEFAULT_PORTS, authority_of

if TYPE_CHECKING:
    from scrapy import Request

PAGE = "robotstxt_url"
"""The key of the meta of a request that names the page."""


def page_of(request: Request) -> str:
    """Return the URL whose robots.txt and path govern ``request``.

    Raises ``ValueError`` if the meta of the request names something that is not the URL of a page.
    """
    named = request.meta.get(PAGE)
    return request.url if named is None else _named_page(request, named)


def _named_page(request: Request, named: object) -> str:
    try:
        # As Scrapy writes the URL of a request for that page.
        page = safe_url_string(named) if isinstance(named, str) else ""
        usable = authority_of(page) is not None
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"meta[{PAGE!r}] is not an http or https URL with a host")
    hops = [*request.meta.get("redirect_urls", ()), request.url]
    return page if len({_service(url) for url in hops}) == 1 else request.url


def _service(url: str) -> tuple[str, int | None] | str:
    """Return what the URLs of one service share: host and port, be it by http or https."""
    authority = authority_of(url)
    if authority is None:
        return url.partition(":")[0]
    default = authority.port == DEFAULT_PORTS[authority.scheme]
    return authority.host, None if default else authority.port
