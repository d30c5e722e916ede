"""The frontier over a scheduler that cannot be asked for the requests of one site, by itself.

The gate, the turns, and what the frontier sees of the engine do what a test has said. The sites,
the front, the loads of slots and the timers are real; the time is virtual.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.frontier.alarm import Agenda
from scrapy_rep.frontier.frontier import Frontier, frontier_of
from scrapy_rep.frontier.places import Places
from scrapy_rep.frontier.request_state import RequestState, to_come_back
from scrapy_rep.frontier.states import REFUSED, Block, State, Unblocked
from scrapy_rep.scrapy_names import ScrapyNames
from scrapy_rep.stats import RepStats
from tests.frontier.test_cluster import NotScrapys, Queue
from tests.frontier.virtual_time import VirtualTime
from tests.scripted import Counts

Log = pytest.LogCaptureFixture


class Neighbours:
    """The gate and the turns, as the frontier sees them."""

    def __init__(self) -> None:
        self.blocks: dict[str, Block | Unblocked] = {}
        """What blocks the requests to a host, but for room."""
        self.known: set[str] = set()
        """The hosts whose rules are known."""
        self.begun: list[Request] = []
        self.due: set[str] = set()
        self.intervals: dict[str, float] = {}
        self.agenda = Agenda(lambda what: None, lambda error: None)
        self.awaited: dict[str, object] = {}
        self.looks = 0
        self.waits: dict[str, float] = {}

    def key_of(self, request: Request) -> str:
        """The authority of a request."""
        return str(authority_of(request.url))

    def knows(self, authority: Authority) -> bool:
        """Whether the rules of an authority are known."""
        return authority.host in self.known

    def blocked_by(
        self, request: Request, state: Any, room: Block | None
    ) -> Block | Unblocked | None:
        """What blocks a request."""
        host = urlsplit(request.url).hostname or ""
        if host == "broken.example":
            raise ValueError("a fault of the gate")
        if host not in self.known:
            authority: Any = authority_of(request.url)
            return Block(State.RULES, authority)
        return self.blocks.get(host) or room

    def begin(self, request: Request, state: Any, authority: Authority) -> None:
        """Begin a fetch."""
        self.begun.append(request)

    def is_due(self, name: str) -> bool:
        """Whether a host is due."""
        return name in self.due

    def interval_of(self, name: str) -> float:
        """The interval of a host."""
        return self.intervals.get(name, 0.0)

    def end_lost(self) -> bool:
        """Whether turns were lost."""
        self.looks += 1
        return False

    def wait_for(self, name: str) -> float:
        """The seconds until a host may be due."""
        return self.waits.get(name, 0.0)

    def is_kept_by_store(self, name: str) -> bool:
        """No store keeps the pace of a host."""
        return False


class Crawl:
    """A frontier, its neighbours, and the requests that its scheduler has."""

    def __init__(self, time: VirtualTime, shared: Any = None, **settings: Any) -> None:
        self.time = time
        settings = {"SCHEDULER": NotScrapys, "CONCURRENT_REQUESTS": 4, **settings}
        self.crawler = get_crawler(Spider, settings)
        self.wakes = 0
        nextcall = SimpleNamespace(schedule=self._wake)
        self.engine_slot = SimpleNamespace(inprogress=set(), closing=None, nextcall=nextcall)
        self.active: set[Request] = set()
        downloader = SimpleNamespace(active=self.active, total_concurrency=4)
        self.crawler.engine = SimpleNamespace(downloader=downloader, _slot=self.engine_slot)  # type: ignore[assignment]
        self.counts = Counts()
        scrapy, stats = ScrapyNames(self.crawler), RepStats(self.counts)  # type: ignore[arg-type]
        self.frontier = Frontier(self.crawler, scrapy, stats, Places(scrapy, stats), time)
        self.neighbours = Neighbours()
        both: Any = self.neighbours
        self.frontier.connect(both, both, lambda: 0)
        self.scheduled: deque[Request] = deque()
        assert not self.frontier.is_open
        self.frontier.open()
        self.frontier.shared_queue = shared
        self.frontier.opened()

    def _wake(self) -> None:
        self.wakes += 1

    def schedule(self, *urls: str, **how: Any) -> list[Request]:
        """Requests that the scheduler gives out in this order."""
        requests = [Request(f"http://{url}", **how) for url in urls]
        self.scheduled += requests
        return requests

    def next(self) -> Request | None:
        """The next request, as the engine asks for it."""
        return self.frontier.next(lambda: self.scheduled.popleft() if self.scheduled else None)

    def send(self, request: Request) -> RequestState:
        """A request comes to the gate and passes the last step."""
        self.active.add(request)
        state = self.frontier.reached_gate(request)
        self.frontier.sent(request)
        return state

    def end(self, request: Request) -> None:
        """The download of a request ends."""
        self.active.discard(request)
        self.frontier.left(request, was_sent=True)


def authority(host: str) -> Authority:
    """The authority of a host."""
    return Authority("http", host, 80)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> VirtualTime:
    """The time of the frontier."""
    return VirtualTime.of(monkeypatch, "limits", "frontier")


@pytest.fixture
def crawl(time: VirtualTime) -> Crawl:
    """A crawl whose scheduler is not Scrapy's."""
    return Crawl(time)


