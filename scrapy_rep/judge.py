"""The verdict of a crawl on a URL whose rules are known, without a request and without a count.

The gate raises what it refuses, counts it, and has the pace kept. ``scrapy robots`` only asks. In
both, the rules or an override decide first, then the pace, then what the page would be used for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy import Request

from scrapy_rep.protocol.verdict import Verdict

if TYPE_CHECKING:
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.overrides.application import AppliedOverrides
    from scrapy_rep.pace_policy import Refusal
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.protocol.requested_pace import RequestedPace
    from scrapy_rep.usage.admission import UseOfPages

RULES: Final = "rules"
OVERRIDE: Final = "override"
PACE: Final = "pace"
USE: Final = "use"

Agent = tuple[str, ...]
ReadPace = Callable[["Authority", "CachedRules", Agent], "RequestedPace | None"]
RefusePace = Callable[["RequestedPace | None"], "Refusal | None"]


class Judgement(NamedTuple):
    """A verdict, and what decided: the rules, an override, the pace, or the use of the page."""

    verdict: Verdict
    by: str = RULES


class Judge:
    """Decides as a crawl does.

    ``pace`` reads what rules ask for, and ``refuse`` says why a request is refused at that pace.
    ``use`` and ``overrides`` are there if settings ask for them.
    """

    def __init__(
        self,
        pace: ReadPace,
        refuse: RefusePace,
        use: UseOfPages | None = None,
        overrides: AppliedOverrides | None = None,
    ):
        self._pace = pace
        self._refuse = refuse
        self._use = use if use is not None and use.refuses else None
        self._overrides = overrides

    def by_rules(
        self, url: str, authority: Authority, cached: CachedRules, agent: Agent
    ) -> Judgement:
        """Return the verdict of the rules, or of an override."""
        if self._overrides is not None and authority in self._overrides:
            verdict = self._overrides.verdict(url, authority, cached, agent)[0]
            return Judgement(verdict, RULES if verdict.override is None else OVERRIDE)
        return Judgement(cached.verdict(authority, url, agent))

    def judge(self, url: str, authority: Authority, cached: CachedRules, agent: Agent) -> Judgement:
        """Return the verdict of all that has a say."""
        judged = self.by_rules(url, authority, cached, agent)
        if not judged.verdict.allowed:
            return judged
        slow = self._refuse(self._pace_of(url, authority, cached, agent))
        if slow is not None:
            return Judgement(slow.verdict, PACE)
        if self._use is not None:
            used = self._use.refusal(Request(url), url, authority, cached, agent)
            if used is not None:
                return Judgement(used.verdict, USE)
        return judged

    def is_by_rules_alone(self, authority: Authority, cached: CachedRules, agent: Agent) -> bool:
        """Return True if nothing but the rules decides about any URL of an authority, ever."""
        if self._overrides is not None and authority in self._overrides:
            return False
        if self._use is not None and self._use.concerns(cached):
            return False
        pace = self._pace(authority, cached, agent)
        return pace is None or (
            pace.visit_time is None and not pace.rates and not self._refuse(pace)
        )

    def _pace_of(
        self, url: str, authority: Authority, cached: CachedRules, agent: Agent
    ) -> RequestedPace | None:
        if self._overrides is not None and authority in self._overrides:
            return self._overrides.pace(url, authority, cached, agent).pace
        return self._pace(authority, cached, agent)
