"""What a host asks for, and which of its requests wait or are under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.access.authority import Authority

if TYPE_CHECKING:
    from scrapy import Request
    from twisted.internet.defer import Deferred

PaceAsker = tuple[Authority, tuple[str, ...]]
"""What asks for a pace: the rules of an authority, of the crawler with these product tokens."""

InPlace = tuple[float, int, "Request", "Deferred[bool]"]
"""A request that waits at the last step, and its Deferred; sorts by priority, then by age."""

_DAY = 86_400.0

_MOST_ASKERS = 100
"""Askers whose intervals one host keeps; beyond that, the shortest interval is forgotten."""

NEVER = float("-inf")
"""The time of an event that has not happened: before all others."""


class _Asked(NamedTuple):
    """An interval that was asked for, and when."""

    asker: PaceAsker
    interval: float
    made: float


@dataclass(eq=False, slots=True)
class PacedHost:
    """One host that asks for a pace. All times are by the monotonic clock.

    There may be a million of them. So a collection that is empty or has one item for most of them
    is a tuple: an empty set takes 216 octets, and a dict of one 232.
    """

    name: str
    own_delay: float
    """The operator's own delay."""
    is_wanted: Callable[[str], bool]
    """Returns whether a site is parked for the turn of a host, or was woken for it."""
    busy: int = 0
    """How many of its requests are under way: from the grant of their turn to their end."""
    reserved_for: Request | None = None
    """The request that has the next turn: it is handed out, and has yet to reach the last step."""
    in_place: tuple[InPlace, ...] = ()
    """The requests that wait at the last step."""
    ended: float = NEVER
    """When its last request ended."""
    reserved_until: float = NEVER
    """When the turn of :attr:`reserved_for` lapses."""
    not_before: float = NEVER
    """No turn is available before this time, if other workers keep the pace of the host, too."""
    failing_since: float | None = None
    """When asking the store for a turn began to fail."""
    _asked: tuple[_Asked, ...] = ()

    def heed(self, asker: PaceAsker, interval: float) -> None:
        """Heed an interval for a day from now; it replaces what ``asker`` asked for before."""
        self.withdraw(asker)
        if len(self._asked) >= _MOST_ASKERS:
            self.withdraw(min(self._asked, key=attrgetter("interval")).asker)
        self._asked += (_Asked(asker, interval, monotonic()),)

    def withdraw(self, asker: PaceAsker) -> None:
        """Forget what ``asker`` asked for, and what is a day old."""
        # Nothing is forgotten because of its age while a request waits because of it.
        oldest = NEVER if self.is_waited_for else monotonic() - _DAY
        self._asked = tuple(
            each for each in self._asked if each.asker != asker and each.made > oldest
        )

    def asked_by(self, asker: PaceAsker) -> float:
        """Return the interval that ``asker`` is known to ask for; 0 if none is known."""
        return next((each.interval for each in self._asked if each.asker == asker), 0.0)

    @property
    def asks(self) -> bool:
        """Whether an interval is asked for."""
        return bool(self._asked)

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for its turn, in place or in its queue."""
        return bool(self.in_place or self.reserved_for is not None or self.is_wanted(self.name))

    @property
    def interval(self) -> float:
        """The least time from one request to the next; 0 if no interval is asked for.

        It is the longest of the intervals asked for, or the operator's own delay if that is longer.
        """
        if not self._asked:
            return 0.0
        return max(self.own_delay, *(each.interval for each in self._asked))

    @property
    def due(self) -> float:
        """When the next request may start if none is under way."""
        return max(self.ended + self.interval, self.not_before)

    def is_due(self, now: float) -> bool:
        """Return whether no request is under way, and the interval is over."""
        return not self.interval or (not self.busy and now >= self.due)
