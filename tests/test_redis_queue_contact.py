"""The queue in Redis: who counts as alive, what is said again, and what is not said at all.

Real servers. Where a worker needs a crawl, its timers are virtual, and the test makes each step.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy import Request, Spider

from scrapy_rep.redis_queue import RETRY, SILENT_FOR, HostQueue
from scrapy_rep.redis_queue.scripts import PUSH
from tests.frontier.virtual_time import VirtualTime
from tests.stores.servers import RedisServer
from tests.test_redis_queue import KEY, Losing, judge, losing_client, pages, popped, push, queue_of
from tests.test_redis_queue_advice import KEY as CRAWL
from tests.test_redis_queue_advice import SITE, Worker

AT_ONCE: dict[str, Any] = {"retry": Retry(NoBackoff(), 0)}
"""A client with this reports a failure at once."""


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> VirtualTime:
    """The time of the timers."""
    return VirtualTime.of(monkeypatch, "limits", "frontier")


def script(client: Any) -> HostQueue:
    """What a script sees of the queue of a crawl."""
    return HostQueue(client, Spider("spider"), CRAWL)


def silent(client: Any, queue: Any, key: str = KEY) -> None:
    """A worker has given no sign of life for longer than a lease."""
    client.zadd(f"{key}:workers", {queue._worker: 1})


def waiting(client: Any, key: str = KEY) -> int:
    """How many requests wait in Redis."""
    return int(client.zcard(f"{key}:hosts"))


# --- who counts as alive


def test_a_worker_that_is_cut_off_hands_out_nothing(
    server: RedisServer,
    time: VirtualTime,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Others may have got what it has read ahead. It goes on when Redis is back."""
    for module in ("redis_queue", "redis_queue.contact"):
        monkeypatch.setattr(f"scrapy_rep.{module}.monotonic", time)
    with redis.Redis(port=server.port, **AT_ONCE) as client:
        worker = Worker(client, time)
        queue, frontier = worker.queue, worker.crawl.frontier
        for number in range(4):
            worker.crawl.neighbours.known.add(f"{number}.example")
            queue.push(Request(f"http://{number}.example/"))
        assert frontier.next(queue.pop) is not None
        server.stop()
        time.advance(0.8 * SILENT_FOR)
        assert frontier.next(queue.pop) is not None
        for _ in range(3):
            time.advance(SILENT_FOR)
            wakes = worker.crawl.wakes
            assert frontier.next(queue.pop) is None
            time.advance(2.1)
            assert worker.crawl.wakes > wakes
        server.start()
        time.advance(2.1)
        assert [frontier.next(queue.pop) is None for _ in range(3)] == [False, False, True]
    assert "answers again after 122 s" in caplog.text


def test_a_script_does_not_go_on_with_what_others_have_got(client: Any) -> None:
    """It takes long for each request, and says nothing meanwhile."""
    queue, other = queue_of(client), queue_of(client)
    push(queue, *(f"https://{number}.example/" for number in range(4)))
    first = queue.pop()
    silent(client, queue)
    queue._contact._heard_at -= SILENT_FOR + 1.0
    judge(client, other)
    found = [first.url, *popped(queue), *popped(other)]
    assert max(Counter(found[1:]).values()) == 1


def test_a_script_that_is_slow_gives_signs_of_life(client: Any) -> None:
    """At each request, if the last one was long ago; it takes nothing with them."""
    queue = queue_of(client)
    push(queue, *pages("a", 1), *pages("b", 1))
    queue.pop()
    push(queue, *pages("c", 1))
    silent(client, queue)
    queue._contact._heard_at -= SILENT_FOR / 2
    assert queue.pop() is not None
    assert client.zscore(f"{KEY}:workers", queue._worker) > 1
    assert waiting(client) == 1


def test_a_late_answer_is_no_sign_of_life(client: Any, time: VirtualTime) -> None:
    """It answers what was asked long ago, so the worker asks once more, a second later."""
    worker = Worker(client, time)
    worker.step()
    worker.queue._unanswered = worker.queue._arguments(0)
    worker.queue._contact._asked_at -= SILENT_FOR
    worker.queue._contact._heard_at -= SILENT_FOR
    assert not worker.queue.check()
    wakes = worker.crawl.wakes
    time.advance(RETRY)
    assert (worker.crawl.wakes, worker.queue.check()) == (wakes + 1, True)
    time.advance(2 * RETRY)
    assert worker.crawl.wakes == wakes + 1


