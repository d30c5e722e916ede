"""What docs/guides/command.rst shows: files, commands, and what they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "command.rst"
_FILE = re.compile(r"\.\. code-block:: text\n    :caption: (\S+)\n\n((?:    .*\n|\n)+)")
_CONSOLE = re.compile(r"\.\. code-block:: console\n\n((?:    .*\n|\n(?=    |\n    ))+)")


class Shown(NamedTuple):
    """A command of the page, and what it prints there."""

    words: list[str]
    out: str


def files() -> dict[str, str]:
    """The files of the page, by name."""
    return {
        name: dedent(text).rstrip("\n") + "\n" for name, text in _FILE.findall(PAGE.read_text())
    }


def commands() -> Iterator[Shown]:
    """The commands of the page, in order."""
    for block in _CONSOLE.findall(PAGE.read_text()):
        for part in re.split(r"^\$ ", dedent(block), flags=re.MULTILINE)[1:]:
            line, _, out = part.partition("\n")
            yield Shown(shlex.split(line), out.rstrip("\n"))
