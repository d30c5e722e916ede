"""Counts in bounded memory: totals by time whatever the order, the heaviest keys whatever comes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.reporting.bounded import WIDTHS, Bounded, Timeline
from scrapy_rep.reporting.text import duration, shown

SECONDS = st.lists(st.integers(0, 4_000_000_000), min_size=1, max_size=200)


class Number:
    """A count."""

    def __init__(self) -> None:
        self.value = 0


def test_widths_divide_one_another() -> None:
    """So that an interval lies within one that is wider."""
    assert all(wide % narrow == 0 for narrow, wide in pairwise(WIDTHS))


@given(SECONDS, st.randoms())
def test_a_timeline_does_not_depend_on_the_order(seconds: list[int], random: object) -> None:
    """Each time is counted in its interval, and there are few intervals."""
    shuffled = sorted(seconds, key=lambda _: random.random())  # type: ignore[attr-defined]
    lines = Timeline(20), Timeline(20)
    for line, order in zip(lines, (seconds, shuffled), strict=True):
        for second in order:
            line.add(second, second % 2, kinds=2)
    assert lines[0].counts == lines[1].counts
    assert lines[0].width == lines[1].width
    assert len(lines[0].counts) <= 20
    for second in seconds:
        assert lines[0].counts[second // lines[0].width][second % 2]


@given(SECONDS)
def test_columns_are_few_and_hold_everything(seconds: list[int]) -> None:
    """Intervals without a count are there, too: the axis is even."""
    line = Timeline(50)
    for second in seconds:
        line.add(second, 0)
    start, width, columns = line.columns(30)
    assert len(columns) <= 30
    assert sum(map(sum, columns)) == len(seconds)
    assert start <= min(seconds)
    assert max(seconds) < start + width * len(columns)


def test_heavy_keys_survive_any_number_of_light_ones() -> None:
    """And it is known how many were dropped."""
    found = Bounded[str, Number](100, Number, lambda number: number.value)
    for number in range(10_000):
        found["heavy"].value += 1
        found[f"light {number}"].value += 1
        assert len(found) <= 100
    assert found["heavy"].value == 10_000
    assert len(found) + found.dropped == 10_001


@given(st.text(st.characters(exclude_categories=())))
def test_all_text_that_is_shown_can_be_seen_and_encoded(text: str) -> None:
    """Control characters, bidi controls, halves of surrogate pairs, NUL, unusual spaces."""
    assert shown(text).isprintable()
    shown(text).encode("utf-8")
    if text.isprintable():
        assert shown(text) == text


def test_durations_have_one_or_two_units() -> None:
    """Short enough for a cell, exact enough for a reader."""
    told = {0: "0 s", 0.5: "0.5 s", 2: "2 s", 59.6: "1 min", 61: "1 min 1 s", 1_400: "23 min"}
    told |= {3_600: "1 h", 5_000: "1 h 23 min", 90_000: "1 d 1 h", 86_400 * 2_000: "2,000 d"}
    assert {seconds: duration(seconds) for seconds in told} == told
