"""What was refused: over time, by reason, by site and by rule."""

from __future__ import annotations

from collections import Counter

from scrapy_rep.reporting import figures
from scrapy_rep.reporting.layout import (
    MOST_ROWS,
    TEN,
    Cell,
    Section,
    Table,
    moment,
    name_of,
    number,
    percent,
    top,
)
from scrapy_rep.reporting.sites import Site, Why
from scrapy_rep.reporting.summary import Summary
from scrapy_rep.reporting.text import clipped, duration, plural

_KEY = (("allowed", "allowed"), ("refused", "refused"), ("unreachable", "robots.txt unreachable"))


def course(summary: Summary) -> Section:
    """The decisions over time."""
    total = summary.total
    section = Section("course", "Over time", [])
    if not summary.times.counts:
        section.said.append("No decision was recorded.")
        return section
    start, step, stacks = summary.times.columns(60)
    said = (
        f"{plural(total.decisions, 'decision')} from {moment(total.first)} to {moment(total.last)}"
        f" UTC, {total.refused:,} of them refusals"
    )
    section.said.append(f"Decisions in intervals of {duration(step)}. All times are UTC.")
    section.figure = figures.columns("Decisions over time", said, start, step, stacks)
    section.key = _KEY
    return section


def reasons(summary: Summary) -> Section:
    """Why requests were refused."""
    section = Section("reasons", "Why requests were refused", [])
    refused = summary.total.refused
    rows = [
        (Cell(why.value), number(count), Cell(percent(count / refused), "number", count / refused))
        for why, count in sorted(summary.whys.items(), key=lambda one: (-one[1], one[0].value))
    ]
    if not rows:
        section.said.append("No request was refused.")
        return section
    section.said.append(f"{plural(refused, 'request was', 'requests were')} refused.")
    section.tables.append(Table("Refusals by reason", ("Reason", "Requests", "Share"), rows))
    return section


def sites(summary: Summary) -> Section:
    """The sites that lost most requests."""
    found = top(summary.sites.items(), lambda site: site.refused)
    if len(found) == 1:
        title = "The site that lost most"
    else:
        title = f"The {_in_words(min(len(found), TEN))} sites that lost most"
    section = Section("sites", title if found else "Sites that lost most", [])
    if not found:
        section.said.append("No site lost a request.")
        return section
    ten = found[:TEN]
    rows = [
        (
            Cell(name_of(authority), "code"),
            number(site.refused),
            number(site.decisions),
            _mostly(site),
        )
        for authority, site in ten
    ]
    rest = summary.total.refused - sum(site.refused for _, site in ten)
    more = f"Other sites lost {plural(rest, 'request')}." if rest else ""
    columns = ("Site", "Refused", "Recorded", "Mostly by")
    section.tables.append(Table("Sites by refused requests", columns, rows, more))
    section.figure = figures.bars(
        "Refused requests by site",
        "; ".join(f"{name_of(authority)}: {site.refused:,}" for authority, site in ten),
        [_bar(authority, site) for authority, site in ten],
    )
    section.key = _KEY[1:]
    return section


def _bar(authority: str, site: Site) -> figures.Bar:
    failed = site.whys.get(Why.UNREACHABLE, 0)
    parts = (
        figures.Part(site.refused - failed, figures.REFUSED),
        figures.Part(failed, figures.UNREACHABLE),
    )
    said = f"{site.refused:,} of {site.decisions:,}"
    return figures.Bar(name_of(authority), said, tuple(part for part in parts if part.size))


def _mostly(site: Site) -> Cell:
    """Return what refused most requests to a site: a rule, or another reason."""
    why = max(site.whys, key=lambda why: (site.whys[why], why.value))
    if why is not Why.RULE:
        return Cell(why.value)
    counts: Counter[str] = Counter()
    for version in site.versions.values():
        for verdict, count in (version.rules or {}).items():
            counts[verdict.rule or ""] += count.decisions
    ordered = sorted(counts, key=lambda rule: (-counts[rule], rule))[:1]
    return Cell(ordered[0], "code") if ordered else Cell(why.value)


def rules(summary: Summary) -> Section:
    """The rules that refused most requests."""
    section = Section("rules", "The rules that refused most", [])
    found = top(summary.rules.items(), lambda count: count.decisions)
    if not found:
        section.said.append("No rule refused a request.")
        return section
    section.said.append(
        "The line is that of the robots.txt; the example is the first URL that it refused."
    )
    rows = [
        (
            Cell(rule.verdict.rule or "", "code"),
            Cell(name_of(rule.authority), "code"),
            Cell("" if rule.verdict.line is None else f"{rule.verdict.line:,}", "number"),
            Cell(clipped(rule.verdict.group or "", 40)),
            number(count.decisions),
            Cell(_path(count.example, rule.authority), "code"),
        )
        for rule, count in found[:MOST_ROWS]
    ]
    columns = ("Rule", "Site", "Line", "Group", "Requests", "Example")
    rest = summary.whys[Why.RULE] - sum(count.decisions for _, count in found[:MOST_ROWS])
    more = f"Other rules refused {plural(rest, 'request')}." if rest else ""
    section.tables.append(Table("Rules by refused requests", columns, rows, more))
    return section


def _path(url: str, authority: str) -> str:
    """Return a URL without its authority, or the beginning of its digest."""
    if url.startswith("sha256:"):
        return clipped(url, 20)
    return clipped(url.removeprefix(authority), 80) or "/"


def _in_words(count: int) -> str:
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[count - 1]
