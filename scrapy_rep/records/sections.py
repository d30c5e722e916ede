"""The sections of a report: a table each, and the query that makes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from scrapy_rep.records.tally import Tally

_MOST_ROWS = 15

_OVERRIDE = re.compile(
    r'([a-z-]+), entry \d+: (.*) \(("(?:[^"\\]|\\.)*"|[^("]*), until (\d{4}-\d\d-\d\d)\)', re.DOTALL
)
"""Action, reason, person and end. A person with a parenthesis or a quotation mark is in JSON."""


class Section(NamedTuple):
    """A table of the report. ``shares`` are parts of the largest or the whole, for bars."""

    name: str
    title: str
    said: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    shares: list[float] | None = None
    more: str = ""


def sections(tally: Tally) -> Iterator[Section]:
    """Yield the tables that have something to say."""
    for section in (
        _reasons(tally),
        _sites(tally),
        _rules(tally),
        _unreachable(tally),
        _changes(tally),
        _delays(tally),
        _preferences(tally),
        _overrides(tally),
        _runs(tally),
        _unread(tally),
    ):
        if section.rows:
            yield section


def _reasons(tally: Tally) -> Section:
    rows = tally.query(
        "select why, count(*) as n from decision where not allowed group by why "
        "order by n desc, why"
    )
    whole = sum(row[1] for row in rows) or 1
    shares = [row[1] / whole for row in rows]
    listed = [(*row, f"{100 * share:.1f} %") for row, share in zip(rows, shares, strict=True)]
    columns = ("Reason", "Requests", "Share")
    return Section("reasons", "Why requests were refused", "", columns, listed, shares)


def _sites(tally: Tally) -> Section:
    rows = tally.query(
        "select site, count(*) - total(allowed) as n, count(*), (select coalesce(rule, why) "
        "from decision as other where other.site = decision.site and not allowed "
        "group by 1 order by count(*) desc, 1 limit 1) from decision group by site "
        "having n > 0 order by n desc, site"
    )
    shown = [(site, int(lost), whole, why) for site, lost, whole, why in rows[:_MOST_ROWS]]
    largest = max([row[1] for row in shown], default=1)
    columns = ("Site", "Refused", "Of", "Mostly by")
    more = _more(rows, "site", "lost requests")
    shares = [row[1] / largest for row in shown]
    return Section("sites", "Sites that lost most requests", "", columns, shown, shares, more)


def _rules(tally: Tally) -> Section:
    rows = tally.query(
        "select rule, site, line, grp, count(*) as n, min(url) from decision "
        "where why = 'a rule of robots.txt' group by rule, site, line, grp "
        "order by n desc, site, line, rule"
    )
    shown = [
        (rule, site, line, group, number, _path(url, site))
        for rule, site, line, group, number, url in rows[:_MOST_ROWS]
    ]
    columns = ("Rule", "Site", "Line", "Group", "Requests", "Example")
    more = _more(rows, "rule", "refused requests")
    return Section("rules", "Rules that refused most", "", columns, shown, None, more)


def _unreachable(tally: Tally) -> Section:
    rows = tally.query(
        "select site, count(*) - total(allowed), total(outcome = 'stale'), min(time), "
        "max(time), group_concat(distinct cause) from decision "
        "where outcome in ('unreachable', 'stale') group by site order by count(*) desc, site"
    )
    shown = [
        (site, int(lost), int(stale), first, last, ", ".join(sorted((causes or "").split(","))))
        for site, lost, stale, first, last, causes in rows[:_MOST_ROWS]
    ]
    said = (
        "While a robots.txt is unreachable, its last good copy is followed. Without one, every "
        "request to the site is refused."
    )
    columns = ("Site", "Refused", "By the last copy", "First", "Last", "Cause")
    title = "Sites whose robots.txt was unreachable"
    return Section("unreachable", title, said, columns, shown, None, _more(rows, "site"))


def _changes(tally: Tally) -> Section:
    rows = tally.query(
        "select site, version, min(time) as first, max(time), total(allowed), "
        "count(*) - total(allowed) from decision where version <> '' and site in "
        "(select site from decision where version <> '' group by site "
        "having count(distinct version) > 1) group by site, version order by site, first"
    )
    shown = [
        (site, _version_name(version), first, last, int(allowed), int(refused))
        for site, version, first, last, allowed, refused in rows[: 4 * _MOST_ROWS]
    ]
    said = "A version is known by the digest of its octets; its times are those of decisions."
    columns = ("Site", "Version", "First", "Last", "Allowed", "Refused")
    more = _more(rows, "version", most=4 * _MOST_ROWS)
    return Section("changes", "Rules that changed", said, columns, shown, None, more)


def _delays(tally: Tally) -> Section:
    rows = tally.query(
        "select site, min(delay), max(delay), count(*) as n from decision where delay > 0 "
        "group by site order by max(delay) desc, n desc, site"
    )
    shown = [
        (site, f"{least:g} s" if least == most else f"{least:g} to {most:g} s", number)
        for site, least, most, number in rows[:_MOST_ROWS]
    ]
    columns = ("Site", "Between requests", "Requests")
    title = "Delays that sites asked for"
    return Section("delays", title, "", columns, shown, None, _more(rows, "site"))


def _preferences(tally: Tally) -> Section:
    rows = tally.query(
        "select purpose, answer, count(*) as n, count(distinct site), "
        "count(*) - total(allowed) from use group by purpose, answer order by n desc, purpose"
    )
    shown = [(*row[:4], int(row[4])) for row in rows[:_MOST_ROWS]]
    columns = ("Purpose", "Said", "Requests", "Sites", "Refused")
    return Section("preferences", "Usage preferences met", "", columns, shown)


def _overrides(tally: Tally) -> Section:
    rows = tally.query(
        "select site, override, count(*) as n, allowed, without from decision "
        "where override is not null group by site, override, allowed, without "
        "order by n desc, site, override"
    )
    shown = [
        (site, *_parts(said), number, "allowed" if allowed else "refused", without or "")
        for site, said, number, allowed, without in rows[:_MOST_ROWS]
    ]
    columns = ("Site", "Override", "Reason", "By", "Until", "Requests", "Verdict", "Without it")
    more = _more(rows, "override")
    return Section("overrides", "Overrides used", "", columns, shown, None, more)


def _runs(tally: Tally) -> Section:
    rows = tally.query(
        "select known.run, coalesce(run.time, known.first) as start, known.last, agent, "
        "profile, run.decisions, known.number, known.refused from (select run, min(time) as "
        "first, max(time) as last, count(*) as number, count(*) - total(allowed) as refused "
        "from decision group by run) as known left join run using (run) order by start, 1"
    )
    shown = [
        (
            run[:8],
            first,
            last,
            agent or "not known",
            profile or "",
            kept or "",
            number,
            int(lost),
        )
        for run, first, last, agent, profile, kept, number, lost in rows[: 2 * _MOST_ROWS]
    ]
    columns = ("Run", "Start", "Last decision", "Agent", "Profile", "REP_DECISIONS",
               "Decisions", "Refused")  # fmt: skip
    more = _more(rows, "run", most=2 * _MOST_ROWS)
    return Section("runs", "Runs", "", columns, shown, None, more)


def _unread(tally: Tally) -> Section:
    rows = [
        (file.name, why.value, number)
        for file in tally.files
        for why, number in sorted(file.unread.items(), key=lambda one: one[0].value)
    ]
    columns = ("File", "Lines that are", "Number")
    return Section("unread", "Lines that were left out", "", columns, rows)


def _more(rows: Sequence[object], one: str, what: str = "", most: int = _MOST_ROWS) -> str:
    left = len(rows) - most
    if left <= 0:
        return ""
    return f"{left:,} more {one}{'s' * (left > 1)}{f' {what}' if what else ''}"


def _path(url: str, site: str) -> str:
    """Return a URL without its site, or the beginning of its digest."""
    if url.startswith("sha256:"):
        return url[:20] + "..."
    return url.removeprefix(site)[:80] or "/"


def _version_name(version: str) -> str:
    absent = {"unavailable": "no robots.txt", "denied": "access denied"}
    return absent.get(version) or version.removeprefix("sha256:")[:12]


def _parts(override: str) -> tuple[str, str, str, str]:
    """Return action, reason, person and end; text that is of another form is left whole."""
    if override == "without a name":
        return override, "dont_obey_robotstxt", "", ""
    known = _OVERRIDE.fullmatch(override)
    if known is not None:
        action, reason, by, until = known.groups()
        with suppress(ValueError):
            return action, reason, json.loads(by) if by[:1] == '"' else by, until
    return override, "", "", ""
