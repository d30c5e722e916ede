"""Each code: its example of what it reports, its example of what it does not, and its page."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

from scrapy_rep import linting
from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.codes import CODES, Severity
from tests.linting.reference import described
from tests.rows import rows

WITHOUT_A_LINE = {"over-500-kib"}
MAKERS = ("finding", "finding_at")
"""What makes a finding, of the code that it is given first."""

CHECKS = [
    ast.parse(path.read_text("utf-8")) for path in Path(linting.__file__).parent.glob("*checks.py")
]


def test_every_check_is_made_by_lint() -> None:
    """A function that checks, and that nothing calls, finds nothing."""
    functions = {
        node.name: {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for tree in CHECKS
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    checks = {name for name in functions if name.startswith("check_")}
    assert checks - functions["lint"] == set()


def test_every_code_of_a_finding_is_in_the_table() -> None:
    """One that is not would raise in the middle of a file."""
    found = {
        node.args[0].value
        for tree in CHECKS
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in MAKERS
        if isinstance(node.args[0], ast.Constant)
    }
    assert found
    assert found - {*CODES} == set()


def test_the_page_has_every_code_in_alphabetical_order() -> None:
    """And no other."""
    assert [*described()] == [*CODES] == sorted(CODES)


@rows("name", CODES)
def test_the_page_says_what_the_code_says(name: str) -> None:
    """Severity, source and meaning; it may say more."""
    said, code = described()[name], CODES[name]
    assert said[:3] == code[:3]
    assert said.meaning.startswith(code.meaning)


@rows("name", CODES)
def test_bad_example_is_reported(name: str) -> None:
    """With a place, unless it is about the file as a whole, a message, a fix and a source."""
    found = [one for one in lint(described()[name].bad) if one.code == name]
    assert found
    for one in found:
        assert (one.line is None) == (one.column is None) == (name in WITHOUT_A_LINE)
        assert one.severity in get_args(Severity)
        assert one.message
        assert one.fix
        assert one.source == CODES[name].source


@rows("name", CODES)
def test_good_example_is_not_reported(name: str) -> None:
    """Although it differs from the bad one as little as possible."""
    assert name not in [one.code for one in lint(described()[name].good)]
