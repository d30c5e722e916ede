"""The report as one page of HTML that needs nothing besides itself.

It has no script and loads nothing. Text from outside appears as text: Jinja2 escapes it, and what
cannot be seen becomes visible before that.
"""

from __future__ import annotations

from importlib.resources import files as resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from scrapy_rep.records.tally import Tally, sections
from scrapy_rep.robotstxt.printable import escaped

_CODE = frozenset({"Rule", "Example", "Mostly by", "Version", "Run", "Site"})
"""Columns whose cells are set as code."""
_LONGEST = 1_000
"""Characters of a cell that are shown."""
_TIMES = frozenset({"First", "Last", "Start"})
"""Columns whose cells stay in one line."""


def page(tally: Tally) -> str:
    """Return the page; the same for the same logs."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = resources("scrapy_rep.records").joinpath("report.html").read_text("utf-8")
    course = tally.course()
    return environment.from_string(template).render(
        totals=tally.totals,
        sections=[*sections(tally)],
        course=course,
        highest=max(map(sum, course), default=0),
        code=_CODE,
        times=_TIMES,
    )


def _visible(value: Any) -> Any:
    """Return what a template prints: escapes for what cannot be seen, commas in numbers.

    Texts are cut: a rule may be as long as a robots.txt.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return escaped(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")
    return f"{value:,}" if isinstance(value, int) else "" if value is None else value
