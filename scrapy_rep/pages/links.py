"""The links of a page that have ``rel="nofollow"``.

A URL counts as ``nofollow`` if every link of the page to it does. URLs are compared as Scrapy's
duplicate filter compares them: without the fragment, and in canonical form.

On a page that is not in UTF-8, a query that is not ASCII has two forms: link extractors and
``response.follow`` write it in the encoding of the page, and ``Request`` writes it in UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url

from scrapy_rep.pages.directives import NOFOLLOW
from scrapy_rep.pages.markup import Markup

_UTF_8: Final = "utf-8"

MOST_LINKS: Final = 2_000
"""The most different references of each kind that are read: each takes 25 us."""

MOST_HOSTS: Final = 200
"""References with a host outside ASCII that are read, of each kind: each takes up to 1 ms."""

_LONGEST_HOST: Final = 64
"""Characters of such a host. To encode it takes quadratic time: hours for one of 500 KB."""


def urls_not_to_follow(markup: Markup, url: str) -> frozenset[str]:
    """Return the URLs, in canonical form, whose links on the page at ``url`` all say nofollow.

    ``mailto:`` links and references that are not URLs are included as written.
    """
    if not markup.holds(NOFOLLOW):
        return frozenset()
    closed: dict[str, None] = {}
    opened: dict[str, None] = {}
    for link in markup.anchors:
        (closed if NOFOLLOW in link.rel else opened)[link.href] = None
    if not closed:
        return frozenset()
    base = _joined(url, markup.base) or url
    if _host_outside_ascii(base):  # it is encoded only once, and not with each reference
        base = canonical(base) or base
    not_to_follow = frozenset(_canonical(base, closed, markup.encoding))
    return not_to_follow.difference(_canonical(base, opened, markup.encoding))


def canonical(url: str, encoding: str = _UTF_8) -> str | None:
    """Return the form in which URLs are compared; ``None`` for what no request can have as its URL.

    ``encoding`` is that of a query that is not ASCII.
    """
    try:
        if len(_host_outside_ascii(url)) > _LONGEST_HOST:
            return None
        return str(canonicalize_url(url, encoding=encoding))
    except ValueError:
        return None


def _host_outside_ascii(url: str) -> str:
    """Return the host of a URL, with user information and port, if it is not ASCII; else ""."""
    host = ""
    with suppress(ValueError):  # Python 3.11 joins ``file:`` and ``////[`` to a URL that is none
        host = "" if url.isascii() else urlsplit(url).netloc
    return "" if host.isascii() else host


def _canonical(base: str, references: Iterable[str], encoding: str) -> Iterator[str]:
    """Yield the canonical forms of the first references, joined with ``base``."""
    hosts = 0
    for reference in islice(references, MOST_LINKS):
        joined = _joined(base, reference)
        if joined is None:
            continue
        if _host_outside_ascii(joined):
            hosts += 1
            if hosts > MOST_HOSTS:
                continue
        has_two_forms = encoding != _UTF_8 and not joined.partition("?")[2].isascii()
        for query_encoding in (_UTF_8, encoding) if has_two_forms else (_UTF_8,):
            form = canonical(joined, query_encoding)
            if form is not None:
                yield form


def _joined(base: str, reference: str) -> str | None:
    try:
        return urljoin(base, reference)
    except ValueError:
        return None
