"""How far apart two requests have to be: what a robots.txt asks of an agent, and what is kept.

RFC 9309 section 2.2.4 leaves Crawl-delay and Request-rate open; sites write them, and crawlers obey
them. All intervals are seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.robotstxt.verdict import Verdict

if TYPE_CHECKING:
    from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt


class RequestedPace(NamedTuple):
    """The interval that is asked of an agent.

    ``may_be_cut`` says that ``REP_MAX_CRAWL_DELAY`` bounds it; it does not bound a pace that the
    operator has set for one site.
    """

    interval: float = 0.0
    may_be_cut: bool = True

    def kept(self, most: float) -> float:
        """Return the interval that is kept if ``most`` is the longest one allowed."""
        return min(self.interval, most) if self.may_be_cut else self.interval


class PacePolicy(NamedTuple):
    """The operator's choices about the pace that sites ask for.

    ``keeps_delays`` says whether any pace is kept, and ``longest`` is the longest that is.
    ``forbids_longer`` says that a site that asks for more is not requested.
    """

    keeps_delays: bool
    longest: float
    forbids_longer: bool

    def read(self, robots: ParsedRobotsTxt, agent: tuple[str, ...]) -> RequestedPace | None:
        """Return the pace that is asked of an agent; None if there is none, or none is kept."""
        pace = robots.pace(agent) if self.keeps_delays else None
        return RequestedPace(pace.interval) if pace is not None and pace.interval else None

    def refusal(self, pace: RequestedPace) -> Verdict | None:
        """Return the verdict by which a pace refuses an allowed request; None if it does not."""
        if self.forbids_longer and pace.may_be_cut and pace.interval > self.longest:
            reason = (
                f"asks for {pace.interval:,.8g} s between requests, more than {self.longest:,g} s"
            )
            return Verdict(allowed=False, reason=reason)
        return None
