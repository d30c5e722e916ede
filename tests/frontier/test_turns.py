"""The turns of paced hosts, by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.test import get_crawler

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.requested_pace import RequestedPace
from scrapy_rep.frontier.hosts import PacedHost
from scrapy_rep.frontier.places import Places
from scrapy_rep.frontier.request_state import RequestStates
from scrapy_rep.frontier.states import Stage
from scrapy_rep.frontier.turns import Turns
from scrapy_rep.scrapy_names import ScrapyNames
from scrapy_rep.settings import RepSettings
from scrapy_rep.stats import RepStats
from tests.frontier.virtual_time import VirtualTime
from tests.rows import rows
from tests.scripted import Clock, Counts, settle

AGENT = ("mybot",)


class Sites:
    """What the turns ask of the frontier, and tell it: the one fake."""

    def __init__(self) -> None:
        self.states = RequestStates()
        self.wanted: set[str] = set()
        self.dues: list[str] = []
        self.ways: list[tuple[str, str]] = []
        self.turns: Any = None

    def ask_again(self, host: str) -> None:
        """A request to a host may be handed out, if the host is due."""
        if self.turns.is_due(host):
            self.dues.append(host)

    def is_wanted(self, host: str) -> bool:
        """Whether a site is parked for the turn of a host."""
        return host in self.wanted

    def sent(self, request: Request) -> None:
        """A request has passed the last step."""
        self.ways.append(("sent", request.url))

    def left(self, request: Request, *, was_sent: bool) -> None:
        """A download has ended."""
        self.ways.append(("left" if was_sent else "gave back", request.url))


class Desk:
    """The turns of a crawl, and the requests that its downloader has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        self.time = VirtualTime.of(monkeypatch, "turns", "hosts")
        crawler = get_crawler(Spider, settings)
        self.active: set[Request] = set()
        downloader = SimpleNamespace(active=self.active, total_concurrency=16)
        crawler.engine = SimpleNamespace(downloader=downloader, _slot=None)  # type: ignore[assignment]
        self.sites, self.counts = Sites(), Counts()
        scrapy, stats = ScrapyNames(crawler), RepStats(self.counts)  # type: ignore[arg-type]
        ours = RepSettings.from_settings(crawler.settings)
        places = Places(scrapy, stats)
        self.turns = Turns(crawler, ours, scrapy, places, self.sites, stats, None, "")
        self.sites.turns = self.turns

    def keep(self, name: str, interval: float | None, port: int = 80, **kwargs: Any) -> None:
        """The robots.txt of a host asks for a pace, or for none."""
        pace = None if interval is None else RequestedPace(interval, **kwargs)
        authority = Authority("http", name, port)
        self.turns.keep(Request(f"http://{name}/"), authority, pace, AGENT)

    def request(self, name: str, *, is_scheduled: bool = False, **kwargs: Any) -> Request:
        """A request that the downloader has, on its way to the last step."""
        request = Request(f"http://{name}/{len(self.active)}", **kwargs)
        self.active.add(request)
        state = self.sites.states.begin(request, Stage.CHECKED)
        state.host, state.is_scheduled = name, is_scheduled
        return request

    def reserve(self, request: Request) -> bool:
        """The frontier asks whether a request may be handed out."""
        return self.turns.reserve(request, self.sites.states[request])

    def interval_for(self, request: Request) -> float:
        """The interval that is kept at the host of a request."""
        return self.turns.interval_of(self.sites.states[request].host)

    def arrive(self, request: Request) -> Any:
        """A request reaches the last step: None if it may be sent, else what it waits for."""
        waits = self.turns.arrive(request)
        return None if waits is None else deferred_from_coro(waits)  # type: ignore[arg-type]

    def send(self, name: str) -> Request:
        """A request that is sent at once."""
        request = self.request(name)
        assert self.arrive(request) is None
        return request

    def end(self, request: Request) -> None:
        """A response passes the last step."""
        self.turns.left(request)
        self.active.discard(request)

    def interval_after(self, request: Request) -> None:
        """A request ends, and the interval after it is over."""
        self.end(request)
        self.time.advance(5.0)

    async def turn_after(self, request: Request) -> None:
        """The same, and what waits in place goes on."""
        self.interval_after(request)
        await settle()

    async def wait(self, request: Request) -> Any:
        """A request waits at the last step."""
        waits = self.arrive(request)
        await settle()
        return waits


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """The turns of a crawl; ``a`` asks for 5 seconds."""
    desk = Desk(monkeypatch)
    desk.keep("a", 5.0)
    yield desk
    desk.turns.close()
    assert desk.time.timers == []


