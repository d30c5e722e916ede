"""``scrapy robots verify``: do recorded decisions follow from an archive?

For each decision by a rule, the robots.txt that its line names is read from the archive and asked
again. For every decision, what its line names must match: the site is that of the URL, the record
is one of that site with that status, the override is one of the run that decides so, and the reason
of a request that was allowed is one that allows requests. Times, paces and decisions that rest on
other things are not compared.
"""

from __future__ import annotations

import zlib
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from scrapy_rep.access.authority import usable_authority_of
from scrapy_rep.access.entry import REFUSALS
from scrapy_rep.access.outcome import TEMPORARY, Meaning, meaning_of, temporary_in
from scrapy_rep.commands.archives import Record, read_records
from scrapy_rep.commands.crawl import Project
from scrapy_rep.commands.output import EndingError, Status, counted, listed, note, say, say_json
from scrapy_rep.commands.sources import DamagedError, opened, refuse_stdin_twice
from scrapy_rep.overrides.override import ALLOW, FORBID, REASON, UNREACHABLE_IS_ALLOWED, Override
from scrapy_rep.records.lines import DecisionLine, LoggedVerdict, RunLine, read_lines
from scrapy_rep.records.recorder import digest_of
from scrapy_rep.robotstxt.printable import escaped, without_login
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import (
    BY_RULE,
    LAST_GOOD_COPY,
    NO_GROUP,
    NO_RULE_MATCHES,
    ROBOTS_TXT_ITSELF,
    TOO_COSTLY,
    UNAVAILABLE,
)
from scrapy_rep.signals import BYPASSED

_BY_RULES = (BY_RULE, NO_RULE_MATCHES, NO_GROUP, ROBOTS_TXT_ITSELF, TOO_COSTLY)
_ALLOWS = {ALLOW: True, UNREACHABLE_IS_ALLOWED: True, FORBID: False}

_NO_LINE = "a line is not one of a decision log"
CONFIRMED, CONTRADICTED = "confirmed", "contradicted"
NOT_BY_RULES, NOT_COMPARED = "not by rules", "not compared"


class Compared(NamedTuple):
    """The result for one line of a log."""

    log: str
    line: int
    url: str
    result: str
    why: str = ""


def run(project: Project, options: Namespace) -> Status:
    """Print the decisions that differ; say how many agree, and what could not be compared."""
    refuse_stdin_twice(*options.logs)
    counts, whys = Counter[str](), Counter[str]()
    rows: list[dict[str, object]] = []
    records = Records(options.warc)
    for one in _compared(options.logs, records):
        counts[one.result] += 1
        if one.result == NOT_COMPARED:
            whys[one.why] += 1
        elif one.result == CONTRADICTED and options.format == "text":
            say(escaped(f"{one.log}:{one.line}: {one.url}: {one.why}"))
        if one.why and options.format == "json":
            rows.append(one._asdict())
    if options.format == "json":
        say_json("verify", rows)
    summary = listed(counts, (CONFIRMED, CONTRADICTED, NOT_BY_RULES, NOT_COMPARED))
    reasons = "".join(f"; {count:,}: {why}" for why, count in whys.most_common())
    note("verify", f"{counted(counts.total(), 'decision')}: {summary or 'none'}{reasons}")
    if counts[CONTRADICTED]:
        return Status.FOUND
    return Status.UNKNOWN if counts[NOT_COMPARED] else Status.CLEAN


def _compared(logs: Sequence[str], records: Records) -> Iterator[Compared]:
    """Yield the result for each decision of some logs; raise ``EndingError`` for another file."""
    runs: dict[str, RunLine] = {}
    for log in logs:
        is_log = False
        with opened(log) as stream:
            for number, line in enumerate(read_lines(stream), 1):
                is_log = is_log or line is not None
                if isinstance(line, RunLine):
                    runs[line.crawl] = line
                elif line is None:
                    yield Compared(log, number, "", NOT_COMPARED, _NO_LINE)
                else:
                    found = _compare(line, runs.get(line.crawl), records)
                    yield Compared(log, number, without_login(line.url), *found)
        if not is_log:
            raise EndingError(f"{log} is not a decision log")


class Records:
    """The responses of some archives, by the IDs of their records."""

    def __init__(self, files: Sequence[str]):
        self._by_id = {one.id: one for file in files for one in _sound_records(file)}
        self._redirects: dict[str, set[str]] = defaultdict(set)
        for one in self._by_id.values():
            if one.location:
                self._redirects[one.uri].add(one.location)

    def find(self, record: str | None) -> Record | None:
        """Return the response that a record is, or that it repeats, after other revisits or not."""
        found = self._by_id.get(record or "")
        for _ in self._by_id:  # a revisit may repeat itself in an archive that was changed
            if found is None or not found.is_revisit:
                break
            found = self._by_id.get(found.refers_to)
        return found

    def leads_to(self, start: str, uri: str) -> bool:
        """Return True if a URI is ``start``, or if redirects of the archives lead there."""
        seen, left = {start}, [start]
        while left and uri not in seen:
            new = self._redirects.get(left.pop(), set()) - seen
            seen |= new
            left += new
        return uri in seen


def _sound_records(file: str) -> Iterator[Record]:
    """Yield the responses of an archive; of a damaged one, those before the damage."""
    try:
        yield from read_records(file, lambda _: True)
    except DamagedError as error:
        note("verify", str(error))


