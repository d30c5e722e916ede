"""One pace for a host, kept by all workers that share a store: real processes, real stores."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.crawl.pacing import slowness, taken
from tests.crawl.test_workers import Workers, until
from tests.crawl.worker import fill
from tests.replies import Reply
from tests.site import Authority, Hit, Site
from tests.stores.servers import RedisServer, running_server
from tests.timed import timed, waits

PAGE = 0.1
"""Seconds that each page of a paced host takes."""


@pytest.fixture
def queue() -> Iterator[RedisServer]:
    """The redis-server of the workers' queue; `server` is that of their store."""
    with running_server() as server:
        yield server


def at_work(
    queue: RedisServer, directory: Path, count: int, urls: list[str], **settings: Any
) -> Workers:
    """So many workers, all there before the first request is in their queue."""
    workers = Workers(queue.uri, directory, count, **settings)
    workers.ready()
    with redis.Redis(port=queue.port) as client:
        fill(client, urls)
    return workers


def worker_of(hit: Hit) -> str:
    """Who asked."""
    return (hit.header("User-Agent") or "").partition("/")[0]


def used(shop: Authority, interval: float) -> float:
    """Which part of the turns that were possible from the first to the last page were used."""
    hits = sorted(shop.page_hits, key=lambda hit: hit.received)
    possible = sum(interval + (hit.finished or 0.0) - hit.received for hit in hits[:-1])
    return possible / (hits[-1].received - hits[0].received)


def check_turns(workers: Workers, shop: Authority, count: int, interval: float) -> None:
    """Two workers share so many pages, and each begins an interval after the one before ended."""
    workers.finish()
    assert Counter(kind for _, kind in workers.all_ends()) == {"downloaded": count}
    assert len({worker_of(hit) for hit in shop.page_hits}) == 2
    hits = sorted(shop.page_hits, key=lambda hit: hit.received)
    for earlier, later in pairwise(hits):
        assert later.received >= (earlier.finished or 0.0) + interval


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_request_is_under_way_while_redis_loses_its_memory(
    site: Site, queue: RedisServer, server: RedisServer, tmp_path: Path
) -> None:
    """The interval is shorter than the page takes; no other worker makes a request meanwhile."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.5\n", Reply(200, delay=3.0))
    own = {"REP_STORE": server.uri, "CONCURRENT_REQUESTS": 1}
    workers = at_work(queue, tmp_path, 2, [shop.url(f"/{n}") for n in range(5)], **own)
    until(lambda: shop.page_hits)
    with redis.Redis(port=server.port) as client:
        client.flushall()
    check_turns(workers, shop, 5, 0.5)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_without_the_last_step_a_slow_page_keeps_its_turn(
    site: Site, queue: RedisServer, server: RedisServer, tmp_path: Path
) -> None:
    """The turn is taken earlier; still no other worker makes a request before the page ends."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.2\n", Reply(200, delay=1.5))
    own: dict[str, Any] = {"REP_STORE": server.uri, "CONCURRENT_REQUESTS": 1}
    own["DOWNLOADER_MIDDLEWARES"] = {"scrapy_rep.RepLastStep": None}
    workers = at_work(queue, tmp_path, 2, [shop.url(f"/{n}") for n in range(6)], **own)
    check_turns(workers, shop, 6, 0.2)


class Estate:
    """Five hosts that ask for a pace, and a hundred that do not."""

    def __init__(self, site: Site, interval: float, page: float = PAGE) -> None:
        self.interval = interval
        robots = f"User-agent: *\nCrawl-delay: {interval:g}\n"
        self.paced = [site.authority(robots, Reply(200, delay=page)) for _ in range(5)]
        self.others = site.authorities(100, "User-agent: *\nDisallow: /private\n")

    def urls(self, each: int, others: int) -> list[str]:
        """So many pages of each paced host, and of each other one, well mixed."""
        slow = [shop.url(f"/{n}") for n in range(each) for shop in self.paced]
        fast = [shop.url(f"/{n}") for n in range(others) for shop in self.others]
        step = max(len(fast) // max(len(slow), 1), 1)
        mixed = []
        while fast or slow:
            mixed += slow[:1] + fast[:step]
            slow, fast = slow[1:], fast[step:]
        return mixed

    def early(self) -> list[tuple[float, Hit, Hit]]:
        """The requests that came too early after the one before, and how far apart they were."""
        pairs = [pair for shop in self.paced for pair in pairwise(shop.page_hits)]
        apart = [(later.received - earlier.received, earlier, later) for earlier, later in pairs]
        return [each for each in apart if each[0] < self.interval]


@waits
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("count", "store_uri"), [(4, "SQLite"), (8, "Redis")], indirect=["store_uri"]
)
def test_few_turns_are_wasted(
    site: Site, queue: RedisServer, tmp_path: Path, count: int, store_uri: str
) -> None:
    """85 % of one request per interval and page time are made, on a machine that is free."""
    estate = Estate(site, 2.0)
    urls = estate.urls(8, 3)
    # Otherwise the first worker could withhold all requests before the next one has started.
    own = {"CONCURRENT_REQUESTS": 2}
    workers = at_work(queue, tmp_path, count, urls, **own, REP_STORE=store_uri)
    workers.finish()
    assert Counter(kind for _, kind in workers.all_ends()) == {"downloaded": len(urls)}
    assert not estate.early()
    served = [len({worker_of(hit) for hit in shop.page_hits}) for shop in estate.paced]
    parts = [used(shop, 2.0) for shop in estate.paced]
    print(f"used: {[f'{part:.0%}' for part in parts]} by {served} workers")  # noqa: T201
    assert max(served) > 1  # who has requests to a host is up to the queue
    assert 1 / min(parts) - 1 <= (1 / 0.85 - 1) * slowness()


