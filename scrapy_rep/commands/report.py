"""``scrapy robots report``: what do decision logs say?"""

from __future__ import annotations

import math
import os
import shutil
import sys
from argparse import Namespace
from contextlib import closing
from typing import Any

from scrapy_rep.commands.crawl import Project
from scrapy_rep.commands.output import (
    EndingError,
    Status,
    cell,
    counted,
    note,
    painted,
    say,
    say_json,
    table,
)
from scrapy_rep.commands.sources import STDIN, opened, refuse_stdin_twice, refuse_to_overwrite
from scrapy_rep.records.tally import Tally, sections
from scrapy_rep.robotstxt.printable import escaped

_MOST_ROWS = 5
"""Rows of a table that a summary shows."""
_WIDEST = 40
"""Characters of a cell that a summary shows."""


def run(project: Project, options: Namespace) -> Status:
    """Print a summary, or write the page."""
    if options.output is not None and options.format != "text":
        raise EndingError("--format is for the summary, -o for the page: give one of them")
    refuse_stdin_twice(*options.logs)
    refuse_to_overwrite(options.output, *options.logs)
    with closing(Tally()) as tally:
        for name in options.logs:
            with opened(name) as stream:
                if not tally.add(stream):
                    raise EndingError(f"{name}: it is not a decision log")
        tally.end()
        if options.output is None:
            _summarise(tally, options.format)
        else:
            _write_page(tally, options.output)
    return Status.CLEAN


def _summarise(tally: Tally, form: str) -> None:
    totals = tally.totals
    if form == "json":
        tables = [
            {"name": one.name, "columns": one.columns, "rows": one.rows, "more": one.more}
            for one in sections(tally)
        ]
        say_json("report", [{"totals": totals, "sections": tables}])
        return
    say(_totals(totals))
    if totals["first"]:
        say(f"{totals['first']} to {totals['last']} UTC")
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf
    for section in sections(tally):
        say()
        say(painted(section.title, "bold"))
        rows = [section.columns, *section.rows[:_MOST_ROWS]]
        table([[_shown(value) for value in row] for row in rows], room)
        if len(section.rows) > _MOST_ROWS or section.more:
            say("...")
    if not totals["is_complete"]:
        note("report", 'not every decision is in these logs: REP_DECISIONS was not "all"')


def _totals(totals: dict[str, Any]) -> str:
    text = f"{counted(totals['decisions'], 'decision')}, {totals['refused']:,} of them refusals"
    text += f", on {counted(totals['sites'], 'site')}"
    unread = totals["unread"]
    return text + (f"; {counted(unread, 'line')} could not be read" if unread else "")


def _shown(value: object) -> str:
    """Return a cell that is not too wide."""
    text = cell(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def _write_page(tally: Tally, name: str) -> None:
    """Write the page; only its owner can read a new one, as the log."""
    from scrapy_rep.records.page import page

    octets = page(tally).encode()
    if name == STDIN:
        sys.stdout.buffer.write(octets)
        return
    with open(name, "wb", opener=lambda path, how: os.open(path, how, 0o600)) as file:
        file.write(octets)
    say(f"{escaped(name)}: {_totals(tally.totals)}")
