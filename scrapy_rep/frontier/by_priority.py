"""A line by priority, for queues that have one order for all sites."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

S = TypeVar("S")
"""A site."""


class ByPriority(Generic[S]):
    """Sites by the priority of their next requests, then by arrival; otherwise like a ``deque``.

    ``order_of(site)`` is the priority, negated: the least one is next.
    """

    def __init__(self, order_of: Callable[[S], int]):
        self._order_of = order_of
        self._numbers = count()
        self._heap: list[tuple[int, int, S]] = []

    def append(self, site: S, /) -> None:
        """Add a site."""
        heappush(self._heap, (self._order_of(site), next(self._numbers), site))

    def popleft(self) -> S:
        """Remove and return the site that is next."""
        return heappop(self._heap)[2]

    def __len__(self) -> int:
        return len(self._heap)
