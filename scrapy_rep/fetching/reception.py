"""The octets of fetches are heard while any fetch is under way, and no others.

The signal is sent for each chunk of each download of the crawl, so nothing listens to it while only
pages are downloaded. All fetchers of a crawl share one :class:`Reception`: with two listeners each
chunk would be received twice.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import StopDownload

from scrapy_rep.fetching.cancellable_downloads import TRANSFER

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.scheduling.room import WaitingRoom
    from scrapy_rep.scrapy_internals import ScrapyInternals


class Reception:
    """A context that a fetch is made in; it may be entered any number of times at once."""

    def __init__(self, crawler: Crawler, inside: ScrapyInternals, room: WaitingRoom):
        self._signals = crawler.signals
        self._exchanges = inside.exchanges
        self._room = room
        self._under_way = 0
        self.numbers = count()
        """A number for each exchange of the crawl."""

    def __enter__(self) -> None:
        self._under_way += 1
        if self._under_way == 1:
            self._exchanges.run_by(TRANSFER)
            self._signals.connect(self._received, signal=signals.bytes_received)
            self._signals.connect(self._room.fetched, signals.request_left_downloader)

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1
        if self._under_way == 0:
            self._signals.disconnect(self._received, signal=signals.bytes_received)
            self._signals.disconnect(self._room.fetched, signals.request_left_downloader)

    def _received(self, data: bytes, request: Request) -> None:
        transfer = request.meta.get(TRANSFER)
        if transfer is not None and transfer.receive(data):
            raise StopDownload(fail=False)
