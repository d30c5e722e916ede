"""The queue of ready hosts in Redis, by itself: real servers, and no crawl."""

from __future__ import annotations

import logging
import pickle
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
import scrapy_redis.queue
import scrapy_redis.scheduler
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy import Request, Spider
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_rep import redis_queue
from scrapy_rep.addon import Addon
from scrapy_rep.redis_queue import HostQueue
from tests.rows import rows
from tests.stores.servers import RedisServer

KEY = "queue:requests"


class QueueSpider(Spider):
    """A spider whose requests any worker can read."""

    name = "queue"


@pytest.fixture
def queue(client: Any) -> HostQueue:
    """A queue without a crawl: what it gives out counts as done."""
    return queue_of(client)


def queue_of(client: Any, cls: Any = HostQueue) -> Any:
    """One worker's view of the queue."""
    return cls(client, QueueSpider(), "%(spider)s:requests")


def push(queue: Any, *urls: str, **how: Any) -> None:
    """Requests for these are in the queue."""
    for url in urls:
        queue.push(Request(url, **how))


def popped(queue: Any) -> list[str]:
    """All that the queue gives out now."""
    return [request.url for request in iter(queue.pop, None)]


def pages(host: str, count: int) -> list[str]:
    """The URLs of some pages of a host."""
    return [f"https://{host}.example/{number}" for number in range(count)]


def judge(client: Any, queue: Any, key: str = KEY) -> None:
    """A worker that has been in contact for longer than a lease makes a step, and looks at others.

    It does so once a second, so the last time is moved.
    """
    queue._step(0)
    queue._contact._since -= redis_queue.SILENT_FOR + 1.0
    client.zincrby(f"{key}:workers", -2e6, queue._worker)
    queue._step(0)


def test_sites_take_turns(queue: HostQueue) -> None:
    """One that was asked goes behind the others; within a site the first one goes first."""
    push(queue, *pages("a", 3), *pages("b", 2), *pages("c", 1))
    a, b, c = pages("a", 3), pages("b", 2), pages("c", 1)
    assert popped(queue) == [a[0], b[0], c[0], a[1], b[1], a[2]]


def test_a_site_that_had_to_wait_goes_next(queue: HostQueue) -> None:
    """The others take turns with such sites, however many there are of both."""
    for number in range(30):
        push(queue, *pages(f"ring{number}", 1))
    push(queue, *pages("a", 3), *pages("b", 1))
    for site, interval in (("a", 60.0), ("b", 0.001)):
        queue.not_before(f"https://{site}.example", 0.001, interval)
    queue._step(0)
    time.sleep(0.01)
    found = popped(queue)
    assert set(found[:4:2]) == {"https://a.example/0", "https://b.example/0"}
    assert len(found) == 32  # two of the first one have to wait


def test_spiders_have_queues_of_their_own(client: Any) -> None:
    """On one Redis, by their names."""
    one, two = (HostQueue(client, Spider(name), "%(spider)s:requests") for name in ("one", "two"))
    push(one, *pages("a", 2))
    push(two, *pages("a", 3), *pages("b", 1))
    assert (len(one), len(two)) == (2, 4)
    assert popped(one) == pages("a", 2)
    one.clear()
    assert len(popped(two)) == 4


def test_priorities_hold_within_a_site(queue: HostQueue) -> None:
    """A site with more urgent requests does not go before others."""
    for priority in (0, 5, -5, 10**12, -(10**12)):
        push(queue, f"https://a.example/{priority}", priority=priority)
    push(queue, "https://b.example/0")
    found = popped(queue)
    assert found.pop(1) == "https://b.example/0"
    assert [int(url.rpartition("/")[2]) for url in found] == [10**12, 5, 0, -5, -(10**12)]


def test_a_request_is_as_it_was(client: Any) -> None:
    """With its meta, body and octets that end strings elsewhere; of any worker."""
    request = Request("https://a.example/", method="POST", body=b"\0\xff\0", meta={"x": "\0"})
    queue_of(client).push(request)
    found = queue_of(client).pop()
    assert (found.url, found.method) == (request.url, "POST")
    assert (found.body, found.meta) == (b"\0\xff\0", {"x": "\0"})


