"""The line about what waits: its words, numbers and units."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_rep.frontier.progress import Progress
from scrapy_rep.frontier.sites import Site, Sites
from scrapy_rep.frontier.states import FETCH, Block, State
from scrapy_rep.stats import RepStats
from tests.rows import rows


class Requests:
    """A gate and queues: the requests of each site are all blocked by one thing."""

    def __init__(self, waiting: dict[str, tuple[int, Block]], paces: dict[str, float]) -> None:
        self.blocks = {key: block for key, (_, block) in waiting.items()}
        self.left = {key: size for key, (size, _) in waiting.items()}
        self.paces = paces
        self.sites = Sites(self, lambda: None)
        self.sites.join(self, dict(self.left))
        while self.sites.is_ready:
            self.sites.next()

    def take(self, key: str) -> Any:
        """A request."""
        self.left[key] -= 1
        return Request(key)

    def top(self, key: str) -> int | None:
        """All have one priority."""
        return 0 if self.left[key] else None

    def blocked_by(self, request: Any, may_share: bool) -> Block | None:
        """What its site is blocked by."""
        return self.blocks[request.key]

    def rules_of(self, key: str) -> Block | None:
        """Those of a site that waits for a fetch are not known."""
        return Block(State.RULES, key) if self.blocks[key] == FETCH else None

    def begin(self, request: Any, block: Block) -> None:
        """Nothing comes of it."""

    def is_free(self, block: Block) -> bool:
        """Nothing ever is."""
        return False

    def is_full(self, block: Block) -> bool:
        """No slot is."""
        return False

    def interval_of(self, site: Site) -> float:
        """The interval of a site that waits for its turn."""
        assert site.state is State.TURN
        return self.paces[site.key]


class Request:
    """A request of a site."""

    priority = 0

    def __init__(self, key: str) -> None:
        self.key = key


def line(waiting: dict[str, tuple[int, Block]], **paces: float) -> str:
    """What is said of so many requests of sites that wait for something."""
    requests = Requests(waiting, paces)
    return Progress(RepStats(), 60.0, lambda: requests.sites, requests.interval_of).line()


def turn(key: str) -> Block:
    """A site waits for its turn."""
    return Block(State.TURN, key)


UNTIL = Block(State.UNTIL, 5.0)
ROOM = Block(State.ROOM, "slot")


def test_nothing_is_said_if_nothing_waits() -> None:
    """Nor of sites that wait because of a limit of the operator's."""
    assert line({}) == ""
    assert line({"a": (3, ROOM)}) == ""


def test_both_halves_have_their_numbers() -> None:
    """All requests of a site count, those in its queue as well as the one that is asked for."""
    waiting = {f"s{n}": (80, turn(f"s{n}")) for n in range(11)}
    waiting |= {"slow": (360, turn("slow")), "a": (10, FETCH), "b": (20, UNTIL), "c": (9, ROOM)}
    paces = dict.fromkeys(waiting, 1.0)
    assert line(waiting, **{**paces, "slow": 5.0}) == (
        "Waiting for their pace: 12 sites, 1,240 requests; the slowest is slow: 360 requests, "
        "at least 5 s apart, about 30 min. Waiting for their robots.txt: 2 sites, 30 requests"
    )


def test_one_site_and_one_request_are_not_several() -> None:
    """Each half, alone."""
    assert line({"a": (1, turn("a"))}, a=0.5) == (
        "Waiting for their pace: 1 site, 1 request; the slowest is a: 1 request, "
        "at least 0.5 s apart, about 1 s"
    )
    assert line({"a": (1, UNTIL)}) == "Waiting for their robots.txt: 1 site, 1 request"


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
    assert line({"a": (number, turn("a"))}, a=pace).endswith(said)


def test_the_slowest_is_the_one_whose_requests_take_longest() -> None:
    """Not the one with the most requests, and not the one with the longest interval."""
    waiting = {key: (size, turn(key)) for key, size in {"a": 100, "b": 20, "c": 1}.items()}
    assert "the slowest is b: 20 requests" in line(waiting, a=1.0, b=10.0, c=60.0)


def test_no_site_is_the_slowest_if_its_host_asks_for_no_pace_any_more() -> None:
    """It goes when the engine asks."""
    assert line({"a": (3, turn("a"))}, a=0.0) == "Waiting for their pace: 1 site, 3 requests"


def test_a_site_that_grows_while_it_waits_may_become_the_slowest() -> None:
    """Its requests are found while its host has an interval of an hour."""
    waiting = {"a": (1, turn("a")), "b": (2, turn("b"))}
    requests = Requests(waiting, {"a": 3_600.0, "b": 3_600.0})
    progress = Progress(RepStats(), 60.0, lambda: requests.sites, requests.interval_of)
    assert "2 sites, 3 requests; the slowest is b: 2 requests" in progress.line()
    requests.left["a"] += 9
    requests.sites.pushed("a", 9)
    assert "2 sites, 12 requests; the slowest is a: 10 requests" in progress.line()


@pytest.mark.parametrize("interval", [0.0, -1.0])
def test_no_line_without_an_interval(interval: float) -> None:
    """Nothing has to be ended then."""
    progress = Progress(RepStats(), interval, lambda: None, lambda site: 0.0)
    progress.open()
    assert progress._alarm.seconds_left is None
