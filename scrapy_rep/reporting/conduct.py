"""What sites did: failures, delays, changes of their rules, preferences."""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_rep.reporting import figures
from scrapy_rep.reporting.bounded import Timeline
from scrapy_rep.reporting.layout import (
    MOST_ROWS,
    TEN,
    Cell,
    Section,
    Table,
    moment,
    name_of,
    number,
    others,
    top,
)
from scrapy_rep.reporting.sites import Count, Delays, Version
from scrapy_rep.reporting.summary import Summary
from scrapy_rep.reporting.text import clipped, duration, plural

_MOST_VERSIONS = 8


def unreachable(summary: Summary) -> Section:
    """The sites whose robots.txt was unreachable, and when."""
    section = Section("unreachable", "Sites whose robots.txt was unreachable", [])
    found = [
        (authority, site.failures)
        for authority, site in top(
            summary.sites.items(),
            lambda site: site.failures.decisions if site.failures is not None else 0,
        )
        if site.failures is not None
    ]
    if not found:
        section.said.append("The robots.txt of every site could be fetched.")
        return section
    section.said.append(
        "While a robots.txt is unreachable, its last good copy is followed. Without one, every "
        "request to the site is refused. The times are those of the requests, not of the failures."
    )
    rows = [
        (
            Cell(name_of(authority), "code"),
            number(one.refused),
            number(one.stale),
            Cell(moment(one.first), "time"),
            Cell(moment(one.last), "time"),
            Cell(_causes(one.causes.items())),
        )
        for authority, one in found[:MOST_ROWS]
    ]
    columns = ("Site", "Refused", "Last copy used", "First", "Last", "Cause")
    more = others(len(found), "site")
    section.tables.append(Table("Unreachable robots.txt by site", columns, rows, more))
    first = min(min(one.times.counts) * one.times.width for _, one in found[:TEN])
    last = max((max(one.times.counts) + 1) * one.times.width for _, one in found[:TEN])
    section.figure = figures.times(
        "When a robots.txt was unreachable",
        "; ".join(f"{name_of(a)}: {moment(o.first)} to {moment(o.last)}" for a, o in found[:TEN]),
        [
            figures.Row(
                name_of(authority),
                plural(one.decisions, "request"),
                _intervals(one.times, (last - first) / 40),
            )
            for authority, one in found[:TEN]
        ],
        first,
        last,
    )
    return section


def _intervals(times: Timeline, gap: float) -> tuple[tuple[float, float], ...]:
    """Return when there were requests; what is less than a gap apart is drawn as one."""
    found: list[tuple[float, float]] = []
    for at in sorted(times.counts):
        start, end = float(times.width * at), float(times.width * (at + 1))
        if found and start - found[-1][1] < gap:
            start = found.pop()[0]
        found.append((start, end))
    return tuple(found)


def _causes(causes: Iterable[tuple[str, Count]]) -> str:
    ordered = sorted(causes, key=lambda one: (-one[1].decisions, one[0]))
    return ", ".join(f"{clipped(cause, 40)} ({count.decisions:,})" for cause, count in ordered)


def delays(summary: Summary) -> Section:
    """The delays that sites asked for, and what they cost."""
    section = Section("delays", "Delays that sites asked for", [])
    found = [
        (authority, site.delays)
        for authority, site in top(
            summary.sites.items(),
            lambda site: _cost(site.delays),
        )
        if site.delays is not None
    ]
    if not found:
        section.said.append("No site whose requests are recorded asked for a delay.")
        return section
    section.said.append(
        f"{plural(len(found), 'site')} asked for a delay between requests. Keeping it took about "
        f"{duration(summary.cost)} of waiting, over all sites; sites wait side by side. The "
        "figures count one interval for each recorded request, except the first of a run."
    )
    rows = [
        (
            Cell(name_of(authority), "code"),
            Cell(_between(one.least, one.longest), "number"),
            number(one.requests),
            Cell(duration(one.cost), "number"),
        )
        for authority, one in found[:MOST_ROWS]
    ]
    columns = ("Site", "Asked for", "Requests", "Cost")
    more = others(len(found), "site")
    section.tables.append(Table("Delays by site", columns, rows, more))
    return section


def _cost(delays: Delays | None) -> float:
    """Return what orders the sites: the cost of their delays, then the number of requests."""
    return 0.0 if delays is None else delays.cost + delays.requests * 1e-6


def _between(least: float, longest: float) -> str:
    return duration(longest) if least == longest else f"{duration(least)} to {duration(longest)}"


def changes(summary: Summary) -> Section:
    """The sites with several versions of their rules."""
    section = Section("changes", "Rules that changed", [])
    found = [
        (authority, sorted(site.versions.items(), key=lambda one: (one[1].first, one[0])))
        for authority, site in summary.sites.items()
        if len(site.versions) > 1
    ]
    found.sort(key=lambda one: (-sum(v.decisions for _, v in one[1]), one[0]))
    if not found:
        section.said.append("No recorded site changed its rules.")
        return section
    whose = "its" if len(found) == 1 else "their"
    section.said.append(
        f"{plural(len(found), 'site')} changed {whose} rules while requests were recorded. A "
        "version is known by the digest of its octets (SHA-256); its times are those of the "
        "decisions."
    )
    rows = []
    for authority, versions in found[:TEN]:
        rows += [_version(authority, *one) for one in versions[:_MOST_VERSIONS]]
        if len(versions) > _MOST_VERSIONS:
            left = plural(len(versions) - _MOST_VERSIONS, "later version")
            rows.append((Cell(name_of(authority), "code"), Cell(f"and {left}"), *[Cell("")] * 5))
    columns = ("Site", "Version", "First", "Last", "Allowed", "Refused", "Rules that refused")
    more = others(len(found), "site", TEN)
    section.tables.append(Table("Versions of robots.txt by site", columns, rows, more))
    return section


def _version(authority: str, key: str, version: Version) -> tuple[Cell, ...]:
    absent = {"unavailable": "no robots.txt", "denied": "access denied"}
    name = absent.get(key) or key.removeprefix("sha256:")[:12]
    rules = top((version.rules or {}).items(), lambda count: count.decisions)[:3]
    said = ", ".join(f"{verdict.rule} ({count.decisions:,})" for verdict, count in rules)
    return (
        Cell(name_of(authority), "code"),
        Cell(name, "word" if key in absent else "digest"),
        Cell(moment(version.first), "time"),
        Cell(moment(version.last), "time"),
        number(version.allowed),
        number(version.refused),
        Cell(said, "code"),
    )


def preferences(summary: Summary) -> Section:
    """What sites say about the use of their pages."""
    section = Section("preferences", "Usage preferences met", [])
    found = sorted(summary.preferences.items(), key=lambda one: (-one[1].decisions, one[0]))
    if not found:
        section.said.append("No preference about the use of pages is recorded.")
        return section
    section.said.append("What robots.txt files said about the use of the pages requested.")
    rows = [
        (
            Cell(clipped(purpose, 60)),
            Cell(clipped(answer, 60)),
            number(one.decisions),
            number(one.sites),
            number(one.refused),
        )
        for (purpose, answer), one in found[:MOST_ROWS]
    ]
    columns = ("Purpose", "Said", "Requests", "Sites", "Refused")
    more = others(len(found), "statement")
    section.tables.append(Table("Preferences by purpose", columns, rows, more))
    return section
