"""What a frontier says of the requests that it has out of the queue in Redis, and what Redis keeps.

A real server; the frontier is that of a crawl whose gate does what a test has said. The timers are
virtual, and each step is made by the test.
"""

from __future__ import annotations

import time as real_time
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.frontier.cluster import UNDER_WAY
from scrapy_rep.redis_queue import SOON, HostQueue
from tests.frontier.test_frontier import Crawl
from tests.frontier.virtual_time import VirtualTime

KEY, SITE = "spider:requests", "http://a.example"
RING = 4e15
"""The least time of a site that waits for nothing."""


class Worker:
    """One worker: a crawl, and its view of the queue."""

    def __init__(self, client: Any, time: VirtualTime) -> None:
        self.client = client
        self.crawl = Crawl(time)
        self.crawl.crawler.spider = spider = self.crawl.crawler._create_spider("spider")
        self.queue: Any = HostQueue(client, spider, "%(spider)s:requests")
        self.crawl.frontier.opened()

    def taken(self, *urls: str) -> list[Request]:
        """Requests that were pushed, and taken out."""
        for url in urls:
            self.queue.push(Request(url))
        found = []
        for _ in urls:
            found.append(self.pop())
            self.queue.not_before(SITE, 0.0)  # a new site is left alone otherwise
            self.step()
        assert sorted(request.url for request in found) == sorted(urls)
        return found

    def pop(self) -> Any:
        """The next request, whatever was said of pauses; the engine has it from now on."""
        self.queue._pause_until = 0.0
        request = self.queue.pop()
        if request is not None:
            self.crawl.engine_slot.inprogress.add(request)
        return request

    def step(self) -> None:
        """Redis is told what there is to tell."""
        self.queue._step(0)

    @property
    def due_in(self) -> float:
        """The seconds until the site may be asked; 0 if it waits for nothing."""
        when = self.client.zscore(f"{KEY}:due", SITE)
        return 0.0 if when >= RING else float(when) / 1e6 - real_time.time()

    @property
    def pace(self) -> float | None:
        """The interval of the site; None if none is known."""
        interval = self.client.hget(f"{KEY}:pace", SITE)
        return None if interval is None else float(interval) / 1e6

    @property
    def counts(self) -> tuple[int, int]:
        """How many requests wait in Redis, and how many are out."""
        return self.client.zcard(f"{KEY}:hosts"), self.client.zcard(f"{KEY}:out")


