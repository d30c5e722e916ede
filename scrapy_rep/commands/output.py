"""How a subcommand speaks and ends: lines, JSON, colours, and the status with its reason."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, TextIO

from scrapy_rep.robotstxt.printable import escaped

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


class Status(IntEnum):
    """The exit statuses of ``scrapy robots``."""

    CLEAN = 0
    """All is allowed, or nothing was found."""
    FOUND = 1
    """Something is disallowed, or was found."""
    USAGE = 2
    """The command line or the input is not right."""
    UNKNOWN = 3
    """The rules could not be fetched or read."""
    INTERRUPTED = 130
    """Ended by SIGINT."""


class EndingError(Exception):
    """Ends the command with a status and a reason, one line for stderr."""

    def __init__(self, status: Status, reason: str):
        super().__init__(reason)
        self.status = status
        self.reason = reason


def usage_error(reason: str) -> EndingError:
    """Return the error that ends the command because of its options or its input."""
    return EndingError(Status.USAGE, reason)


def described(error: BaseException) -> str:
    """Return the kind of an error, and what it says."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def why(error: Exception) -> str:
    """Return what went wrong with a file, without its name and the number of the error.

    ``ValueError`` is what Python raises for a name that no file can have.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return "not a file name" if isinstance(error, ValueError) else str(error)


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


def say_json(subcommand: str, results: Sequence[Any]) -> None:
    """Write results as JSON, in the envelope that all subcommands share."""
    held = {"schema": f"scrapy_rep/{subcommand}/1", "results": results}
    say(json.dumps(held, indent=2))


def note(subcommand: str, reason: str) -> None:
    """Write one line to stderr: the subcommand and a reason. The status stands if that fails."""
    name = f"scrapy robots {subcommand}" if subcommand else "scrapy robots"
    try:
        sys.stderr.write(f"{name}: {escaped(reason)}\n")
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Discard what is left in a stream: Python ends with status 120 if it cannot be flushed."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def cell(value: object) -> str:
    """Return a value as a table has it: numbers with commas, nothing for None."""
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def table(rows: Sequence[Sequence[str]], room: float = math.inf) -> None:
    """Write rows of cells, the first of them the head, in aligned columns; numbers to the right.

    The last columns are left out if there is no room for them, in characters.
    """
    cells = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [_is_number(column[1:]) for column in zip(*cells, strict=True)]
    while len(widths) > 1 and sum(widths) + 2 * (len(widths) - 1) > room:
        widths.pop()
    for number, row in enumerate(cells):
        padded = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=False)
        ]
        line = "  ".join(padded).rstrip()
        say(line if number else painted(line, "bold"))


def _is_number(cells: Sequence[str]) -> bool:
    return all(cell.replace(",", "").isdigit() for cell in cells if cell)


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: ``1 site``, ``2,401 sites``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def duration(seconds: float) -> str:
    """Return seconds as a short text: ``4 s``, ``3 min``, ``5 h``, ``2 d``."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:g} s" if seconds < 10 else f"{seconds:.0f} s"