def test_a_host_that_asks_for_no_pace_is_always_due(desk: Desk) -> None:
    """Its requests are sent as they come."""
    first, second = desk.request("b"), desk.request("b")
    assert desk.turns.is_due("b")
    assert desk.reserve(first)
    assert desk.reserve(second)
    assert [desk.arrive(first), desk.arrive(second)] == [None, None]
    assert desk.sites.ways == [("sent", first.url), ("sent", second.url)]
    assert desk.interval_for(first) == 0.0
    assert desk.turns.awaited == {}


def test_a_request_that_the_gate_has_not_seen_takes_no_turn(desk: Desk) -> None:
    """It is for a robots.txt."""
    request = Request("http://a/robots.txt")
    assert desk.turns.arrive(request) is None
    desk.turns.left(request)
    assert desk.sites.ways == []


def test_a_host_is_busy_until_its_request_ends_and_then_for_its_interval(desk: Desk) -> None:
    """Sites that wait for it are told when it is due; nothing is planned before the end."""
    first, second = desk.request("a"), desk.request("a")
    desk.sites.wanted.add("a")
    assert desk.reserve(first)
    assert desk.arrive(first) is None
    assert not desk.reserve(second)
    assert desk.time.timers == []
    desk.time.advance(60.0)
    desk.end(first)
    assert desk.sites.ways == [("sent", first.url), ("left", first.url)]
    assert desk.time.timers == [5.0]
    assert not desk.reserve(second)
    desk.time.advance(4.9)
    assert (desk.sites.dues, desk.turns.is_due("a"), desk.reserve(second)) == ([], False, False)
    desk.time.advance(0.1)
    assert desk.sites.dues == ["a"]
    assert desk.turns.is_due("a")
    assert desk.reserve(second)


def test_nothing_is_planned_for_a_host_that_no_site_waits_for(desk: Desk) -> None:
    """A crawl knows 10,000 of them."""
    desk.end(desk.send("a"))
    assert desk.time.timers == []
    desk.time.advance(5.0)
    assert desk.sites.dues == []
    assert desk.reserve(desk.request("a"))


def test_one_timer_is_for_the_host_that_is_due_first(desk: Desk) -> None:
    """The others follow."""
    for name, interval in (("b", 3.0), ("c", 9.0)):
        desk.keep(name, interval)
    desk.sites.wanted.update("abc")
    for name, timers in (("a", [5.0]), ("b", [3.0]), ("c", [3.0])):
        desk.end(desk.send(name))
        assert desk.time.timers == timers
    desk.time.advance(3.0)
    assert (desk.sites.dues, desk.time.timers) == (["b"], [2.0])
    desk.time.advance(2.0)
    assert (desk.sites.dues, desk.time.timers) == (["b", "a"], [4.0])
    desk.time.advance(4.0)
    assert (desk.sites.dues, desk.time.timers) == (["b", "a", "c"], [])


def test_a_turn_that_is_not_claimed_in_a_second_goes_to_another_request(desk: Desk) -> None:
    """A middleware holds the first one up, perhaps until the other one is done."""
    first, second = desk.request("a"), desk.request("a")
    desk.sites.wanted.add("a")
    assert desk.reserve(first)
    assert not desk.reserve(second)
    assert desk.time.timers == [1.0]
    desk.time.advance(1.0)
    assert desk.sites.dues == ["a"]
    assert desk.reserve(second)
    assert not desk.reserve(first)


def test_a_turn_is_not_free_before_the_downloader_has_its_request(desk: Desk) -> None:
    """The engine gets the request after the turn is reserved for it."""
    request = desk.request("a")
    desk.active.discard(request)
    assert desk.reserve(request)
    assert not desk.turns.is_due("a")
    assert not desk.reserve(desk.request("a"))
    assert not desk.turns.is_due("a")


