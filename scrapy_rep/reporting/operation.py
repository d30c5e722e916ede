"""What the operator did: overrides, runs and their settings, and the files of the log."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from scrapy_rep.reporting.layout import (
    MOST_ROWS,
    Cell,
    Section,
    Table,
    moment,
    name_of,
    number,
    others,
    top,
)
from scrapy_rep.reporting.lines import LoggedVerdict
from scrapy_rep.reporting.sites import Count
from scrapy_rep.reporting.summary import RunCount, Summary, UsedOverride
from scrapy_rep.reporting.text import clipped, plural

_MOST_SETUPS = 5
_MOST_FILES = 50
_OVERRIDE = re.compile(
    r'([a-z-]+), entry \d+: (.*) \(("(?:[^"\\]|\\.)*"|[^("]*), until (\d{4}-\d\d-\d\d)\)', re.DOTALL
)
"""Action, reason, person and end. A person with a parenthesis or a quotation mark is in JSON."""


def overrides(summary: Summary) -> Section:
    """The overrides that changed decisions."""
    section = Section("overrides", "Overrides used", [])
    found = top(summary.overrides.items(), lambda count: count.decisions)
    if not found:
        section.said.append("No override changed a decision.")
        return section
    section.said.append(
        f"Overrides decided {plural(summary.overridden, 'request')}. Each row has the verdict with "
        "the override and the one without it."
    )
    rows = [_override_row(used, count) for used, count in found[:MOST_ROWS]]
    columns = ("Site", "Override", "Reason", "By", "Until", "Requests", "Verdict", "Without it")
    more = others(len(found), "override")
    section.tables.append(Table("Overrides by site", columns, rows, more))
    return section


def _override_row(used: UsedOverride, count: Count) -> tuple[Cell, ...]:
    action, reason, by, until = _parts(used.override)
    return (
        Cell(name_of(used.authority), "code"),
        Cell(action),
        Cell(reason),
        Cell(by),
        Cell(until, "time"),
        number(count.decisions),
        Cell("allowed" if used.allowed else "refused", "word"),
        Cell(_told(used.without)),
    )


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


def _told(verdict: LoggedVerdict | None) -> str:
    if verdict is None:
        return "not known"
    word = "allowed" if verdict.allowed else "refused"
    if verdict.rule is None:
        return f"{word}: {verdict.reason}"
    return f"{word}: {verdict.rule}, line {verdict.line}"


def runs(summary: Summary) -> Section:
    """The runs, those with the same settings together."""
    section = Section("runs", "Runs and their settings", [])
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[str, RunCount]]] = {}
    lost = 0
    for crawl, one in summary.runs.items():
        if one.run is None:
            lost += 1
        else:
            groups.setdefault((one.run.agent, one.run.settings), []).append((crawl, one))
    found = sorted(groups.items(), key=lambda one: min(map(_start_of, one[1])))
    known = sum(map(len, groups.values()))
    section.said.append(f"{plural(known + lost, 'run')} with {plural(len(groups), 'setup')}.")
    if lost:
        section.said.append(
            f"The first line of {plural(lost, 'run')} is missing from the log: its settings are "
            "not known."
        )
    for at, ((agent, settings), members) in enumerate(found[:_MOST_SETUPS], start=1):
        title = f"Setup {at}" if len(found) > 1 else "Setup"
        rows = [(Cell("product tokens"), Cell(agent, "code"))]
        rows += [(Cell(name, "code"), Cell(value, "code")) for name, value in settings]
        section.tables.append(_runs_of(title, members))
        section.tables.append(Table(f"{title}: settings", ("Setting", "Value"), rows))
    if len(found) > _MOST_SETUPS:
        section.said.append(f"{_MOST_SETUPS} setups are shown, those of the first runs.")
    return section


def _start_of(one: tuple[str, RunCount]) -> tuple[str, str]:
    crawl, count = one
    return ("" if count.run is None else count.run.time), crawl


def _runs_of(title: str, members: list[tuple[str, RunCount]]) -> Table:
    members.sort(key=_start_of)
    rows = []
    for crawl, one in members[:MOST_ROWS]:
        start = "" if one.run is None else one.run.time
        rows.append(
            (
                Cell(crawl[:8], "digest"),
                Cell(moment(start), "time"),
                Cell(moment(one.last), "time"),
                number(one.decisions),
                number(one.refused),
            )
        )
    columns = ("Run", "Start", "Last decision", "Decisions", "Refused")
    return Table(f"{title}: runs", columns, rows, others(len(members), "run"))


def files(summary: Summary) -> Section:
    """The files, and the lines of them that could not be read."""
    section = Section("files", "What was read", [])
    rows = [
        (Cell(clipped(file.name, 200), "code"), number(file.lines), number(file.read))
        for file in summary.files[:_MOST_FILES]
    ]
    more = others(len(summary.files), "file", _MOST_FILES)
    section.tables.append(Table("Files", ("File", "Lines", "Read"), rows, more))
    unread = [
        (
            Cell(clipped(file.name, 200), "code"),
            Cell(why.value),
            number(count),
            Cell(_numbers(file.numbers[why], count)),
        )
        for file in summary.files
        for why, count in sorted(file.unread.items(), key=lambda one: one[0].value)
    ]
    if unread:
        section.said.append(f"{plural(summary.unread, 'line')} could not be read.")
        columns = ("File", "Lines that are", "Number", "Where")
        more = others(len(unread), "row", _MOST_FILES)
        section.tables.append(
            Table("Lines that were left out", columns, unread[:_MOST_FILES], more)
        )
    else:
        section.said.append("Every line could be read.")
    return section


def _numbers(numbers: list[int], count: int) -> str:
    listed = ", ".join(f"{number:,}" for number in numbers)
    return f"line {listed}" + (" and later" if count > len(numbers) else "")
