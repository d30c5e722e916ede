"""Which pace each robots.txt asks for, which one is refused, and which one is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.robotstxt.robotstxt import RobotsTxt, Verdict
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting.turns import Turns

_MOST_SAID = 10_000
"""Authorities whose long delays are remembered as said; past that they may be said again."""


class Paces:
    """Reads the pace that each robots.txt asks for, and refuses it or has it kept."""

    def __init__(self, crawler: Crawler, settings: RepSettings, stats: RepStats, turns: Turns):
        self._crawler = crawler
        self._policy = settings.pace_policy
        self._stats = stats
        self._turns = turns
        self._said: set[Authority] = set()

    def read(self, robots: RobotsTxt, agent: tuple[str, ...]) -> RequestedPace | None:
        """Return the pace that is asked of an agent, ``None`` if there is none to keep."""
        return self._policy.read(robots, agent)

    def refusal(self, pace: RequestedPace) -> Verdict | None:
        """Return the verdict by which a pace refuses an allowed request; None if it does not."""
        return self._policy.refusal(pace)

    def keep(
        self,
        request: Request,
        authority: Authority,
        pace: RequestedPace | None,
        asker: tuple[str, ...],
    ) -> None:
        """Have the host of an allowed request keep a pace, on behalf of ``asker``."""
        if pace is None:
            self._turns.withdraw(authority.host, (authority, asker))
        else:
            before = self._turns.ask(request, (authority, asker), pace, self._least)
            if pace.interval != before:
                self._count(authority, pace)

    def _least(self, request: Request, authority: Authority) -> float:
        """Return the operator's own delay for the slot of a request."""
        settings = self._crawler.settings
        key = request.meta.get("download_slot") or authority.host
        own = settings.getdict("DOWNLOAD_SLOTS").get(key, {}).get("delay")
        return settings.getfloat("DOWNLOAD_DELAY") if own is None else float(own)

    def _count(self, authority: Authority, pace: RequestedPace) -> None:
        most = self._policy.longest if pace.is_cut else pace.interval
        if pace.interval <= most or not self._policy.forbids_longer:
            self._stats.paced(authority, min(pace.interval, most))
        if pace.interval > most and not self._policy.forbids_longer:
            if len(self._said) >= _MOST_SAID:
                self._said.clear()
            self._stats.capped(authority, pace.interval, most, said=authority in self._said)
            self._said.add(authority)
