"""A recorded run: its settings and its overrides, from the first line that it wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date
from typing import Any, NamedTuple

from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.policy import Policy
from scrapy_rep.caching.cached_rules import CachedRules
from scrapy_rep.gate.judge import Judge, PaceBySettings
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.overrides.application import AppliedOverrides
from scrapy_rep.overrides.override import ACTIONS, AGENT, DELAY, Override, Overrides
from scrapy_rep.recording.chronology import Chronology
from scrapy_rep.recording.decisions import delay_of
from scrapy_rep.recording.recorder import preferences_of
from scrapy_rep.robotstxt.verdict import Verdict
from scrapy_rep.settings import RepSettings, checked
from scrapy_rep.stats import NoCollector, RepStats
from scrapy_rep.usage.admission import UseOfPages

_OF_POLICY = tuple(one.name for one in fields(Policy))
"""The settings that a line has under ``policy``."""

_OF_LINE = (
    "profile",
    "timeout",
    "crawl_delay",
    "max_crawl_delay",
    "over_max_crawl_delay",
    "preferences",
    "purposes",
    "purpose_tokens",
    "log_urls",
)
"""The other settings that decisions depend on."""


class Judged(NamedTuple):
    """A verdict, what was said about the use of the page, and the delay that was asked for."""

    verdict: Verdict
    preferences: Mapping[str, Any] | None
    delay: float | None = None


class RecordedRun:
    """What the decisions of a run depend on besides the sites.

    ``profile`` replaces that of the run. What the run did not set is then as this profile has it.
    ``times`` has the times of its lines so far. Raises ``ValueError``, in one line, if the line of
    the run cannot be used, or not in that profile.
    """

    def __init__(self, line: Mapping[str, Any], profile: str | None = None):
        self.name = line["crawl"]
        self.times = Chronology()
        self.times.goes_back(line)
        settings = _settings_of(line)
        self.settings = settings if profile is None else settings.under(profile)
        self.redirects_followed: int = settings.max_redirects
        """How many hops the recorded run followed, whatever ``profile`` says."""
        self.now = 0.0
        """When :meth:`judged` decides, in seconds since the epoch."""
        overrides, stats = _overrides_of(line), RepStats(NoCollector())
        self._paces = PaceBySettings(self.settings)
        self.overrides = AppliedOverrides(overrides, stats, self._paces.read, lambda: self.now)

    def judged_final_url(self, asked: Asked, cached: CachedRules) -> Judged:
        """Judge the final URL of a response at :attr:`now`."""
        judge = Judge(self._paces, self._paces, None, self.overrides)
        _, verdict, _ = judge.judge_final_url(asked, cached)
        return Judged(verdict, None)

    def judged(self, asked: Asked, cached: CachedRules) -> Judged:
        """Judge a request at :attr:`now`."""
        use = UseOfPages(self.settings)
        # Where the use of a page refuses nothing, it need not be known.
        kept = use if use.refuses else None
        judge = Judge(self._paces, self._paces, kept, self.overrides)
        judgement = judge.judge(asked, cached)
        refusal = judgement.refusal
        if refusal is not None:
            statement, answers = getattr(refusal, "statement", None), None
            if statement is not None:
                answers = {str(statement.category): str(statement.answer)}
            return Judged(refusal.verdict, answers)
        verdict = judgement.verdict or cached.verdict(asked.authority, asked.url, asked.agent)
        answers = preferences_of(cached, asked.url, asked.agent)
        return Judged(verdict, answers, self._delay(asked, cached))

    def _delay(self, asked: Asked, cached: CachedRules) -> float | None:
        """Return the seconds that an allowed request has to keep, as a log has them."""
        if asked.authority in self.overrides:
            return None
        pace = self._paces.pace(asked.authority, cached, asked.agent)
        return None if pace is None else delay_of(pace)


def _settings_of(line: Mapping[str, Any]) -> RepSettings:
    """Return the settings that a checked line names; raise ``ValueError``, in one line.

    Each is checked as when a crawl starts. A field of the policy that is not known here may decide
    something, so it is not passed over.
    """
    policy = line["policy"]
    for name in sorted(policy.keys() - {*_OF_POLICY}):
        raise ValueError(f"its policy has a field that this version does not know: {name!a}")
    values = {name: _setting(name, policy.get(name), "its policy has") for name in _OF_POLICY}
    values.update({name: _setting(name, line[name], "it has") for name in _OF_LINE})
    return replace(RepSettings(), **values, by_profile=tuple(line["by_profile"]))


def _setting(name: str, said: Any, where: str) -> Any:
    """Return a setting that a line has in the form in which a run records it."""
    try:
        value = checked(name, said)
        if json.loads(json.dumps(value)) != said:
            raise ValueError("it was not recorded like this")
    except ValueError as error:
        raise ValueError(f"{where} no usable {name}: {error}") from None
    return value


def _overrides_of(line: Mapping[str, Any]) -> Overrides:
    """Return the overrides that a checked line names; raise ``ValueError``, in one line."""
    return Overrides([_override(one) for one in line["overrides"]])


def _override(one: Mapping[str, Any]) -> Override:
    try:
        override = _checked_override(one)
        override.covers(f"{override.authority}/")
        _ = override.end
    except (ValueError, TypeError, OverflowError) as error:
        said = ascii(str(error))[1:-1]
        raise ValueError(f"its override {one['entry']} is not one: {said}") from None
    return override


def _checked_override(one: Mapping[str, Any]) -> Override:
    authority, action, value = authority_of(one["authority"]), one["action"], one["value"]
    if authority is None or action not in ACTIONS:
        raise ValueError("no authority, or no action")
    if action == AGENT:
        value = tuple(value)
    elif action == DELAY:
        value = float(value)
    until = date.fromisoformat(one["until"])
    paths = tuple(one["paths"])
    return Override(one["entry"], authority, action, one["reason"], one["by"], until, paths, value)
