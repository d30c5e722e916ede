"""Sums up decision logs: temporary SQLite tables of decisions and runs, one query per section.

So every figure is exact, however long the logs are and in whatever order their lines come.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from scrapy_rep.records.lines import DecisionLine, Line, RunLine, read_lines
from scrapy_rep.signals import BYPASSED, WITHOUT_A_NAME

_BATCH = 5_000
_MOST_INTERVALS = 60
"""Intervals that the time of a crawl is divided into, at most."""


class _Decision(NamedTuple):
    """A row of the table of decisions: its fields are the columns."""

    run: str
    time: str
    second: int
    site: str
    url: str
    allowed: bool
    rule: str | None
    line: int | None
    grp: str | None
    why: str | None
    outcome: str
    cause: str | None
    version: str
    delay: float | None
    override: str | None
    without: str | None


class _Run(NamedTuple):
    """A row of the table of runs."""

    run: str
    time: str
    agent: str
    profile: str
    decisions: str


_TABLES = f"""
create table decision ({", ".join(_Decision._fields)});
create table run ({", ".join(_Run._fields)}, primary key (run));
"""
_INSERT = "insert or ignore into {} values ({})"
_INDEXES = """
create index by_site on decision (site, version);
create index by_why on decision (why) where why is not null;
create index by_run on decision (run);
"""

Interval = tuple[int, int, int]
"""How many requests were allowed, were forbidden, and had an unreachable robots.txt."""


class Section(NamedTuple):
    """A table of the report: what it asks for, and the answer, which :func:`sections` adds.

    ``columns`` are the heads of what ``query`` selects, in its order. The first columns say most: a
    narrow terminal does not show the last ones. ``caption`` explains the table on the page.
    ``most`` is how many rows are shown, ``more`` how many are not, and ``bars`` the column whose
    numbers are drawn, counted from 0.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    query: str
    caption: str = ""
    most: int = 15
    bars: int | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    more: int = 0


_SECTIONS = (
    Section(
        "reasons",
        "Why requests were refused",
        ("Reason", "Requests", "Share"),
        """select why, count(*) as n, printf('%.1f %%', 100.0 * count(*) / sum(count(*)) over ())
        from decision where not allowed group by why order by n desc, why""",
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
        bars=1,
    ),
    Section(
        "rules",
        "Rules that refused most",
        ("Rule", "Site", "Line", "Group", "Requests", "Example"),
        """select rule, site, line, grp, count(*) as n, min(url)
        from decision where rule is not null and not allowed group by rule, site, line, grp
        order by n desc, site, line, rule""",
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
        caption="While a robots.txt is unreachable, its last good copy is followed. Without one, "
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
        caption="A version is known by the digest of its bytes; its times are those of decisions.",
        most=60,
    ),
    Section(
        "delays",
        "Delays that sites asked for",
        ("Site", "Between requests", "Requests"),
        """select site, printf(case when min(delay) = max(delay) then '%g s' else '%g to %g s' end,
            min(delay), max(delay)), count(*) as n
        from decision where delay > 0 group by site order by max(delay) desc, n desc, site""",
    ),
    Section(
        "overrides",
        "Overrides used",
        ("Site", "Requests", "Verdict", "Override", "Without it"),
        """select site, count(*) as n, case allowed when 1 then 'allowed' else 'refused' end,
            override, without
        from decision where override is not null group by site, override, allowed, without
        order by n desc, site, override""",
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
        most=30,
    ),
)


class Tally:
    """The decisions of some logs. Close it: it has a temporary file."""

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript("pragma journal_mode = off; pragma synchronous = off;" + _TABLES)
        self._unread = 0

    def close(self) -> None:
        """Delete the tables."""
        self._base.close()

    def add(self, stream: BinaryIO) -> bool:
        """Add a log; return False if it has no line of one."""
        read = 0
        lines = read_lines(stream)
        while batch := [*islice(lines, _BATCH)]:
            found = [line for line in batch if line is not None]
            self._insert(found)
            read += len(found)
            self._unread += len(batch) - len(found)
            if not read:
                break  # it is not a log: it does not begin like one
        return read > 0

    def end(self) -> None:
        """Make the indexes for queries, after the last log was added."""
        self._base.executescript(_INDEXES)

    def _insert(self, lines: Sequence[Line]) -> None:
        self._base.execute("begin")
        self._fill("run", [_run(line) for line in lines if isinstance(line, RunLine)])
        decisions = [_decision(line) for line in lines if isinstance(line, DecisionLine)]
        self._fill("decision", decisions)
        self._base.execute("commit")

    def _fill(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._base.executemany(_INSERT.format(table, places), rows)

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
            where decisions is not 'all') as is_complete from decision"""
        )
        totals = dict(zip((name for name, *_ in found.description), found.fetchone(), strict=True))
        return {**totals, "is_complete": bool(totals["is_complete"]), "unread": self._unread}

    def course(self) -> list[Interval]:
        """Return the decisions over time, in intervals of the same length."""
        [[first, last]] = self.query("select min(second), max(second) from decision")
        if first is None:
            return []
        step = (last - first) // _MOST_INTERVALS + 1
        rows = self.query(
            "select (second - ?1) / ?2 as number, sum(allowed), "
            "sum(why is not null and why <> 'unreachable'), "
            "sum(why is 'unreachable') from decision group by number",
            first,
            step,
        )
        intervals = [(0, 0, 0)] * ((last - first) // step + 1)
        for number, *counts in rows:
            intervals[number] = (*counts,)
        return intervals


def _shown_time(second: int) -> str:
    """Return seconds since the epoch as the report shows them, in UTC."""
    return datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _run(line: RunLine) -> _Run:
    return _Run(
        run=line.crawl,
        time=_shown_time(int(line.time.timestamp())),
        agent=", ".join(line.agent),
        profile=str(line.settings.get("profile", "")),
        decisions=str(line.settings.get("decisions", "")),
    )


def _decision(line: DecisionLine) -> _Decision:
    why = "a rule of robots.txt" if line.rule is not None else line.reason
    second, without, verdict = int(line.time.timestamp()), line.without, None
    if without is not None:
        verdict = "allowed" if without.allowed else "refused"
        verdict += f": {without.rule}" if without.rule is not None else f": {without.reason}"
    return _Decision(
        run=line.crawl,
        time=_shown_time(second),
        second=second,
        site=line.authority or "",
        url=line.url,
        allowed=line.allowed,
        rule=line.rule,
        line=line.line,
        grp=line.group,
        why=None if line.allowed else why,
        outcome=line.outcome,
        cause=line.cause if line.outcome in ("unreachable", "stale") else None,
        version=line.digest or (line.outcome if line.outcome in ("unavailable", "denied") else ""),
        delay=line.delay if line.allowed else None,
        override=BYPASSED if line.override == WITHOUT_A_NAME else line.override,
        without=verdict,
    )


def sections(tally: Tally) -> Iterator[Section]:
    """Yield the tables that have something to say."""
    for one in _SECTIONS:
        found = tally.query(one.query)
        rows = [*islice(found, one.most)]
        if rows:
            yield one._replace(rows=rows, more=sum(1 for _ in found))
