"""What a log says of one site: refusals, failures, delays, and the versions of its rules."""

from __future__ import annotations

from enum import Enum

from scrapy_rep.reporting.bounded import Bounded, Timeline
from scrapy_rep.reporting.lines import DecisionLine, LoggedVerdict

_MOST_RULES = 12
"""Rules that are counted for each version of a robots.txt."""

_MOST_VERSIONS = 24
_MOST_CAUSES = 8
_MOST_INTERVALS = 96
_MOST_RUNS = 256
"""Runs that are told apart for each site that asks for a delay."""


class Why(Enum):
    """Why a request was refused."""

    RULE = "a rule of robots.txt"
    UNREACHABLE = "robots.txt unreachable"
    DENIED = "access to robots.txt denied"
    PREFERENCE = "a usage preference"
    PACE = "the pace that the site asks for"
    NOFOLLOW = "a page that asks not to follow its links"
    OVERRIDE = "an override"
    COST = "rules too costly to compare"
    OTHER = "another reason"

    @classmethod
    def of(cls, decision: DecisionLine) -> Why:
        """Return why a request was refused."""
        verdict = decision.verdict
        if decision.override is not None:
            return cls.OVERRIDE
        if verdict.rule is not None:
            return cls.RULE
        if decision.preferences:
            return cls.PREFERENCE
        return next((why for start, why in _REASONS if verdict.reason.startswith(start)), cls.OTHER)


_REASONS = (
    ("unreachable", Why.UNREACHABLE),
    ("access denied", Why.DENIED),
    ("nofollow", Why.NOFOLLOW),
    ("too costly", Why.COST),
    ("asks for", Why.PACE),
)


class Count:
    """How many decisions, how many of them refusals, and when: the first and the last."""

    __slots__ = ("decisions", "example", "first", "last", "refused")

    def __init__(self) -> None:
        self.decisions = self.refused = 0
        self.first = self.last = self.example = ""

    def add(self, decision: DecisionLine) -> None:
        """Count a decision; the example is the URL of the first one."""
        self.decisions += 1
        self.refused += not decision.verdict.allowed
        if not self.first or (decision.time, decision.url) < (self.first, self.example):
            self.first, self.example = decision.time, decision.url
        self.last = max(self.last, decision.time)

    @property
    def allowed(self) -> int:
        """Decisions that are not refusals."""
        return self.decisions - self.refused


class Version(Count):
    """One version of a robots.txt, by the digest of its octets, or its absence."""

    __slots__ = ("rules",)

    def __init__(self) -> None:
        super().__init__()
        self.rules: Bounded[LoggedVerdict, Count] | None = None

    def add(self, decision: DecisionLine) -> None:
        """Count a decision by its rule, if one refused the request."""
        super().add(decision)
        if not decision.verdict.allowed and decision.verdict.rule is not None:
            if self.rules is None:
                self.rules = Bounded(_MOST_RULES, Count, weight)
            self.rules[decision.verdict].add(decision)


class Failures(Count):
    """The decisions that were made while a robots.txt was unreachable.

    ``stale`` is how many of them followed the last good copy.
    """

    __slots__ = ("causes", "stale", "times")

    def __init__(self) -> None:
        super().__init__()
        self.stale = 0
        self.causes: Bounded[str, Count] = Bounded(_MOST_CAUSES, Count, weight)
        self.times = Timeline(_MOST_INTERVALS)

    def add(self, decision: DecisionLine) -> None:
        """Count a decision by its cause and its time."""
        super().add(decision)
        self.stale += decision.outcome == "stale"
        self.causes[decision.cause or "not known"].add(decision)
        self.times.add(decision.second, 0)


class Delays:
    """The delays that a site asked for, and the time that they took.

    A delay costs its length for each request, except the first of a run.
    """

    __slots__ = ("cost", "least", "longest", "requests", "runs")

    def __init__(self) -> None:
        self.requests = 0
        self.least, self.longest, self.cost = float("inf"), 0.0, 0.0
        self.runs: set[str] = set()

    def add(self, crawl: str, delay: float, kept: float) -> float:
        """Count a request; return what it cost in seconds, where ``kept`` is the delay kept."""
        self.requests += 1
        self.least, self.longest = min(self.least, delay), max(self.longest, delay)
        if crawl in self.runs:
            self.cost += kept
            return kept
        if len(self.runs) < _MOST_RUNS:
            self.runs.add(crawl)
        return 0.0


class Site(Count):
    """One authority."""

    __slots__ = ("delays", "failures", "preferences", "versions", "whys")

    def __init__(self) -> None:
        super().__init__()
        self.whys: dict[Why, int] = {}
        self.versions: dict[str, Version] = {}
        self.failures: Failures | None = None
        self.delays: Delays | None = None
        self.preferences: set[tuple[str, str]] = set()

    def add(self, decision: DecisionLine) -> None:
        """Count a decision."""
        super().add(decision)
        if not decision.verdict.allowed:
            why = Why.of(decision)
            self.whys[why] = self.whys.get(why, 0) + 1
        version = _version(decision)
        if version and (version in self.versions or len(self.versions) < _MOST_VERSIONS):
            self.versions.setdefault(version, Version()).add(decision)
        if decision.outcome in ("unreachable", "stale"):
            self.failures = self.failures or Failures()
            self.failures.add(decision)
        if decision.preferences and len(self.preferences) < 20:
            self.preferences.update(decision.preferences)

    def add_delay(self, crawl: str, delay: float, kept: float) -> float:
        """Count a request for which the site asked for a delay; return the cost in seconds."""
        self.delays = self.delays or Delays()
        return self.delays.add(crawl, delay, kept)

    @property
    def weight(self) -> int:
        """How much a report has to say of the site, for choosing what to keep."""
        delayed = self.delays.requests if self.delays is not None else 0
        return self.refused + delayed + 100 * (len(self.versions) - 1)


def weight(count: Count) -> float:
    """Return what decides which counts are kept."""
    return count.decisions


def _version(decision: DecisionLine) -> str:
    """Return what tells one version of a robots.txt from another; "" if that is not known."""
    if decision.outcome in ("rules", "stale"):
        return decision.digest or ""
    return decision.outcome if decision.outcome in ("unavailable", "denied") else ""
