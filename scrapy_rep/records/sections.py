"""The sections of a report: a table each, and the query that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from scrapy_rep.records.tally import Tally


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
        from decision group by site having n > 0 order by n desc, site""",
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
        group by site, version order by site, first""",
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
        """select purpose, answer, count(*) as n, count(distinct site), sum(not allowed)
        from use group by purpose, answer order by n desc, purpose""",
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
