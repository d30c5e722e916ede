"""The parts of a report before they become HTML: sections, tables, cells, and their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from scrapy_rep.reporting.text import plural

MOST_ROWS = 20
TEN = 10

Item = TypeVar("Item")
Value = TypeVar("Value")


class Cell(NamedTuple):
    """A cell of a table: ``share``, from 0 to 1, draws a bar beside the text.

    ``kind`` is "number", "time", "code", "digest", "word", which is never broken, or "".
    """

    text: str
    kind: str = ""
    share: float | None = None


class Table(NamedTuple):
    """A table. ``more`` says what was left out."""

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    more: str = ""


@dataclass
class Section:
    """A section; ``name`` is the anchor, ``figure`` a figure as SVG, ``key`` its colours."""

    name: str
    title: str
    said: list[str]
    tables: list[Table] = field(default_factory=list)
    figure: str = ""
    key: tuple[tuple[str, str], ...] = ()


def name_of(authority: str) -> str:
    """Return what a site is called; https needs no mention."""
    return authority.removeprefix("https://") or "(no site)"


def moment(time: str) -> str:
    """Return a time of the log, to the second."""
    return time[:19].replace("T", " ")


def number(count: int) -> Cell:
    """Return a cell with a number."""
    return Cell(f"{count:,}", "number")


def percent(share: float) -> str:
    """Return a share as text: 0.3%, 12%."""
    return f"{share * 100:.0f}%" if share >= 0.0995 or share == 0 else f"{share * 100:.2g}%"


def top(
    items: Iterable[tuple[Item, Value]], size: Callable[[Value], float]
) -> list[tuple[Item, Value]]:
    """Return the items that have a size, the largest first; equal ones by name."""
    sized = [(size(value), name, value) for name, value in items]
    sized.sort(key=lambda one: (-one[0], repr(one[1])))
    return [(name, value) for much, name, value in sized if much]


def others(count: int, what: str, most: int = MOST_ROWS) -> str:
    """Return what a table says of the rows that it leaves out."""
    return f"And {plural(count - most, f'other {what}')}." if count > most else ""
