"""The directive ``generated-table``: a table made from one in the package.

``.. generated-table:: statuses`` shows what a status means, ``transitions`` what a fetch changes,
``decisions`` what happens to a request, and ``states`` why a site is parked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from scrapy_rep.access import outcome, policy
from scrapy_rep.frontier import states

Table = tuple[Sequence[str], Iterable[Sequence[str]]]


def statuses() -> Table:
    """Return what a status code of a robots.txt means, first match first."""
    rows = [
        (str(status), f"{outcome.Meaning.UNREACHABLE.value}, but not in the profile google", why)
        for status, why in outcome.NOT_NOW.items()
    ]
    rows += [
        (str(first) if first == last else f"{first} to {last}", meaning.value, section)
        for first, last, meaning, section in outcome.STATUS_MEANINGS
    ]
    rest = ("any other, and none", "unreachable", "a failure is never permission")
    return ("Status, first match", "Means", "Section"), [*rows, rest]


def transitions() -> Table:
    """Return what a fetch changes in what is known of a site."""
    rows = [(meaning.value, row.effect, row.section) for meaning, row in policy.TRANSITIONS.items()]
    return ("A fetch ends as", "Then", "Section"), rows


def decisions() -> Table:
    """Return what happens to a request, and whether robots.txt is fetched."""
    rows = [
        (state.value, row.decision.value, row.fetch.value, row.section)
        for state, row in policy.DECISIONS.items()
    ]
    return ("What is known", "A request", "A fetch", "Section"), rows


def parked() -> Table:
    """Return why a site is parked, and until when: the first table of the module's docstring."""
    head, _, *lines = (states.__doc__ or "").partition("|")[2].partition("\n\n")[0].splitlines()
    rows: list[list[str]] = []
    for line in lines:
        state, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if state:
            rows.append([f"``{state}``", *cells])
        else:  # the line before goes on
            rows[-1][1:] = [" ".join(parts) for parts in zip(rows[-1][1:], cells, strict=True)]
    return [cell.strip().capitalize() for cell in head.strip("|").split("|")], rows


TABLES = {
    "statuses": statuses,
    "transitions": transitions,
    "decisions": decisions,
    "states": parked,
}


def list_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a reStructuredText table."""
    lines = [".. list-table::", "    :header-rows: 1", ""]
    for row in (head, *rows):
        lines += [f"    {'*' if n == 0 else ' '} - {cell}" for n, cell in enumerate(row)]
    return lines


class GeneratedTable(SphinxDirective):
    """Put one of the tables into the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table's node."""
        lines = list_table(*TABLES[self.arguments[0]]())
        return self.parse_content_to_nodes_of(lines)

    def parse_content_to_nodes_of(self, lines: list[str]) -> list[nodes.Node]:
        """Return what Sphinx makes of lines of reStructuredText."""
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, self.get_source_info()[0]), 0, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("generated-table", GeneratedTable)
    return {"parallel_read_safe": True}
