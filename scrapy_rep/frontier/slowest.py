"""Which of the sites that wait for their turn will take longest, found without a walk."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

_GROWN: Final = 1.5
"""A site is listed anew if it takes this many times as long as it was listed with."""


class Listed(Protocol):
    """A site, as far as this module is concerned."""

    listed: float
    """The seconds with which it is listed; 0 if it is not."""


Site = TypeVar("Site", bound=Listed)


class Slowest(Generic[Site]):
    """A heap of sites by the seconds that they take, as they were when they were listed.

    Most sites only get less while they wait, so what is listed is too much, and is put right when
    it comes to the top. ``seconds(site)`` is what a site takes now, 0 if it is gone.
    """

    def __init__(self, seconds: Callable[[Site], float]):
        self._seconds = seconds
        self._numbers = count()
        self._heap: list[tuple[float, int, Site]] = []

    def add(self, site: Site) -> None:
        """List a site, unless it is listed with about as much."""
        seconds = self._seconds(site)
        if seconds > _GROWN * site.listed:
            site.listed = seconds
            heappush(self._heap, (-seconds, next(self._numbers), site))

    def find(self) -> Site | None:
        """Return the site that takes longest; None if none is listed."""
        heap = self._heap
        while heap:
            listed, _, site = heap[0]
            seconds = self._seconds(site)
            if -listed != site.listed or not seconds:  # it was listed anew, or is gone
                heappop(heap)
            elif seconds >= site.listed:
                return site
            else:
                site.listed = seconds
                heapreplace(heap, (-seconds, next(self._numbers), site))
        return None
