"""Several workers on one queue and one Redis: scrapy-redis's scheduler, our store."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import redis

from scrapy_rep.frontier.cluster import UNDER_WAY
from tests.crawl.harness import WARNINGS
from tests.crawl.pacing import slowness, taken
from tests.crawl.worker import fill
from tests.polling import until
from tests.processes import Forked, start_python
from tests.replies import Hang, Reply
from tests.rows import deep
from tests.site import Authority, Hit, Script, Site
from tests.stores.servers import RedisServer
from tests.timed import timed, waits

PATHS = [f"/open/{n}" for n in range(7)] + [f"/private/{n}" for n in range(3)]


class Estate:
    """Authorities, and how the request for each URL of theirs has to end.

    Most have rules, some answer slowly, some have none, some are unreachable.
    """

    def __init__(self, site: Site, count: int) -> None:
        rules = "User-agent: *\nDisallow: /private\n"
        kinds: list[Script] = [rules, rules, Reply(200, rules, delay=0.2), Reply(404), Reply(503)]
        self.all = [site.authority(kinds[number % len(kinds)]) for number in range(count)]
        always = {3: "downloaded", 4: "unreachable"}
        self.expected = {
            each.url(path): always.get(n % 5, "forbidden" if "private" in path else "downloaded")
            for path in PATHS
            for n, each in enumerate(self.all)
        }

    def check_pages(self) -> None:
        """No page was asked for that the rules, or their want, forbid."""
        asked = {each.url(hit.target) for each in self.all for hit in each.page_hits}
        assert {url for url in asked if self.expected[url] != "downloaded"} == set()


class Workers:
    """Worker processes, and what their logs say."""

    def __init__(self, uri: str, directory: Path, count: int = 4, **settings: Any) -> None:
        self.logs = [directory / f"worker-{number}" for number in range(count)]
        self.processes = [
            self._start(uri, str(log), json.dumps({**settings, "USER_AGENT": f"{log.name}/1.0"}))
            for log in self.logs
        ]

    @staticmethod
    def _start(*arguments: str) -> Forked:
        return start_python("-m", "tests.crawl.worker", *arguments, options=WARNINGS)

    def lines(self, number: int) -> list[tuple[str, str]]:
        """What a worker said, and of which URL."""
        text = self.logs[number].read_text() if self.logs[number].exists() else ""
        pairs = (line.partition(" ")[::2] for line in text.splitlines())
        return [(what, of) for what, of in pairs]

    def ends(self, number: int) -> list[tuple[str, str]]:
        """The requests of a worker that ended, as (URL, kind)."""
        others = ("ready", "stats")
        return [(of, what) for what, of in self.lines(number) if what not in others]

    def all_ends(self) -> list[tuple[str, str]]:
        """Those of all workers."""
        return [end for number in range(len(self.logs)) for end in self.ends(number)]

    def stats(self, number: int) -> dict[str, Any]:
        """The last line."""
        what, text = self.lines(number)[-1]
        assert what == "stats"
        return dict(json.loads(text))

    def ready(self) -> None:
        """All are there, and wait for something to do."""
        until(lambda: all(self.lines(number) for number in range(len(self.logs))))

    def when(self, count: int) -> None:
        """So many requests have ended."""
        until(lambda: len(self.all_ends()) >= count)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:  # no worker outlives a test that failed
        for process in self.processes:
            process.close()

    def finish(self, *, killed: int | None = None) -> list[str]:
        """All workers end, and what they wrote to the standard error stream is returned."""
        said = []
        for number, process in enumerate(self.processes):
            try:
                said.append(process.communicate(timeout=120)[1])
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(process.communicate()[1][-2000:]) from None
            assert process.returncode == (-signal.SIGKILL if number == killed else 0), said[-1]
        return said


def worker_of(hit: Hit) -> str:
    """Who asked."""
    return (hit.header("User-Agent") or "").partition("/")[0]


def at_work(queue: RedisServer, folder: Path, count: int, urls: list[str], **more: Any) -> Workers:
    """So many workers, all there before the first request is in their queue."""
    workers = Workers(queue.uri, folder, count, **more)
    workers.ready()
    with redis.Redis(port=queue.port) as client:
        fill(client, urls)
    return workers


COUNT = deep(30, 500)
"""How many authorities there are."""


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_four_workers_fetch_each_file_once(site: Site, server: RedisServer, tmp_path: Path) -> None:
    """Ten URLs of each authority, spread over all workers: one fetch, each URL one right end."""
    estate = Estate(site, COUNT)
    with redis.Redis(port=server.port) as client:
        fill(client, estate.expected)
    workers = Workers(server.uri, tmp_path, REP_TIMEOUT=15)
    workers.finish()
    assert Counter(workers.all_ends()) == Counter(estate.expected.items())
    estate.check_pages()
    fetches = [len(each.robots_hits) for each in estate.all]
    assert min(fetches) == 1
    # A look-up that a busy machine makes late counts as failed, and is fetched for again.
    failed = sum(workers.stats(number).get("robotstxt/store/error", 0) for number in range(4))
    assert sum(fetches) <= deep(2, 1.01) * COUNT + failed
    # On a busy machine one may be started when the others have done all.
    assert sum(len(workers.ends(number)) > 0 for number in range(4)) >= 2
    print(f"fetches: {sum(fetches)} of {COUNT} authorities")  # noqa: T201


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("robots", [Reply(503), Hang()], ids=["503", "hangs"])
def test_eight_workers_make_one_round_of_attempts(
    site: Site, server: RedisServer, tmp_path: Path, robots: Any
) -> None:
    """Five sites that are down: three attempts at each, whoever makes them; the others wait.

    All are there before the first of 200 requests is in the queue.
    """
    own = {"REP_STORE": server.uri, "REP_TIMEOUT": 2.0, "REP_RETRY_DELAYS": [0.3, 0.6]}
    shops = [site.authority(robots) for _ in range(5)]
    urls = [shop.url(f"/{n}") for n in range(40) for shop in shops]
    workers = at_work(server, tmp_path, 8, urls, **own)
    workers.finish()
    assert Counter(kind for _, kind in workers.all_ends()) == {"unreachable": 200}
    assert sum(bool(workers.ends(number)) for number in range(8)) >= 2  # some may be too late
    hits = [hit for shop in shops for hit in shop.robots_hits]
    askers = Counter(hit.header("User-Agent") for hit in hits)
    print(f"attempts: {len(hits)}, by worker: {askers}")  # noqa: T201
    failed = sum(workers.stats(n).get("robotstxt/store/error", 0) for n in range(8))
    # A look-up that a busy machine makes late counts as failed: then a worker is on its own.
    assert len(hits) == 15 or (failed and len(hits) <= 15 + 3 * failed)
    assert [hit for shop in shops for hit in shop.page_hits] == []


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_lease_is_renewed_while_its_worker_lives_and_no_longer(
    site: Site, server: RedisServer, tmp_path: Path
) -> None:
    """A site hangs for longer than a lease lasts: one request. Its worker is killed: another one.

    The other worker takes over when the queue has left the site alone for long enough.
    """
    term = 2.0
    shop = site.authority([Hang(), Reply(200, "User-agent: *\nDisallow: /private\n")])
    store = f"sqlite://{tmp_path}/robots.db"
    own = {"REP_STORE": store, "REP_TIMEOUT": 60, "LEASE_TERM": term, "CONCURRENT_REQUESTS": 1}
    own["QUEUE_SILENT_FOR"] = 2.0
    urls = [shop.url(f"/open/{n}") for n in range(40)]
    with at_work(server, tmp_path, 3, urls, **own) as workers:
        until(lambda: shop.robots_hits)
        time.sleep(2.5 * term)
        [hit] = shop.robots_hits
        leader = int(worker_of(hit).removeprefix("worker-"))
        killed_at = time.monotonic()
        workers.processes[leader].kill()
        workers.finish(killed=leader)
    assert len(shop.robots_hits) == 2
    # A poll, and what a busy machine adds.
    assert shop.robots_hits[1].received - killed_at < max(term, UNDER_WAY) + 2.0
    ends = workers.all_ends()
    assert {kind for _, kind in ends} == {"downloaded"}
    assert {url for url, _ in ends} == set(urls)


# --- one pace for a host, kept by all of them

PAGE = 0.1
"""Seconds that each page of a paced host takes."""


def used(shop: Authority, interval: float) -> float:
    """Which part of the turns that were possible from the first to the last page were used."""
    hits = sorted(shop.page_hits, key=lambda hit: hit.received)
    possible = sum(interval + (hit.finished or 0.0) - hit.received for hit in hits[:-1])
    return possible / (hits[-1].received - hits[0].received)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_request_is_under_way_while_redis_loses_its_memory(
    site: Site, queue: RedisServer, server: RedisServer, tmp_path: Path
) -> None:
    """The interval is shorter than the page takes; no other worker makes a request meanwhile.

    The queue is one that does not leave the site alone, so that both workers have requests to it.
    """
    shop = site.authority("User-agent: *\nCrawl-delay: 0.5\n", Reply(200, delay=3.0))
    own = {"REP_STORE": server.uri, "CONCURRENT_REQUESTS": 1}
    own["SCHEDULER_QUEUE_CLASS"] = "scrapy_redis.queue.PriorityQueue"
    workers = at_work(queue, tmp_path, 2, [shop.url(f"/{n}") for n in range(5)], **own)
    until(lambda: shop.page_hits)
    with redis.Redis(port=server.port) as client:
        client.flushall()
    workers.finish()
    assert Counter(kind for _, kind in workers.all_ends()) == {"downloaded": 5}
    assert len({worker_of(hit) for hit in shop.page_hits}) == 2
    hits = sorted(shop.page_hits, key=lambda hit: hit.received)
    for earlier, later in pairwise(hits):
        assert later.received >= (earlier.finished or 0.0) + 0.5


class PacedEstate:
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
    estate = PacedEstate(site, 2.0)
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
    site: Site, queue: RedisServer, server: RedisServer, tmp_path: Path
) -> None:
    """They take at most 1.2 times what they take alone; each the best of two runs.

    With one store, as it is the crawl that may hold them up: no store is asked for their turns.
    """
    seconds: dict[int, list[float]] = {0: [], 4: []}
    for number in range(4):
        each = 4 * (number % 2)
        estate = PacedEstate(site, 2.0)
        urls = estate.urls(each, 8)
        directory = tmp_path / str(number)
        directory.mkdir()
        workers = at_work(queue, directory, 4, urls, REP_STORE=server.uri)
        workers.finish()
        assert Counter(kind for _, kind in workers.all_ends()) == {"downloaded": len(urls)}
        assert not estate.early()
        seconds[each].append(taken(estate.others))
        with redis.Redis(port=queue.port) as client:
            client.flushall()
    print(f"others: {seconds}")  # noqa: T201
    assert min(seconds[4]) <= 1.2 * min(seconds[0])


def serving(estate: PacedEstate) -> str:
    """The worker that a paced host serves now."""
    served: list[str] = []

    def is_any() -> bool:
        hits = (hit for shop in estate.paced for hit in shop.page_hits if hit.finished is None)
        served[:] = map(worker_of, hits)
        return bool(served)

    until(is_any)
    return served[0]


TURN_TERM = 10.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_worker_holds_up_the_others_for_a_lease_and_an_interval(
    site: Site, queue: RedisServer, server: RedisServer, tmp_path: Path
) -> None:
    """SIGKILL while a request is under way: it is not renewed, and lapses; the pace is kept."""
    estate = PacedEstate(site, 2.0, page=0.5)
    urls = estate.urls(12, 3)
    workers = at_work(queue, tmp_path, 4, urls, REP_STORE=server.uri, QUEUE_SILENT_FOR=8.0)
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
    assert longest < TURN_TERM + 2.0 + 3.0  # and what a busy machine adds
    assert {url for url, _ in workers.all_ends()} == set(urls)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_stopped_worker_makes_one_request_to_a_site_late_at_most(
    site: Site, queue: RedisServer, tmp_path: Path
) -> None:
    """SIGSTOP for longer than a lease, then SIGCONT: the others go on, the pace is kept."""
    estate = PacedEstate(site, 2.0)
    store = f"sqlite://{tmp_path}/robots.db"
    workers = at_work(queue, tmp_path, 4, estate.urls(16, 3), REP_STORE=store)
    workers.when(100)
    name = serving(estate)
    process = workers.processes[int(name.removeprefix("worker-"))]
    process.send_signal(signal.SIGSTOP)
    stopped_at = time.monotonic()
    time.sleep(TURN_TERM + 4.0)
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
