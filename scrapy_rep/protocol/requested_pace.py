"""How far apart two requests have to be: what a robots.txt asks of an agent, and what is kept.

RFC 9309 section 2.2.4 leaves Crawl-delay, Request-rate and Visit-time open; sites write them, and
crawlers obey them. All intervals are seconds; ``now`` is seconds since the epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.protocol.verdict import Verdict

if TYPE_CHECKING:
    from scrapy_rep.protocol.extensions import VisitTime
    from scrapy_rep.protocol.robotstxt import RobotsTxt

_MINUTE = 60.0


class Refusal(NamedTuple):
    """Why a request that the rules allow is not made, and from when on it might be."""

    verdict: Verdict
    retry_at: float | None = None


class RequestedPace(NamedTuple):
    """What the group of an agent asks for: an interval, intervals by the time of day, a window.

    ``is_cut`` says that ``REP_MAX_CRAWL_DELAY`` bounds it; it does not bound a pace that the
    operator has set for one site.
    """

    agent: tuple[str, ...]
    delay: float = 0.0
    rates: tuple[tuple[float, VisitTime], ...] = ()
    visit_time: VisitTime | None = None
    is_cut: bool = True

    @classmethod
    def read(cls, robots: RobotsTxt, agent: tuple[str, ...]) -> RequestedPace:
        """Return what a robots.txt asks of ``agent``; of each window the slowest rate."""
        said = robots.pace(agent)
        rates = said.request_rates
        always = [rate.seconds / rate.requests for rate in rates if rate.window is None]
        return cls(
            agent,
            max(said.crawl_delay or 0.0, *always, 0.0),
            tuple((rate.seconds / rate.requests, rate.window) for rate in rates if rate.window),
            said.visit_time,
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

    def kept(self, now: float, most: float) -> float:
        """Return the interval that is kept at a time, where ``most`` is the longest one."""
        asked = self.asked(now)
        return min(asked, most) if self.is_cut else asked


class PacePolicy(NamedTuple):
    """The operator's choices about the pace that sites ask for.

    ``keeps_delays`` and ``keeps_visit_times`` say what is kept at all. ``longest`` is the longest
    interval that is kept; ``forbids_longer`` says that a site that asks for more is not requested.
    """

    keeps_delays: bool
    keeps_visit_times: bool
    longest: float
    forbids_longer: bool

    def read(self, robots: RobotsTxt, agent: tuple[str, ...]) -> RequestedPace | None:
        """Return what is kept of the pace that is asked of an agent; None if that is nothing."""
        pace = RequestedPace.read(robots, agent)
        if not self.keeps_delays:
            pace = pace._replace(delay=0.0, rates=())
        if not self.keeps_visit_times:
            pace = pace._replace(visit_time=None)
        return pace if pace.longest or pace.visit_time is not None else None

    def refusal(self, pace: RequestedPace, now: float) -> Refusal | None:
        """Return why a pace refuses an allowed request now; None if it does not."""
        window = pace.visit_time
        if window is not None and not window.covers(now):
            verdict = Verdict(allowed=False, reason=f"outside the visit time {window}")
            return Refusal(verdict, window.opening(now))
        asked = pace.asked(now)
        if self.forbids_longer and pace.is_cut and asked > self.longest:
            reason = f"asks for {asked:,g} s between requests, more than {self.longest:,g} s"
            return Refusal(Verdict(allowed=False, reason=reason))
        return None
