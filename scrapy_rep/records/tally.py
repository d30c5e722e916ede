"""Sums up decision logs in one temporary SQLite table of all decisions.

So every figure is exact, however long the logs are and in whatever order their lines come.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from scrapy_rep.records.lines import DecisionLine, NotALogError, RunLine, Unread, read_lines

_BATCH = 5_000
_LONGEST = 300
"""Characters that are kept of a text that comes from outside."""
_COLUMNS = 60
"""Intervals of the course of a crawl, at most."""

_TABLE = """
create table decision (run text, time text, second integer, site text, url text, allowed integer,
  rule text, line integer, grp text, why text, outcome text, cause text, version text, delay real,
  override text, without text);
create table use (site text, purpose text, answer text, allowed integer);
create table run (run text primary key, time text, agent text, profile text, decisions text);
"""
_INDEXES = """
create index by_site on decision (site, version);
create index by_why on decision (why) where why is not null;
create index by_run on decision (run);
"""

_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400)
"""Lengths of an interval in seconds; beyond them whole days."""


class Column(NamedTuple):
    """An interval of the course of a crawl: its start in seconds, and how many ended how."""

    second: int
    allowed: int
    refused: int
    unreachable: int


class LogFile(NamedTuple):
    """A file, its lines that were read, and those that were not, by why."""

    name: str
    read: int
    unread: Counter[Unread]


class Tally:
    """The decisions of some logs. Close it: it has a temporary file."""

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript("pragma journal_mode = off; pragma synchronous = off;" + _TABLE)
        self.files: list[LogFile] = []

    def close(self) -> None:
        """Delete the table."""
        self._base.close()

    def add(self, name: str, stream: BinaryIO) -> None:
        """Add a log; raise :class:`NotALogError` if it is not one."""
        unread: Counter[Unread] = Counter()
        read = 0
        lines = read_lines(stream)
        while batch := [*islice(lines, _BATCH)]:
            known = [line for line in batch if not isinstance(line, Unread)]
            unread.update(line for line in batch if isinstance(line, Unread))
            if not known and not read:
                break  # so long a start without a line of a log is not a log
            wrong = self._insert(known)
            unread[Unread.DAMAGED] += wrong
            read += len(known) - wrong
        if not read:
            raise NotALogError(_why_not(unread))
        self.files.append(LogFile(name, read, +unread))

    def end(self) -> None:
        """Prepare for questions; nothing is added after that."""
        self._base.executescript(_INDEXES)

    def _insert(self, lines: Sequence[RunLine | DecisionLine]) -> int:
        """Insert some lines; return how many of them have a time that is none."""
        runs = [_run(line) for line in lines if isinstance(line, RunLine)]
        decisions, rows, wrong = [], [], 0
        for line in lines:
            if isinstance(line, DecisionLine):
                try:
                    rows.append(_decision(line))
                    decisions.append(line)
                except ValueError:
                    wrong += 1
        use = [
            (line.authority or "", _clipped(purpose), _clipped(answer), line.allowed)
            for line in decisions
            for purpose, answer in [*(line.preferences or {}).items()][:20]
        ]
        base = self._base
        base.execute("begin")
        base.executemany("insert or ignore into run values (?, ?, ?, ?, ?)", runs)
        base.executemany(
            "insert into decision values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
        )
        base.executemany("insert into use values (?, ?, ?, ?)", use)
        base.execute("commit")
        return wrong

    def query(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that answer a question in SQL."""
        return self._base.execute(question, values).fetchall()

    @property
    def totals(self) -> dict[str, Any]:
        """The figures to know first."""
        names = ("decisions", "refused", "first", "last", "sites", "overridden")
        [row] = self.query(
            "select count(*), count(*) - total(allowed), min(time), max(time), "
            "count(distinct nullif(site, '')), count(override) from decision"
        )
        found = {**dict(zip(names, row, strict=True)), "refused": int(row[1])}
        [[found["unreachable_sites"]]] = self.query(
            "select count(distinct site) from decision where outcome in ('unreachable', 'stale')"
        )
        [[found["changed_sites"]]] = self.query(
            "select count(*) from (select site from decision where version <> '' "
            "group by site having count(distinct version) > 1)"
        )
        [[incomplete]] = self.query(
            "select count(*) from (select distinct run from decision) left join run using (run) "
            "where decisions is not 'all'"
        )
        found["is_complete"] = not incomplete
        found["unread"] = sum(file.unread.total() for file in self.files)
        return found

    def course(self) -> tuple[int, list[Column]]:
        """Return the decisions over time: the length of an interval, and the intervals."""
        [[first, last]] = self.query("select min(second), max(second) from decision")
        if first is None:
            return 1, []
        length = max(last - first + 1, 1)
        days = -(-length // (86_400 * _COLUMNS)) * 86_400
        step = next((step for step in _STEPS if length / step <= _COLUMNS), days)
        rows = self.query(
            "select second / ?1 * ?1 as start, total(allowed), "
            "total(why is not null and why <> 'robots.txt unreachable'), "
            "total(why is 'robots.txt unreachable') from decision group by start",
            step,
        )
        known = {int(row[0]): Column(*map(int, row)) for row in rows}
        starts = range(first // step * step, last + 1, step)
        return step, [known.get(start, Column(start, 0, 0, 0)) for start in starts]


def _why_not(unread: Counter[Unread]) -> str:
    if not unread:
        return "it is empty"
    if unread[Unread.SCHEMA]:
        return "it was written by another version of scrapy_rep"
    return "it is not a decision log"


def _run(line: RunLine) -> tuple[str, ...]:
    profile, decisions = (str(line.settings.get(name, "")) for name in ("profile", "decisions"))
    return line.crawl, line.time, _clipped(", ".join(line.agent)), _clipped(profile), decisions


def _decision(line: DecisionLine) -> tuple[Any, ...]:
    without = line.without
    told = None
    if without is not None:
        told = "allowed" if without.allowed else "refused"
        told += f": {without.rule}" if without.rule is not None else f": {without.reason}"
    return (
        line.crawl,
        line.time,
        _seconds(line.time),
        line.authority or "",
        _clipped(line.url),
        line.allowed,
        _clipped(line.rule),
        line.line,
        _clipped(line.group),
        None if line.allowed else _why(line),
        line.outcome,
        _clipped(line.cause) if line.outcome in ("unreachable", "stale") else None,
        line.digest or (line.outcome if line.outcome in ("unavailable", "denied") else ""),
        line.delay if line.allowed else None,
        _clipped(line.override, 1_500),
        _clipped(told),
    )


def _seconds(time: str) -> int:
    """Return a time of a line in whole seconds since the epoch; raise ``ValueError``."""
    clock = int(time[11:13]) * 3_600 + int(time[14:16]) * 60 + int(time[17:19])
    return _midnight(time[:10]) + clock


@lru_cache(maxsize=1_000)
def _midnight(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=timezone.utc).timestamp())


def _why(line: DecisionLine) -> str:
    """Return why a request was refused."""
    if line.override is not None:
        return "an override"
    if line.rule is not None:
        return "a rule of robots.txt"
    if line.preferences:
        return "a usage preference"
    known = (why for start, why in _REASONS if line.reason.startswith(start))
    return next(known, "another reason")


_REASONS = (
    ("unreachable", "robots.txt unreachable"),
    ("access denied", "access to robots.txt denied"),
    ("nofollow", "a page that asks not to follow its links"),
    ("override", "an override"),
    ("too costly", "rules too costly to compare"),
    ("asks for", "the pace that the site asks for"),
)


def _clipped(text: str | None, most: int = _LONGEST) -> str:
    return text if text is None or len(text) <= most else text[:most] + "..."  # type: ignore[return-value]