def test_a_worker_that_stood_still_declares_nobody_dead(client: Any) -> None:
    """The whole machine may have stood still, and the others with it."""
    queue, other = queue_of(client), queue_of(client)
    push(queue, *pages("a", 1))
    queue._step(1)
    other._step(0)
    other._contact._since -= 2 * SILENT_FOR
    other._contact._heard_at -= SILENT_FOR
    silent(client, queue)
    client.zincrby(f"{KEY}:workers", -2e6, other._worker)
    other._step(0)
    assert waiting(client) == 0
    judge(client, other)
    assert waiting(client) == 1


def test_all_that_a_dead_worker_had_comes_back_at_once(client: Any) -> None:
    """However much it is, and it counts as dead from then on."""
    queue, other = queue_of(client), queue_of(client)
    queue._step(0)
    entry = f"{queue._worker}\0{1:010}https://a.example\0{5:010}{0:016}"
    client.zadd(f"{KEY}:out", {f"{entry}{number:05}": 0 for number in range(9_000)})
    silent(client, queue)
    judge(client, other)
    assert (waiting(client), client.zcard(f"{KEY}:out")) == (9_000, 0)
    assert client.zscore(f"{KEY}:workers", queue._worker) < 0


def test_a_dead_worker_learns_that_after_a_crawl_that_was_not_to_persist(client: Any) -> None:
    """Others have made all its requests, and the queue was emptied. It makes none again."""
    stopped, other = queue_of(client), queue_of(client)
    push(other, *(f"https://{number}.example/" for number in range(4)))
    assert stopped.pop() is not None
    silent(client, stopped)
    judge(client, other)
    assert len(popped(other)) == 4
    other.clear()
    other._leave()
    stopped._contact._heard_at -= SILENT_FOR
    assert popped(stopped) == []
    assert waiting(client) == 0


# --- pushes


def test_a_push_that_is_repeated_after_its_worker_was_declared_dead_has_one_effect(
    client: Any, module_server: RedisServer, time: VirtualTime
) -> None:
    """Its answer was lost, so it is sent once more, by a worker that has another name by then."""
    worker, other = Worker(client, time), script(client)
    worker.step()
    Losing.scripts = 1
    with losing_client(module_server.port, 0) as losing:
        worker.queue._pushes._script.registered_client = losing
        worker.queue.push(Request(f"{SITE}/1"))
    assert waiting(client, CRAWL) == 1
    worker.queue._pushes._script.registered_client = client
    silent(client, worker.queue, CRAWL)
    judge(client, other, CRAWL)
    worker.queue._pause_until = 0.0
    worker.queue._try(worker.queue._step, 0)
    worker.queue._try(worker.queue._step, 0)
    assert waiting(client, CRAWL) == 1


def test_a_push_that_was_on_its_way_for_long_has_no_effect(client: Any) -> None:
    """The client has asked again by another connection, and pushed another request since."""
    queue = queue_of(client)
    first, second = (["worker", number, f"{SITE}\0", f"{number}"] for number in (1, 2))
    for batch in (first, second, first):
        queue._pushes._script(queue._keys, batch)
    assert waiting(client) == 2