async def test_one_object_that_waits_twice_gets_two_turns(desk: Desk) -> None:
    """Whatever downloads it waits for both."""
    first = desk.send("a")
    same = desk.request("a")
    waits = [await desk.wait(same), await desk.wait(same)]
    await desk.turn_after(first)
    assert [each.called for each in waits] == [True, False]
    desk.end(same)
    desk.active.add(same)
    desk.time.advance(5.0)
    await settle()
    assert [each.called for each in waits] == [True, True]


async def test_one_object_that_waits_twice_counts_once_when_its_pace_is_withdrawn(
    desk: Desk,
) -> None:
    """Both go at once, and the first end is taken for that of both."""
    desk.send("a")
    same = desk.request("a")
    waits = [desk.arrive(same), desk.arrive(same)]
    await settle()
    desk.keep("a", None)
    await settle()
    assert [each.called for each in waits] == [True, True]
    assert desk.sites.ways.count(("sent", same.url)) == 1
    desk.end(same)
    assert desk.turns.hosts["a"].busy == 1  # with the first request


def test_a_turn_is_free_as_soon_as_the_downloader_no_longer_has_its_request(desk: Desk) -> None:
    """It was answered from a cache, or dropped."""
    first, second = desk.request("a"), desk.request("a")
    desk.sites.wanted.add("a")
    assert desk.reserve(first)
    assert not desk.turns.end_lost()
    assert list(desk.turns.awaited) == ["a"]
    desk.active.discard(first)
    assert desk.turns.end_lost()
    assert desk.sites.dues == ["a"]
    assert desk.turns.awaited == {}
    assert not desk.turns.end_lost()
    assert desk.reserve(second)


def test_a_request_that_was_cancelled_ends_its_turn(desk: Desk) -> None:
    """No signal says so; the interval follows."""
    request = desk.send("a")
    assert not desk.turns.end_lost()
    desk.active.discard(request)
    assert desk.turns.end_lost()
    assert desk.sites.ways[-1] == ("left", request.url)
    assert not desk.turns.is_due("a")
    desk.time.advance(5.0)
    assert desk.turns.is_due("a")


def test_requests_that_were_cancelled_are_forgotten(desk: Desk) -> None:
    """Without a scheduler nothing else looks for them."""
    for request in [desk.send("b") for _ in range(3)]:
        desk.active.discard(request)
    last = desk.send("b")
    assert list(desk.turns._sent) == [last]


def test_a_request_ends_once(desk: Desk) -> None:
    """Whatever else says that it has."""
    request = desk.send("a")
    desk.end(request)
    desk.time.advance(4.0)
    desk.end(request)
    desk.time.advance(1.0)
    assert desk.turns.is_due("a")
    assert desk.sites.ways == [("sent", request.url), ("left", request.url)]


def test_no_interval_follows_a_request_that_was_not_sent_after_all(desk: Desk) -> None:
    """It gave its turn back, as it had to wait for rules by then."""
    request = desk.send("a")
    desk.turns.left(request, was_sent=False)
    assert desk.turns.is_due("a")
    other = desk.send("b")
    desk.turns.left(other, was_sent=False)
    desk.keep("b", 5.0)
    assert desk.turns.is_due("b")


# --- at the last step


async def test_a_request_whose_host_is_busy_waits_in_place(desk: Desk) -> None:
    """Until the one before it has ended, and for the interval."""
    first, second = desk.send("a"), desk.request("a")
    waits = await desk.wait(second)
    assert not waits.called
    assert second not in desk.turns._sent
    desk.end(first)
    assert desk.time.timers == [5.0]
    desk.time.advance(5.0)
    assert second in desk.turns._sent
    await settle()
    assert await waits is None
    assert not desk.turns.is_due("a")


async def test_requests_that_wait_in_place_go_by_priority_and_then_in_order(desk: Desk) -> None:
    """One in each interval."""
    first = desk.send("a")
    waiting = [desk.request("a", priority=priority) for priority in (0, 2, 0)]
    for each in waiting:
        await desk.wait(each)
    sent, under_way = [], first
    for _ in waiting:
        await desk.turn_after(under_way)
        (under_way,) = [each for each in waiting if each in desk.turns._sent]
        sent.append(under_way)
    assert sent == [waiting[1], waiting[0], waiting[2]]


