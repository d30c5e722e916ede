"""How many requests a downloader slot may have, and how many fetches may be under way."""

from __future__ import annotations

import resource
import sys
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_rep.access.authority import Authority
from scrapy_rep.frontier.limits import FetchDemand, SlotLoads, slot_of
from tests.frontier.virtual_time import VirtualTime
from tests.rows import rows


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> VirtualTime:
    """The time of these limits."""
    return VirtualTime.of(monkeypatch, "limits")


def loads_with(**settings: Any) -> tuple[SlotLoads, list[str]]:
    """The loads of the slots of a crawl with these settings, and the slots that requests leave."""
    left: list[str] = []
    return SlotLoads(Settings(settings), left.append), left


def request(name: str = "a.example") -> Request:
    """A request to a host."""
    return Request(f"http://{name}/")


# --- slots


@rows(
    "url, meta, slot",
    [
        ("http://a.example/x", {}, "a.example"),
        ("http://A.example:8080/x", {}, "a.example"),
        ("http://[::1]:8080/", {}, "::1"),
        ("http://a.example/", {"download_slot": "service"}, "service"),
        ("http://a.example/", {"download_slot": ""}, ""),
        ("http://a.example/", {"download_slot": None}, "a.example"),
        ("data:,x", {}, ""),
        ("file:///etc/x", {}, ""),
    ],
)
def test_a_slot_is_named_as_scrapy_names_it(url: str, meta: dict[str, Any], slot: str) -> None:
    """By the host, or by the meta key."""
    request = Request(url, meta=meta)
    assert slot_of(request) == slot
    downloader = Downloader(get_crawler(settings_dict={"DOWNLOAD_HANDLERS": {}}))
    try:
        assert downloader.get_slot_key(request) == slot
    finally:
        downloader.close()


def test_a_slot_has_a_name_though_it_was_given_as_a_number() -> None:
    """As the keys of all slots."""
    assert slot_of(Request("http://a.example/", meta={"download_slot": 7})) == "7"


def test_a_url_that_cannot_be_read_has_the_slot_without_a_name() -> None:
    """The download fails, not the look at the slot."""
    broken = request()
    broken._url = "http://[a.example/"
    assert slot_of(broken) == ""


def test_a_request_counts_from_the_last_step_to_its_end(time: VirtualTime) -> None:
    """However long that takes."""
    (loads, left), page = loads_with(CONCURRENT_REQUESTS_PER_DOMAIN=1), request()
    assert loads.is_idle("a.example")
    assert not loads.is_full("a.example")
    loads.sent(page)
    time.advance(60.0)
    assert not loads.is_idle("a.example")
    assert loads.is_full("a.example")
    assert loads.is_idle("b.example")
    assert left == []
    loads.left(page)
    assert loads.is_idle("a.example")
    assert left == ["a.example"]
    loads.left(page)
    assert left == ["a.example"]


def test_a_request_that_was_handed_out_counts_for_one_turn_of_the_loop(time: VirtualTime) -> None:
    """A middleware holds it up, perhaps for hours, or has dropped it."""
    loads, left = loads_with()
    for slot in "aab":
        loads.handed_out(request(), slot)
    assert time.timers == [0.0]
    assert not loads.is_idle("a")
    time.advance()
    assert left == ["a", "a", "b"]
    assert loads.is_idle("a")
    assert time.timers == []
    loads.handed_out(request(), "a")
    assert time.timers == [0.0]


def test_a_request_that_reaches_the_last_step_in_that_turn_counts_once(time: VirtualTime) -> None:
    """In the slot for which it was handed out."""
    (loads, left), page = loads_with(CONCURRENT_REQUESTS_PER_DOMAIN=2), request()
    loads.handed_out(page, "a")
    loads.sent(page)
    assert not loads.is_full("a")
    time.advance()
    assert left == []
    assert not loads.is_idle("a")
    loads.left(page)
    assert left == ["a"]
    assert loads.is_idle("a")


def test_a_request_that_reaches_the_last_step_later_counts_again(time: VirtualTime) -> None:
    """In the slot that it has by then, as a direct download does."""
    loads, left = loads_with()
    held_up, direct = Request("http://b.example/", meta={"download_slot": "a"}), request()
    loads.handed_out(held_up, "a")
    time.advance()
    loads.sent(held_up)
    assert not loads.is_idle("a")
    loads.sent(direct)
    assert not loads.is_idle("a.example")
    loads.left(direct)
    loads.left(held_up)
    assert left == ["a", "a.example", "a"]


@pytest.mark.filterwarnings("ignore:The CONCURRENT_REQUESTS_PER_IP")
@rows(
    "settings, most",
    [
        ({}, 8),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 3}, 3),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 3, "CONCURRENT_REQUESTS_PER_IP": 2}, 2),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 3, "DOWNLOAD_SLOTS": {"a": {"concurrency": 5}}}, 5),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 3, "DOWNLOAD_SLOTS": {"a": {"delay": 5}}}, 3),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 3, "DOWNLOAD_SLOTS": {"b": {"concurrency": 5}}}, 3),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 0}, None),
        ({"DOWNLOAD_SLOTS": {"a": {"concurrency": 0}}}, None),
    ],
)
def test_a_slot_is_full_with_as_many_requests_as_the_settings_allow(
    settings: dict[str, Any], most: int | None, time: VirtualTime
) -> None:
    """0 is no limit."""
    loads, _ = loads_with(**settings)
    for number in range(1, 12):
        loads.handed_out(request(), "a")
        assert loads.is_full("a") == (most is not None and number >= most)


