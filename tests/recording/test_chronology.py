"""What the times of the lines of a run say of each other."""

from __future__ import annotations

from typing import Any

from scrapy_rep.recording.chronology import Chronology
from tests.reporting.samples import decision, failure, run

FIRST, SECOND = (f"urn:uuid:{digit * 8}-0000-4000-8000-000000000000" for digit in "12")


def faults(*lines: dict[str, Any]) -> list[bool]:
    """Whether each line contradicts those before it."""
    chronology = Chronology()
    return [bool(chronology.goes_back(line) or chronology.fault(line)) for line in lines]


def test_times_never_go_back() -> None:
    """The one line after which they do is named, not all that come after it."""
    several = [run(0), *(decision(number, age=None) for number in (1, 1, 2, 9, 3, 4))]
    assert faults(*several) == [False] * 5 + [True, False]
    assert faults(run(5), decision(4, age=None)) == [False, True]


def test_a_copy_was_fetched_once() -> None:
    """Time less age is the same for all that follows a record, to the rounding of both."""
    lines = [
        decision(10, record=FIRST, age=2.0),
        decision(11, record=FIRST, age=3.001),
        decision(12, record=FIRST, age=3.5),
        decision(12, record=SECOND, age=3.5),
        decision(13, record=None, age=0.1),
        decision(14, record=FIRST, age=None),
    ]
    assert faults(*lines) == [False, False, True, False, False, False]


def test_a_failure_began_once() -> None:
    """A good copy beside it has a date of its own."""
    stale = {"outcome": "stale", "record": FIRST, "failure_record": SECOND}
    lines = [
        {**failure(10), "failure_record": SECOND, "age": 2.0},
        decision(11, age=900.0, **stale),
        {**failure(12), "failure_record": SECOND, "age": 4.0},
        {**failure(13), "failure_record": SECOND, "age": 4.0},
        decision(14, age=903.0, **stale),
    ]
    assert faults(*lines) == [False, False, False, True, False]


def test_the_copy_of_a_crawler_whose_clock_is_ahead_has_no_age() -> None:
    """It is recorded as 0 until the time has come; no line says that the copy is older."""
    lines = [decision(number, record=FIRST, age=0) for number in (1, 2)]
    assert faults(*lines, decision(9, record=FIRST, age=1.0)) == [False] * 3
    assert faults(*lines, decision(9, record=FIRST, age=8.0)) == [False, False, True]
    assert faults(decision(1, record=FIRST, age=5.0), *lines) == [False, True, True]
