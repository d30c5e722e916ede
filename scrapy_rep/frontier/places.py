"""Places in the downloader beyond the operator's: for fetches, and for requests that wait in place.

The downloader counts fetches of robots.txt, and requests and responses that wait in place for rules
or for a turn, like any others. For each of them it may have one more request meanwhile, so that
they hold up no others. Without the scheduler, only fetches are lent a place.

A request that the engine has sent within its limits keeps its own place while it waits for its
turn, like one that waits for DOWNLOAD_DELAY. If it were lent another place, there would be one
request too many when its turn comes. Only a wait of more than a second is worth that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from scrapy_rep import stats as names

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.stats import RepStats

MOST_LENT: Final = 1_000
"""The most requests waiting in place that are lent a place."""


class Places:
    """The places that are lent. This class alone changes how many places the downloader has."""

    def __init__(self, scrapy: ScrapyNames, stats: RepStats):
        self._scrapy = scrapy
        self._stats = stats
        self.fetches: dict[Request, bool] = {}
        """The robots.txt requests that the downloader has, and whether each still has a place."""
        self.waiting = 0
        """How many requests wait in place."""
        self.lends = False
        """Whether a request that waits in place is lent a place, as it is if the frontier is used.

        Without the scheduler each one counts towards CONCURRENT_REQUESTS, as with Scrapy's own
        middleware.
        """

    @contextmanager
    def fetching(self, request: Request) -> Iterator[None]:
        """Lend a place to a fetch while the context lasts, or until its download has ended."""
        self.fetches[request] = True
        self._scrapy.lend(1)
        try:
            yield
        finally:
            self.fetched(request)
            del self.fetches[request]

    def fetched(self, request: Request) -> None:
        """Take back the place of a request whose download has ended, if it is a fetch.

        The downloader has the fetch for a moment longer. If the place were lent until then, the
        engine could begin one request too many.
        """
        if self.fetches.get(request):
            self.fetches[request] = False
            self._scrapy.lend(-1)

    @contextmanager
    def lent(self, *, keeps_its_own: bool = False) -> Iterator[Callable[[bool], bool]]:
        """Lend a place to a request that waits in place, unless it ``keeps_its_own``.

        Yields a callback for the Deferred that the request waits for. It takes the place back, and
        returns its argument. If it is not called, the place is taken back when the context ends. As
        the coroutine of the request goes on a moment after its wait is over, the engine could begin
        one request too many in between.
        """
        self.waiting += 1
        self._stats.inc(names.WAITING)
        self._stats.max(names.WAITING_MAX, self.waiting)
        is_lent = self.lends and self.waiting <= MOST_LENT and not keeps_its_own

        def take_back(result: bool) -> bool:
            nonlocal is_lent
            if is_lent:
                is_lent = False
                self._scrapy.lend(-1)
            return result

        if is_lent:
            self._scrapy.lend(1)
            self._scrapy.wake()
        try:
            yield take_back
        finally:
            self.waiting -= 1
            take_back(False)
