"""Counts that take a bounded amount of memory, however long a log is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

WIDTHS = (1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800, 2_419_200)
"""Lengths of the intervals of a timeline in seconds; each divides the next one."""


class Bounded(dict[Key, Value], Generic[Key, Value]):
    """A dictionary of at most ``most`` values; past that, the lighter half is dropped.

    A key that was dropped starts from nothing if it comes again. So frequent keys keep their
    counts, and rare ones may be missing. ``dropped`` says how many keys were dropped.
    """

    def __init__(
        self, most: int, make: Callable[[], Value], weight: Callable[[Value], float]
    ) -> None:
        super().__init__()
        self.dropped = 0
        self._most = most
        self._make = make
        self._weight = weight

    def __missing__(self, key: Key) -> Value:
        """Make the value of a new key."""
        if len(self) >= self._most:
            self._drop()
        value = self[key] = self._make()
        return value

    def _drop(self) -> None:
        heaviest = sorted(self, key=lambda key: self._weight(self[key]), reverse=True)
        for key in heaviest[self._most // 2 :]:
            del self[key]
            self.dropped += 1


class Timeline:
    """Counts of several kinds by time, in at most ``most`` intervals of equal length.

    The intervals widen when there would be too many. Their length does not depend on the order of
    the counts.
    """

    __slots__ = ("_most", "_widths", "counts", "width")

    def __init__(self, most: int) -> None:
        self.counts: dict[int, list[int]] = {}
        self.width = 1
        self._widths = iter(WIDTHS[1:])
        self._most = most

    def add(self, second: int, kind: int, kinds: int = 1) -> None:
        """Count one of ``kinds`` kinds at a time in seconds since the epoch."""
        counts = self.counts.get(second // self.width)
        if counts is None:
            counts = self.counts[second // self.width] = [0] * kinds
        counts[kind] += 1
        while len(self.counts) > self._most:
            self._widen(next(self._widths, 2 * self.width))

    def _widen(self, width: int) -> None:
        self.counts = self._in(width)
        self.width = width

    def _in(self, width: int) -> dict[int, list[int]]:
        """Return the counts in wider intervals."""
        found: dict[int, list[int]] = {}
        for number, counts in self.counts.items():
            wider = found.setdefault(number * self.width // width, [0] * len(counts))
            for kind, count in enumerate(counts):
                wider[kind] += count
        return found

    def columns(self, most: int) -> tuple[int, int, list[list[int]]]:
        """Return at most ``most`` columns: start and width in seconds, and the counts of each."""
        width = self.width
        widths = [known for known in WIDTHS if known > width]
        while (
            max(self.counts) * self.width // width - min(self.counts) * self.width // width >= most
        ):
            width = widths.pop(0) if widths else 2 * width
        found = self._in(width)
        first, last = min(found), max(found)
        none = [0] * len(found[first])
        return first * width, width, [found.get(one, none) for one in range(first, last + 1)]
