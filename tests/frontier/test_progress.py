"""The line about what waits: its words, numbers and units."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from scrapy_rep.frontier.places import Places
from scrapy_rep.frontier.progress import Progress
from scrapy_rep.stats import RepStats
from tests.frontier.bench import Bench
from tests.rows import rows


def waiting(paced: dict[str, int], *, fetch: int = 0, until: int = 0, room: int = 0) -> Bench:
    """So many requests of paced sites wait for their turn, those of one other for each thing."""
    bench = Bench()
    bench.gate.known |= {*paced, "until", "room"}
    bench.gate.paced |= dict.fromkeys(paced, 1.0)
    bench.gate.due_at |= dict.fromkeys(paced, inf)
    bench.gate.until["until"], bench.gate.loads["room"] = 5.0, 2
    bench.gate.places, bench.gate.young = 1, {"another"}
    for key, size in {**paced, "fetch": fetch, "until": until, "room": room}.items():
        bench.push_all(size * f"{key} ")
    assert bench.all() == []
    return bench


def in_place(requests: int) -> Places:
    """So many requests wait in place."""
    downloader: Any = None  # nothing is asked of it
    places = Places(downloader, RepStats())
    places.waiting = requests
    return places


def line(bench: Bench, requests: int = 0, **paces: float) -> str:
    """What is said of what waits, by the intervals of its paced sites."""
    neighbours = lambda: bench.sites, lambda site: paces[site.key], in_place(requests)
    return Progress(RepStats(), 60.0, *neighbours).line()


def test_nothing_is_said_if_nothing_waits() -> None:
    """Nor of sites that wait because of a limit of the operator's."""
    assert line(waiting({})) == ""
    assert line(waiting({}, room=3)) == ""


def test_both_halves_have_their_numbers() -> None:
    """All requests of a site count, those in its queue as well as the one that is asked for."""
    paced = {**{f"s{n}": 80 for n in range(11)}, "slow": 360}
    bench = waiting(paced, fetch=10, until=20, room=9)
    assert line(bench, **{**dict.fromkeys(paced, 1.0), "slow": 5.0}) == (
        "Waiting for their pace: 12 sites, 1,240 requests; the slowest is slow: 360 requests, "
        "at least 5 s apart, about 30 min. Waiting for their robots.txt: 2 sites, 30 requests"
    )


def test_what_waits_in_place_is_said_last() -> None:
    """Also if no site waits, and without the scheduler."""
    assert line(waiting({}), 1) == "Waiting in the downloader: 1 request"
    said = "Waiting for their robots.txt: 1 site, 1 request. Waiting in the downloader: 2 requests"
    assert line(waiting({}, until=1), 2) == said
    alone = Progress(RepStats(), 60.0, lambda: None, lambda site: 0.0, in_place(1_240))
    assert alone.line() == "Waiting in the downloader: 1,240 requests"


def test_one_site_and_one_request_are_not_several() -> None:
    """Each half, alone."""
    assert line(waiting({"a": 1}), a=0.5) == (
        "Waiting for their pace: 1 site, 1 request; the slowest is a: 1 request, "
        "at least 0.5 s apart, about 1 s"
    )
    assert line(waiting({}, until=1)) == "Waiting for their robots.txt: 1 site, 1 request"


@rows(
    "number, pace, said",
    [
        (1, 0.2, "at least 0.2 s apart, about 1 s"),
        (119, 1.0, "at least 1 s apart, about 119 s"),
        (120, 1.0, "at least 1 s apart, about 2 min"),
        (119, 60.0, "at least 60 s apart, about 119 min"),
        (2, 3_600.0, "at least 3,600 s apart, about 2 h"),
        (47, 3_600.0, "at least 3,600 s apart, about 47 h"),
        (48, 3_600.0, "at least 3,600 s apart, about 2 days"),
        (5_000, 86_400.0, "at least 86,400 s apart, about 5,000 days"),
        (3, 1.25, "at least 1.25 s apart, about 4 s"),
    ],
)
def test_times_are_in_the_largest_unit_that_fits_twice(number: int, pace: float, said: str) -> None:
    """As a person would say them."""
    assert line(waiting({"a": number}), a=pace).endswith(said)


def test_the_slowest_is_the_one_whose_requests_take_longest() -> None:
    """Not the one with the most requests, and not the one with the longest interval."""
    bench = waiting({"a": 100, "b": 20, "c": 1})
    assert "the slowest is b: 20 requests" in line(bench, a=1.0, b=10.0, c=60.0)


def test_no_site_is_the_slowest_if_its_host_asks_for_no_pace_any_more() -> None:
    """It goes when the engine asks."""
    assert line(waiting({"a": 3}), a=0.0) == "Waiting for their pace: 1 site, 3 requests"


def test_a_site_that_grows_while_it_waits_may_become_the_slowest() -> None:
    """Its requests are found while its host has an interval of an hour."""
    bench, paces = waiting({"a": 1, "b": 2}), {"a": 3_600.0, "b": 3_600.0}
    assert "2 sites, 3 requests; the slowest is b: 2 requests" in line(bench, **paces)
    bench.push_all(9 * "a ")
    assert "2 sites, 12 requests; the slowest is a: 10 requests" in line(bench, **paces)


@pytest.mark.parametrize("interval", [0.0, -1.0])
def test_no_line_without_an_interval(interval: float) -> None:
    """Nothing has to be ended then."""
    progress = Progress(RepStats(), interval, lambda: None, lambda site: 0.0, in_place(0))
    progress.open()
    assert progress._alarm.seconds_left is None
