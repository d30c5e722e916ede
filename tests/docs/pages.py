"""The documentation, as the tests read it: their text, their blocks of code, and their settings."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from tests.crawl.harness import ROOT

DOCS = ROOT / "docs"
README = ROOT / "README.rst"
PAGES = [README, *sorted(path for path in DOCS.rglob("*.rst") if "_build" not in path.parts)]

_BLOCK = re.compile(r"^\.\. code-block:: python\n(?: +:.*\n)*\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
_SETTING = re.compile(
    r"^\.\. setting:: (?P<name>\w+)\n\n``(?P=name)``\n-+\n\n"
    r":Type: (?P<type>.+)\n:Default: ``(?P<default>.+)``\n:Example: ``(?P<example>.+)``\n\n"
    r"(?P<text>(?:.|\n)*?)(?=^\.\. setting:: |^\S.*\n====|\Z)",
    re.MULTILINE,
)


class Setting(NamedTuple):
    """A section of the reference."""

    name: str
    type: str
    default: str
    example: str
    text: str


def name_of(page: Path) -> str:
    """The path of a page in the top folder."""
    return str(page.relative_to(ROOT))


@cache
def blocks() -> tuple[tuple[str, str], ...]:
    """Each block of Python with the page that it is in."""
    return tuple(
        (name_of(page), dedent(block))
        for page in PAGES
        for block in _BLOCK.findall(page.read_text("utf-8") + "\n")
    )


def block_with(words: str, page: str = "") -> str:
    """The one block of Python that holds the words, on that page if there is one."""
    [found] = [block for where, block in blocks() if words in block and page in where]
    return found


def executed(block: str) -> dict[str, Any]:
    """The names that a block of Python defines."""
    names: dict[str, Any] = {"__name__": "documentation"}
    exec(compile(block, "documentation", "exec"), names)
    return names


@cache
def settings() -> dict[str, Setting]:
    """The settings of the reference by name."""
    text = (DOCS / "reference" / "settings.rst").read_text("utf-8")
    found = [Setting(**match.groupdict()) for match in _SETTING.finditer(text)]
    assert len(found) == text.count(".. setting::"), "a section does not have the usual form"
    return {setting.name: setting for setting in found}


def described(kind: str, page: str) -> set[str]:
    """What a page of the reference describes: ``.. stat:: NAME``, followed by the name."""
    text = (DOCS / page).read_text("utf-8")
    found = re.findall(rf"^\.\. {kind}:: (\S+)\n\n``\1", text, re.MULTILINE)
    assert len(found) == text.count(f".. {kind}::")
    return set(found)
