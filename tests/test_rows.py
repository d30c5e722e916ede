"""The helpers for tests of many rows, and the mark of a test that measures time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rows import first, rows
from tests.timed import timed, waits


@rows("number, square", [(1, 1), (2, 4), (3, 9)])
def test_each_row_is_tried_with_the_fixtures_of_the_test(
    tmp_path: Path, number: int, square: int
) -> None:
    """They are made once, for all rows."""
    assert number**2 == square
    (tmp_path / str(number)).touch(exist_ok=False)
    assert len([*tmp_path.iterdir()]) == number


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


def test_the_first_values_are_tried_by_default() -> None:
    """The others are slow; a tuple is several values, unless it is given as one."""
    assert first(1, ["a", "b"])[0] == "a"
    (slow,) = first(0, [(1, 2)])
    assert (slow.values, slow.marks[0].name) == ((1, 2), "slow")
    (slow,) = first(0, [pytest.param((1, 2))])
    assert slow.values == ((1, 2),)


@pytest.mark.parametrize(
    "mark", [pytest.param("timed", marks=timed), pytest.param("waits", marks=waits)]
)
def test_a_bound_on_time_makes_a_test_slow_and_has_it_run_again(
    request: pytest.FixtureRequest, mark: str
) -> None:
    """Whoever leaves the slow tests out leaves it out."""
    assert {each.name for each in request.node.iter_markers()} >= {mark, "slow", "flaky"}
