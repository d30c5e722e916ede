"""Receives the octets of robots.txt downloads, as long as any fetch is under way.

The signal is sent for each chunk of each download of the crawl, so nothing listens to it while only
pages are downloaded. All fetchers of a crawl share one :class:`Reception`: with two listeners each
chunk would be received twice.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from itertools import count
from typing import TYPE_CHECKING, Protocol

from scrapy import signals
from scrapy.exceptions import StopDownload

from scrapy_rep.fetching.cancellable_downloads import DOWNLOAD

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.scrapy_internals import ScrapyInternals


class FetchPlaces(Protocol):
    """Gives a fetch a place in the downloader, beyond the places for pages."""

    def fetching(self, request: Request) -> AbstractContextManager[None]:
        """Count the download of ``request`` as a fetch while the context lasts."""

    def fetched(self, request: Request) -> None:
        """Take note that ``request`` has left the downloader."""


class Reception:
    """A context for a fetch. Several fetches may be in it at the same time."""

    def __init__(self, crawler: Crawler, inside: ScrapyInternals, places: FetchPlaces):
        self._signals = crawler.signals
        self._exchanges = inside.exchanges
        self._places = places
        self._under_way = 0
        self.numbers = count()
        """A number for each exchange of the crawl."""

    def __enter__(self) -> None:
        self._under_way += 1
        if self._under_way == 1:
            self._exchanges.run_by(DOWNLOAD)
            self._signals.connect(self._received, signal=signals.bytes_received)
            self._signals.connect(self._places.fetched, signals.request_left_downloader)

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1
        if self._under_way == 0:
            self._signals.disconnect(self._received, signal=signals.bytes_received)
            self._signals.disconnect(self._places.fetched, signals.request_left_downloader)

    def _received(self, data: bytes, request: Request) -> None:
        download = request.meta.get(DOWNLOAD)
        if download is not None and download.receive(data):
            raise StopDownload(fail=False)
