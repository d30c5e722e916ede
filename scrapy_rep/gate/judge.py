"""Whether a request may pass: by the rules or an override, then the pace, then the purposes.

The gate judges requests by this, and ``explain`` judges URLs by it, so both give the same answer.
No decision is added to the stats or logged here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.exceptions import (
    BY_OVERRIDE,
    BY_PACE,
    BY_ROBOTS_TXT,
    RobotsForbidden,
    RobotsUnreachable,
)
from scrapy_rep.gate.overrides import PaceToKeep
from scrapy_rep.robotstxt.verdict import is_undefined

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import PacePolicy
    from scrapy_rep.gate.overrides import AppliedOverrides
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.gate.use import Noted, UseOfPages
    from scrapy_rep.overrides.override import Override
    from scrapy_rep.robotstxt.verdict import Verdict
    from scrapy_rep.sites.cached_rules import CachedRules


class Judgement(NamedTuple):
    """What is decided of one request, and what follows if it passes.

    ``refusal`` is what the request ends in, ``None`` if it may pass. ``verdict`` is set if
    the site has overrides, and for final URLs; ``override`` is the one that changed it. ``pace`` is
    what the host has to keep once a request may pass, and ``noted`` what the site says about the
    use of the page.
    """

    refusal: RobotsForbidden | RobotsUnreachable | None = None
    verdict: Verdict | None = None
    override: Override | None = None
    pace: PaceToKeep | None = None
    noted: Noted | None = None


class Judge:
    """Judges requests by the rules in force. Without ``use``, usage preferences are not read.

    If nothing but the rules decides, they are only asked whether they allow the request: to say by
    which rule, a :class:`Verdict`, takes three times as long.
    """

    def __init__(
        self,
        weigh: Callable[[Authority, CachedRules], None],
        paces: PacePolicy,
        use: UseOfPages | None,
        overrides: AppliedOverrides,
    ):
        self._weigh = weigh
        self._paces = paces
        self._use = use
        self._overrides = overrides

    def judge(self, asked: Asked, cached: CachedRules) -> Judgement:
        """Decide whether a request may pass."""
        overrides = self._overrides_for(asked)
        verdict = override = noted = None
        if overrides is not None:
            verdict, override = overrides.verdict(asked, cached)
            allowed = verdict.allowed
        else:
            allowed = cached.allows(asked.authority, asked.url, asked.agent)
        if not allowed:
            return Judgement(self._refusal(asked, cached, verdict), override=override)
        if cached.note_agent(asked.agent) or overrides is not None:
            self._weigh(asked.authority, cached)
        pace, refusal = self._pace(asked, cached, overrides), None
        if self._use is not None:
            noted = self._use.noted(asked, cached)
            refusal = self._use.refusal(asked, noted)
        requested = pace.requested
        if requested is not None and (found := self._paces.refusal(requested)) is not None:
            refusal = RobotsForbidden(found, asked.authority, by=BY_PACE)
        # The robots.txt itself is always allowed (RFC 9309 section 2.2.2).
        if refusal is not None and not asked.authority.has_its_rules_at(asked.url):
            return Judgement(refusal, override=override, pace=pace)
        return Judgement(verdict=verdict, override=override, pace=pace, noted=noted)

    def judge_final_url(self, asked: Asked, cached: CachedRules) -> Judgement:
        """Decide whether a response may be used, by its final URL: by the rules or an override.

        The response is there already, so no pace is asked for, and no purpose.
        """
        verdict, override = self._verdict(asked, cached)
        if not verdict.allowed:
            return Judgement(self._refusal(asked, cached, verdict), override=override)
        noted = None if self._use is None else self._use.noted(asked, cached)
        return Judgement(verdict=verdict, override=override, noted=noted)

    def final_verdict(self, asked: Asked, cached: CachedRules) -> tuple[Verdict, str]:
        """Return the verdict after all that may decide was asked, and the name of what decided.

        The names are those of :attr:`RobotsForbidden.by`, with one difference: if an override has
        the rules read for another agent, and they disallow the URL for both agents, this method
        names the override, while the exception names the robots.txt.
        """
        verdict, _ = self._verdict(asked, cached)
        if verdict.allowed:
            refusal = self.judge(asked, cached).refusal
            if isinstance(refusal, RobotsForbidden):
                return refusal.verdict, refusal.by
        own = cached.verdict(asked.authority, asked.url, asked.agent)
        return verdict, BY_ROBOTS_TXT if verdict == own or is_undefined(verdict) else BY_OVERRIDE

    def is_by_rules_alone(self, asked: Asked, cached: CachedRules) -> bool:
        """Return True if nothing but the rules ever decides about any URL of an authority."""
        if self._overrides_for(asked) is not None:
            return False
        if self._use is not None and self._use.may_refuse(cached):
            return False
        pace = self._pace(asked, cached, None).requested
        return pace is None or self._paces.refusal(pace) is None

    def may_change(self, authority: Authority) -> bool:
        """Return whether a judgement may change while the rules hold: an override may expire."""
        return authority in self._overrides

    def _verdict(self, asked: Asked, cached: CachedRules) -> tuple[Verdict, Override | None]:
        """Return the verdict, and the override that changed it, if one did."""
        overrides = self._overrides_for(asked)
        if overrides is not None:
            found = overrides.verdict(asked, cached)
        else:
            found = cached.verdict(asked.authority, asked.url, asked.agent), None
        self._weigh(asked.authority, cached)
        return found

    def _overrides_for(self, asked: Asked) -> AppliedOverrides | None:
        """Return the overrides if there are any for the authority."""
        return self._overrides if asked.authority in self._overrides else None

    def _pace(
        self, asked: Asked, cached: CachedRules, overrides: AppliedOverrides | None
    ) -> PaceToKeep:
        """Return the pace that is asked for, and by which agent or override."""
        if overrides is not None:
            return overrides.pace(asked, cached)
        robots = cached.robots
        pace = None if robots is None else self._paces.read(robots, asked.agent)
        return PaceToKeep(pace, asked.agent)

    def _refusal(
        self, asked: Asked, cached: CachedRules, verdict: Verdict | None
    ) -> RobotsForbidden | RobotsUnreachable:
        """Return the exception for a request that the rules or an override disallow."""
        _, url, authority, agent = asked
        if cached.unreachable and (verdict is None or is_undefined(verdict)):
            refusal = RobotsUnreachable(authority, cached.cause, cached.until)
            refusal.__cause__ = None if cached.failure is None else cached.failure.error
            return refusal
        if verdict is None:
            verdict = cached.verdict(authority, url, agent)
        self._weigh(authority, cached)
        return RobotsForbidden(verdict, authority)
