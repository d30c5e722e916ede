"""Sums up decision logs: one temporary SQLite table of all decisions, and one query per section.

So every figure is exact, however long the logs are and in whatever order their lines come.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from scrapy_rep.records.lines import DecisionLine, Line, RunLine, read_lines

_BATCH = 5_000
_LONGEST = 300
"""Characters that are kept of a text that comes from outside."""
_COLUMNS = 60
"""Intervals of the course of a crawl, at most."""

_TABLES = """
create table decision (run text, time text, second integer not null, site text, url text,
  allowed integer, rule text, line integer, grp text, why text, outcome text, cause text,
  version text, delay real, override text, without text, use text);
create table run (run text primary key, time text, agent text, profile text, decisions text);
create table file (name text, unread integer);
"""
_INDEXES = """
create index by_site on decision (site, version);
create index by_why on decision (why) where why is not null;
create index by_run on decision (run);
"""

_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400)
"""Lengths of an interval in seconds; beyond them whole days."""

Interval = tuple[int, int, int, int]
"""Its start in seconds, and how many requests were allowed, refused, and refused because a
robots.txt was unreachable."""


class Section(NamedTuple):
    """A table of the report: what it asks for, and the answer, which :func:`sections` adds.

    ``columns`` are the heads of what ``query`` selects, in its order. The first columns say most: a
    narrow terminal does not show the last ones. ``kind`` is what a row is about, ``most`` how many
    of them are shown, and ``bars`` the column whose numbers are drawn: ``shares`` are parts of the
    largest. ``more`` says how many rows are not shown.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    query: str
    kind: str
    said: str = ""
    most: int = 15
    bars: int | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    shares: Sequence[float] = ()
    more: str = ""


_SECTIONS = (
    Section(
        "reasons",
        "Why requests were refused",
        ("Reason", "Requests", "Share"),
        """select why, count(*) as n, printf('%.1f %%', 100.0 * count(*) / sum(count(*)) over ())
        from decision where not allowed group by why order by n desc, why""",
        "reason",
        bars=1,
    ),
    Section(
        "sites",
        "Sites that lost most requests",
        ("Site", "Refused", "Of", "Mostly by"),
        """select site, sum(not allowed) as n, count(*), (
            select coalesce(rule, why) from decision as other
            where other.site = decision.site and not allowed
            group by 1 order by count(*) desc, 1 limit 1)
        from decision where site <> '' group by site having n > 0 order by n desc, site""",
        "site",
        bars=1,
    ),
    Section(
        "rules",
        "Rules that refused most",
        ("Rule", "Site", "Line", "Group", "Requests", "Example"),
        """select rule, site, line, grp, count(*) as n, case
            when min(url) like 'sha256:%' then substr(min(url), 1, 20) || '...'
            when min(url) = site then '/'
            when instr(min(url), site) = 1 then substr(min(url), length(site) + 1, 80)
            else substr(min(url), 1, 80) end
        from decision where why = 'a rule of robots.txt' group by rule, site, line, grp
        order by n desc, site, line, rule""",
        "rule",
    ),
    Section(
        "unreachable",
        "Sites whose robots.txt was unreachable",
        ("Site", "Refused", "By the last copy", "Cause", "First", "Last"),
        """select site, sum(not allowed), sum(outcome = 'stale'),
            (select group_concat(cause, ', ') from (select distinct cause from decision as other
            where other.site = decision.site and cause is not null order by cause)),
            min(time), max(time)
        from decision where outcome in ('unreachable', 'stale') group by site
        order by count(*) desc, site""",
        "site",
        said="While a robots.txt is unreachable, its last good copy is followed. Without one, "
        "every request to the site is refused.",
    ),
    Section(
        "changes",
        "Rules that changed",
        ("Site", "Version", "Allowed", "Refused", "First", "Last"),
        """select site, case version when 'unavailable' then 'no robots.txt'
            when 'denied' then 'access denied' else substr(version, 8, 12) end,
            sum(allowed), sum(not allowed), min(time) as first, max(time)
        from decision where version <> '' and site in (
            select site from decision where version <> ''
            group by site having count(distinct version) > 1)
        group by site, version order by site, first, version""",
        "version",
        said="A version is known by the digest of its bytes; its times are those of decisions.",
        most=60,
    ),
    Section(
        "delays",
        "Delays that sites asked for",
        ("Site", "Between requests", "Requests"),
        """select site, printf(case when min(delay) = max(delay) then '%g s' else '%g to %g s' end,
            min(delay), max(delay)), count(*) as n
        from decision where delay > 0 group by site order by max(delay) desc, n desc, site""",
        "site",
    ),
    Section(
        "preferences",
        "Usage preferences met",
        ("Purpose", "Said", "Requests", "Sites", "Refused"),
        """select key, value, count(*) as n, count(distinct site), sum(not allowed)
        from decision, json_each(use) group by key, value order by n desc, key""",
        "purpose",
    ),
    Section(
        "overrides",
        "Overrides used",
        ("Site", "Requests", "Verdict", "Override", "Without it"),
        """select site, count(*) as n, case allowed when 1 then 'allowed' else 'refused' end,
            case override when 'without a name' then 'dont_obey_robotstxt' else override end,
            without
        from decision where override is not null group by site, override, allowed, without
        order by n desc, site, override""",
        "override",
    ),
    Section(
        "runs",
        "Runs",
        ("Run", "Start", "Last", "Decisions", "Refused", "Recorded", "Profile", "Agent"),
        """select substr(known.run, 1, 8), coalesce(run.time, first) as start, last,
            number, refused, run.decisions, profile, coalesce(agent, 'not known')
        from (select run, min(time) as first, max(time) as last, count(*) as number,
            sum(not allowed) as refused from decision group by run) as known
        left join run using (run) order by start, 1""",
        "run",
        most=30,
    ),
    Section(
        "unread",
        "Lines that could not be read",
        ("File", "Lines"),
        "select name, unread from file where unread > 0 order by name",
        "file",
    ),
)