async def test_any_number_of_requests_may_give_their_turns_back_at_once(desk: Desk) -> None:
    """With a plain Twisted reactor each would otherwise get its turn within the one before it."""
    first = desk.send("a")
    waits = [desk.arrive(desk.request("a")) for _ in range(400)]
    await settle()
    for _, _, request, turn in desk.turns.hosts["a"].in_place:
        turn.addCallback(lambda _, gone=request: desk.turns.left(gone, was_sent=False))
    await desk.turn_after(first)
    assert [how for how, _ in desk.sites.ways].count("gave back") == len(waits)
    assert not desk.turns.hosts["a"].in_place


async def test_no_site_has_a_turn_while_a_request_waits_in_place(desk: Desk) -> None:
    """That goes first."""
    desk.sites.wanted.add("a")
    first, second = desk.send("a"), desk.request("a")
    await desk.wait(second)
    desk.end(first)
    desk.time.advance(4.0)
    assert not desk.turns.is_due("a")
    assert not desk.reserve(desk.request("a"))
    desk.time.advance(1.0)
    await settle()
    assert second in desk.turns._sent
    assert desk.sites.dues == []


async def test_a_direct_download_may_take_the_turn_of_another_request(desk: Desk) -> None:
    """That one waits in place then."""
    desk.sites.wanted.add("a")
    reserved, direct = desk.request("a", is_scheduled=True), desk.request("a")
    assert desk.reserve(reserved)
    assert desk.arrive(direct) is None
    await desk.wait(reserved)
    await desk.turn_after(direct)
    assert reserved in desk.turns._sent


def test_a_request_that_obeys_no_robots_txt_does_not_wait(desk: Desk) -> None:
    """The next one does: its end begins an interval."""
    desk.sites.wanted.add("a")
    first = desk.send("a")
    bypassing = desk.request("a", meta={"dont_obey_robotstxt": True})
    assert desk.arrive(bypassing) is None
    desk.interval_after(first)
    assert not desk.turns.is_due("a")
    desk.interval_after(bypassing)
    assert desk.turns.is_due("a")


async def test_a_request_that_is_cancelled_while_it_waits_takes_no_turn(desk: Desk) -> None:
    """The next one goes."""
    first = desk.send("a")
    waits = [desk.arrive(desk.request("a")) for _ in range(2)]
    await settle()
    waits[0].addErrback(lambda failure: None).cancel()
    await settle()
    await desk.turn_after(first)
    assert waits[1].called
    assert not desk.turns.hosts["a"].in_place


async def test_a_request_that_is_cancelled_just_after_its_grant_frees_its_host(desk: Desk) -> None:
    """Nothing else says so where nothing asks for another turn."""
    first, second = desk.send("a"), desk.request("a")
    waits = await desk.wait(second)
    desk.interval_after(first)
    waits.addErrback(lambda failure: None).cancel()
    await settle()
    assert desk.sites.ways[-2:] == [("sent", second.url), ("left", second.url)]
    desk.time.advance(5.0)
    assert desk.turns.is_due("a")


async def test_at_a_stop_requests_of_the_scheduler_come_back(desk: Desk) -> None:
    """Direct downloads go on waiting: nothing would make them again."""
    first = desk.send("a")
    scheduled, direct = desk.request("a", is_scheduled=True), desk.request("a")
    waits = [desk.arrive(scheduled), desk.arrive(direct)]
    await settle()
    desk.turns.return_all()
    await settle()
    assert await waits[0] is scheduled
    assert scheduled.dont_filter is True
    assert not waits[1].called
    await desk.turn_after(first)
    assert await waits[1] is None


async def test_at_the_close_nothing_waits_any_more(desk: Desk) -> None:
    """And the timer is stopped."""
    desk.end(desk.send("a"))
    request = desk.request("a")
    waits = await desk.wait(request)
    assert desk.time.timers == [5.0]
    desk.turns.close()
    await settle()
    assert await waits is request
    assert desk.time.timers == []


# --- what is asked for changes


async def test_a_pace_that_is_withdrawn_lets_what_waits_go(desk: Desk) -> None:
    """And its host is forgotten; its last end is not."""
    desk.sites.wanted.add("a")
    desk.end(desk.send("a"))
    waits = await desk.wait(desk.request("a"))
    desk.keep("a", None)
    await settle()
    assert waits.called
    desk.sites.wanted.clear()
    desk.time.advance(1.0)
    desk.end(next(iter(desk.active)))
    assert "a" not in desk.turns.hosts
    desk.keep("a", 5.0)
    assert desk.turns.hosts["a"].ended == desk.time.now


