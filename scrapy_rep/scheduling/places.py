"""The places in the downloader: the operator's, those lent to requests that wait, those of fetches.

A request that waits, and a fetch of a robots.txt, stay among the downloader's requests, so that the
spider is not taken for idle. For as long as they do, the downloader may have one more of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.scrapy_internals import ScrapyInternals


class Places:
    """How many requests the downloader may have. Only this class changes it.

    ``waiting`` is how many of the downloader's requests wait at the gate, and ``lent`` how many
    places are lent to them.
    """

    def __init__(self, inside: ScrapyInternals):
        self._inside = inside
        self.lent = 0
        self._beyond = 0
        self.fetches: set[Request] = set()
        self._ending: set[Request] = set()
        self.waiting = 0

    def lend(self, places: int) -> None:
        """Lend so many more places, or take them back."""
        self.lent += places
        self._settle()

    def begin(self, fetch: Request) -> None:
        """Give a fetch a place."""
        self.fetches.add(fetch)
        self._settle()

    def leave(self, fetch: Request) -> None:
        """Take the place of a fetch back, as its download has ended.

        The downloader has it for a moment longer. Had it the place for as long as the fetch itself,
        the engine could begin one request too many between the two ends.
        """
        if fetch in self.fetches:
            self._ending.add(fetch)
            self._settle()

    def end(self, fetch: Request) -> None:
        """Forget a fetch; its place is taken back, if it was not yet."""
        self.fetches.discard(fetch)
        self._ending.discard(fetch)
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
        beyond = self.lent + len(self.fetches) - len(self._ending)
        if beyond == self._beyond:
            return
        self._beyond = beyond
        if self._inside.capacity.extend(beyond):
            self._inside.engine.wake()