def _compare(line: DecisionLine, run: RunLine | None, records: Records) -> tuple[str, str]:
    """Return the result for a decision of a run, and why it is that."""
    found = records.find(line.record)
    wrong = _wrong_record(line, run, found, records)
    if run is not None:
        wrong = _wrong_site(line, run) or _wrong_override(line, run) or wrong
        wrong = wrong or _wrong_reason(line, run)
    if wrong:
        return CONTRADICTED, wrong
    logged = _without_override(line)
    is_by_answer = line.record is not None or line.outcome in ("unavailable", "denied")
    if not _is_by_rules(line, logged) and (found is not None or not is_by_answer):
        return NOT_BY_RULES, ""
    lack = _lack(line, run, found)
    if lack or run is None or found is None:
        return NOT_COMPARED, lack
    try:
        limit, profile = run.settings["max_size"], run.settings["profile"]
        digest, robots = _parsed(found.packed, limit, profile)
    except (KeyError, TypeError, ValueError):  # as of a profile that only a later version has
        return NOT_COMPARED, "the settings of its run cannot be read"
    if digest != line.digest:
        return CONTRADICTED, f"the robots.txt in the archive has the digest {digest}"
    verdict = robots.verdict(line.url, line.agent)
    if LoggedVerdict.of(verdict) == logged:
        return CONFIRMED, ""
    return CONTRADICTED, f"by the archive it is {verdict}"


def _without_override(line: DecisionLine) -> LoggedVerdict:
    """Return the verdict before any override, and as if the rules were no last good copy."""
    one = line.without or line
    reason = one.reason.removesuffix(LAST_GOOD_COPY)
    return LoggedVerdict(one.allowed, one.rule, one.line, one.group, reason)


def _is_by_rules(line: DecisionLine, logged: LoggedVerdict) -> bool:
    """Return True if a verdict of a line follows from rules that the line names."""
    return line.digest is not None and logged.reason in _BY_RULES


def _lack(line: DecisionLine, run: RunLine | None, found: Record | None) -> str:
    """Return why a decision cannot be compared, "" if it can."""
    if run is None:
        return "the first line of its run is missing"
    if line.record is None:
        return "its rules were fetched without an archive"
    if line.without is None and any(one.authority == line.authority for one in run.overrides):
        return "an override may have set its rules"
    if run.settings.get("log_urls") != "full":
        return "the log does not have its whole URL"
    return "the archives lack its record" if found is None else found.damage


def _wrong_site(line: DecisionLine, run: RunLine) -> str:
    """Return what is wrong if the site of a line is not that of its URL, else ""."""
    if run.settings.get("log_urls") not in ("full", "path"):
        return ""
    site = usable_authority_of(line.url)
    is_right = line.authority == (None if site is None else str(site))
    if is_right or (line.authority is None and line.digest is None):  # the crawler failed
        return ""
    return f"its URL is not one of {line.authority}"


def _wrong_override(line: DecisionLine, run: RunLine) -> str:
    """Return what is wrong if the run has no override as the line names it, else "".

    An override is only named if it has changed the verdict.
    """
    is_overridden = line.override is not None or line.without is not None or line.reason == REASON
    if not is_overridden or line.reason == BYPASSED:
        return ""
    # An entry has the fields that the text of an override is made of.
    for one in run.overrides:
        if one.authority == line.authority and Override.__str__(one) == line.override:  # type: ignore[arg-type]
            without = line.without
            if without and line.allowed is _ALLOWS.get(one.action, not without.allowed):
                return ""
            return "its override does not decide so"
    return "the first line of its run has no such override of its site"


def _wrong_reason(line: DecisionLine, run: RunLine) -> str:
    """Return what is wrong if a request was allowed for a reason that allows none, else "".

    A decision by rules that the line names is not judged here: those rules are asked again.
    """
    logged = _without_override(line)
    if not logged.allowed or _is_by_rules(line, logged):
        return ""
    site = usable_authority_of(line.url)  # None of a URL that is not in the log
    is_denied = line.status in REFUSALS and run.settings.get("access_denied") == "disallow"
    may_pass = {
        UNAVAILABLE: line.outcome == "unavailable" and not is_denied,
        ROBOTS_TXT_ITSELF: site is None or site.has_its_rules_at(line.url),
        BYPASSED: True,
    }
    if may_pass.get(logged.reason):
        return ""
    return f"no request passes for such a reason: {(line.without or line).reason}"


def _wrong_record(
    line: DecisionLine, run: RunLine | None, found: Record | None, records: Records
) -> str:
    """Return what is wrong if a record is of another site, or has another status, else ""."""
    if found is None:
        return ""
    if not records.leads_to(f"{line.authority}/robots.txt", found.uri):
        return f"its record in the archive is of {found.uri}"
    profile = None if run is None else PROFILES.get(str(run.settings.get("profile")))
    temporary = TEMPORARY if profile is None else temporary_in(profile)
    has_rules = meaning_of(found.status, temporary) is Meaning.SUCCESS
    if not found.damage and (line.status, line.digest is not None) != (found.status, has_rules):
        return f"its record in the archive has the status {found.status}"
    return ""


@lru_cache(maxsize=256)
def _parsed(packed: bytes, limit: int, profile: str) -> tuple[str, ParsedRobotsTxt]:
    body = truncate(zlib.decompress(packed), limit)
    return digest_of(body), ParsedRobotsTxt.parse(body, profile=profile, max_size=limit)
