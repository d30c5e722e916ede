"""What each authority asks for is read once; what is out of bounds is refused, the rest kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakValueDictionary

from scrapy_rep import stats as names
from scrapy_rep.claims import Claim
from scrapy_rep.page import PAGE
from scrapy_rep.protocol.rules import Verdict

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.known import Known
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.protocol.rules import RobotsTxt
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_MOST_SAID = 10_000
"""Authorities whose long delays are remembered as said; past that they may be said again."""


class Refusal(NamedTuple):
    """Why a request that the rules allow is not made, and from when on it might be."""

    verdict: Verdict
    retry_at: float | None = None


class Keeper(Protocol):
    """What has requests keep a pace."""

    def stands_back(self) -> bool:
        """Whether something else keeps the pace that robots.txt files ask for."""

    def keep(self, request: Request, claim: Claim) -> None:
        """Have a request, wherever it is sent from, keep the pace of a claim."""


class Pacer:
    """Reads what each authority asks for, refuses what is out of bounds, has the rest kept."""

    def __init__(
        self, settings: RepSettings, stats: RepStats, keeper: Keeper, clock: Callable[[], float]
    ):
        self._clock = clock
        self._settings = settings
        self._stats = stats
        self._keeper = keeper
        self._claims: WeakValueDictionary[tuple[Authority, tuple[str, ...]], Claim]
        self._claims = WeakValueDictionary()
        self._said: set[Authority] = set()

    def admit(
        self, request: Request, authority: Authority, known: Known, agent: tuple[str, ...]
    ) -> Refusal | None:
        """Hold an allowed request to the pace of its authority, or return why it is refused."""
        claim = self._claim(authority, known, agent)
        if claim is None:
            return None
        refusal = self._refusal(claim)
        if refusal is None and claim.longest:
            if PAGE in request.meta:
                # The slot of a service is that of all sites whose pages it fetches.
                request.meta.setdefault("download_slot", authority.host)
            self._keeper.keep(request, claim)
        return refusal

    def refusal(self, authority: Authority, known: Known, agent: tuple[str, ...]) -> Refusal | None:
        """Return why an allowed request of ``agent`` would be refused now, if it would."""
        claim = self._claim(authority, known, agent)
        return self._refusal(claim) if claim is not None else None

    def _claim(self, authority: Authority, known: Known, agent: tuple[str, ...]) -> Claim | None:
        """Return what the authority asks of an agent; ``None`` is noted in ``known.at_will``."""
        if known.at_will == agent:
            return None
        if known.claim is not None and known.claim.agent == agent:
            return known.claim
        claim = self._claims.get((authority, agent)) or Claim(agent)
        before = claim.longest
        self._read(claim, known.robots)
        if claim.longest and claim.longest != before:
            self._count(authority, claim)
        if not claim.longest and claim.visit_time is None:
            known.at_will = agent
            return None
        known.claim = self._claims[authority, agent] = claim
        return claim

    def _read(self, claim: Claim, robots: RobotsTxt | None) -> None:
        claim.forget()
        if robots is None:
            return
        if self._settings.crawl_delay:
            claim.read(robots)
            if claim.longest and self._keeper.stands_back():
                claim.forget()
        if self._settings.visit_time == "forbid":
            claim.visit_time = robots.visit_time(claim.agent)

    def _count(self, authority: Authority, claim: Claim) -> None:
        most = self._settings.max_crawl_delay
        if claim.longest <= most or self._settings.over_max_crawl_delay == "cap":
            self._stats.inc(names.CRAWL_DELAY_APPLIED)
        if claim.longest > most and self._settings.over_max_crawl_delay == "cap":
            if len(self._said) >= _MOST_SAID:
                self._said.clear()
            self._stats.capped(authority, claim.longest, most, said=authority in self._said)
            self._said.add(authority)

    def _refusal(self, claim: Claim) -> Refusal | None:
        now = self._clock()
        window = claim.visit_time
        if window is not None and not window.covers(now):
            verdict = Verdict(allowed=False, reason=f"outside the visit time {window}")
            return Refusal(verdict, window.opening(now))
        asked, most = claim.asked(now), self._settings.max_crawl_delay
        if asked > most and self._settings.over_max_crawl_delay == "forbid":
            reason = f"asks for {asked:,g} s between requests, more than {most:,g} s"
            return Refusal(Verdict(allowed=False, reason=reason))
        return None
