"""Each code: its example of what it reports, its example of what it does not, and its page."""

from __future__ import annotations

from typing import get_args

from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.codes import CODES, Severity
from tests.linting.reference import described
from tests.rows import rows

WITHOUT_A_LINE = {"over-500-kib"}


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
