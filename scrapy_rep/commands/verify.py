"""``scrapy robots verify``: do recorded decisions follow from an archive?

Of each decision by a rule, the robots.txt that its line names is read from the archive, and asked
again. Nothing else is: neither times nor the pace, and no decision that rests on other things.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.commands.archives import Bodies, DamagedError, read_records
from scrapy_rep.commands.output import Status, counted, note, say, say_json, usage_error
from scrapy_rep.commands.sources import opened
from scrapy_rep.records import NEEDS_MSGSPEC
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.robotstxt import RobotsTxt, Verdict
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import (
    BY_RULE,
    NO_GROUP,
    NO_RULE_MATCHES,
    ROBOTS_TXT_ITSELF,
    TOO_COSTLY,
)

if TYPE_CHECKING:
    from scrapy_rep.commands.project import Project
    from scrapy_rep.records.lines import DecisionLine, LoggedVerdict, RunLine

_BY_RULES = (BY_RULE, NO_RULE_MATCHES, NO_GROUP, ROBOTS_TXT_ITSELF, TOO_COSTLY)
_STALE = " (last good copy)"

AGREES, DIFFERS, WITHOUT_RULES, UNDECIDED = "agrees", "differs", "without rules", "undecided"


class Compared(NamedTuple):
    """The result for one line of the log."""

    line: int
    url: str
    result: str
    why: str = ""


def run(project: Project, options: Namespace) -> Status:
    """Print the decisions that differ; say how many agree, and what could not be compared."""
    counts: Counter[str] = Counter()
    told = []
    try:
        for one in _compared(options.log, _Archived(options.warc)):
            counts[one.result] += 1
            if one.result in (DIFFERS, UNDECIDED):
                told.append(one)
    except ImportError:
        raise usage_error(f"reading decision logs {NEEDS_MSGSPEC}") from None
    if counts.total() == len(told) and not any(one.url for one in told):
        raise usage_error(f"{options.log} has no line of a decision")
    if options.format == "json":
        say_json("verify", [one._asdict() for one in told])
    else:
        for one in told:
            if one.result == DIFFERS:
                say(escaped(f"line {one.line}: {one.url}: {one.why}"))
    whys = Counter(one.why for one in told if one.result == UNDECIDED)
    note("verify", _summary(counts, whys))
    if counts[DIFFERS]:
        return Status.FOUND
    return Status.UNKNOWN if counts[UNDECIDED] else Status.CLEAN


def _summary(counts: Counter[str], whys: Counter[str]) -> str:
    said = [f"{counted(counts.total(), 'decision')}: {counts[AGREES]:,} agree"]
    if counts[DIFFERS]:
        said.append(f"{counts[DIFFERS]:,} differ")
    if counts[WITHOUT_RULES]:
        said.append(f"{counts[WITHOUT_RULES]:,} rest on no rules")
    if counts[UNDECIDED]:
        listed = "; ".join(f"{count:,}: {why}" for why, count in whys.most_common())
        said.append(f"{counts[UNDECIDED]:,} cannot be compared ({listed})")
    return ", ".join(said)


def _compared(log: str, archived: _Archived) -> Iterator[Compared]:
    """Yield the result for each line of a log but the first one of a run."""
    from scrapy_rep.records.lines import RunLine, read_lines

    runs: dict[str, RunLine] = {}
    with opened(log) as stream:
        for number, line in enumerate(read_lines(stream), 1):
            if isinstance(line, RunLine):
                runs[line.crawl] = line
            elif line is None:
                yield Compared(number, "", UNDECIDED, "a line is not one of a decision log")
            else:
                yield Compared(number, line.url, *archived.compare(line, runs.get(line.crawl)))


class _Archived:
    """The responses of some archives, by the IDs of their records."""

    def __init__(self, files: Sequence[str]) -> None:
        self._bodies = Bodies()
        self._places: dict[str, tuple[int, int] | str] = {}
        """Where the body of a record is, or why the record decides nothing."""
        self._repeats: dict[str, str] = {}
        self._parsed = lru_cache(maxsize=256)(self._parse)
        for file in files:
            self._read(file)

    def _read(self, file: str) -> None:
        """Read an archive, up to where it is damaged: what stands before that is sound."""
        try:
            for record in read_records(file, lambda _: True):
                if record.is_revisit:
                    self._repeats[record.id] = record.refers_to
                else:
                    self._places[record.id] = record.damage or self._bodies.put(record.body)
        except DamagedError as error:
            note("verify", str(error))

    def compare(self, line: DecisionLine, run: RunLine | None) -> tuple[str, str]:
        """Return the result for a decision of a run, and why it is that."""
        said = line.without or line
        if line.digest is None or said.reason.removesuffix(_STALE) not in _BY_RULES:
            return WITHOUT_RULES, ""
        if run is None:
            return UNDECIDED, "the first line of its run is missing"
        if line.without is None and any(one.authority == line.authority for one in run.overrides):
            return UNDECIDED, "an override may have set its rules"
        if run.settings.get("log_urls") != "full":
            return UNDECIDED, "the log does not have its whole URL"
        place = self._places.get(self._first(line.record or ""), "the archives lack its record")
        if isinstance(place, str):
            return UNDECIDED, place
        digest, robots = self._parsed(place, run.settings["max_size"], run.settings["profile"])
        if digest != line.digest:
            return DIFFERS, f"the robots.txt in the archive has the digest {digest}"
        again = _plain(robots.verdict(line.url, line.agent))
        if again == _logged(said):
            return AGREES, ""
        return DIFFERS, f"{_shown(*_logged(said))} in the log, {_shown(*again)} again"

    def _first(self, record: str) -> str:
        """Return the ID of the record that has the body which a record repeats."""
        seen = set()
        while record in self._repeats and record not in seen:
            seen.add(record)
            record = self._repeats[record]
        return record

    def _parse(self, place: tuple[int, int], limit: int, profile: str) -> tuple[str, RobotsTxt]:
        from scrapy_rep.records.recorder import digest_of

        body = truncate(self._bodies.get(place), limit)
        return digest_of(body), RobotsTxt.parse(body, profile=profile, max_size=limit)


_Told = tuple[bool, str | None, int | None, str | None, str]


def _plain(verdict: Verdict) -> _Told:
    rule = None if verdict.rule is None else str(verdict.rule)
    return verdict.allowed, rule, verdict.line, verdict.group, verdict.reason


def _logged(said: DecisionLine | LoggedVerdict) -> _Told:
    return said.allowed, said.rule, said.line, said.group, said.reason.removesuffix(_STALE)


def _shown(allowed: bool, rule: str | None, line: int | None, group: str | None, why: str) -> str:
    word = "allowed" if allowed else "disallowed"
    return f"{word} by {rule} (line {line}, group {group})" if rule else f"{word} ({why})"