def test_requests_without_rules_have_sites_of_their_own(queue: HostQueue) -> None:
    """They never stand behind one that waits for rules, whatever their slot is called."""
    free = {"dont_obey_robotstxt": True}
    push(queue, *pages("a", 2))
    push(queue, "https://a.example/free", "data:,x", meta=free)
    push(queue, "https://a.example/odd", meta={"download_slot": "\0\udce4", **free})
    assert len(queue) == 5
    first = {f"https://a.example/{name}" for name in ("0", "free", "odd")}
    assert set(popped(queue)[:4]) == {*first, "data:,x"}


def test_its_length_is_what_waits(client: Any) -> None:
    """Without a crawl what is given out counts as done, so it reaches 0."""
    queue, other = queue_of(client), queue_of(client)
    assert len(queue) == 0
    push(queue, *pages("a", 20))
    assert (len(queue), len(other)) == (20, 20)
    queue.pop()
    assert len(queue) == 19
    assert len(popped(other)) == 16  # the first one has taken four, and has three of them
    assert len(popped(queue)) == 3
    assert (len(queue), len(other)) == (0, 0)


def test_nothing_is_left_of_a_site_without_requests(client: Any) -> None:
    """Nothing grows for ever: its time and its pace are forgotten when that time has come."""
    queue = queue_of(client)
    for number in range(30):
        push(queue, f"https://{number}.example/")
    queue.not_before("https://0.example", 0.0)
    assert len(popped(queue)) == 30
    assert popped(queue) == []
    assert len(queue) == 0
    assert {key.decode() for key in client.keys("*")} == {f"{KEY}:workers", f"{KEY}:pushed"}


def test_the_last_worker_takes_away_what_was_known_of_the_sites(client: Any) -> None:
    """If there are no requests any more: a million sites would stay there for ever."""
    queue, other = queue_of(client), queue_of(client)
    push(queue, *pages("a", 1), *pages("b", 1))
    queue.not_before("https://a.example", 60.0, 60.0)
    other._step(0)
    queue._step(0)
    queue._leave()
    assert popped(other) == pages("b", 1)
    other._leave()
    assert client.zcard(f"{KEY}:due") == 1  # the request to a.example waits
    queue, other = queue_of(client), queue_of(client)
    queue.not_before("https://a.example", 0.0, 60.0)
    queue._step(0)
    queue._pause_until = 0.0
    assert popped(queue) == pages("a", 1)
    other._step(0)
    queue._leave()
    assert client.zcard(f"{KEY}:due") == 1  # the other one is there
    other._leave()
    assert client.keys("*") == [f"{KEY}:workers".encode()]
    assert 0 < client.ttl(f"{KEY}:workers") <= 86_400


def test_the_last_worker_does_not_wait_for_one_that_was_killed(client: Any) -> None:
    """Nor does what is known of sites, if that one had nothing."""
    killed, last = queue_of(client), queue_of(client)
    killed._step(0)
    push(last, *pages("a", 1))
    assert popped(last) == pages("a", 1)
    client.zadd(f"{KEY}:workers", {killed._worker: 1})  # its lease is over
    last._leave()
    assert client.keys("*") == [f"{KEY}:workers".encode()]
    assert 0 < client.ttl(f"{KEY}:workers") <= 86_400


def test_a_crawl_that_begins_again_forgets_no_worker(client: Any) -> None:
    """The end of the one before has let them expire."""
    queue = queue_of(client)
    queue._step(0)
    queue._leave()
    assert client.ttl(f"{KEY}:workers") > 0
    queue_of(client)._step(0)
    assert client.ttl(f"{KEY}:workers") == -1


def test_what_others_have_taken_meanwhile_is_not_moved(client: Any) -> None:
    """Between the look at the list of an older class and the move."""
    older, queue = queue_of(client, scrapy_redis.queue.FifoQueue), queue_of(client)
    push(older, *pages("a", 3))
    found = client.lrange(KEY, 0, -1)[::-1]
    assert older.pop().url == pages("a", 3)[0]
    pairs = [each for data in found for each in (data, queue._place_in(data))]
    queue._older._script(queue._keys, pairs)
    assert (popped(queue), len(older)) == (pages("a", 3)[1:], 0)


