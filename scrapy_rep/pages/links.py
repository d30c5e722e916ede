"""The links of a page that have ``rel="nofollow"``.

A URL counts as ``nofollow`` if every link of the page to it does. URLs are compared as Scrapy's
duplicate filter compares them: without the fragment, and in canonical form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from w3lib.url import canonicalize_url

from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.statements import NOFOLLOW

MOST_LINKS: Final = 2_000
"""Different references that are read, of each kind: each takes 25 us."""


def urls_not_to_follow(markup: Markup, url: str) -> frozenset[str]:
    """Return the URLs, in canonical form, whose links on the page at ``url`` all say nofollow.

    ``mailto:`` links and references that are not URLs are included as written.
    """
    if not markup.holds(NOFOLLOW):
        return frozenset()
    closed: dict[str, None] = {}
    opened: dict[str, None] = {}
    for link in markup.anchors():
        (closed if NOFOLLOW in link.rel else opened)[link.href] = None
    if not closed:
        return frozenset()
    base = _joined(url, markup.base) or url
    return frozenset(_canonical(base, closed)) - frozenset(_canonical(base, opened))


def canonical(url: str) -> str | None:
    """Return the form in which URLs are compared; ``None`` for what is not a URL."""
    try:
        return str(canonicalize_url(url))
    except ValueError:
        return None


def _canonical(base: str, references: Iterable[str]) -> Iterator[str]:
    for reference in islice(references, MOST_LINKS):
        joined = _joined(base, reference)
        found = None if joined is None else canonical(joined)
        if found is not None:
            yield found


def _joined(base: str, reference: str) -> str | None:
    try:
        return urljoin(base, reference)
    except ValueError:
        return None