@timed
@pytest.mark.timeout(600)
def test_other_hosts_are_not_slowed(
    site: Site, queue: RedisServer, tmp_path: Path, store_uri: str
) -> None:
    """They take at most 1.2 times what they take alone; each the best of two runs."""
    seconds: dict[int, list[float]] = {0: [], 4: []}
    for number in range(4):
        each = 4 * (number % 2)
        estate = Estate(site, 2.0)
        urls = estate.urls(each, 8)
        directory = tmp_path / str(number)
        directory.mkdir()
        workers = at_work(queue, directory, 4, urls, REP_STORE=store_uri)
        workers.finish()
        assert Counter(kind for _, kind in workers.all_ends()) == {"downloaded": len(urls)}
        assert not estate.early()
        seconds[each].append(taken(estate.others))
        with redis.Redis(port=queue.port) as client:
            client.flushall()
    print(f"others: {seconds}")  # noqa: T201
    assert min(seconds[4]) <= 1.2 * min(seconds[0])


def serving(estate: Estate) -> str:
    """The worker that a paced host serves now."""
    served: list[str] = []

    def is_any() -> bool:
        hits = (hit for shop in estate.paced for hit in shop.page_hits if hit.finished is None)
        served[:] = map(worker_of, hits)
        return bool(served)

    until(is_any)
    return served[0]


LEASE = 10.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_worker_holds_up_the_others_for_a_lease_and_an_interval(
    site: Site, queue: RedisServer, tmp_path: Path, store_uri: str
) -> None:
    """SIGKILL while a request is under way: it is not renewed, and lapses; the pace is kept."""
    estate = Estate(site, 2.0, page=0.5)
    workers = at_work(queue, tmp_path, 4, estate.urls(12, 3), REP_STORE=store_uri)
    workers.when(100)
    number = int(serving(estate).removeprefix("worker-"))
    workers.processes[number].kill()
    killed_at = time.monotonic()
    workers.finish(killed=number)
    assert not estate.early()
    times = [[hit.received for hit in shop.page_hits] for shop in estate.paced]
    after = [min((at for at in each if at > killed_at), default=0.0) for each in times]
    longest = max(after) - killed_at
    print(f"held up for {longest:.1f} s at most")  # noqa: T201
    assert longest < LEASE + 2.0 + 3.0  # and what a busy machine adds
    assert len(workers.all_ends()) + len(workers.held(number)) >= 360 - 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_stopped_worker_makes_one_request_to_a_site_late_at_most(
    site: Site, queue: RedisServer, tmp_path: Path, store_uri: str
) -> None:
    """SIGSTOP for longer than a lease, then SIGCONT: the others go on, the pace is kept."""
    estate = Estate(site, 2.0)
    workers = at_work(queue, tmp_path, 4, estate.urls(16, 3), REP_STORE=store_uri)
    workers.when(100)
    name = serving(estate)
    process = workers.processes[int(name.removeprefix("worker-"))]
    process.send_signal(signal.SIGSTOP)
    stopped_at = time.monotonic()
    time.sleep(LEASE + 4.0)
    process.send_signal(signal.SIGCONT)
    went_on_at = time.monotonic()
    workers.finish()
    hits = [hit for shop in estate.paced for hit in shop.page_hits]
    meanwhile = [hit for hit in hits if stopped_at + 0.1 < hit.received < went_on_at]
    assert meanwhile, "the others do not go on"
    assert name not in {worker_of(hit) for hit in meanwhile}
    late = [each for each in estate.early() if name in map(worker_of, each[1:])]
    assert len(late) == len(estate.early())
    of_site = Counter(each[2].header("Host") for each in late)
    assert max(of_site.values(), default=0) <= 1
    assert all(each[2].received < went_on_at + 3.0 for each in late)
    assert Counter(kind for _, kind in workers.all_ends()) == {"downloaded": 380}
