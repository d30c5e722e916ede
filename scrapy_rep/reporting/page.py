"""The report as one page of HTML that needs nothing besides itself.

It has no script and loads nothing. Text from outside appears as text: Jinja2 escapes it, and what
cannot be seen becomes visible before that.
"""

from __future__ import annotations

from importlib.resources import files as resources
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from scrapy_rep.reporting.conduct import changes, delays, preferences, unreachable
from scrapy_rep.reporting.layout import moment, percent
from scrapy_rep.reporting.operation import files, overrides, runs
from scrapy_rep.reporting.refusals import course, reasons, rules, sites
from scrapy_rep.reporting.summary import Summary
from scrapy_rep.reporting.text import plural, shown

_SECTIONS = (
    course,
    reasons,
    sites,
    rules,
    unreachable,
    delays,
    changes,
    preferences,
    overrides,
    runs,
    files,
)


class Tile(NamedTuple):
    """One of the key figures; ``name`` is the anchor of its section."""

    figure: str
    what: str
    name: str


def page(summary: Summary) -> str:
    """Return the page; the same for the same logs."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = resources("scrapy_rep.reporting").joinpath("report.html").read_text("utf-8")
    return environment.from_string(template).render(
        period=_period(summary),
        tiles=_tiles(summary),
        notes=_notes(summary),
        sections=[section(summary) for section in _SECTIONS],
        markup=Markup,
    )


def _visible(value: object) -> object:
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _period(summary: Summary) -> str:
    total = summary.total
    if not total.decisions:
        return "No decisions"
    return f"{moment(total.first)} to {moment(total.last)} UTC"


def _tiles(summary: Summary) -> list[Tile]:
    """Return the figures to know first."""
    total, known = summary.total, summary.sites
    count = f"{len(known):,}" if not known.dropped else f"over {summary.most_sites:,}"
    failed = sum(site.failures is not None for site in known.values())
    changed = sum(len(site.versions) > 1 for site in known.values())
    share = f" ({percent(total.refused / total.decisions)})" if total.refused else ""
    return [
        Tile(f"{total.decisions:,}", "decisions recorded", "course"),
        Tile(f"{total.refused:,}", f"requests refused{share}", "reasons"),
        Tile(count, _noun(len(known), "site"), "sites"),
        Tile(f"{failed:,}", f"{_noun(failed, 'site')} unreachable", "unreachable"),
        Tile(f"{changed:,}", f"{_noun(changed, 'site')} with new rules", "changes"),
        Tile(
            f"{summary.overridden:,}",
            _noun(summary.overridden, "decision") + " by override",
            "overrides",
        ),
    ]


def _noun(number: int, one: str) -> str:
    return plural(number, one).rpartition(" ")[2]


def _notes(summary: Summary) -> list[str]:
    """Return what a reader has to know of the figures."""
    notes = []
    if not summary.is_complete:
        notes.append(
            'Not every decision is in this log. Without REP_DECISIONS = "all" it holds refusals, '
            "the first decision for each site and version of its rules, and overrides: more "
            "requests were allowed than are counted here."
        )
    dropped = [
        what
        for one, what in (
            (summary.sites, "sites"),
            (summary.rules, "rules"),
            (summary.overrides, "overrides"),
            (summary.runs, "runs"),
        )
        if one.dropped
    ]
    if dropped:
        notes.append(
            f"The log names more {' and '.join(dropped)} than a report keeps apart. Those with the "
            "fewest requests were dropped, so figures by site or rule may be too low. Totals are "
            "exact."
        )
    if summary.unread:
        notes.append(
            f"{plural(summary.unread, 'line')} could not be read; see the end of the page."
        )
    return notes