def test_a_leave_that_is_repeated_has_one_effect(client: Any) -> None:
    """What it gave back may have gone to another worker by then."""
    queue, other = queue_of(client), queue_of(client)
    push(queue, *pages("a", 1), *pages("b", 1))
    other._step(0)
    queue._step(2)
    leave = queue._arguments(-1)
    queue._step_script(queue._keys, leave)
    assert sorted(popped(other)) == sorted(pages("a", 1) + pages("b", 1))
    assert queue._step_script(queue._keys, leave)[1] == b"left"
    assert client.zcard(f"{KEY}:hosts") == 0


def test_a_site_is_not_asked_before_its_time(queue: HostQueue) -> None:
    """Others are."""
    push(queue, *pages("a", 3), *pages("b", 3))
    queue.not_before("https://a.example", 60.0)
    queue.check()
    queue._step(0)
    assert popped(queue) == pages("b", 3)
    queue.not_before("https://a.example", 0.0)
    queue._step(0)
    queue._pause_until = 0.0
    assert popped(queue) == pages("a", 3)


def test_advice_without_a_pace_lets_no_paced_site_be_asked_earlier(queue: HostQueue) -> None:
    """A worker that has had its rules again does not know what another one has just made."""
    push(queue, *pages("a", 2), *pages("b", 2), *pages("c", 2))
    queue.not_before("https://a.example", 60.0, 60.0)
    queue._step(0)
    queue.not_before("https://c.example", 60.0, 60.0)  # said in the same step as what follows
    for site in "abc":
        queue.not_before(f"https://{site}.example", 0.0)
    queue._step(0)
    assert popped(queue) == pages("b", 2)


def test_a_worker_that_has_enough_takes_no_more_for_a_moment(client: Any) -> None:
    """It gives out what it has taken; others are not affected."""
    queue, other = queue_of(client), queue_of(client)
    push(queue, *(f"https://s{number}.example/" for number in range(30)))
    assert queue.pop() is not None
    queue.rest()
    assert len(popped(queue)) == 3
    assert len(popped(other)) == 26
    push(other, "https://new.example/")
    time.sleep(0.2)
    assert popped(queue) == ["https://new.example/"]


def test_sites_without_requests_hold_up_no_other(queue: HostQueue) -> None:
    """A site stays in the ring until it is asked again: a thousand of them are passed at once."""
    for number in range(1_000):
        push(queue, f"https://s{number}.example/")
    assert len(popped(queue)) == 1_000
    push(queue, "https://new.example/")
    assert "https://new.example/" in [request.url for _ in range(80) if (request := queue.pop())]


def test_what_redis_has_forgotten_to_be_done_is_made_again(client: Any, queue: HostQueue) -> None:
    """Redis went on from a state before a step; otherwise the queue would never be empty."""
    push(queue, "https://a.example/")
    assert queue.pop() is not None
    [taken] = client.zrange(f"{KEY}:out", 0, -1)
    assert len(queue) == 0
    client.zadd(f"{KEY}:out", {taken: 0})
    assert len(queue) == 1
    assert len(queue) == 1
    queue._pause_until = 0.0
    assert popped(queue) == ["https://a.example/"]
    assert len(queue) == 0