def test_what_waits_for_rules_is_passed_by_what_does_not(crawl: Crawl) -> None:
    """It is read ahead, its fetch is begun, and it goes when its rules are there."""
    crawl.neighbours.known = {"b.example"}
    a, b = crawl.schedule("a.example/", "b.example/")
    assert crawl.next() is b
    assert crawl.next() is None
    assert crawl.neighbours.begun == [a]
    assert crawl.frontier.has_read_ahead
    assert (crawl.frontier.waiting, crawl.frontier.waiting_for(authority("a.example"))) == (1, [a])
    crawl.neighbours.known.add("a.example")
    before = crawl.wakes
    crawl.frontier.arrived(authority("a.example"))
    assert crawl.wakes > before
    assert crawl.next() is a
    assert not crawl.frontier.has_read_ahead
    assert crawl.frontier.waiting == 0


def test_no_more_is_read_ahead_while_a_site_is_ready_or_the_front_is_full(crawl: Crawl) -> None:
    """The front has four times CONCURRENT_REQUESTS; what is behind it stays with the scheduler."""
    crawl.schedule(*(f"{number}.example/" for number in range(20)))
    assert crawl.next() is None
    assert len(crawl.scheduled) == 4
    crawl.neighbours.known = {"3.example"}
    crawl.frontier.arrived(authority("3.example"))
    request = crawl.next()
    assert request.url == "http://3.example/"
    assert len(crawl.scheduled) == 4
    assert crawl.next() is None
    assert len(crawl.scheduled) == 3


