"""Downloads that a downloader middleware makes for the request that it holds.

A middleware behind the gate may have to download something, such as a token, before it passes a
request on. That request has a place meanwhile and is not sent before the download ends. If the
download queued for a place of its own behind other requests, each would wait for the other. So it
goes at once, as it does in Scrapy, which limits only what it takes from its scheduler.

Each request is downloaded in a context of its own (:mod:`contextvars`), and what a middleware
begins inherits it. A timer of Scrapy inherits it as well, in which the engine may take the next
request from the scheduler. The two are told apart by the downloader: the engine takes a request
only while there are places.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.scrapy_internals import ScrapyInternals

_OUTER: ContextVar[Request | None] = ContextVar("scrapy_rep_outer", default=None)


enter = _OUTER.set
"""``enter(request)`` notes that the middlewares behind the gate have a request from now on."""


leave = partial(_OUTER.set, None)
"""``leave()`` notes that the request of this context is past all middlewares."""


def is_nested(request: Request, inside: ScrapyInternals) -> bool:
    """Return whether a middleware makes ``request`` for another one that has a place."""
    outer = _OUTER.get()
    if outer is None or outer is request:
        return False
    return outer in inside.capacity.requests and inside.capacity.is_exceeded