def test_a_host_that_asks_again_is_busy_with_what_was_sent_meanwhile(desk: Desk) -> None:
    """Another port may ask for a pace as soon as the first one no longer does."""
    first = desk.send("a")
    desk.keep("a", None)
    second = desk.send("a")
    desk.keep("a", 5.0, port=81)
    desk.end(first)
    desk.time.advance(5.0)
    assert not desk.turns.is_due("a")
    desk.end(second)
    desk.time.advance(4.9)
    assert not desk.turns.is_due("a")
    desk.time.advance(0.1)
    assert desk.turns.is_due("a")


def test_a_shorter_interval_holds_at_once(desk: Desk) -> None:
    """A longer one does, too: it is counted from the last end."""
    desk.sites.wanted.add("a")
    desk.end(desk.send("a"))
    desk.time.advance(2.0)
    desk.keep("a", 9.0)
    assert desk.time.timers == [3.0]
    desk.time.advance(3.0)
    assert (desk.sites.dues, desk.time.timers) == ([], [4.0])
    desk.keep("a", 1.0)
    assert desk.sites.dues == ["a"]
    desk.keep("b", None)


def test_it_is_known_how_long_a_host_has_to_wait(desk: Desk) -> None:
    """For the rest of its interval; for a whole one at least while its turn is in use."""
    assert desk.turns.wait_for("b") == 0.0
    request = desk.send("a")
    assert desk.turns.wait_for("a") == 5.0
    desk.end(request)
    desk.time.advance(2.0)
    assert desk.turns.wait_for("a") == 3.0
    desk.sites.wanted.add("a")
    desk.turns.hosts["a"].not_before = desk.time.now + 9.0  # another worker has the turn
    assert desk.turns.wait_for("a") == 9.0
    desk.keep("a", None)
    assert desk.turns.wait_for("a") == 0.0


def test_only_a_store_that_answers_keeps_the_pace_for_all_workers(desk: Desk) -> None:
    """A store in memory does not, nor one that grants no turns, nor one that fails."""
    assert not desk.turns.is_kept_by_store("a")
    desk.turns._shared = SimpleNamespace(close=lambda: None)  # type: ignore[assignment]
    assert desk.turns.is_kept_by_store("a")
    assert not desk.turns.is_kept_by_store("b")
    desk.turns.hosts["a"].failing_since = desk.time.now
    assert not desk.turns.is_kept_by_store("a")


def test_the_politest_authority_of_a_host_counts(desk: Desk) -> None:
    """Each port may ask for a pace."""
    desk.keep("a", 7.0, port=81)
    request = desk.send("a")
    assert desk.interval_for(request) == 7.0
    desk.keep("a", None, port=81)
    assert desk.interval_for(request) == 5.0


