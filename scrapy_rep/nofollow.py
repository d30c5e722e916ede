"""Marks requests that the page they were found on asks not to follow.

The spider middleware marks the request, and the gate refuses it. So it ends like any forbidden
request: its errback is called, and it is counted. A marked request has ``dont_filter``, so the
duplicate filter neither drops nor remembers it, and the same URL found on another page is
requested. The mark is text, so every queue on disk can store it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

_MARK = "_scrapy_rep_nofollow"
"""The meta key. Scrapy 2.19 documents keys that begin with ``_`` as internal."""

SOURCES = ("meta", "X-Robots-Tag", "Robots-Tag", "rel")


def marked(request: Request, source: str) -> Request:
    """Return a copy of ``request`` that the gate refuses; ``source`` is where nofollow was read."""
    return request.replace(meta={**request.meta, _MARK: source}, dont_filter=True)


def marked_in_place(request: Request) -> Request:
    """Mark ``request`` itself, for want of a copy: a subclass may be one that cannot be copied."""
    request.meta[_MARK] = ""
    request.dont_filter = True
    return request


def unmarked(request: Request) -> Request:
    """Return ``request`` without the mark, which it may have from meta copied from another."""
    if _MARK not in request.meta:
        return request
    return request.replace(meta={k: v for k, v in request.meta.items() if k != _MARK})


def refusal(request: Request) -> str | None:
    """Return why a request is refused; ``None`` if it is not marked."""
    if _MARK not in request.meta:
        return None
    source = request.meta[_MARK]
    return f"nofollow ({source})" if source in SOURCES else "nofollow"
