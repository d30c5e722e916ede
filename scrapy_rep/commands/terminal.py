"""What reaches a terminal: lines, tables, and colours where they are wanted."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from scrapy_rep.robotstxt.printable import escaped

_SPACE = "  "
"""What stands between two columns of a table."""
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def has_colours(stream: TextIO) -> bool:
    """Return True if a stream is a terminal whose user wants colours (https://no-color.org)."""
    environ = os.environ
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def painted(text: str, style: str) -> str:
    """Return text for stdout, in a style if that is a terminal with colours."""
    if not style or not has_colours(sys.stdout):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def say(text: str = "") -> None:
    """Write a line to stdout. What comes from outside must be escaped already."""
    sys.stdout.write(text + "\n")


def note(subcommand: str, reason: str) -> None:
    """Write one line to stderr: the subcommand and a reason."""
    name = f"scrapy robots {subcommand}" if subcommand else "scrapy robots"
    sys.stderr.write(f"{name}: {escaped(reason)}\n")


def aligned(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the cells of rows, escaped and padded to the widths of their columns."""
    cells = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells]


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if stdout is not a terminal, or is one that is wide enough for a table."""
    if not sys.stdout.isatty():
        return True
    columns = shutil.get_terminal_size().columns
    return all(len(_SPACE.join(row).rstrip()) <= columns for row in rows)


def table(rows: Iterable[Sequence[str]], styles: Sequence[str]) -> None:
    """Write aligned rows; ``styles`` are those of the first cells, row by row."""
    for (first, *others), style in zip(rows, styles, strict=True):
        say(_SPACE.join([painted(first, style), *others]).rstrip())


def duration(seconds: float) -> str:
    """Return seconds as a short text: ``4 s``, ``3 min``, ``5 h``, ``2 d``."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
