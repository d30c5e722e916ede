"""Which of the sites that wait for their turn will take longest, found without a walk."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

_GROWN: Final = 1.5
"""A site is listed anew if it takes this many times as long as it was listed with."""

_FEW: Final = 100
"""A heap of fewer entries than this is not cleared of sites that are gone."""


class Listed(Protocol):
    """A site, as far as this module is concerned."""

    listed: float
    """The seconds with which it is listed; 0 if it is not."""


Site = TypeVar("Site", bound=Listed)


class Slowest(Generic[Site]):
    """A heap of sites by the seconds that they take, as they were when they were listed.

    Most sites have fewer and fewer requests while they wait. So they are listed with too many
    seconds, which are corrected when the site comes to the top. ``seconds(site)`` is what a site
    takes now, 0 if it does not wait for its turn. Such a site is forgotten until it is added again.
    """

    def __init__(self, seconds: Callable[[Site], float]):
        self._seconds = seconds
        self._numbers = count()
        self._heap: list[tuple[float, int, Site]] = []
        self._most = _FEW

    def add(self, site: Site) -> None:
        """List a site, unless it is listed with about as much."""
        seconds = self._seconds(site)
        if seconds > _GROWN * site.listed:
            site.listed = seconds
            heappush(self._heap, (-seconds, next(self._numbers), site))
            if len(self._heap) > self._most:
                self._heap = [entry for entry in self._heap if self._takes(entry)]
                heapify(self._heap)
                self._most = 2 * len(self._heap) + _FEW

    def find(self) -> Site | None:
        """Return the site that takes longest; None if none is listed."""
        heap = self._heap
        while heap:
            site = heap[0][2]
            seconds = self._takes(heap[0])
            if not seconds:
                heappop(heap)
            elif seconds >= site.listed:
                return site
            else:
                site.listed = seconds
                heapreplace(heap, (-seconds, next(self._numbers), site))
        return None

    def _takes(self, entry: tuple[float, int, Site]) -> float:
        """Return what the site of an entry takes; 0 if it is to be forgotten, or listed anew."""
        listed, _, site = entry
        if -listed != site.listed:
            return 0.0
        seconds = self._seconds(site)
        if not seconds:
            site.listed = 0.0
        return seconds