@rows(
    "settings, asked, kept",
    [
        ({"REP_MAX_CRAWL_DELAY": 3}, {"interval": 8.0}, 3.0),
        ({"REP_MAX_CRAWL_DELAY": 3}, {"interval": 8.0, "may_be_cut": False}, 8.0),
        ({"DOWNLOAD_DELAY": 10}, {"interval": 8.0}, 10.0),
        ({"DOWNLOAD_DELAY": 2}, {"interval": 8.0}, 8.0),
        ({"DOWNLOAD_DELAY": 10, "DOWNLOAD_SLOTS": {"b": {"delay": 9}}}, {"interval": 8.0}, 9.0),
        ({"DOWNLOAD_DELAY": 10, "DOWNLOAD_SLOTS": {"b": {"delay": 0}}}, {"interval": 8.0}, 8.0),
        ({"DOWNLOAD_DELAY": 10, "DOWNLOAD_SLOTS": {"c": {"delay": 0}}}, {"interval": 8.0}, 10.0),
    ],
)
def test_the_operator_bounds_the_interval(
    settings: Any, asked: Any, kept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From above by REP_MAX_CRAWL_DELAY, from below by the delay of the slot."""
    desk = Desk(monkeypatch, **settings)
    desk.keep("b", **asked)
    assert desk.interval_for(desk.request("b")) == kept


def test_a_host_that_begins_to_ask_is_busy_with_what_was_sent_before(desk: Desk) -> None:
    """And the interval follows the last end, though it was before."""
    first, other, unsent = desk.send("b"), desk.send("c"), desk.request("b")
    desk.keep("b", 5.0)
    assert desk.turns.hosts["b"].busy == 1
    assert not desk.turns.is_due("b")
    desk.end(first)
    desk.end(other)
    desk.time.advance(3.0)
    desk.keep("c", 5.0)
    assert not desk.turns.is_due("c")
    assert not desk.reserve(unsent)
    desk.time.advance(2.0)
    assert desk.turns.is_due("b")
    assert desk.turns.is_due("c")
    assert desk.counts["robotstxt/crawl_delay/hosts"] == 3


def test_the_pace_that_was_used_longest_ago_is_forgotten(desk: Desk, constants: Any) -> None:
    """Not that of a host that is in use, or that a site waits for."""
    constants("frontier.turns", _MOST_HOSTS=3)
    desk.keep("b", 5.0)
    desk.keep("c", 5.0)
    desk.send("a")
    desk.sites.wanted.add("b")
    desk.keep("d", 5.0)
    assert sorted(desk.turns.hosts) == ["a", "b", "d"]
    desk.keep("d", 5.0)
    assert sorted(desk.turns.hosts) == ["a", "b", "d"]


def test_a_pace_is_not_forgotten_before_its_interval_is_over(desk: Desk, constants: Any) -> None:
    """However many other hosts are visited meanwhile."""
    constants("frontier.turns", _MOST_HOSTS=1, _MOST_ENDS=2)
    desk.end(desk.send("a"))
    desk.keep("b", 5.0)
    for name in "cde":
        desk.end(desk.send(name))
    desk.keep("a", 5.0)
    assert not desk.turns.is_due("a")
    desk.time.advance(5.0)
    assert desk.turns.is_due("a")
    desk.keep("f", 5.0)
    assert list(desk.turns.hosts) == ["f"]


def test_hosts_that_cannot_be_forgotten_keep_no_others_from_it(desk: Desk, constants: Any) -> None:
    """A few hosts are looked at with each new one, and other ones the next time."""
    constants("frontier.turns", _MOST_HOSTS=20)
    desk.sites.wanted = {f"slow{number}" for number in range(150)}
    for name in sorted(desk.sites.wanted):
        desk.keep(name, 5.0)
    for number in range(500):
        desk.keep(f"other{number}", 5.0)
    assert desk.sites.wanted < desk.turns.hosts.keys()
    assert len(desk.turns.hosts) < 200


def test_the_end_that_is_longest_ago_is_forgotten(desk: Desk, constants: Any) -> None:
    """Of hosts that ask for no pace."""
    constants("frontier.turns", _MOST_ENDS=2)
    for name in "bcbd":
        desk.end(desk.send(name))
    assert list(desk.turns._ended) == ["b", "d"]


# --- faults


async def test_after_a_fault_no_request_goes_to_a_host_that_asks_for_a_pace(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """It could not be kept; the sites hand theirs out, so that they are refused."""
    desk.send("a")
    waits = await desk.wait(desk.request("a"))
    fault = ValueError("a fault")
    desk.turns._distrust(fault)
    with pytest.raises(ValueError, match="a fault"):
        await waits
    assert desk.sites.dues == ["a"]
    assert desk.turns.is_due("a")
    page = desk.request("a")
    assert desk.reserve(page)
    with pytest.raises(ValueError, match="a fault"):
        desk.arrive(page)
    with pytest.raises(ValueError, match="a fault"):
        desk.keep("b", 5.0)
    assert desk.arrive(desk.request("b")) is None
    desk.turns._distrust(fault)
    assert caplog.text.count("The pace of a site") == 1


def test_a_fault_at_an_offer_is_such_a_fault(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer would swallow it, and the pace too."""
    desk.sites.wanted.add("a")
    desk.end(desk.send("a"))
    monkeypatch.setattr(desk.sites, "is_wanted", lambda host: 1 / 0)
    desk.turns.hosts["a"].is_wanted = lambda host: bool(1 / 0)
    desk.time.advance(5.0)
    assert desk.sites.dues == ["a"]
    assert desk.reserve(desk.request("a"))
    with pytest.raises(ZeroDivisionError):
        desk.arrive(desk.request("a"))


async def test_a_cancelled_request_that_comes_again_waits_for_its_interval(desk: Desk) -> None:
    """The same object is downloaded again before anybody has looked whether it is still there."""
    request = desk.send("a")
    desk.active.discard(request)  # cancelled
    desk.active.add(request)
    waits = desk.arrive(request)
    desk.time.advance(4.9)
    await settle()
    assert not waits.called
    desk.time.advance(0.2)
    assert await waits is None
    desk.end(request)
    assert desk.turns._sent == {}


def test_a_turn_whose_request_is_used_again_elsewhere_is_freed(desk: Desk) -> None:
    """The object went back to the scheduler, so that its state is another one."""
    request = desk.send("a")
    desk.sites.states.begin(request, Stage.HEAD)
    desk.active.discard(request)
    assert desk.turns.end_lost()
    assert desk.turns.awaited == {}
    desk.time.advance(5.1)
    assert desk.turns.is_due("a")


@pytest.mark.parametrize("early", [1e-6, 2e-6, 3e-6, 5e-6])
def test_a_host_that_becomes_due_while_it_is_looked_at_is_looked_at_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, early: float
) -> None:
    """The clock goes on between two looks at it."""
    desk.end(desk.send("a"))  # nothing waits for the host, so nothing is planned
    desk.time.now += 5.0 - early

    def ticking() -> float:
        desk.time.now += 6e-7
        return desk.time.now

    for module in ("turns", "hosts"):
        monkeypatch.setattr(f"scrapy_rep.frontier.{module}.monotonic", ticking)
    request = desk.request("a", is_scheduled=True)
    if not desk.reserve(request):
        desk.sites.wanted.add("a")  # its site is parked for the turn
        desk.time.advance(1.0)
        assert desk.sites.dues == ["a"]


