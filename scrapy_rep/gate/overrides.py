"""The overrides in a crawl: what they make of the rules in force, and which of them were of use."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep import stats as names
from scrapy_rep.access.requested_pace import RequestedPace
from scrapy_rep.overrides.override import DELAY, Override, SiteOverrides
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.robotstxt.verdict import UNREACHABLE

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import PacePolicy
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.robotstxt.verdict import Verdict
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats

logger = logging.getLogger("scrapy_rep")


class PaceToKeep(NamedTuple):
    """The pace that is requested for a URL, None for no pace.

    ``agent`` is the agent that has to keep it, or a name for ``override``, which sets it.
    """

    requested: RequestedPace | None
    agent: tuple[str, ...]
    override: Override | None = None


class AppliedOverrides:
    """Applies overrides to the rules in force, and counts which of them were of use.

    An override is used if it changes a verdict or a pace. ``clock()`` is in seconds since the
    epoch.
    """

    def __init__(
        self,
        overrides: Sequence[Override],
        stats: RepStats,
        paces: PacePolicy,
        clock: Callable[[], float],
    ):
        self._overrides = overrides
        by_site: dict[Authority, list[Override]] = {}
        for override in overrides:
            by_site.setdefault(override.authority, []).append(override)
        self._sites = {site: SiteOverrides(each) for site, each in by_site.items()}
        self._stats = stats
        self._paces = paces
        self._clock = clock
        self._used: set[int] = set()
        self._expired: set[int] = set()

    def __contains__(self, authority: object) -> bool:
        return authority in self._sites

    def name_expired(self) -> None:
        """Name the overrides that have expired, each once."""
        now = self._clock()
        for override in self._overrides:
            if override.end <= now and override.entry not in self._expired:
                self._expired.add(override.entry)
                self._stats.inc(names.OVERRIDES_EXPIRED)
                name = printable(override.name)
                logger.warning("An override has expired and is not applied: %s", name)

    def close(self) -> None:
        """Name those that expired during the crawl, and those that changed nothing."""
        self.name_expired()
        for override in self._overrides:
            if override.entry not in self._used | self._expired:
                self._stats.inc(names.OVERRIDES_UNUSED)
                name = printable(override.name)
                logger.info("An override changed nothing in this crawl: %s", name)

    def verdict(self, asked: Asked, cached: CachedRules) -> tuple[Verdict, Override | None]:
        """Return the verdict on a request, and the override that changed it, if one did.

        ``unreachable-is-allowed`` does not apply if the crawler itself failed, and not the site.
        """
        _, url, authority, agent = asked
        without = cached.verdict(authority, url, agent)
        ours = cached.failure is not None and cached.failure.ours
        if without.reason == UNREACHABLE and ours:
            without = replace(without, reason=f"{UNREACHABLE}, by a failure of the crawler")
        return self._sites[authority].verdict(url, agent, cached.robots, without, self._clock())

    def pace(self, asked: Asked, cached: CachedRules) -> PaceToKeep:
        """Return the pace of a request, and the agent or override that asks for it.

        A host has one pace: the slowest of those that are asked for. So an override for
        some paths slows down the others of the host as well, for as long as it is asked for.
        """
        _, url, authority, agent = asked
        site, now = self._sites[authority], self._clock()
        if (override := site.first(DELAY, url, now)) is not None:
            pace = RequestedPace(override.delay, may_be_cut=False) if override.delay else None
            return PaceToKeep(pace, (f"override {override.entry}",), override)
        tokens, override = site.agent(url, agent, now)
        robots = cached.robots
        pace = None if robots is None else self._paces.read(robots, tokens)
        return PaceToKeep(pace, tokens, override)

    def count_used(
        self, asked: Asked, cached: CachedRules, override: Override | None, pace: PaceToKeep | None
    ) -> None:
        """Count a request if overrides changed its verdict or pace, and note which they are.

        ``override`` and ``pace`` are what :meth:`verdict` and :meth:`pace` returned.
        """
        of_pace = None
        # Otherwise both come from one override, which is counted once, or there is none.
        if pace is not None and pace.override is not override:
            of_pace = self._changed_pace(asked, cached, pace)
        used = {one.entry for one in (override, of_pace) if one is not None}
        if used:
            self._used |= used
            self._stats.inc(names.OVERRIDES_USED)

    def _changed_pace(self, asked: Asked, cached: CachedRules, pace: PaceToKeep) -> Override | None:
        """Return the override that a pace comes from, unless the rules ask for the same pace."""
        if pace.override is None:
            return None
        own = None if cached.robots is None else self._paces.read(cached.robots, asked.agent)
        if own is not None and self._paces.refusal(own) is not None:
            return pace.override
        longest = self._paces.longest
        intervals = [0.0 if each is None else each.kept(longest) for each in (own, pace.requested)]
        return pace.override if intervals[0] != intervals[1] else None
