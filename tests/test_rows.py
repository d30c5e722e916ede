"""The helper for tests of many rows fails if a row does."""

from __future__ import annotations

import pytest

from tests.rows import rows


def test_all_rows_that_fail_are_named() -> None:
    """Whatever they fail with, and in tables of tables."""

    @rows("divisor", [1, 2, 0])
    @rows("number", [2, 3])
    def check(number: int, divisor: int) -> None:
        assert number % divisor == 0

    with pytest.raises(AssertionError) as caught:
        check()
    said = str(caught.value)
    assert said.startswith("2 of 3 rows\n")
    assert "{'divisor': 1}" not in said
    assert "{'divisor': 2}: AssertionError: 1 of 2 rows\n{'number': 3}: AssertionError" in said
    assert "{'number': 2}: ZeroDivisionError" in said


def test_a_table_without_rows_fails() -> None:
    """It would show nothing."""
    with pytest.raises(AssertionError):
        rows("number", [])(lambda number: None)()
