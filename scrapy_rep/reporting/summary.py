"""Sums up decision logs, one line at a time, in bounded memory.

Nothing depends on the order of the lines, as long as no limit is reached: logs of several processes
can be read one after the other, and what they say is put in order of time at the end.
"""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO, NamedTuple

from scrapy_rep.reporting.bounded import Bounded, Timeline
from scrapy_rep.reporting.lines import (
    DecisionLine,
    LineError,
    LoggedVerdict,
    RunLine,
    Unread,
    lines_of,
    read_line,
)
from scrapy_rep.reporting.sites import Count, Site, Why, weight

MOST_SITES = 20_000
"""Sites that are kept apart: 65 MB, as measured with a million lines of 100,000 sites."""

_MOST_RULES = 20_000
_MOST_OVERRIDES = 2_000
_MOST_PURPOSES = 50
_MOST_RUNS = 1_000
_MOST_INTERVALS = 4_096
_MOST_NUMBERS = 3
"""Numbers of unread lines that are named, for each file and each kind."""

_HOPELESS = 1_000
"""Lines at the start of a file; if none of them can be read, it is not a log."""

ALLOWED, REFUSED, UNREACHABLE = range(3)
"""The kinds of decisions in the timeline."""


class NotALogError(ValueError):
    """A file holds no line of a decision log."""


class SiteRule(NamedTuple):
    """A rule of a site."""

    authority: str
    verdict: LoggedVerdict


class UsedOverride(NamedTuple):
    """An override, and what it changed."""

    authority: str
    override: str
    allowed: bool
    without: LoggedVerdict | None


class RunCount(Count):
    """One run: its first line, if that was read, and its decisions."""

    __slots__ = ("run",)

    def __init__(self) -> None:
        super().__init__()
        self.run: RunLine | None = None


class Preference(Count):
    """What was said of one purpose, and of how many sites that is known."""

    __slots__ = ("sites",)

    def __init__(self) -> None:
        super().__init__()
        self.sites = 0


class LogFile:
    """What was read of one file, and what was not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines = self.read = 0
        self.unread: Counter[Unread] = Counter()
        self.numbers: dict[Unread, list[int]] = {}

    def miss(self, why: Unread) -> None:
        """Count a line that is left out."""
        self.unread[why] += 1
        numbers = self.numbers.setdefault(why, [])
        if len(numbers) < _MOST_NUMBERS:
            numbers.append(self.lines)


class Summary:
    """What one or several logs say; ``cost`` is the time that delays took, in seconds."""

    def __init__(self, most_sites: int = MOST_SITES) -> None:
        self.most_sites = most_sites
        self.files: list[LogFile] = []
        self.total = Count()
        self.overridden = 0
        self.cost = 0.0
        self.whys: Counter[Why] = Counter()
        self.times = Timeline(_MOST_INTERVALS)
        self.sites = Bounded[str, Site](most_sites, Site, lambda site: site.weight)
        self.rules = Bounded[SiteRule, Count](_MOST_RULES, Count, weight)
        self.overrides = Bounded[UsedOverride, Count](_MOST_OVERRIDES, Count, weight)
        self.preferences = Bounded[tuple[str, str], Preference](_MOST_PURPOSES, Preference, weight)
        self.runs = Bounded[str, RunCount](_MOST_RUNS, RunCount, weight)
        self._other_schema: set[str] = set()

    def read(self, name: str, stream: BinaryIO) -> None:
        """Add a file of lines; raise :class:`NotALogError` if it is not a decision log."""
        file = LogFile(name)
        for octets in lines_of(stream):
            file.lines += 1
            try:
                if octets is None:
                    raise LineError(Unread.LONG)
                self._add(read_line(octets))
                file.read += 1
            except LineError as error:
                file.miss(error.why)
                if error.crawl is not None and len(self._other_schema) < _MOST_RUNS:
                    self._other_schema.add(error.crawl)
                if not file.read and file.lines >= _HOPELESS:
                    break
        if not file.read:
            raise NotALogError(_why_not(file))
        self.files.append(file)

    def end(self) -> None:
        """Count what can only be counted at the end."""
        for site in self.sites.values():
            for answer in site.preferences & self.preferences.keys():
                self.preferences[answer].sites += 1

    @property
    def unread(self) -> int:
        """How many lines could not be read."""
        return sum(file.unread.total() for file in self.files)

    @property
    def is_complete(self) -> bool:
        """Whether every decision of every run is recorded."""
        return all(one.run is not None and one.run.is_complete for one in self.runs.values())

    def _add(self, line: RunLine | DecisionLine) -> None:
        if line.crawl in self._other_schema:
            raise LineError(Unread.SCHEMA)
        if isinstance(line, RunLine):
            self.runs[line.crawl].run = line
        else:
            self._count(line)

    def _count(self, decision: DecisionLine) -> None:
        verdict, run = decision.verdict, self.runs[decision.crawl]
        self.total.add(decision)
        run.add(decision)
        site = self.sites[decision.authority]
        site.add(decision)
        kind = ALLOWED
        if not verdict.allowed:
            why = Why.of(decision)
            self.whys[why] += 1
            kind = UNREACHABLE if why is Why.UNREACHABLE else REFUSED
            if why is Why.RULE:
                self.rules[SiteRule(decision.authority, verdict)].add(decision)
        self.times.add(decision.second, kind, kinds=3)
        for answer in decision.preferences:
            self.preferences[answer].add(decision)
        if decision.override is not None:
            self.overridden += 1
            used = UsedOverride(
                decision.authority, decision.override, verdict.allowed, decision.without
            )
            self.overrides[used].add(decision)
        if decision.delay and verdict.allowed:
            kept = decision.delay if run.run is None else min(decision.delay, run.run.longest_delay)
            self.cost += site.add_delay(decision.crawl, decision.delay, kept)


def _why_not(file: LogFile) -> str:
    if not file.lines:
        return "it is empty"
    if file.unread[Unread.SCHEMA]:
        return "it was written by another version of scrapy_rep"
    return "it is not a decision log"
