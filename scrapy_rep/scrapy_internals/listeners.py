"""Whether anything listens to a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_rep.scrapy_internals.names import Feature

try:
    from pydispatch import dispatcher
except ImportError:
    dispatcher = None

DISPATCHER: Any = dispatcher
"""The module that sends Scrapy's signals; ``None`` if Scrapy no longer needs it."""

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.scrapy_internals.switches import Switches


class Listeners:
    """The listeners to the signals of a crawl."""

    def __init__(self, crawler: Crawler, on: Switches):
        self._crawler = crawler
        self._on = on

    def exist(self, signal: Any) -> bool:
        """Return whether anything may listen to ``signal``."""
        if Feature.LISTENERS not in self._on:
            return True
        return any(True for _ in DISPATCHER.getAllReceivers(self._crawler.signals.sender, signal))
