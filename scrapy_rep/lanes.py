"""Places in the downloader beside ``CONCURRENT_REQUESTS``, for what is not to count among them.

A request that waits, and a fetch of a robots.txt, stay among the downloader's active requests, so
that the spider is not taken for idle; but for as long as they do, the downloader may have one more
of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.scrapy_internals import ScrapyInternals


class Lanes:
    """Lends the downloader of a crawl places, and takes them back."""

    def __init__(self, inside: ScrapyInternals):
        self._inside = inside
        self._fetches: set[Request] = set()
        self._kept_free = 0

    @contextmanager
    def lane(self, request: Request | None = None) -> Iterator[None]:
        """Let the downloader have one more active request for as long as this lasts.

        For one that is active already and is not to count, or for the ``request`` of a fetch.
        """
        self.lend(+1)
        self._inside.engine.wake()
        if request is not None:
            self._fetches.add(request)
        try:
            yield
        finally:
            self.lend(-1)
            if request is not None:
                self._fetches.discard(request)

    def lend(self, places: int) -> None:
        """Let the downloader have so many more active requests, or fewer."""
        self._inside.capacity.lend(places)

    def keep_free(self, places: int) -> None:
        """Have the engine leave so many places to those who wait for one."""
        self.lend(self._kept_free - places)
        self._kept_free = places

    @property
    def busy(self) -> bool:
        """Whether a page is being downloaded, whose end will make room."""
        return self._inside.download_slots.are_sending(but=self._fetches)

    def has_place(self, but: int) -> bool:
        """Return whether ``CONCURRENT_REQUESTS`` has a place for one that waits for it.

        ``but`` is how many of the active requests are not to count.
        """
        total = self._inside.capacity.places
        if not total:
            return True
        requests = self._inside.capacity.requests
        # A fetch may have left the downloader, and its lane not yet been given back.
        gone = sum(request not in requests for request in self._fetches)
        return len(requests) - but < total + self._kept_free - gone