def test_what_the_server_has_to_do_for_a_push_and_a_pop(
    client: Any, queue: HostQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look and three writes for a push; for a pop a look at each of four sites, and eleven more.

    A sign of life is not among them.
    """
    monkeypatch.setattr(redis_queue, "SILENT_FOR", 3_000.0)
    for number in range(24):
        push(queue, f"https://s{number}.example/")
    for _ in range(8):
        assert queue.pop() is not None
    for do, count in ((lambda: push(queue, "https://s.example/"), 6), (queue.pop, 15)):
        client.config_resetstat()
        do()
        used = client.info("commandstats")
        assert sum(used[name]["calls"] for name in used if "config" not in name) == count


def test_scripts_survive_a_flush(client: Any, queue: HostQueue) -> None:
    """NOSCRIPT: they are loaded again."""
    push(queue, *pages("a", 2))
    client.script_flush()
    push(queue, *pages("b", 1))
    client.script_flush()
    assert Counter(popped(queue)) == Counter(pages("a", 2) + pages("b", 1))


@pytest.mark.parametrize("name", ["PriorityQueue", "FifoQueue", "LifoQueue"])
def test_requests_of_an_older_class_are_moved(client: Any, name: str) -> None:
    """While a worker with that class still pushes: nothing is lost, and nothing comes twice."""
    older = queue_of(client, getattr(scrapy_redis.queue, name))
    push(older, *pages("a", 150), *pages("b", 1))
    queue, other = queue_of(client), queue_of(client)
    push(queue, *pages("c", 1))
    assert len(queue) == 152
    found = []
    for number in range(4):
        push(older, *pages(f"later{number}", 60))
        for each in (queue, other):
            each._pause_until = 0.0
            found += popped(each)
    for _ in range(10):
        queue._pause_until = 0.0
        found += popped(queue)
    later = [url for number in range(4) for url in pages(f"later{number}", 60)]
    assert Counter(found) == Counter([*pages("a", 150), *pages("b", 1), *pages("c", 1), *later])
    assert len(queue) == len(older) == 0
    if name == "FifoQueue":
        assert [url for url in found if "//a." in url] == pages("a", 150)


def test_an_older_class_goes_on_with_what_it_has(client: Any) -> None:
    """It does not see what is here, and this does no harm to it."""
    older, queue = queue_of(client, scrapy_redis.queue.FifoQueue), queue_of(client)
    push(queue, *pages("a", 2))
    push(older, *pages("b", 2))
    assert popped(older) == pages("b", 2)
    assert popped(queue) == pages("a", 2)


def test_what_cannot_be_read_is_set_aside(
    client: Any, queue: HostQueue, caplog: pytest.LogCaptureFixture
) -> None:
    """Foreign, damaged, or of a spider that has other methods: counted, one line, and kept."""
    push(queue, *pages("a", 2), *pages("b", 1))
    [first, *_] = client.zrange(f"{KEY}:hosts", 0, 0)
    place = first[: first.index(b"\0") + 27]
    foreign = [b"not a pickle", pickle.dumps({"no": "url"})]
    foreign.append(pickle.dumps({"url": "https://a.example/", "callback": "gone"}))
    client.zadd(f"{KEY}:hosts", dict.fromkeys([place + each for each in foreign], 0))
    client.lpush(KEY, b"nor is this", b"\x80")
    found = popped(queue)
    for _ in range(3):
        queue._pause_until = 0.0
        found += popped(queue)
    assert Counter(found) == Counter(pages("a", 2) + pages("b", 1))
    assert len(queue) == 0
    kept = client.lrange(f"{KEY}:unreadable", 0, -1)
    assert Counter(kept) == Counter([*foreign, b"nor is this", b"\x80"])
    assert len([r for r in caplog.records if "cannot be read" in r.getMessage()]) == 1
    queue.clear()
    assert [key.decode() for key in client.keys("*")] == [f"{KEY}:unreadable"]


class NewerSpider(QueueSpider):
    """The same spider, with a method more."""

    def added(self, response: Any) -> None:
        """What its workers call."""


def test_what_was_set_aside_can_be_put_back(client: Any, queue: HostQueue) -> None:
    """A worker with older code cannot read it; after RENAMENX, the others can."""
    newer = HostQueue(client, NewerSpider(), "%(spider)s:requests")
    push(newer, *pages("a", 2), callback=newer.spider.added)
    assert popped(queue) == []
    assert client.renamenx(f"{KEY}:unreadable", KEY)
    found = popped(newer)
    newer._pause_until = 0.0
    assert sorted(found + popped(newer)) == pages("a", 2)
    assert not client.exists(f"{KEY}:unreadable")


def test_a_flush_removes_what_an_older_class_keeps(client: Any, queue: HostQueue) -> None:
    """It is never moved after that."""
    push(queue_of(client, scrapy_redis.queue.PriorityQueue), *pages("a", 3))
    push(queue, *pages("b", 3))
    queue.clear()
    assert len(queue) == 0
    assert popped(queue) == []


def shift(client: Any, seconds: float) -> None:
    """The clock of the server was set by that much, as far as the queue can tell."""
    for key in (f"{KEY}:due", f"{KEY}:workers"):
        for member, when in client.zrange(key, 0, -1, withscores=True):
            client.zadd(key, {member: when - seconds * 1e6})


def test_a_clock_that_was_set_back_holds_up_nothing(client: Any) -> None:
    """Sites are due at once, or an interval from now; a lease ends when it would have."""
    queue = queue_of(client)
    push(queue, *pages("plain", 2), *(pages(f"paced{number}", 1)[0] for number in range(30)))
    for number in range(30):
        queue.not_before(f"https://paced{number}.example", 0.0, 5.0)
    queue._step(0)
    shift(client, -86_400.0)
    found = []
    for _ in range(3):
        queue._pause_until = 0.0
        found += popped(queue)
    assert found == pages("plain", 2)
    times = [when / 1e6 for _, when in client.zrange(f"{KEY}:due", 0, -1, withscores=True)]
    assert len([when for when in times if 0.0 < when - client.time()[0] < 6.0]) == 30
    judge(client, queue)
    [(_, until)] = client.zrange(f"{KEY}:workers", 0, 0, withscores=True)
    assert until / 1e6 - client.time()[0] < redis_queue.SILENT_FOR + 1.0


def test_nobody_is_dead_because_the_clock_was_set_forward(client: Any) -> None:
    """By that clock all leases are over: the one who is the first to see it is silent about it."""
    queue, other = queue_of(client), queue_of(client)
    push(queue, *pages("a", 1))
    queue._step(1)
    other._step(0)
    other._contact._since -= redis_queue.SILENT_FOR + 1.0  # it has been in contact for long
    shift(client, 3_600.0)
    other._contact._offset -= 3_600.0
    for _ in range(3):
        other._step(0)
    name = queue._worker
    queue._step(0)
    assert (queue._worker, client.zcard(f"{KEY}:hosts")) == (name, 0)
    client.zadd(f"{KEY}:workers", {name: 1})
    judge(client, other)
    assert client.zcard(f"{KEY}:hosts") == 1


class Losing(redis.Connection):
    """A connection that loses an answer now and then, so that the client asks again."""

    lost = scripts = 0
    is_lost = False

    def send_command(self, *args: Any, **kwargs: Any) -> None:
        """Of scripts every second answer is lost."""
        Losing.scripts += args[0] == "EVALSHA"
        self.is_lost = args[0] == "EVALSHA" and Losing.scripts % 2 == 0
        super().send_command(*args, **kwargs)

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """What comes is thrown away."""
        answer = super().read_response(*args, **kwargs)
        if self.is_lost:
            self.is_lost = False
            Losing.lost += 1
            raise redis.ConnectionError("lost")
        return answer


@contextmanager
def losing_client(port: int, retries: int) -> Iterator[Any]:
    """Such a client, which asks again so often."""
    retry: Any = Retry(NoBackoff(), retries)
    pool = redis.ConnectionPool(connection_class=Losing, port=port, retry=retry)
    with redis.Redis(connection_pool=pool) as client:
        yield client
    pool.close()


@pytest.fixture
def losing(client: Any, module_server: RedisServer) -> Iterator[Any]:
    """Such a client of that server, which is empty."""
    with losing_client(module_server.port, 3) as losing:
        yield losing


def test_what_is_repeated_is_done_once(client: Any, losing: Any) -> None:
    """The answers of every second push and step are lost: nothing is lost, nothing comes twice."""
    queue = queue_of(losing)
    other = queue_of(client)
    wanted = [url for host in "abc" for url in pages(host, 20)]
    found = []
    lost = Losing.lost
    for url in wanted:
        push(queue, url)
        if url.endswith("5"):
            other._pause_until = queue._pause_until = 0.0
            found += popped(other)
    queue._pause_until = 0.0
    found += popped(queue)
    assert len(queue) == 0
    assert Losing.lost - lost > 20
    assert Counter(found) == Counter(wanted)


@pytest.mark.parametrize("lost", ["the first answer", "the second answer", "none"])
def test_a_worker_that_redis_forgot_is_known_again(client: Any, losing: Any, lost: str) -> None:
    """With all that it has, whichever answer is lost: others get it if that worker dies."""
    queue, other = queue_of(losing if lost != "none" else client), queue_of(client)
    push(queue, *pages("a", 3), *pages("b", 3))
    queue._step(6)
    client.flushall()
    queue._next.back.append(queue._buffer.popleft().entry)
    Losing.scripts = int(lost == "the first answer")
    queue._step(0)
    queue._next.back.append(queue._buffer.popleft().entry)
    queue._step(0)
    assert (client.zcard(f"{KEY}:hosts"), client.zcard(f"{KEY}:out")) == (2, 4)
    client.zadd(f"{KEY}:workers", {queue._worker: 1})  # its lease is over
    judge(client, other)
    assert Counter(popped(other)) == Counter([*pages("a", 3), *pages("b", 3)])


def test_what_is_given_back_while_redis_is_away_is_not_forgotten(client: Any, losing: Any) -> None:
    """A step runs, its answer is lost, and Redis is emptied before the step is repeated."""
    queue = queue_of(client)
    push(queue, *pages("a", 1), *pages("b", 1))
    queue._step(2)
    losing.connection_pool.connection_kwargs["retry"] = Retry(NoBackoff(), 0)
    Losing.scripts = 1
    queue._step_script.registered_client = losing
    with pytest.raises(redis.ConnectionError, match="lost"):
        queue._step(0)
    queue._step_script.registered_client = client
    client.flushall()
    queue._next.back.append(queue._buffer.popleft().entry)
    queue._step(0)
    queue._step(0)
    assert (client.zcard(f"{KEY}:hosts"), client.zcard(f"{KEY}:out")) == (1, 1)


def test_text_for_octets_does_no_harm(module_server: RedisServer, client: Any) -> None:
    """REDIS_DECODE_RESPONSES, which some set for a serializer that writes text."""

    class Text:
        """A serializer of a project's own."""

        dumps = staticmethod(lambda request: request["url"])
        loads = staticmethod(lambda data: {"url": data if isinstance(data, str) else data.decode()})

    with redis.Redis(port=module_server.port, decode_responses=True) as text:
        queue = HostQueue(text, QueueSpider(), "%(spider)s:requests", Text)
        push(scrapy_redis.queue.FifoQueue(text, QueueSpider(), KEY, Text), *pages("b", 2))
        push(queue, *pages("a", 2))
        assert len(queue) == 4
        assert Counter(popped(queue) + popped(queue)) == Counter(pages("a", 2) + pages("b", 2))


class Subclass(scrapy_redis.scheduler.Scheduler):  # type: ignore[misc]
    """It changes neither how the queue is chosen nor how it is opened."""

    def next_request(self) -> Any:
        """The same."""
        return super().next_request()


class OwnQueue(scrapy_redis.scheduler.Scheduler):  # type: ignore[misc]
    """It may open any queue."""

    def open(self, spider: Spider) -> None:
        """Its own way."""


OURS = "scrapy_rep.redis_queue.HostQueue"


@rows(
    "scheduler, chosen, found, said",
    ("scrapy_redis.scheduler.Scheduler", None, OURS, "wait in Redis"),
    (Subclass, None, OURS, "wait in Redis"),
    (OwnQueue, None, None, f'SCHEDULER_QUEUE_CLASS = "{OURS}" lets requests wait'),
    ("scrapy_redis.scheduler.Scheduler", "scrapy_redis.queue.FifoQueue", None, ""),
    ("scrapy.core.scheduler.Scheduler", None, None, ""),
)
def test_the_addon_chooses_it_where_the_project_chooses_none(
    caplog: pytest.LogCaptureFixture, scheduler: Any, chosen: str | None, found: Any, said: str
) -> None:
    """One line says so; where a scheduler may open a queue of its own, the line is advice."""
    caplog.clear()
    settings = Settings({"SCHEDULER": scheduler})
    if chosen is not None:
        settings.set("SCHEDULER_QUEUE_CLASS", chosen)
    with caplog.at_level(logging.INFO, "scrapy_rep"):
        Addon().update_settings(settings)
    assert settings.get("SCHEDULER_QUEUE_CLASS") == (found or chosen)
    lines = [r.getMessage() for r in caplog.records if "SCHEDULER_QUEUE_CLASS" in r.getMessage()]
    assert len(lines) == bool(said)
    assert all(said in line for line in lines)
    assert load_object(OURS) is redis_queue.HostQueue
