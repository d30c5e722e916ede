"""Marks requests that the page they were found on asks not to follow.

The spider middleware marks the request, and the gate refuses it. So it ends like any forbidden
request: its errback is called, and it is counted. A marked request has ``dont_filter``, so the
duplicate filter neither drops nor remembers it, and the same URL found on another page is
requested. The mark is a list of texts, so every queue on disk can store it. It names the URL that
it is for, because meta is copied: an errback may make a request to another page with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

NOFOLLOW_KEY = "_scrapy_rep_nofollow"
"""The meta key. Scrapy 2.19 documents keys that begin with ``_`` as internal."""


def marked(request: Request, source: str) -> Request:
    """Return a copy of ``request`` that the gate refuses; ``source`` is where nofollow was read."""
    mark = [source, request.url]
    return request.replace(meta={**request.meta, NOFOLLOW_KEY: mark}, dont_filter=True)


def marked_in_place(request: Request) -> Request:
    """Mark ``request`` itself, for requests of a subclass that cannot be copied."""
    request.meta[NOFOLLOW_KEY] = ["", request.url]
    request.dont_filter = True
    return request


def is_marked(request: Request) -> bool:
    """Return whether the gate refuses a request. The mark is valid for its own URL only."""
    mark = request.meta.get(NOFOLLOW_KEY)
    return isinstance(mark, (list, tuple)) and len(mark) == 2 and mark[1] == request.url


def reason_of(request: Request) -> str:
    """Return why a marked request is refused."""
    source = request.meta[NOFOLLOW_KEY][0]
    return f"nofollow ({source})" if source else "nofollow"