# --- what a robots.txt asks for, and what a host makes of all that is asked for

DAY = 86_400.0


def asker(port: int = 80) -> Any:
    """One authority of the host, and the agent it asks."""
    return Authority("http", "a.example", port), ("mybot",)


def paced_host() -> PacedHost:
    """A host that asks for nothing yet."""
    return PacedHost("a.example", 0.0, lambda name: False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of the hosts."""
    clock = Clock()
    monkeypatch.setattr("scrapy_rep.frontier.hosts.monotonic", clock)
    return clock


def test_a_pace_lasts_for_a_day(clock: Clock) -> None:
    """RFC 9309 2.4: then it is forgotten, unless a request waits because of it."""
    host = paced_host()
    host.heed(asker(1), 9.0)
    clock.now += DAY - 1
    host.heed(asker(2), 5.0)
    assert host.interval == 9
    clock.now += 1
    host.reserved_for = Request("http://a.example/")
    host.heed(asker(2), 5.0)
    assert host.interval == 9
    host.reserved_for = None
    host.heed(asker(2), 5.0)
    assert host.interval == 5


def test_a_pace_whose_override_has_expired_lasts_for_a_day(clock: Clock) -> None:
    """Nothing withdraws it, and what the rules ask for may be no pace."""
    host = paced_host()
    host.heed((asker()[0], ("override 1",)), 9.0)
    clock.now += DAY - 1
    host.withdraw(asker())
    assert host.interval == 9
    clock.now += 1
    host.withdraw(asker())
    assert not host.asks


def test_what_is_asked_for_anew_takes_the_place_of_the_old() -> None:
    """A refresh may ask for more, for less, or for nothing."""
    host = paced_host()
    for seconds in (5, 9, 2):
        host.heed(asker(), seconds)
        assert (host.interval, host.asked_by(asker())) == (seconds, seconds)
    host.withdraw(asker())
    assert (host.interval, host.asked_by(asker()), host.asks) == (0.0, 0.0, False)


def test_a_host_heeds_a_hundred_askers() -> None:
    """Past that the least polite go, so that no host grows with the ports it has."""
    host = paced_host()
    for seconds in [*range(1, 500), 1]:
        host.heed(asker(seconds), seconds)
    assert host.interval == 499
    assert len(host._asked) == 100
