"""What docs/reference/lint-codes.rst says about each code, and its examples."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import docutils.core
import docutils.nodes
from docutils.parsers.rst import Directive, directives

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "lint-codes.rst"


class Described(NamedTuple):
    """A code as the page describes it: an example that it reports, one that it does not."""

    name: str
    severity: str
    source: str
    meaning: str
    bad: bytes
    good: bytes


class _Include(Directive):
    """Sphinx's literalinclude, which docutils does not know."""

    has_content = False
    required_arguments = 1
    option_spec = {"language": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[docutils.nodes.Node]:
        """A block with the text of the file."""
        text = (PAGE.parent / self.arguments[0]).read_text("utf-8")
        return [docutils.nodes.literal_block(text, text)]


@cache
def described() -> dict[str, Described]:
    """All codes of the page, in its order."""
    directives.register_directive("literalinclude", _Include)
    plain = {"halt_level": 2, "report_level": 2}
    document = docutils.core.publish_doctree(
        PAGE.read_text("utf-8"), str(PAGE), settings_overrides=plain
    )
    found = [_described(section) for section in document.findall(docutils.nodes.section)]
    return {one.name: one for one in found}


def _described(section: docutils.nodes.section) -> Described:
    [severity, source] = [field[1].astext() for field in section.findall(docutils.nodes.field)]
    [bad, good] = [_octets(block) for block in section.findall(docutils.nodes.literal_block)]
    meaning = next(p for p in section.findall(docutils.nodes.paragraph) if p.parent is section)
    name = next(section.findall(docutils.nodes.title)).astext()
    return Described(name, severity, source, meaning.astext().replace("\n", " "), bad, good)


def _octets(block: docutils.nodes.literal_block) -> bytes:
    """The octets of an example: as they stand there, or of a Python expression."""
    if "python" in block["classes"]:
        octets: bytes = eval(block.astext())
        return octets
    return f"{block.astext()}\n".encode()