@pytest.fixture
def worker(client: Any, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A worker of a queue that is empty."""
    return Worker(client, VirtualTime.of(monkeypatch, "limits", "frontier"))


def near(seconds: float) -> Any:
    """So many seconds, by clocks that go on while a test runs."""
    return pytest.approx(seconds, abs=1.0)


def test_what_goes_back_waits_at_its_place(worker: Worker) -> None:
    """Its site is not asked before the time that was said, and then this request is the first."""
    first, second = worker.taken(f"{SITE}/1", f"{SITE}/2")
    assert worker.counts == (0, 2)
    worker.queue.give_back(second, 20.0)
    worker.queue.give_back(first, 20.0)
    worker.step()
    assert (worker.counts, worker.due_in, worker.pace) == ((2, 0), near(20.0), None)
    stats: Any = worker.crawl.crawler.stats
    assert stats.get_value("robotstxt/queue/given_back") == 2
    assert worker.pop() is None
    worker.queue.not_before(SITE, 0.0)
    worker.step()
    assert worker.pop().url == first.url
    worker.queue.give_back(first, 20.0)  # it has been given back
    worker.step()
    assert worker.counts == (1, 1)


def test_what_goes_back_may_say_the_interval_of_its_site(worker: Worker) -> None:
    """Then the queue knows the pace; without one, it goes by the one that it knows."""
    [request] = worker.taken(f"{SITE}/1")
    worker.queue.give_back(request, 0.0, 20.0)
    worker.step()
    assert (worker.due_in, worker.pace) == (near(0.0), 20.0)
    assert worker.pop().url == request.url
    assert worker.due_in == near(20.0 + UNDER_WAY)


def test_a_request_that_goes_says_the_interval_of_its_site(worker: Worker) -> None:
    """Its site is asked after that and the time that a request may take; or at once without one."""
    first, second = worker.taken(f"{SITE}/1", f"{SITE}/2")
    worker.queue.handed_out(first, 20.0)
    worker.step()
    assert (worker.due_in, worker.pace) == (near(20.0 + UNDER_WAY), 20.0)
    worker.queue.handed_out(second, 0.0)
    worker.step()
    assert (worker.due_in, worker.pace) == (0.0, 0.0)


def test_the_end_of_a_download_is_said_once(worker: Worker) -> None:
    """From then on its site may be asked after the time that was said."""
    [request] = worker.taken(f"{SITE}/1")
    worker.queue.ended(request, 30.0)  # no interval was said
    worker.step()
    assert worker.pace is None
    worker.queue.handed_out(request, 20.0)
    worker.queue.ended(request, 15.0)
    worker.queue.ended(request, 50.0)
    worker.step()
    assert (worker.due_in, worker.pace) == (near(15.0), 20.0)
    worker.crawl.engine_slot.inprogress.clear()
    worker.step()
    assert worker.counts == (0, 0)
    assert worker.due_in == near(15.0)


def test_what_was_said_with_another_step_is_not_said_by_itself(worker: Worker) -> None:
    """There is nothing more to say when its time comes."""
    worker.queue.not_before(SITE, 20.0)
    worker.step()
    steps = worker.queue._steps
    worker.crawl.time.advance(2 * SOON)
    assert worker.queue._steps == steps


def test_advice_that_is_said_by_itself_takes_nothing(worker: Worker) -> None:
    """The engine may have no room for a request, and other workers may."""
    worker.queue.push(Request(f"{SITE}/1"))
    worker.queue.not_before(SITE, 0.0, 20.0)
    worker.crawl.time.advance(2 * SOON)
    assert (worker.counts, worker.pace) == ((1, 0), 20.0)


def test_a_request_that_was_not_made_frees_its_site(worker: Worker) -> None:
    """It was refused, or answered from a cache: no interval runs."""
    [request] = worker.taken(f"{SITE}/1")
    worker.queue.handed_out(request, 20.0)
    worker.step()
    worker.crawl.engine_slot.inprogress.clear()
    worker.step()
    assert worker.counts == (0, 0)
    assert (worker.due_in, worker.pace) == (near(0.0), 20.0)


@pytest.mark.parametrize("has_store", [True, False])
def test_a_new_site_is_left_to_the_worker_that_is_finding_its_pace(
    worker: Worker, has_store: bool
) -> None:
    """With each sign of life, for as long as it lacks the rules; without a store, until it asks."""
    worker.queue._is_alone = not has_store
    [request] = worker.taken(f"{SITE}/1")
    worker.queue._beat()
    assert worker.due_in == near(UNDER_WAY)
    worker.queue.not_before(SITE, 0.0)
    worker.step()
    worker.crawl.neighbours.known = {"a.example"}
    worker.queue._beat()
    assert worker.due_in == near(0.0 if has_store else UNDER_WAY)
    worker.queue.handed_out(request, 0.0)
    worker.queue._beat()
    assert worker.due_in == 0.0


def test_a_request_not_given_out_yet_keeps_a_new_site_without_a_store(worker: Worker) -> None:
    """The engine may have no room for long, and another worker would ask meanwhile."""
    worker.crawl.neighbours.known = {"a.example"}
    worker.queue.push(Request(f"{SITE}/1"))
    worker.queue._step(1)
    worker.queue.not_before(SITE, 0.0)
    worker.queue._beat()
    assert worker.due_in == near(UNDER_WAY)


def test_a_refusal_takes_no_pace_back(worker: Worker) -> None:
    """One that another request has said meanwhile."""
    first, second = worker.taken(f"{SITE}/1", f"{SITE}/2")
    for request in (first, second):
        worker.queue._held[request].known = 0.0
    worker.queue.handed_out(first, 20.0)
    worker.queue.handed_out(second, None)
    worker.step()
    assert (worker.due_in, worker.pace) == (near(20.0 + UNDER_WAY), 20.0)


@pytest.mark.parametrize("interval", [None, 20.0])
def test_a_refusal_says_nothing_of_the_pace(worker: Worker, interval: float | None) -> None:
    """Its site may be asked again at once, by the pace that is known."""
    worker.queue.not_before(SITE, 0.0, interval)
    worker.queue.push(Request(f"{SITE}/2"))
    worker.step()
    worker.client.zadd(f"{KEY}:due", {SITE: real_time.time() * 1e6})
    request = worker.pop()
    worker.queue.handed_out(request, None)
    worker.step()
    assert (worker.due_in, worker.pace) == (near(0.0), interval)
    worker.crawl.engine_slot.inprogress.clear()
    worker.queue._beat()
    assert (worker.due_in, worker.pace) == (near(0.0), interval)


def test_a_pace_that_a_site_no_longer_asks_for_is_not_said_again(worker: Worker) -> None:
    """Not while its request is under way either."""
    worker.queue.not_before(SITE, 0.0, 20.0)
    worker.queue.push(Request(f"{SITE}/2"))
    worker.step()
    worker.queue.handed_out(worker.pop(), 0.0)
    worker.queue._beat()
    assert (worker.due_in, worker.pace) == (0.0, 0.0)


def test_what_no_rules_govern_has_no_pace(worker: Worker) -> None:
    """A request with ``dont_obey_robotstxt`` waits for no turn, whatever its host asks for."""
    worker.queue.push(Request(f"{SITE}/1", meta={"dont_obey_robotstxt": True}))
    request = worker.pop()
    worker.queue.handed_out(request, 60.0)
    worker.queue.ended(request, 60.0)
    worker.queue._beat()
    assert worker.client.hgetall(f"{KEY}:pace") == {}
    assert worker.client.zcount(f"{KEY}:due", 0, RING) == 0


def test_advice_may_be_of_any_site(worker: Worker) -> None:
    """The frontier knows it by its key, which may be no name: Redis has no lone surrogates."""
    odd = {"dont_obey_robotstxt": True, "download_slot": "\0\udce4"}
    worker.queue.push(Request(f"{SITE}/1", meta=odd))
    worker.queue.not_before("-\0\udce4", 60.0)
    worker.step()
    assert worker.pop() is None


def test_what_goes_back_after_it_was_made_says_nothing_of_its_site(worker: Worker) -> None:
    """A stop returns it, as its final URL waits for rules: the interval runs."""
    [request] = worker.taken(f"{SITE}/1")
    worker.queue.handed_out(request, 20.0)
    worker.queue.ended(request, 15.0)
    worker.queue.give_back(request, 0.0)
    worker.step()
    assert (worker.counts, worker.due_in) == ((1, 0), near(15.0))


def test_the_interval_of_a_request_that_waits_is_said_again(worker: Worker) -> None:
    """It may wait for room, or be under way for longer than its interval."""
    [request] = worker.taken(f"{SITE}/1")
    worker.queue.handed_out(request, 20.0)
    worker.step()
    worker.queue.not_before(SITE, 0.0, 20.0)
    worker.step()
    assert worker.due_in == near(0.0)
    worker.queue._beat()
    assert worker.due_in == near(20.0 + UNDER_WAY)
    worker.queue.ended(request, 15.0)
    worker.queue._beat()
    assert worker.due_in == near(15.0)


def test_a_paced_site_of_a_request_not_given_out_yet_is_kept_as_well(worker: Worker) -> None:
    """The engine may have no room for long."""
    worker.queue.push(Request(f"{SITE}/1"))
    worker.queue.not_before(SITE, 0.0, 20.0)
    worker.queue._step(1)
    worker.client.zadd(f"{KEY}:due", {SITE: real_time.time() * 1e6})
    worker.queue._beat()
    assert worker.due_in == near(20.0 + UNDER_WAY)


def test_a_pace_that_redis_knows_is_not_said_again(worker: Worker) -> None:
    """The pop has moved the site by as much."""
    worker.taken(f"{SITE}/1")
    for number, pace in enumerate([2.01, 1 / 3]):
        worker.queue.not_before(SITE, 0.0, pace)
        worker.queue.push(Request(f"{SITE}/{number}"))
        request = worker.pop()
        assert worker.due_in == near(pace + UNDER_WAY)
        worker.queue.handed_out(request, pace)
        assert not worker.queue._next._advice


def test_a_worker_that_was_declared_dead_has_nothing_to_say_of_what_it_had(worker: Worker) -> None:
    """Others have got it, and it counts no more."""
    [request] = worker.taken(f"{SITE}/1")
    name = worker.queue._worker
    worker.client.zadd(f"{KEY}:workers", {name: -1})
    worker.step()
    assert worker.queue._worker != name
    worker.queue.give_back(request, 0.0)
    worker.crawl.engine_slot.inprogress.clear()
    worker.step()
    assert worker.counts == (0, 1)  # that of the dead one, for the next step of another worker


def test_the_length_is_what_waits_and_what_others_have(worker: Worker) -> None:
    """What this worker has counts as the engine's; what only Redis believes it has is put back."""
    worker.taken(f"{SITE}/1", f"{SITE}/2")
    worker.queue.push(Request(f"{SITE}/3"))
    assert len(worker.queue) == 1
    worker.client.zadd(f"{KEY}:out", {b"other" + b"\0" + b"0000000001" + SITE.encode(): 0})
    assert len(worker.queue) == 2
    stray = f"{worker.queue._worker}\0" + "0000000009" + f"{SITE}\0" + "x" * 30
    worker.client.zadd(f"{KEY}:out", {stray: 0})
    assert len(worker.queue) == 3
    worker.step()
    assert worker.counts == (2, 3)


def test_a_worker_that_leaves_gives_back_what_it_has(worker: Worker) -> None:
    """At once, with the answer to a step that it still waits for; nobody has taken it over."""
    worker.taken(f"{SITE}/1")
    worker.queue._unanswered = worker.queue._arguments(0)
    worker.queue._leave()
    assert worker.counts == (1, 0)
    assert worker.client.zcount(f"{KEY}:workers", 0, "+inf") == 0
    assert worker.queue._unanswered is None
    stats: Any = worker.crawl.crawler.stats
    assert stats.get_value("robotstxt/queue/taken_over") is None
