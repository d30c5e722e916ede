"""How far apart two requests have to be, as robots.txt files ask for it.

RFC 9309 section 2.2.4 leaves Crawl-delay, Request-rate and Visit-time open; sites write them, and
crawlers obey them. All intervals are seconds; ``now`` is seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_rep.protocol.extensions import VisitTime
    from scrapy_rep.protocol.rules import RobotsTxt

_DAY = 86_400.0
"""Seconds that a claim lasts after the last request that made it (RFC 9309 section 2.4)."""

_MINUTE = 60.0

_MOST_CLAIMS = 100
"""Claims that one slot heeds; past that the least polite goes."""


class Claim:
    """What the robots.txt of one authority asks of one agent; a refresh changes it in place."""

    __slots__ = ("__weakref__", "agent", "delay", "rates", "visit_time")

    def __init__(self, agent: tuple[str, ...]):
        self.agent = agent
        self.forget()

    def forget(self) -> None:
        """Ask for nothing."""
        self.delay = 0.0
        self.rates: tuple[tuple[float, VisitTime], ...] = ()
        self.visit_time: VisitTime | None = None

    def read(self, robots: RobotsTxt) -> None:
        """Ask for what the group of the agent asks for; of each window the slowest rate."""
        rates = robots.request_rates(self.agent)
        always = [rate.seconds / rate.requests for rate in rates if rate.window is None]
        self.delay = max(robots.crawl_delay(self.agent) or 0.0, *always, 0.0)
        self.rates = tuple(
            (rate.seconds / rate.requests, rate.window) for rate in rates if rate.window is not None
        )

    @property
    def longest(self) -> float:
        """The longest interval that is asked for at any time of the day."""
        return max([self.delay, *(interval for interval, _ in self.rates)])

    def asked(self, now: float) -> float:
        """Return the interval that is asked for at a time; the politest, if there are several."""
        if not self.rates:
            return self.delay
        # A window names its last minute, which still belongs to it.
        inside = [i for i, w in self.rates if w.covers(now) or w.covers(now - _MINUTE)]
        return max([self.delay, *inside])


class Hold:
    """All the claims on one downloader slot.

    ``least`` is the operator's own delay for it, ``most`` the longest interval that is kept.
    """

    __slots__ = ("_claims", "_clock", "_least", "_most")

    def __init__(self, least: float, most: float, clock: Callable[[], float]):
        self._least = least
        self._most = most
        self._clock = clock
        self._claims: dict[Claim, float] = {}

    def add(self, claim: Claim, idle: bool) -> None:
        """Heed a claim, from now on for a day; ``idle`` says that nobody waits in the slot."""
        now = self._clock()
        self._claims[claim] = now
        if idle:  # a claim that is a day old may go, but for those who wait because of it
            for other in [c for c, made in self._claims.items() if not -_DAY < now - made < _DAY]:
                del self._claims[other]
        if len(self._claims) > _MOST_CLAIMS:
            others = (other for other in self._claims if other is not claim)
            del self._claims[min(others, key=lambda other: other.longest)]

    @property
    def interval(self) -> float:
        """The least interval between two requests now: the politest claim; 0 if there is none."""
        now = self._clock()
        asked = max([claim.asked(now) for claim in self._claims])
        return max(min(asked, self._most), self._least) if asked else 0.0
