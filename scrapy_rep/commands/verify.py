"""``scrapy robots verify``: do recorded decisions follow from an archive?

Of each decision by a rule, the robots.txt that its line names is read from the archive, and asked
again. Nothing else is: neither times nor the pace, and no decision that rests on other things.
"""

from __future__ import annotations

import zlib
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep.commands.archives import DamagedError, Record, read_records
from scrapy_rep.commands.output import Status, counted, note, say, say_json, usage_error
from scrapy_rep.commands.sources import opened
from scrapy_rep.records.lines import LoggedVerdict, RunLine, read_lines
from scrapy_rep.records.recorder import digest_of
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import (
    BY_RULE,
    NO_GROUP,
    NO_RULE_MATCHES,
    ROBOTS_TXT_ITSELF,
    TOO_COSTLY,
)

if TYPE_CHECKING:
    from scrapy_rep.commands.crawl import Project
    from scrapy_rep.records.lines import DecisionLine

_BY_RULES = (BY_RULE, NO_RULE_MATCHES, NO_GROUP, ROBOTS_TXT_ITSELF, TOO_COSTLY)
_STALE = " (last good copy)"

_NO_LINE = "a line is not one of a decision log"
AGREES, DIFFERS, WITHOUT_RULES, UNDECIDED = "agrees", "differs", "without rules", "undecided"


class Compared(NamedTuple):
    """The result for one line of the log."""

    line: int
    url: str
    result: str
    why: str = ""


def run(project: Project, options: Namespace) -> Status:
    """Print the decisions that differ; say how many agree, and what could not be compared."""
    counts, whys = Counter[str](), Counter[str]()
    told: list[dict[str, object]] = []
    for one in _compared(options.log, _Archived(options.warc)):
        counts[one.result] += 1
        if one.result == UNDECIDED:
            whys[one.why] += 1
        if options.format == "json":
            told += [one._asdict()] if one.result in (DIFFERS, UNDECIDED) else []
        elif one.result == DIFFERS:
            say(escaped(f"line {one.line}: {one.url}: {one.why}"))
    if options.format == "json":
        say_json("verify", told)
    note("verify", _summary(counts, whys))
    if counts[DIFFERS]:
        return Status.FOUND
    return Status.UNKNOWN if counts[UNDECIDED] else Status.CLEAN


def _summary(counts: Counter[str], whys: Counter[str]) -> str:
    said = [f"{counted(counts.total(), 'decision')}: {counted(counts[AGREES], 'agrees', 'agree')}"]
    if counts[DIFFERS]:
        said.append(counted(counts[DIFFERS], "differs", "differ"))
    if counts[WITHOUT_RULES]:
        said.append(counted(counts[WITHOUT_RULES], "rests on no rules", "rest on no rules"))
    if counts[UNDECIDED]:
        listed = "; ".join(f"{count:,}: {why}" for why, count in whys.most_common())
        said.append(f"{counts[UNDECIDED]:,} cannot be compared ({listed})")
    return ", ".join(said)


def _compared(log: str, archived: _Archived) -> Iterator[Compared]:
    """Yield the result for each decision of a log; raise ``EndingError`` for another file."""
    runs: dict[str, RunLine] = {}
    is_log = False
    with opened(log) as stream:
        for number, line in enumerate(read_lines(stream), 1):
            is_log = is_log or line is not None
            if isinstance(line, RunLine):
                runs[line.crawl] = line
            elif line is None:
                yield Compared(number, "", UNDECIDED, _NO_LINE)
            else:
                yield Compared(number, line.url, *archived.compare(line, runs.get(line.crawl)))
    if not is_log:
        raise usage_error(f"{log} is not a decision log")


class _Archived:
    """The responses of some archives, by the IDs of their records.

    An archive that is damaged is read up to there: what stands before that is sound.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._records: dict[str, Record] = {}
        for file in files:
            self._read(file)

    def _read(self, file: str) -> None:
        try:
            self._records.update((one.id, one) for one in read_records(file, lambda _: True))
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
        found = self._first(line.record)
        if found is None:
            return UNDECIDED, "the archives lack its record"
        if found.damage:
            return UNDECIDED, found.damage
        try:
            limit, profile = run.settings["max_size"], run.settings["profile"]
            digest, robots = _parsed(found.packed, limit, profile)
        except (KeyError, TypeError, ValueError):  # as of a profile that only a later version has
            return UNDECIDED, "the settings of its run cannot be read"
        if digest != line.digest:
            return DIFFERS, f"the robots.txt in the archive has the digest {digest}"
        reason = said.reason.removesuffix(_STALE)
        logged = LoggedVerdict(said.allowed, said.rule, said.line, said.group, reason)
        again = LoggedVerdict.of(robots.verdict(line.url, line.agent))
        if again == logged:
            return AGREES, ""
        return DIFFERS, f"{_shown(logged)} in the log, {_shown(again)} according to the archive"

    def _first(self, record: str | None) -> Record | None:
        """Return the response that a record is, or that it repeats."""
        seen: set[str] = set()
        found = self._records.get(record or "")
        while found is not None and found.is_revisit:
            again = found.id in seen
            seen.add(found.id)
            found = None if again else self._records.get(found.refers_to)
        return found


@lru_cache(maxsize=256)
def _parsed(packed: bytes, limit: int, profile: str) -> tuple[str, RobotsTxt]:
    body = truncate(zlib.decompress(packed), limit)
    return digest_of(body), RobotsTxt.parse(body, profile=profile, max_size=limit)


def _shown(said: LoggedVerdict) -> str:
    word = "allowed" if said.allowed else "disallowed"
    if said.rule is None:
        return f"{word} ({said.reason})"
    return f"{word} by {said.rule} (line {said.line}, group {said.group})"
