"""The places in the downloader: the operator's, those lent to requests that wait, those of fetches.

A request that waits, and a fetch of a robots.txt, stay among the downloader's requests, so that the
spider is not taken for idle. For as long as they do, the downloader may have one more of them.

A request that begins to wait for rules or for pace is lent a place, up to :data:`MOST_LENT`, so
that the engine goes on with others as if nothing waited. It gives that back when it is let go, or
ends. No place is lent to requests that wait for rules while fetches queue for their semaphore, or
while ready requests lack a place: what the engine pulled then would only wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_rep import stats as names

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.awaiting import FetchSemaphore
    from scrapy_rep.scheduling.queues import ReadyQueues, Waiting
    from scrapy_rep.scrapy_internals import ScrapyInternals
    from scrapy_rep.stats import RepStats


MOST_LENT = 1_000
"""How many places are lent at most."""


class Places:
    """How many requests the downloader may have. Only this class changes it.

    ``limit`` is how many places are lent at most, ``waiting`` how many of the downloader's requests
    wait at the gate, and ``unlent`` those that wait for rules and have yet to be lent a place.
    ``look()`` has the room look for requests that can go.
    """

    def __init__(
        self,
        inside: ScrapyInternals,
        ready: ReadyQueues,
        semaphore: FetchSemaphore,
        limit: int,
        look: Callable[[], None],
        stats: RepStats,
    ):
        self._inside = inside
        self._ready = ready
        self._semaphore = semaphore
        self._limit = limit
        self._look = look
        self._stats = stats
        self.unlent: dict[Waiting, None] = {}
        self._lent = 0
        self._beyond = 0
        self.fetches: set[Request] = set()
        self._ending: set[Request] = set()
        self.waiting = 0

    def want(self, waiting: Waiting) -> bool:
        """Lend a place to a request that waits for rules, now or when :meth:`lend` can."""
        self.unlent[waiting] = None
        return self.lend()

    def lend(self) -> bool:
        """Lend places to requests that wait for rules.

        Returns ``True`` if this has to be tried again: no signal says that fetches queue no longer.
        """
        idle = not (self._ready and self._ready.first_open()) and not self._semaphore.crowded
        while self.unlent and idle and self._lent < self._limit:
            self.lend_to(next(iter(self.unlent)))
            self._stats.inc(names.PARKED)
        return bool(self.unlent) and self._lent < self._limit

    def lend_to(self, waiting: Waiting) -> None:
        """Lend a place to a request that has none, if the limit lets it."""
        self.unlent.pop(waiting, None)
        if not waiting.lent and self._lent < self._limit:
            waiting.lent = True
            self._lent += 1
            self._stats.max(names.PARKED_MAX, self._lent)
            self._settle()
            self._inside.engine.wake()

    def has_rules(self, waiting: Waiting) -> None:
        """Note that a request no longer waits for its rules: it needs no place for that."""
        self.unlent.pop(waiting, None)

    def take_back(self, waiting: Waiting) -> None:
        """Take a place back from a request that waits no longer."""
        self.unlent.pop(waiting, None)
        if waiting.lent:
            waiting.lent = False
            self._lent -= 1
            self._settle()

    @contextmanager
    def fetching(self, request: Request) -> Iterator[None]:
        """Give a fetch a place of its own for as long as this lasts; it takes it at once."""
        self.fetches.add(request)
        self._settle()
        try:
            yield
        finally:
            self.fetches.discard(request)
            self._ending.discard(request)
            self._settle()
            if self._ready or self.unlent:
                self._look()

    def fetched(self, request: Request) -> None:
        """Take the place of a fetch back, if this is one, as its download has ended.

        The downloader has it for a moment longer. Had it the place for as long as the fetch itself,
        the engine could begin one request too many between the two ends.
        """
        if request in self.fetches:
            self._ending.add(request)
            self._settle()

    @property
    def busy(self) -> int:
        """How many places are taken by what neither waits nor is a fetch."""
        requests = self._inside.capacity.requests
        # A fetch may have left the downloader, and its place not yet been taken back.
        return len(requests) - self.waiting - len(self.fetches & requests)

    @property
    def free(self) -> float:
        """How many of the operator's places are free."""
        ordinary = self._inside.capacity.ordinary
        return ordinary - self.busy if ordinary > 0 else math.inf

    def _settle(self) -> None:
        beyond = self._lent + len(self.fetches) - len(self._ending)
        if beyond == self._beyond:
            return
        self._beyond = beyond
        self._inside.capacity.extend(beyond)
