"""The downloader: which requests it has, and how many it may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_rep.scrapy_internals.names import Feature

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.scrapy_internals.switches import Switches


class Capacity:
    """The requests of a downloader, Scrapy's or a custom one, and the places for them."""

    def __init__(self, crawler: Crawler, on: Switches):
        self._crawler = crawler
        self._on = on
        self._beyond = 0

    @property
    def requests(self) -> AbstractSet[Request]:
        """The requests that the downloader has, from the first middleware to the last."""
        requests: AbstractSet[Request] = self._downloader.active
        return requests

    @property
    def ordinary(self) -> int:
        """How many requests the operator lets the downloader have; 0 for no limit."""
        total = self._total
        return total - self._beyond if total else 0

    @property
    def is_exceeded(self) -> bool:
        """Whether the downloader has more requests than the engine would take from the scheduler.

        True if there is no limit.
        """
        total = self._total
        return total <= 0 or len(self.requests) > total

    def extend(self, beyond: int) -> None:
        """Let the downloader have ``beyond`` requests more than ``ordinary``, if it has a limit."""
        ordinary = self.ordinary
        if ordinary > 0:
            self._beyond = beyond
            self._downloader.total_concurrency = ordinary + beyond

    @property
    def _total(self) -> int:
        return int(self._downloader.total_concurrency) if Feature.LENDING in self._on else 0

    @property
    def _downloader(self) -> Any:
        return self._crawler.engine.downloader
