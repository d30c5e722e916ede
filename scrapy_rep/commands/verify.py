"""``scrapy robots verify``: do recorded decisions follow from an archive?

Of each decision by a rule, the robots.txt that its line names is read from the archive, and asked
again. Nothing else is: neither times nor the pace, and no decision that rests on other things.
"""

from __future__ import annotations

import zlib
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from scrapy_rep.commands.archives import Record, read_records
from scrapy_rep.commands.crawl import Project
from scrapy_rep.commands.output import EndingError, Status, counted, listed, note, say, say_json
from scrapy_rep.commands.sources import DamagedError, opened
from scrapy_rep.records.lines import DecisionLine, LoggedVerdict, RunLine, read_lines
from scrapy_rep.records.recorder import digest_of
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import (
    BY_RULE,
    LAST_GOOD_COPY,
    NO_GROUP,
    NO_RULE_MATCHES,
    ROBOTS_TXT_ITSELF,
    TOO_COSTLY,
)

_BY_RULES = (BY_RULE, NO_RULE_MATCHES, NO_GROUP, ROBOTS_TXT_ITSELF, TOO_COSTLY)

_NO_LINE = "a line is not one of a decision log"
CONFIRMED, CONTRADICTED = "confirmed", "contradicted"
NOT_BY_RULES, NOT_COMPARED = "not by rules", "not compared"


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
    records: dict[str, Record] = {}
    for file in options.warc:
        _read(file, records)
    for one in _compared(options.log, records):
        counts[one.result] += 1
        if one.result == NOT_COMPARED:
            whys[one.why] += 1
        elif one.result == CONTRADICTED and options.format == "text":
            say(escaped(f"line {one.line}: {one.url}: {one.why}"))
        if one.why and options.format == "json":
            told.append(one._asdict())
    if options.format == "json":
        say_json("verify", told)
    said = listed(counts, (CONFIRMED, CONTRADICTED, NOT_BY_RULES, NOT_COMPARED))
    reasons = "".join(f"; {count:,}: {why}" for why, count in whys.most_common())
    note("verify", f"{counted(counts.total(), 'decision')}: {said or 'none'}{reasons}")
    if counts[CONTRADICTED]:
        return Status.FOUND
    return Status.UNKNOWN if counts[NOT_COMPARED] else Status.CLEAN


def _compared(log: str, records: Mapping[str, Record]) -> Iterator[Compared]:
    """Yield the result for each decision of a log; raise ``EndingError`` for another file."""
    runs: dict[str, RunLine] = {}
    is_log = False
    with opened(log) as stream:
        for number, line in enumerate(read_lines(stream), 1):
            is_log = is_log or line is not None
            if isinstance(line, RunLine):
                runs[line.crawl] = line
            elif line is None:
                yield Compared(number, "", NOT_COMPARED, _NO_LINE)
            else:
                yield Compared(number, line.url, *_compare(line, runs.get(line.crawl), records))
    if not is_log:
        raise EndingError(f"{log} is not a decision log")


def _read(file: str, records: dict[str, Record]) -> None:
    """Add the responses of an archive, by the IDs of their records.

    An archive that is damaged is read up to there: what stands before that is sound.
    """
    try:
        records.update((one.id, one) for one in read_records(file, lambda _: True))
    except DamagedError as error:
        note("verify", str(error))


def _compare(
    line: DecisionLine, run: RunLine | None, records: Mapping[str, Record]
) -> tuple[str, str]:
    """Return the result for a decision of a run, and why it is that."""
    said = line.without or line
    reason = said.reason.removesuffix(LAST_GOOD_COPY)
    if line.digest is None or reason not in _BY_RULES:
        return NOT_BY_RULES, ""
    if run is None:
        return NOT_COMPARED, "the first line of its run is missing"
    if line.without is None and any(one.authority == line.authority for one in run.overrides):
        return NOT_COMPARED, "an override may have set its rules"
    if run.settings.get("log_urls") != "full":
        return NOT_COMPARED, "the log does not have its whole URL"
    found = _first(line.record, records)
    if found is None:
        return NOT_COMPARED, "the archives lack its record"
    if found.damage:
        return NOT_COMPARED, found.damage
    try:
        limit, profile = run.settings["max_size"], run.settings["profile"]
        digest, robots = _parsed(found.packed, limit, profile)
    except (KeyError, TypeError, ValueError):  # as of a profile that only a later version has
        return NOT_COMPARED, "the settings of its run cannot be read"
    if digest != line.digest:
        return CONTRADICTED, f"the robots.txt in the archive has the digest {digest}"
    logged = LoggedVerdict(said.allowed, said.rule, said.line, said.group, reason)
    verdict = robots.verdict(line.url, line.agent)
    if LoggedVerdict.of(verdict) == logged:
        return CONFIRMED, ""
    return CONTRADICTED, f"by the archive it is {verdict}"


def _first(record: str | None, records: Mapping[str, Record]) -> Record | None:
    """Return the response that a record is, or that it repeats, after other revisits or not."""
    found = records.get(record or "")
    for _ in records:  # a revisit may repeat itself in an archive that was changed
        if found is None or not found.is_revisit:
            break
        found = records.get(found.refers_to)
    return found


@lru_cache(maxsize=256)
def _parsed(packed: bytes, limit: int, profile: str) -> tuple[str, RobotsTxt]:
    body = truncate(zlib.decompress(packed), limit)
    return digest_of(body), RobotsTxt.parse(body, profile=profile, max_size=limit)