def test_a_request_that_is_refused_takes_no_room_unless_it_is_sent(time: VirtualTime) -> None:
    """What a middleware has changed may pass the gate after all."""
    crawl = Crawl(time, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    crawl.neighbours.known = {"a.example", "b.example"}
    crawl.neighbours.blocks["a.example"] = REFUSED
    how = {"meta": {"download_slot": "one"}}
    refused, page, later = crawl.schedule("a.example/", "b.example/1", "b.example/2", **how)
    assert [crawl.next() for _ in range(3)] == [refused, page, None]
    crawl.send(refused)
    crawl.send(page)
    crawl.end(page)
    assert crawl.next() is None
    crawl.end(refused)
    assert crawl.next() is later


def test_what_comes_back_is_as_it_was(crawl: Crawl) -> None:
    """A request that an earlier run gave back has its mark removed when it is read."""
    crawl.neighbours.known = {"a.example"}
    [request] = crawl.schedule("a.example/")
    assert to_come_back(request).dont_filter
    assert crawl.next() is request
    assert (request.dont_filter, request.meta) == (False, {})


def test_one_object_twice_is_two_requests(crawl: Crawl) -> None:
    """Also if the engine has one of them."""
    [request] = crawl.schedule("a.example/")
    crawl.scheduled.append(request)
    assert crawl.next() is None
    assert len(crawl.frontier.waiting_for(authority("a.example"))) == 2
    [other] = crawl.schedule("b.example/")
    crawl.engine_slot.inprogress.add(other)
    crawl.neighbours.known = {"b.example"}
    found = crawl.next()
    assert found is not other
    assert found.url == other.url


def test_a_fault_of_the_gate_costs_one_request_alone(crawl: Crawl, caplog: Log) -> None:
    """It is handed out, and the gate, where the fault is found again, refuses it."""
    crawl.neighbours.known = {"a.example", "broken.example"}
    broken, a = crawl.schedule("broken.example/", "a.example/")
    assert [crawl.next(), crawl.next()] == [broken, a]
    assert crawl.frontier.is_open
    assert "The look at a request failed (ValueError: a fault of the gate)" in caplog.text


def test_after_a_fault_of_the_frontier_all_requests_go(crawl: Crawl, caplog: Log) -> None:
    """Those that it had read ahead first; then the scheduler gives out its own.

    A stop still knows which ones the scheduler has given out, and waits for direct downloads alone.
    """
    waits = crawl.schedule("a.example/", "b.example/")
    assert crawl.next() is None
    crawl.frontier.give_up(ValueError("a fault"))
    assert "The frontier failed (ValueError: a fault)" in caplog.text
    behind = crawl.schedule("c.example/")
    to_come_back(behind[0])
    for request in [*waits, *behind]:
        assert crawl.next() is request
        assert crawl.send(request).is_scheduled
    assert crawl.next() is None
    assert behind[0].meta == {}
    assert (crawl.frontier.waiting, crawl.frontier.next_request_delay) == (0, None)
    assert not crawl.frontier.is_wanted("a.example")


def test_a_fault_does_not_cost_the_request_that_was_just_read(crawl: Crawl) -> None:
    """The engine cannot be asked what it has."""
    crawl.engine_slot.inprogress = None
    a, b = crawl.schedule("a.example/", "b.example/")
    assert [crawl.next(), crawl.next(), crawl.next()] == [a, b, None]
    assert not crawl.frontier.is_open


def test_a_site_lacks_rules_that_are_not_known(crawl: Crawl) -> None:
    """Of a key that is no authority's nothing is known before its requests are looked at."""
    crawl.neighbours.known = {"b.example"}
    keys = ["http://a.example", "http://b.example", "-data"]
    assert [crawl.frontier.lacks_rules(key) for key in keys] == [True, False, False]


def test_at_the_close_all_that_was_read_ahead_goes_back(crawl: Crawl) -> None:
    """In the order in which it came out; nothing is chosen any more."""
    waits = crawl.schedule("a.example/1", "b.example/", "a.example/2")
    assert crawl.next() is None
    back: list[Request] = []
    crawl.frontier.close(lambda request: back.append(request) is None)
    assert sorted(request.url for request in back) == sorted(request.url for request in waits)
    assert not crawl.frontier.is_open
    assert not crawl.frontier.has_read_ahead
    assert crawl.frontier.waiting == 0
    assert crawl.time.timers == []


def test_a_fault_at_the_close_loses_no_request(
    crawl: Crawl, caplog: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read ahead goes back all the same, and the base is closed."""
    [waits] = crawl.schedule("a.example/")
    assert crawl.next() is None

    def fail() -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(crawl.frontier._demand, "close", fail)
    back: list[Request] = []
    crawl.frontier.close(lambda request: not back.append(request))
    assert back == [waits]
    assert "The frontier failed (ValueError: a fault)" in caplog.text


def test_after_a_fault_the_close_leaves_no_timer(crawl: Crawl) -> None:
    """One of a site that waits for a time would keep the crawl in memory for ten minutes."""
    crawl.neighbours.known = {"a.example"}
    crawl.neighbours.blocks["a.example"] = Block(State.UNTIL, crawl.time() + 3_600)
    crawl.schedule("a.example/", "b.example/")
    assert crawl.next() is None
    crawl.frontier.give_up(ValueError("a fault"))
    crawl.frontier.close(lambda request: True)
    assert crawl.time.timers == []


def test_a_request_that_does_not_reach_the_last_step_keeps_no_room(time: VirtualTime) -> None:
    """Another middleware holds it up; after a turn of the loop another one may go."""
    crawl = Crawl(time, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    crawl.neighbours.known = {"a.example"}
    first, second = crawl.schedule("a.example/1", "a.example/2")
    assert [crawl.next(), crawl.next()] == [first, None]
    time.advance(0.0)
    assert crawl.next() is second


def test_a_site_that_waits_for_its_turn_goes_when_it_is_due(crawl: Crawl) -> None:
    """Its interval is that of its host."""
    crawl.neighbours.known = {"a.example"}
    crawl.neighbours.blocks["a.example"] = Block(State.TURN, "a.example")
    crawl.neighbours.intervals["a.example"] = 3.0
    first, _ = crawl.schedule("a.example/1", "a.example/2")
    assert crawl.next() is None
    assert crawl.frontier.is_wanted("a.example")
    [site] = crawl.frontier.sites.by_key.values()
    assert crawl.frontier.interval_of(site) == 3.0
    before = crawl.wakes
    crawl.frontier.ask_again("a.example")
    assert crawl.wakes == before
    crawl.neighbours.due = {"a.example"}
    del crawl.neighbours.blocks["a.example"]
    crawl.frontier.ask_again("a.example")
    assert crawl.wakes == before + 1
    assert crawl.next() is first


def test_a_site_that_waits_until_a_time_goes_then(crawl: Crawl) -> None:
    """A timer asks the scheduler; until then it says how long that is."""
    crawl.neighbours.known = {"a.example", "b.example"}
    now = crawl.time.now
    for host, seconds in (("a.example", 30.0), ("b.example", 20.0)):
        crawl.neighbours.blocks[host] = Block(State.UNTIL, now + seconds)
    a, b = crawl.schedule("a.example/", "b.example/")
    assert crawl.next() is None
    assert crawl.frontier.next_request_delay == 20.0
    crawl.neighbours.agenda.set("c.example", now + 5.0)
    assert crawl.frontier.next_request_delay == 5.0
    crawl.neighbours.blocks.clear()
    crawl.time.advance(19.9)
    assert crawl.next() is None
    crawl.time.advance(0.2)
    assert [crawl.next(), crawl.next()] == [b, None]
    assert crawl.frontier.next_request_delay == pytest.approx(9.9)
    crawl.time.advance(10.0)
    assert crawl.next() is a
    assert crawl.frontier.next_request_delay is None


def test_a_request_that_no_scheduler_handed_out_is_a_direct_download(crawl: Crawl) -> None:
    """What a callback or a pipeline downloads; a scheduled one may be downloaded again."""
    crawl.neighbours.known = {"a.example"}
    direct = to_come_back(Request("http://a.example/direct"))
    assert not crawl.frontier.reached_gate(direct).is_scheduled
    assert not direct.dont_filter
    [request] = crawl.schedule("a.example/")
    assert crawl.next() is request
    assert crawl.send(request).is_scheduled
    assert not crawl.frontier.reached_gate(request).is_scheduled


def test_the_frontier_of_a_crawl_is_found_while_it_lives(crawl: Crawl) -> None:
    """A scheduler finds it by its crawler; another crawl has another one."""
    assert frontier_of(crawl.crawler) is crawl.frontier
    assert frontier_of(get_crawler(Spider)) is None


def test_turns_are_looked_at_while_nothing_can_go(crawl: Crawl) -> None:
    """A request that was cancelled may occupy the host that others wait for."""
    assert [crawl.next(), crawl.neighbours.looks] == [None, 0]
    crawl.neighbours.awaited["a.example"] = object()
    for seconds, looks in ((0.0, 2), (0.01, 3), (0.05, 5)):  # and twenty times a second anyway
        crawl.time.advance(seconds)
        assert crawl.next() is None
        assert crawl.neighbours.looks == looks


def test_start_is_put_off_when_very_many_requests_wait_and_none_can_go(
    time: VirtualTime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By a little for each request in memory; not if they are on disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scrapy_rep.frontier.frontier._MANY", 10)
    for settings, pause in (({}, 2.5e-6), ({"JOBDIR": "job"}, 0.0)):
        crawl = Crawl(time, **settings)
        queues: Any = range(15)
        crawl.frontier._queues.append(queues)
        crawl.neighbours.known = {"a.example"}
        assert crawl.frontier.start_pause == 0.0
        crawl.schedule("a.example/")
        assert crawl.next() is not None
        assert crawl.frontier.start_pause == 0.0
        assert crawl.next() is None
        assert crawl.frontier.start_pause == pytest.approx(pause)


@pytest.mark.parametrize(
    ("settings", "keeps"),
    [
        ({}, False),
        ({"JOBDIR": "job"}, True),
        ({"SCHEDULER_PERSIST": True}, True),
        ({"SCHEDULER_PERSIST": True, "SCHEDULER": "scrapy.core.scheduler.Scheduler"}, False),
    ],
)
def test_what_a_stop_leaves_may_be_kept(
    time: VirtualTime,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: Any,
    keeps: bool,
) -> None:
    """By a job directory, or by a scheduler that persists."""
    monkeypatch.chdir(tmp_path)
    assert Crawl(time, **settings).frontier.keeps is keeps


def test_the_queue_of_a_cluster_is_told_what_becomes_of_each_request(time: VirtualTime) -> None:
    """Of its hand-out, and of the end of its download."""
    queue = Queue()
    crawl = Crawl(time, queue)
    crawl.neighbours.intervals["a.example"] = 2.0
    [request] = crawl.schedule("a.example/")
    assert crawl.next() is None
    crawl.neighbours.known = {"a.example"}
    crawl.frontier.arrived(authority("a.example"))
    assert crawl.next() is request
    state = crawl.send(request)
    state.host = "a.example"
    crawl.neighbours.waits["a.example"] = 1.5
    crawl.end(request)
    assert queue.told == [("handed_out", request, 0.0), ("ended", request, 1.5)]


def test_the_queue_of_a_cluster_is_told_that_a_request_will_be_refused(time: VirtualTime) -> None:
    """That says nothing of the pace of its host."""
    queue = Queue()
    crawl = Crawl(time, queue)
    crawl.neighbours.known, crawl.neighbours.blocks = {"a.example"}, {"a.example": REFUSED}
    crawl.neighbours.intervals["a.example"] = 2.0
    [request] = crawl.schedule("a.example/")
    assert crawl.next() is request
    assert queue.told == [("handed_out", request, None)]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_worker_that_may_count_as_dead_hands_none_out(time: VirtualTime, is_open: bool) -> None:
    """After a fault neither, as others may get what it has."""
    queue: Any = Queue()
    crawl = Crawl(time, queue)
    crawl.neighbours.known = {"a.example"}
    [request] = crawl.schedule("a.example/")
    if not is_open:
        crawl.frontier.give_up(ValueError("a fault"))
    queue.check = lambda: False
    assert crawl.next() is None
    queue.check = lambda: True
    assert crawl.next() is request


def test_a_request_that_has_to_wait_long_goes_back_to_the_cluster(time: VirtualTime) -> None:
    """Also when that becomes known while it waits here, and a second one of its site at once."""
    queue = Queue()
    crawl = Crawl(time, queue)
    crawl.neighbours.known = {"a.example"}
    crawl.neighbours.blocks["a.example"] = Block(State.TURN, "a.example")
    crawl.neighbours.intervals["a.example"] = 2.0
    kept, second = crawl.schedule("a.example/1", "a.example/2")
    assert crawl.next() is None
    back = [each for each in queue.told if each[0] == "give_back"]
    assert back == [("give_back", second, 2.0, 2.0)]
    crawl.neighbours.waits["a.example"] = 9.0
    crawl.frontier.ask_again("a.example")
    assert crawl.next() is None
    assert queue.told[-1] == ("give_back", kept, 9.0, 2.0)
    assert not crawl.frontier.has_read_ahead


def test_a_worker_that_was_declared_dead_forgets_what_it_has_read_ahead(time: VirtualTime) -> None:
    """Others have got it; what the engine has goes on."""
    crawl = Crawl(time, Queue())
    crawl.neighbours.known = {"b.example"}
    a, b = crawl.schedule("a.example/", "b.example/")
    assert crawl.next() is b
    crawl.engine_slot.inprogress.add(b)
    assert crawl.next() is None
    assert crawl.frontier.done([a, b]) == []
    crawl.frontier.drop_read_ahead()
    assert crawl.frontier.done([a, b]) == [a]
    assert not crawl.frontier.has_read_ahead
    assert crawl.frontier.waiting == 0


def test_a_crawl_is_closing_when_its_engine_is(crawl: Crawl) -> None:
    """Then nobody is woken."""
    scrapy = crawl.frontier.scrapy
    assert not scrapy.is_closing
    scrapy.wake()
    assert crawl.wakes == 1
    crawl.engine_slot.closing = object()
    assert scrapy.is_closing
    scrapy.wake()
    assert crawl.wakes == 1


def test_a_site_goes_soon_if_its_time_came_while_the_machine_slept(
    crawl: Crawl, time: VirtualTime
) -> None:
    """The clock of the timers stood still, and nothing says so."""
    slept = [0.0]
    crawl.frontier._clock = lambda: time.now + slept[0]
    crawl.neighbours.known = {"a.example"}
    crawl.neighbours.blocks["a.example"] = Block(State.UNTIL, time.now + 3_600.0)
    (request,) = crawl.schedule("a.example/")
    assert crawl.next() is None
    slept[0] = 7_200.0
    crawl.neighbours.blocks.clear()
    time.advance(600.0)
    assert crawl.next() is request


def test_a_clock_that_is_set_back_lets_no_site_wait_longer(crawl: Crawl, time: VirtualTime) -> None:
    """The times until which sites are parked are of the clock as it was."""
    ahead = [86_400.0]
    crawl.frontier._clock = lambda: time.now + ahead[0]
    crawl.neighbours.known = {"a.example"}
    crawl.neighbours.blocks["a.example"] = Block(State.UNTIL, time.now + ahead[0] + 60.0)
    [request] = crawl.schedule("a.example/")
    assert crawl.next() is None
    ahead[0] = 0.0
    crawl.neighbours.known.add("b.example")
    crawl.neighbours.blocks["b.example"] = Block(State.UNTIL, time.now + 59.0)
    [other] = crawl.schedule("b.example/")
    assert crawl.next() is None
    crawl.neighbours.blocks.clear()
    time.advance(61.0)
    assert {crawl.next(), crawl.next()} == {request, other}
