"""What a change of a robots.txt means to one crawler, by all that decides in its crawl.

Overrides may hide a change, or make another one count: that of the group of another agent. The
purposes of the crawl make the lines about use count. So both versions are judged as in a crawl, at
paths that follow from all patterns that may have a say.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scrapy_rep.access.requested_pace import RequestedPace
from scrapy_rep.gate.explain import asked_for
from scrapy_rep.gate.judge import Judge
from scrapy_rep.linting.effects import Effect, witnesses
from scrapy_rep.overrides.application import AppliedOverrides
from scrapy_rep.overrides.override import AGENT, Override
from scrapy_rep.preferences.content_usage import path_and_expression
from scrapy_rep.preferences.robots_lines import USAGE_KEY
from scrapy_rep.robotstxt import lines as syntax
from scrapy_rep.robotstxt.profiles import RFC9309
from scrapy_rep.robotstxt.text import text_of
from scrapy_rep.stats import NoCollector, RepStats

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.commands.offline import Offline
    from scrapy_rep.gate.judge import Judgement
    from scrapy_rep.robotstxt.verdict import Verdict


class _EveryPace:
    """Knows what pace rules ask for, whatever the settings; none is refused."""

    def pace(
        self, authority: Authority, cached: CachedRules, agent: tuple[str, ...]
    ) -> RequestedPace | None:
        """Return the pace that rules ask for."""
        return None if cached.robots is None else RequestedPace.read(cached.robots, agent)

    def weigh(self, authority: Authority, cached: CachedRules) -> None:
        """Do nothing: no memory is limited here."""

    def refusal(self, pace: RequestedPace) -> Verdict | None:
        """Return None."""
        return None


class Comparison:
    """Compares two versions of a robots.txt for crawls with some settings."""

    def __init__(self, offline: Offline) -> None:
        self._offline = offline
        paces, applied = _EveryPace(), None
        if offline.overrides is not None:
            stats = RepStats(NoCollector())
            applied = AppliedOverrides(offline.overrides, stats, RequestedPace.read, time.time)
        self._judge = Judge(paces, paces, offline.use, applied, wants_verdict=lambda _: True)

    def overrides(self, authority: Authority) -> list[Override]:
        """Return the overrides of an authority that have not expired."""
        found = self._offline.overrides
        site = found.get(authority) if found is not None else None
        now = time.time()
        return [] if site is None else [one for one in site.overrides if now < one.end]

    def change(self, authority: Authority, agent: tuple[str, ...], old: bytes, new: bytes) -> str:
        """Return what changes for a crawler, in words; "" if nothing does."""
        if old == new:
            return ""  # otherwise a file with many rules would take minutes in some profiles
        asked = asked_for(authority.robots_uri, authority, agent)
        before, after = (self._offline.known(authority, body) for body in (old, new))
        patterns = [
            pattern for body in (old, new) for pattern in self._patterns(authority, agent, body)
        ]
        other_pace = False
        for path in witnesses(patterns):
            one = asked._replace(url=f"{authority}{path}")
            was, is_now = self._judge.judge(one, before), self._judge.judge(one, after)
            if (was.refusal is None) != (is_now.refusal is None):
                told = f"{path} was {_told(was)}, is {_told(is_now)}"
                return f"the rules of {authority} have changed: {told}"
            other_pace = other_pace or _pace(was) != _pace(is_now)
        return f"the pace that {authority} asks for has changed" if other_pace else ""

    def _patterns(
        self, authority: Authority, agent: tuple[str, ...], body: bytes
    ) -> Iterator[tuple[bool, str]]:
        """Yield all patterns that may have a say, by a robots.txt and the overrides."""
        overrides, settings = self.overrides(authority), self._offline.settings
        for path in (path for one in overrides for path in one.paths):
            yield False, path.encode().decode("latin-1")
        tokens = [(token,) for several in settings.purpose_tokens.values() for token in several]
        others: list[Any] = [one.value for one in overrides if one.action == AGENT]
        for one in (agent, *others, *tokens):
            yield from Effect(body, one, settings.profile).rules
        text = text_of(body, RFC9309)
        for _, value in syntax.line_with((USAGE_KEY,), RFC9309).findall(text):
            yield False, path_and_expression(value)[0]


def _pace(judgement: Judgement) -> tuple[object, ...] | None:
    """Return the pace of an allowed request, whoever asks for it; None for no pace."""
    pace = judgement.pace.pace if judgement.pace is not None else None
    return None if pace is None or not pace.interval else pace[1:]


def _told(judgement: Judgement) -> str:
    if judgement.refusal is None:
        return f"allowed ({_why(judgement.verdict)})"
    return f"disallowed ({_why(judgement.refusal.verdict)})"


def _why(verdict: Verdict | None) -> str:
    return "" if verdict is None else str(verdict.rule or verdict.reason)
