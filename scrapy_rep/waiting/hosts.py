"""What hosts ask for, and which of their requests are under way."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from scrapy_rep.access.authority import Authority

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.utils.asyncio import CallLaterResult
    from twisted.internet.defer import Deferred

    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.waiting.ready import Item

Asker = tuple[Authority, tuple[str, ...]]
"""What asks for a pace: an authority, for the crawler of some product tokens."""

Arrived = tuple[float, int, "Request", "Deferred[bool]"]
"""A request that waits at the last step: by priority, then by arrival."""

_DAY = 86_400.0

_MOST_ASKERS = 100
"""Authorities and agents whose pace one host keeps; beyond that, the shortest pace is forgotten."""

_MOST_HOSTS = 10_000
"""Hosts whose pace is remembered; beyond that, the least recently used one is forgotten."""

_MOST_LOOKED_AT = 100
"""Hosts that are looked at for one that can be forgotten."""

NEVER = float("-inf")


class PaceOfWorkers(Protocol):
    """The pace that several workers keep together, as a host sees it."""

    def has_turn(self, host: PacedHost, now: float) -> bool:
        """Return whether a request to a host may go; ask for a turn if there is none."""

    def ended(self, host: PacedHost) -> None:
        """Note that a request to a host has ended."""


class PacedHost:
    """One host that asks for a pace.

    ``least`` is the operator's own delay, ``most`` the longest interval that is kept. ``withheld``
    are the requests that wait in the scheduler. ``coming`` is the one that has the next turn: it is
    ready, or handed out and has yet to reach the last step, where ``arrived`` ones wait.
    ``held_up_at`` is when a request began to wait since the last turn.
    ``busy`` are its requests from the grant of their turn to the end of their download; ``ended``
    is when the last one ended. Both times are by the monotonic clock. If ``shared`` is given, each
    request needs a turn from it, and none is to be had before ``not_before``; ``failing_since`` is
    when asking for one began to fail.
    """

    __slots__ = (
        "_askers",
        "_clock",
        "_most",
        "_shared",
        "arrived",
        "busy",
        "coming",
        "ended",
        "failing_since",
        "held_up_at",
        "least",
        "name",
        "not_before",
        "timer",
        "withheld",
    )

    def __init__(
        self,
        name: str,
        least: float,
        most: float,
        clock: Callable[[], float],
        shared: PaceOfWorkers | None = None,
    ):
        self.name = name
        self.least = least
        self.busy: set[Request] = set()
        self.coming: Request | None = None
        self.arrived: list[Arrived] = []
        self.withheld: list[Item] = []
        self.held_up_at: float | None = None
        self.timer: CallLaterResult | None = None
        self.ended = self.not_before = NEVER
        self.failing_since: float | None = None
        self._most = most
        self._clock = clock
        self._shared = shared
        self._askers: dict[Asker, tuple[RequestedPace, float]] = {}

    def ask(self, asker: Asker, pace: RequestedPace) -> None:
        """Heed a pace for a day from now; it replaces what ``asker`` asked for before."""
        now = self._clock()
        self._askers[asker] = pace, now
        # What is a day old may go, but not while a request waits because of it.
        if not self.is_waited_for:
            for other, (_, made) in list(self._askers.items()):
                if not -_DAY < now - made < _DAY:
                    del self._askers[other]
        if len(self._askers) > _MOST_ASKERS:
            others = (other for other in self._askers if other != asker)
            del self._askers[min(others, key=lambda other: self._askers[other][0].interval)]

    def withdraw(self, asker: Asker) -> None:
        """Forget what ``asker`` asked for."""
        self._askers.pop(asker, None)

    def asked_by(self, asker: Asker) -> float:
        """Return the interval that ``asker`` is known to ask for; 0 if it is not known."""
        pace, _ = self._askers.get(asker, (None, 0.0))
        return pace.interval if pace is not None else 0.0

    @property
    def asks(self) -> bool:
        """Whether anything is asked for."""
        return bool(self._askers)

    @property
    def in_use(self) -> bool:
        """Whether a request of the host is under way, is about to be, or waits in place."""
        return bool(self.busy or self.arrived or self.coming is not None)

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for its turn, in place or in the scheduler."""
        return bool(self.withheld or self.arrived or self.coming is not None)

    @property
    def interval(self) -> float:
        """The least interval between two requests: the politest one; 0 if none is asked for."""
        if not self._askers:
            return 0.0
        return max([self.least, *(pace.kept(self._most) for pace, _ in self._askers.values())])

    @property
    def due(self) -> float:
        """When the next request may start, by the monotonic clock, if none is under way."""
        return max(self.ended + self.interval, self.not_before)

    def is_due(self, now: float) -> bool:
        """Return whether a request of this crawl may start; ``now`` is by the monotonic clock."""
        return not self.interval or (not self.busy and now >= self.due)

    def has_turn(self, now: float) -> bool:
        """Return whether no other worker's request is in the way; ask for a turn if need be."""
        return self._shared is None or not self.interval or self._shared.has_turn(self, now)

    def has_room(self, now: float) -> bool:
        """Return whether a request may start."""
        return self.is_due(now) and self.has_turn(now)

    def end(self, request: Request) -> None:
        """Note that a request to the host has ended: the interval begins."""
        self.busy.discard(request)
        self.ended = monotonic()
        if self._shared is not None:
            self._shared.ended(self)


class Hosts(OrderedDict[str, PacedHost]):
    """The hosts of a crawl that ask for a pace, by name; ``shared`` if other workers keep it, too.

    A dict, because every request of a crawl asks whether there is any.
    """

    def __init__(
        self,
        most: float,
        clock: Callable[[], float],
        shared: PaceOfWorkers | None = None,
    ):
        super().__init__()
        self._most = most
        self._clock = clock
        self._shared = shared

    def add(self, name: str, least: float) -> PacedHost:
        """Return the host of that name, which asks for a pace from now on."""
        host = self[name] = PacedHost(name, least, self._most, self._clock, self._shared)
        if len(self) > _MOST_HOSTS:
            for other in list(islice(self, _MOST_LOOKED_AT)):
                if not (other == name or self[other].in_use or self[other].withheld):
                    del self[other]
                    break
        return host

    def touch(self, host: PacedHost) -> None:
        """Note that a request to a host was made."""
        if host.name in self:
            self.move_to_end(host.name)
