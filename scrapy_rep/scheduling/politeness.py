"""What each authority asks for is read once; what is out of bounds is refused, the rest kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy_rep import stats as names
from scrapy_rep.pace_policy import PacePolicy

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.pace_policy import Refusal
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.protocol.requested_pace import RequestedPace
    from scrapy_rep.protocol.robotstxt import RobotsTxt
    from scrapy_rep.scheduling.room import WaitingRoom
    from scrapy_rep.scrapy_internals import ScrapyInternals
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_MOST_SAID = 10_000
"""Authorities whose long delays are remembered as said; past that they may be said again."""


_UPSTREAM = ("THROTTLING_ROBOTSTXT_OBEY", "THROTTLER_ROBOTSTXT_OBEY")
"""Settings that tell a throttler of Scrapy's own to keep the pace of robots.txt files."""


class Politeness:
    """Reads what each robots.txt asks for, refuses what is out of bounds, has the rest kept."""

    def __init__(
        self,
        crawler: Crawler,
        inside: ScrapyInternals,
        settings: RepSettings,
        stats: RepStats,
        room: WaitingRoom,
        clock: Callable[[], float],
    ):
        self._crawler = crawler
        self._engine = inside.engine
        self._clock = clock
        self._settings = settings
        self._policy = PacePolicy(settings, self._stands_back)
        self._stats = stats
        self._room = room
        self._said: set[Authority] = set()
        self._upstream: bool | None = None

    def read(self, robots: RobotsTxt, agent: tuple[str, ...]) -> RequestedPace | None:
        """Return what is asked of an agent and not left to others, ``None`` if that is nothing."""
        return self._policy.read(robots, agent)

    def admit(
        self,
        request: Request,
        authority: Authority,
        agent: tuple[str, ...],
        pace: RequestedPace | None,
    ) -> Refusal | None:
        """Hold the host of an allowed request to its pace, or return why the request is refused."""
        if pace is None:
            self._room.withdraw(authority.host, (authority, agent))
            return None
        refusal = self.refusal(pace)
        if refusal is None and pace.longest:
            least = self._least(request, authority)
            before = self._room.ask(request, (authority, agent), pace, least)
            if pace.longest != before:
                self._count(authority, pace)
        return refusal

    def _stands_back(self) -> bool:
        """Return whether a throttler of Scrapy's own keeps the pace; it is said once."""
        if self._upstream is None:
            self._upstream = self._engine.has_throttler and any(
                self._crawler.settings.getbool(name) for name in _UPSTREAM
            )
            if self._upstream:
                self._stats.stands_back()
        return self._upstream

    def _least(self, request: Request, authority: Authority) -> float:
        """Return the operator's own delay for the slot of a request."""
        settings = self._crawler.settings
        key = request.meta.get("download_slot") or authority.host
        own = settings.getdict("DOWNLOAD_SLOTS").get(key, {}).get("delay")
        return settings.getfloat("DOWNLOAD_DELAY") if own is None else float(own)

    def _count(self, authority: Authority, pace: RequestedPace) -> None:
        most = self._settings.max_crawl_delay if pace.is_cut else pace.longest
        if pace.longest <= most or self._settings.over_max_crawl_delay == "cap":
            self._stats.inc(names.CRAWL_DELAY_APPLIED)
        if pace.longest > most and self._settings.over_max_crawl_delay == "cap":
            if len(self._said) >= _MOST_SAID:
                self._said.clear()
            self._stats.capped(authority, pace.longest, most, said=authority in self._said)
            self._said.add(authority)

    def refusal(self, pace: RequestedPace | None) -> Refusal | None:
        """Return why an allowed request would be refused now at that pace, if it would."""
        return self._policy.refusal(pace, self._clock())
