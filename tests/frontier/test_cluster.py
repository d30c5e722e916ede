"""What a worker keeps of a queue that workers share, and what goes back, with which advice.

The queue writes down what it is told, and the turns answer what a test has set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from scrapy_rep.access.authority import Authority
from scrapy_rep.frontier.cluster import EARLY, UNDER_WAY, ClusterFront
from scrapy_rep.frontier.request_state import RequestState
from scrapy_rep.frontier.sites import Site
from scrapy_rep.frontier.states import Block, Stage, State
from scrapy_rep.stats import RepStats
from tests.frontier.virtual_time import VirtualTime
from tests.scripted import Counts

KEY, HOST = "http://a.example", "a.example"
RULES = Block(State.RULES, Authority("http", HOST, 80))
ROOM, TURN = Block(State.ROOM, HOST), Block(State.TURN, HOST)
MOST = 16
"""Requests that may be in a front with CONCURRENT_REQUESTS = 4; an eighth of them of one slot."""


class NotScrapys:
    """A scheduler that is not Scrapy's."""


class Queue:
    """The queue that workers share, which writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args: self.told.append((name, *args))

    def check(self) -> bool:
        """The worker counts as alive."""
        return True


class Turns:
    """The seconds until a host may be due, and the interval of each host."""

    wait, interval, by_store = 0.0, 2.0, False

    def wait_for(self, host: str) -> float:
        """The seconds that were set."""
        assert host == HOST
        return self.wait

    def interval_of(self, host: str) -> float:
        """The interval that was set."""
        assert host == HOST
        return self.interval

    def is_kept_by_store(self, host: str) -> bool:
        """What was set."""
        assert host == HOST
        return self.by_store


class Worker:
    """A front, and what it is told about."""

    def __init__(self, **settings: Any) -> None:
        settings = {"CONCURRENT_REQUESTS": 4, "SCHEDULER": NotScrapys, **settings}
        self.crawler = get_crawler(Spider, settings)
        self.queue, self.turns, self.counts = Queue(), Turns(), Counts()
        neighbours: Any = self.crawler, self.queue, self.turns
        stats: Any = RepStats(self.counts)  # type: ignore[arg-type]
        self.front = ClusterFront(*neighbours, lambda: 1_000.0, stats)

    def read(self, key: str = KEY) -> Request:
        """A request that was read ahead, and waits in the front."""
        request = Request(f"{key}/")
        self.front.requests[request] = None
        return request

    def fill(self, count: int) -> None:
        """That many more requests are in the front."""
        for number in range(count):
            self.read(f"http://{number}.example")

    def parked(self, block: Block, size: int = 1) -> Site:
        """A site with that many requests, parked for something."""
        site = Site(KEY, size)
        site.state, site.block = block.state, block
        return site

    def went_back(self, request: Request, *advice: float) -> bool:
        """Whether a request went back with this advice, which is all that the queue was told."""
        told, self.queue.told = self.queue.told, []
        return request not in self.front.requests and told == [("give_back", request, *advice)]


def test_the_first_request_of_a_site_stays() -> None:
    """It is the one for which rules are fetched, or a turn is asked for."""
    worker = Worker()
    for lacks_rules in (False, True):
        assert worker.front.admit(worker.read(), KEY, None, lacks_rules)
    assert worker.queue.told == []


def test_a_crowded_worker_asks_for_no_more_rules() -> None:
    """What it cannot use goes back for as long as a fetch takes, and it takes no more for now."""
    worker = Worker()
    worker.fill(MOST - 1)
    assert worker.front.admit(worker.read(), KEY, None, True)
    assert not worker.front.is_full()
    request = worker.read()
    assert worker.front.admit(request, KEY, None, False)
    assert not worker.front.admit(request, KEY, None, True)
    assert worker.queue.told == [("rest",), ("give_back", request, UNDER_WAY, None)]


@pytest.mark.parametrize("state", [State.RULES, State.READY, State.FETCH, State.UNTIL])
def test_a_second_request_of_a_site_goes_back_for_a_moment(state: State) -> None:
    """The first one finds out what the others have to wait for."""
    worker = Worker()
    request = worker.read()
    assert not worker.front.admit(request, KEY, worker.parked(Block(state, None)), False)
    assert worker.went_back(request, 0.3, None)


def test_some_requests_of_a_full_slot_stay() -> None:
    """When few of them are left, more are asked for."""
    worker = Worker()
    first, second, third = worker.read(), worker.read(), worker.read()
    assert worker.front.admit(first, KEY, worker.parked(ROOM, 1), False)
    worker.front.push(KEY, first)
    worker.front.push(KEY, second)
    assert not worker.front.admit(third, KEY, worker.parked(ROOM, 2), False)
    assert worker.went_back(third, 1.0, None)
    for request, told in ((first, [("not_before", KEY, 0.0)]), (second, [])):
        assert worker.front.take(KEY) is request
        worker.front.handed_out(request, RequestState(Stage.HEAD, host=HOST))
        assert worker.queue.told == [("handed_out", request, 2.0), *told]
        worker.queue.told.clear()


def test_a_crowded_worker_keeps_nothing_that_waits_for_room() -> None:
    """Nor for rules; each goes back for the time after which it may be of use."""
    worker = Worker()
    worker.fill(MOST)
    for block, seconds in ((RULES, UNDER_WAY), (ROOM, 1.0)):
        request = worker.read()
        assert not worker.front.keep(request, block, False)
        assert worker.queue.told == [("rest",), ("give_back", request, seconds, None)]
        worker.queue.told.clear()
    request = worker.read()
    assert not worker.front.admit(request, KEY, worker.parked(ROOM, 1), False)
    assert worker.queue.told == [("rest",), ("give_back", request, 1.0, None)]


def test_what_waits_for_rules_or_room_stays_while_there_are_few() -> None:
    """The worker may use it soon."""
    worker = Worker()
    worker.fill(MOST - 2)
    assert worker.front.keep(worker.read(), RULES, True)
    assert worker.front.keep(worker.read(), ROOM, True)
    assert worker.queue.told == []


def test_one_request_of_a_host_waits_here_for_a_turn_that_is_near() -> None:
    """All else goes back until the host is due, or for an interval if it is due by now."""
    worker = Worker()
    worker.turns.wait = 0.3
    assert worker.front.keep(worker.read(), TURN, False)
    another = worker.read()
    assert not worker.front.keep(another, TURN, True)
    assert worker.went_back(another, 2.0, 2.0)
    assert not worker.front.admit(another := worker.read(), KEY, worker.parked(TURN), False)
    assert worker.went_back(another, 2.0, 2.0)
    assert not worker.front.returns(HOST)
    worker.turns.wait = 0.31
    assert worker.front.returns(HOST)
    request = worker.read()
    assert not worker.front.keep(request, TURN, False)
    assert worker.went_back(request, 0.31, 2.0)


def test_without_a_shared_pace_the_queue_knows_none() -> None:
    """One request of each host waits here, however long; the others go back for a second."""
    worker = Worker(REP_SHARED_PACE=False)
    worker.turns.wait = 50.0
    request = worker.read()
    assert worker.front.keep(request, TURN, False)
    assert not worker.front.returns(HOST)
    another = worker.read()
    assert not worker.front.keep(another, TURN, True)
    assert worker.went_back(another, 1.0, None)
    state = RequestState(Stage.HEAD, host=HOST)
    worker.front.handed_out(request, state)
    worker.front.ended(request, state)
    assert worker.queue.told == [("handed_out", request, 0.0)]


@pytest.mark.parametrize(
    ("until", "seconds"), [(990.0, 1.0), (1_000.5, 1.0), (1_030.0, 30.0), (9_000.0, 60.0)]
)
def test_what_waits_until_a_time_goes_back_for_a_minute(until: float, seconds: float) -> None:
    """The next attempt to fetch a robots.txt may be hours away, and another worker may fetch it."""
    worker = Worker()
    request = worker.read()
    assert not worker.front.keep(request, Block(State.UNTIL, until), False)
    assert worker.went_back(request, seconds, None)


def test_the_end_of_a_download_says_when_its_site_is_due() -> None:
    """Of a host without a pace nothing is said."""
    worker = Worker()
    state, request = RequestState(Stage.CHECKED, host=HOST), worker.read()
    worker.turns.wait = 1.5
    worker.front.ended(request, state)
    assert worker.queue.told == [("ended", request, 1.5)]
    worker.turns.interval = 0.0
    worker.front.ended(request, state)
    assert len(worker.queue.told) == 1


@pytest.mark.parametrize(("wait", "told"), [(1.5, 1.5 - EARLY), (0.05, 0.0)])
def test_a_site_whose_pace_a_store_keeps_may_be_taken_a_little_early(
    wait: float, told: float
) -> None:
    """Its request waits at a worker until the store grants its turn."""
    worker = Worker()
    state, request = RequestState(Stage.CHECKED, host=HOST), worker.read()
    worker.turns.wait, worker.turns.by_store = wait, True
    worker.front.ended(request, state)
    assert worker.queue.told == [("ended", request, told)]


def test_a_start_list_is_read_once_a_second(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of the spider is said once, until the list has been read again."""
    time = VirtualTime.of(monkeypatch, "cluster")
    worker = Worker()
    worker.front.read_start_list()  # there is no spider yet
    read: list[float] = []

    class ListSpider(Spider):
        name = "list"

        def schedule_next_requests(self) -> None:
            read.append(time.now)
            if len(read) != 3:
                raise RuntimeError("the list is broken")

    worker.crawler.spider = ListSpider()
    begun = time.now
    for _ in range(13):
        worker.front.read_start_list()
        time.now += 0.25
    assert read == [begun, begun + 1.0, begun + 2.0, begun + 3.0]
    said = [record.getMessage() for record in caplog.records]
    assert ["Reading the start list" in line for line in said] == [True, True]