@pytest.mark.parametrize("hours", [-24, 24])
def test_a_clock_of_the_machine_that_is_set_costs_no_push(
    client: Any, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """The number of a push is the time when it was made, and is higher than all before it."""
    queue = queue_of(client)
    off = iter([0, hours, hours, 0, 0])
    monkeypatch.setattr("scrapy_rep.redis_queue.pushes.time", lambda: 1e9 + 3_600 * next(off))
    push(queue, *pages("a", 5))
    assert popped(queue) == pages("a", 5)


def kept_in_memory(worker: Worker, count: int) -> None:
    """Requests were pushed while Redis failed."""
    worker.step()
    worker.queue._fail(redis.ConnectionError("gone"))
    for number in range(count):
        worker.queue.push(Request(f"{SITE}/{number}"))
    assert waiting(worker.client, CRAWL) == 0


def test_what_was_pushed_during_an_outage_is_sent_a_hundred_at_once(
    client: Any, time: VirtualTime
) -> None:
    """One by one it would take so long that the worker counts as dead; the order is kept."""
    worker = Worker(client, time)
    kept_in_memory(worker, 250)
    client.script_load(PUSH)
    client.config_resetstat()
    worker.step()
    assert client.info("commandstats")["cmdstat_evalsha"]["calls"] == 4
    assert popped(script(client)) == [f"{SITE}/{number}" for number in range(250)]


@pytest.mark.parametrize("is_back", [True, False])
def test_requests_that_are_lost_at_a_stop_are_counted(
    client: Any, time: VirtualTime, caplog: pytest.LogCaptureFixture, is_back: bool
) -> None:
    """What was pushed while Redis failed is in memory; if Redis is back, it is sent."""
    worker = Worker(client, time)
    kept_in_memory(worker, 3)
    if not is_back:
        worker.queue._pushes._script.registered_client = redis.Redis(port=1, **AT_ONCE)
    worker.queue._leave()
    assert waiting(client, CRAWL) == 3 * is_back
    [*errors] = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert len(errors) == (not is_back)
    assert all("3 requests" in line for line in errors)


def test_what_was_removed_from_the_queue_is_never_pushed(client: Any, time: VirtualTime) -> None:
    """A flush removes what is kept in memory as well."""
    worker = Worker(client, time)
    kept_in_memory(worker, 3)
    worker.queue.clear()
    worker.queue._pause_until = 0.0
    assert len(worker.queue) == 0


def test_a_push_that_was_reported_as_failed_is_not_made_later(server: RedisServer) -> None:
    """Without a crawl a failure is raised: the script that pushes knows what to push again."""
    with redis.Redis(port=server.port, **AT_ONCE) as client:
        queue = queue_of(client)
        server.stop()
        for ask in (lambda: push(queue, *pages("a", 1)), queue.pop, queue.__len__):
            with pytest.raises(redis.RedisError):
                ask()
        server.start()
        push(queue, *pages("b", 1))
        assert popped(queue) == pages("b", 1)


@pytest.mark.parametrize("forget", ["last worker", "a day"])
def test_what_is_known_of_feeders_does_not_grow_for_ever(client: Any, forget: str) -> None:
    """A script that pushes, and makes no step, never says that it leaves."""
    push(queue_of(client), *pages("a", 1))
    queue = queue_of(client)
    if forget == "a day":
        client.zadd(f"{KEY}:pushed", {"feeder": (client.time()[0] - 90_000) * 1e6})
        judge(client, queue)
        assert client.zcard(f"{KEY}:pushed") == 1
    assert popped(queue) == pages("a", 1)
    queue._leave()
    assert client.keys("*") == [f"{KEY}:workers".encode()]  # which expires


def test_what_is_known_of_workers_does_not_grow_for_ever(client: Any) -> None:
    """Though each ends within seconds, and the queue is never empty."""
    for number in range(3):
        queue = queue_of(client)
        push(queue, *pages(f"s{number}", 1))
        queue._step(0)
        queue._leave()
        for key, age in ("workers", 90_000e6), ("pushed", -90_000e6):
            client.zincrby(f"{KEY}:{key}", age, queue._worker)  # it was 25 hours ago
    queue = queue_of(client)
    queue._step(0)
    queue._leave()
    assert client.zrange(f"{KEY}:workers", 0, -1) == [queue._worker.encode()]
    assert client.zcard(f"{KEY}:pushed") == 0


def test_what_could_not_be_set_aside_is_set_aside_later(client: Any, time: VirtualTime) -> None:
    """A request cannot be read, and Redis refuses to keep it apart: it stays where it is."""
    worker = Worker(client, time)
    worker.step()
    client.zadd(f"{CRAWL}:hosts", {f"{SITE}\0{5:010}{0:016}no request": 0})
    client.zadd(f"{CRAWL}:due", {SITE: 0})
    client.set(f"{CRAWL}:unreadable", "this is not a list")
    assert worker.pop() is None
    assert worker.counts == (0, 1)
    client.delete(f"{CRAWL}:unreadable")
    worker.queue._pause_until = 0.0
    assert len(worker.queue) == 1
    worker.queue.not_before(SITE, 0.0)
    worker.step()
    assert worker.pop() is None
    assert client.llen(f"{CRAWL}:unreadable") == 1
    worker.step()
    assert worker.counts == (0, 0)