# --- fetches


class Demand:
    """A demand for fetches, with two young and three old ones at most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, concurrent: int = 1) -> None:
        self.time = VirtualTime.of(monkeypatch, "limits")
        monkeypatch.setattr("scrapy_rep.frontier.limits._MOST_YOUNG", 2)
        monkeypatch.setattr("scrapy_rep.frontier.limits._MOST_OLD", 3)
        self.pauses = 0
        self.offers = 0
        self.demand = FetchDemand(concurrent, lambda: self.pauses, self._offer)

    def _offer(self) -> None:
        self.offers += 1

    def begin(self, *numbers: int) -> None:
        """Fetches begin."""
        for number in numbers:
            self.demand.begins(site(number))

    def end(self, *numbers: int) -> None:
        """Fetches end."""
        for number in numbers:
            self.demand.ended(site(number))

    def may_another_begin(self, unasked: int = 0) -> bool:
        """Whether another one may begin."""
        return self.demand.may_another_begin(unasked)


def site(number: int) -> Authority:
    """One of many."""
    return Authority("http", f"s{number}.example", 80)


@pytest.fixture
def demand(monkeypatch: pytest.MonkeyPatch) -> Demand:
    """A demand for fetches."""
    return Demand(monkeypatch)


def test_fetches_and_rules_that_wait_for_the_engine_are_bounded_together(demand: Demand) -> None:
    """Otherwise 100,000 sites would be fetched at once, and most of their rules expire."""
    assert demand.may_another_begin()
    assert demand.may_another_begin(unasked=1)
    assert not demand.may_another_begin(unasked=2)
    demand.begin(1)
    assert demand.may_another_begin()
    assert not demand.may_another_begin(unasked=1)
    demand.begin(2)
    assert not demand.may_another_begin()
    demand.end(1)
    assert demand.may_another_begin()


def test_a_fetch_counts_once_however_many_requests_it_is_for(demand: Demand) -> None:
    """From when it began."""
    demand.begin(1)
    demand.time.advance(0.9)
    demand.begin(1)
    assert not demand.may_another_begin(unasked=1)
    demand.time.advance(0.1)
    assert demand.may_another_begin(unasked=1)
    demand.begin(1)  # it stays old
    assert demand.may_another_begin(unasked=1)
    demand.end(7)
    demand.end(1, 1)
    assert not demand.may_another_begin(unasked=2)


def test_as_many_fetches_may_begin_as_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """If that is more."""
    demand = Demand(monkeypatch, concurrent=4)
    assert demand.may_another_begin(unasked=3)
    assert not demand.may_another_begin(unasked=4)


def test_a_fetch_of_a_second_makes_room_for_another(demand: Demand) -> None:
    """Silent sites hold up no others; one timer tells of it, which ends with the last of them."""
    demand.begin(1)
    demand.time.advance(0.25)
    demand.begin(2)
    assert not demand.may_another_begin()
    assert len(demand.time.timers) == 1
    demand.time.advance(0.74)
    assert (demand.offers, demand.may_another_begin()) == (0, False)
    demand.time.advance(0.01)
    assert demand.offers == 1
    assert demand.may_another_begin()
    demand.begin(3)
    assert not demand.may_another_begin()
    demand.time.advance(0.25)
    assert demand.offers == 2
    demand.time.advance(0.75)
    assert demand.offers == 3
    assert demand.time.timers == []


def test_a_fetch_is_not_slow_because_the_loop_is(demand: Demand) -> None:
    """Otherwise a busy crawl would begin ever more of them: 800 before its first pages."""
    demand.begin(1, 2)
    demand.time.now += 30.0
    demand.time.advance()
    assert not demand.may_another_begin()
    demand.time.advance(0.9)
    assert (demand.offers, demand.may_another_begin()) == (0, False)
    demand.time.advance(0.1)
    assert (demand.offers, demand.may_another_begin()) == (1, True)


def test_no_timer_is_set_where_only_rules_wait_for_the_engine(demand: Demand) -> None:
    """That the engine asks is the event."""
    assert not demand.may_another_begin(unasked=2)
    assert demand.time.timers == []


def test_old_fetches_have_a_bound_of_their_own(demand: Demand) -> None:
    """They are old at once; a pause between two attempts counts towards none."""
    demand.begin(0, 1, 2)
    demand.time.advance(1.0)
    assert not demand.may_another_begin()
    assert demand.time.timers == []
    demand.pauses = 1
    assert demand.may_another_begin()
    demand.pauses = 0
    demand.end(0)
    assert demand.may_another_begin()


def test_the_timer_ends_with_the_crawl(demand: Demand) -> None:
    """Though there may be none."""
    demand.demand.close()
    demand.begin(1, 2)
    assert not demand.may_another_begin()
    demand.demand.close()
    demand.demand.close()
    assert demand.time.timers == []
    demand.time.advance(2.0)
    assert demand.offers == 0


@rows(
    "files, most",
    [(20, 10), (5, 2), (100_000, 4_000), (resource.RLIM_INFINITY, 4_000), (None, 4_000)],
)
def test_half_of_the_files_that_may_be_open_are_for_old_fetches(
    files: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 4,000; Windows does not say how many there are."""
    with monkeypatch.context() as patch:
        if files is None:
            patch.setitem(sys.modules, "resource", None)
        else:
            patch.setattr(resource, "getrlimit", lambda which: (files, files))
        demand = FetchDemand(16, int, lambda: None)
    assert demand._most_old == most
    assert demand._most_young == 256
