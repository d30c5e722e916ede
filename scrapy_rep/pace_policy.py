"""What a crawl makes of the pace that a robots.txt asks for: what it keeps, and what it refuses.

RFC 9309 section 2.2.4 leaves Crawl-delay, Request-rate and Visit-time open; the settings
``REP_CRAWL_DELAY``, ``REP_MAX_CRAWL_DELAY``, ``REP_OVER_MAX_CRAWL_DELAY`` and ``REP_VISIT_TIME``
decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.protocol.requested_pace import RequestedPace
from scrapy_rep.protocol.robotstxt import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_rep.protocol.robotstxt import RobotsTxt
    from scrapy_rep.settings import RepSettings


class Refusal(NamedTuple):
    """Why a request that the rules allow is not made, and from when on it might be."""

    verdict: Verdict
    retry_at: float | None = None


class PacePolicy:
    """The settings of a crawl that are about pace.

    ``stands_back()`` says whether something else keeps the intervals; it is asked only if a
    robots.txt asks for one.
    """

    def __init__(self, settings: RepSettings, stands_back: Callable[[], bool] = lambda: False):
        self._settings = settings
        self._stands_back = stands_back

    def read(self, robots: RobotsTxt, agent: tuple[str, ...]) -> RequestedPace | None:
        """Return what is asked of an agent and not left to others, ``None`` if that is nothing."""
        pace = RequestedPace.read(robots, agent)
        asks = pace.longest > 0.0
        if asks and (not self._settings.crawl_delay or self._stands_back()):
            pace, asks = pace._replace(delay=0.0, rates=()), False
        if self._settings.visit_time != "forbid":
            pace = pace._replace(visit_time=None)
        return pace if asks or pace.visit_time is not None else None

    def refusal(self, pace: RequestedPace | None, now: float) -> Refusal | None:
        """Return why an allowed request would be refused at that pace, if it would be.

        ``now`` is in seconds since the epoch.
        """
        if pace is None:
            return None
        window = pace.visit_time
        if window is not None and not window.covers(now):
            verdict = Verdict(allowed=False, reason=f"outside the visit time {window}")
            return Refusal(verdict, window.opening(now))
        asked, most = pace.asked(now), self._settings.max_crawl_delay
        if pace.is_cut and asked > most and self._settings.over_max_crawl_delay == "forbid":
            reason = f"asks for {asked:,g} s between requests, more than {most:,g} s"
            return Refusal(Verdict(allowed=False, reason=reason))
        return None
