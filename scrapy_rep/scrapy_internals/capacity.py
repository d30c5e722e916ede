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
    """The requests of a downloader and the places for them; it may be a custom one."""

    def __init__(self, crawler: Crawler, on: Switches):
        self._crawler = crawler
        self._on = on

    @property
    def requests(self) -> AbstractSet[Request]:
        """The requests that the downloader has, from the first middleware to the last."""
        requests: AbstractSet[Request] = self._downloader.active
        return requests

    @property
    def places(self) -> int:
        """How many requests the downloader may have; 0 if there is no limit, or none is known."""
        return int(self._downloader.total_concurrency) if Feature.LENDING in self._on else 0

    def lend(self, places: int) -> None:
        """Let the downloader have so many more requests, or fewer, if it has a limit at all."""
        if self.places:
            self._downloader.total_concurrency += places

    @property
    def _downloader(self) -> Any:
        return self._crawler.engine.downloader