class Tally:
    """The decisions of some logs. Close it: it has a temporary file."""

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript("pragma journal_mode = off; pragma synchronous = off;" + _TABLES)

    def close(self) -> None:
        """Delete the tables."""
        self._base.close()

    def add(self, name: str, stream: BinaryIO) -> bool:
        """Add a log; return False if it has no line of one."""
        read = unread = 0
        lines = read_lines(stream)
        while batch := [*islice(lines, _BATCH)]:
            added = self._insert([line for line in batch if line is not None])
            read += added
            unread += len(batch) - added
            if not read:
                break  # so long a start without a line of a log is not a log
        told = name.encode("utf-8", "backslashreplace").decode()
        self._base.execute("insert into file values (?, ?)", (told, unread))
        return read > 0

    def end(self) -> None:
        """Prepare for questions; nothing is added after that."""
        self._base.executescript(_INDEXES)

    def _insert(self, lines: Sequence[Line]) -> int:
        """Insert some lines; return how many, which is without those whose time is none."""
        runs = [_run(line) for line in lines if isinstance(line, RunLine)]
        decisions = [line for line in lines if isinstance(line, DecisionLine)]
        base = self._base
        base.execute("begin")
        base.executemany("insert or ignore into run values (?, datetime(?), ?, ?, ?)", runs)
        added = base.executemany(
            "insert or ignore into decision values (?1, datetime(?2), strftime('%s', ?2), ?3, ?4, "
            "?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            map(_decision, decisions),
        ).rowcount
        base.execute("commit")
        return len(runs) + max(added, 0)

    def query(self, question: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that answer a question in SQL."""
        return self._base.execute(question, values)

    @property
    def totals(self) -> dict[str, Any]:
        """The figures to know first."""
        found = self._base.execute(
            """select count(*) as decisions, coalesce(sum(not allowed), 0) as refused,
            min(time) as first, max(time) as last, count(distinct nullif(site, '')) as sites,
            count(override) as overridden, count(distinct case
            when outcome in ('unreachable', 'stale') then site end) as unreachable_sites,
            (select count(*) from (select site from decision where version <> ''
            group by site having count(distinct version) > 1)) as changed_sites,
            not exists (select 1 from (select distinct run from decision) left join run using (run)
            where decisions is not 'all') as is_complete,
            (select sum(unread) from file) as unread from decision"""
        )
        totals = dict(zip((name for name, *_ in found.description), found.fetchone(), strict=True))
        return {**totals, "is_complete": bool(totals["is_complete"])}

    def course(self) -> tuple[int, list[Interval]]:
        """Return the decisions over time: the length of an interval, and the intervals."""
        [[first, last]] = self.query("select min(second), max(second) from decision")
        if first is None:
            return 1, []
        length = max(last - first + 1, 1)
        days = -(-length // (86_400 * _COLUMNS)) * 86_400
        step = next((step for step in _STEPS if length / step <= _COLUMNS), days)
        rows = self.query(
            "select second / ?1 * ?1 as start, sum(allowed), "
            "sum(why is not null and why <> 'robots.txt unreachable'), "
            "sum(why is 'robots.txt unreachable') from decision group by start",
            step,
        )
        known: dict[int, Interval] = {row[0]: row for row in rows}
        starts = range(first // step * step, last + 1, step)
        return step, [known.get(start, (start, 0, 0, 0)) for start in starts]


def _run(line: RunLine) -> tuple[str | None, ...]:
    profile, decisions = (str(line.settings.get(name, "")) for name in ("profile", "decisions"))
    return line.crawl, line.time, _clipped(", ".join(line.agent)), _clipped(profile), decisions


def _decision(line: DecisionLine) -> tuple[Any, ...]:
    use, without = line.preferences, line.without
    told = None
    if without is not None:
        told = "allowed" if without.allowed else "refused"
        told += f": {without.rule}" if without.rule is not None else f": {without.reason}"
    return (
        line.crawl,
        line.time,
        _clipped(line.authority or ""),
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
        use and json.dumps({_clipped(name): _clipped(said) for name, said in use.items()}),
    )


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


def _clipped(text: str | None, most: int = _LONGEST) -> str | None:
    """Return text that is not too long, without NUL, at which functions of SQLite stop."""
    if text is None:
        return None
    text = text.replace("\0", "\\x00")
    return text if len(text) <= most else text[:most] + "..."


def sections(tally: Tally) -> Iterator[Section]:
    """Yield the tables that have something to say."""
    for one in _SECTIONS:
        found = tally.query(one.query)
        rows = [*islice(found, one.most)]
        if rows:
            left = sum(1 for _ in found)
            more = f"{left:,} more {one.kind}{'s' * (left > 1)}" if left else ""
            numbers = [row[one.bars] for row in rows] if one.bars else []
            shares = [number / max(numbers) for number in numbers]
            yield one._replace(rows=rows, shares=shares, more=more)
