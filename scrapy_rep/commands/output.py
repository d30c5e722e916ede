"""How a subcommand speaks and ends: lines, JSON, colours, and the status with its reason."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, TextIO

from scrapy_rep.records import EXTRAS, needs
from scrapy_rep.robotstxt.printable import escaped, without_logins

logger = logging.getLogger("scrapy_rep")

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


class Status(IntEnum):
    """The exit statuses of ``scrapy robots``."""

    CLEAN = 0
    """None of the others applies."""
    FOUND = 1
    """Something is disallowed, or found, or the store knows nothing of it."""
    USAGE = 2
    """The command line or the input is not right."""
    UNKNOWN = 3
    """The rules could not be fetched or read."""
    INTERRUPTED = 130
    """Ended by SIGINT."""


class EndingError(Exception):
    """Ends the command with a status and a reason, one line for stderr.

    The status is :attr:`Status.USAGE`, a mistake in the options or the input, unless another is
    given.
    """

    def __init__(self, reason: str, status: Status = Status.USAGE):
        super().__init__(reason)
        self.status = status


def described(error: BaseException) -> str:
    """Return the kind of an error, and what it says."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def ending(error: BaseException) -> EndingError:
    """Return the error that ends the command after any other; a log has more, if asked for."""
    if isinstance(error, EndingError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return EndingError("interrupted", Status.INTERRUPTED)
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return EndingError(f"this {needs(error.name)}")
    if isinstance(error, OSError):
        of_file = f"{error.filename}: " if error.filename else ""
        return EndingError(f"{of_file}{error.strerror or described(error)}")
    logger.debug("A fault of scrapy_rep", exc_info=error)
    return EndingError(f"a fault of scrapy_rep: {described(error)}")


def painted(text: str, style: str) -> str:
    """Return text for stdout, in a style if that is a terminal whose user wants colours.

    See https://no-color.org.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if not style or is_plain or not sys.stdout.isatty():
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def say(text: str = "") -> None:
    """Write a line to stdout. What comes from outside must be escaped already.

    If the reader has closed the pipe, as ``grep -q`` does, the status still says what was found.
    """
    try:
        sys.stdout.write(text + "\n")
    except BrokenPipeError:
        silence(sys.stdout)


def say_json(subcommand: str, results: Sequence[Any]) -> None:
    """Write results as JSON, in the envelope that all subcommands share."""
    held = {"schema": f"scrapy_rep/{subcommand}/1", "results": results}
    say(json.dumps(held, indent=2))


def note(subcommand: str, reason: str) -> None:
    """Write one line to stderr: the subcommand and a reason. The status stands if that fails."""
    try:
        sys.stderr.write(f"scrapy robots {subcommand}: {escaped(without_logins(reason))}\n")
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


def table(rows: Sequence[Sequence[object]], room: float = math.inf) -> None:
    """Write rows of values, the first of them the head, in aligned columns; numbers to the right.

    The last columns are left out if there is no room for them, in characters.
    """
    cells = [[escaped(cell(value)) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [_is_number(column[1:]) for column in zip(*cells, strict=True)]
    while len(widths) > 1 and sum(widths) + 2 * (len(widths) - 1) > room:
        widths.pop()
    for number, row in enumerate(cells):
        padded = [
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, right, strict=False)
        ]
        line = "  ".join(padded).rstrip()
        say(line if number else painted(line, "bold"))


def _is_number(cells: Sequence[str]) -> bool:
    return all(cell.replace(",", "").isdigit() for cell in cells if cell)


def counted(number: int, one: str) -> str:
    """Return a number with its noun: ``1 site``, ``2,401 sites``."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def listed(counts: Counter[str], names: Sequence[str]) -> str:
    """Return the counts that are not zero, with their names: ``6 allowed, 1 undecided``."""
    return ", ".join(f"{counts[name]:,} {name}" for name in names if counts[name])
