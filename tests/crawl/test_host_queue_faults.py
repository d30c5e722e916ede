"""Workers on a queue of ready hosts: some are killed or stand still, and Redis fails."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from scrapy_rep.redis_queue import BATCH, SILENT_FOR, HostQueue
from tests.crawl.pacing import gaps, pages
from tests.crawl.plugin import RULES
from tests.crawl.test_host_queue import FEW, KEY, working
from tests.crawl.test_workers import Workers, worker_of
from tests.crawl.worker import BySentinel, WorkerSpider, fill
from tests.polling import until
from tests.replies import html
from tests.rows import deep
from tests.site import Site
from tests.stores.deployments import ClusterDeployment, SentinelDeployment
from tests.stores.servers import RedisServer, running, running_server, server_with_own_clock
from tests.timed import waits

MOST_HELD = 5 * FEW["CONCURRENT_REQUESTS"] + BATCH
"""Requests that a worker has at most: under way, waiting, and taken."""

AT_LENGTH = [pytest.param(seconds, SILENT_FOR, marks=waits) for seconds in (10.0, 60.0)]
"""Seconds for which a worker or Redis stands still, with the lease of a real crawl."""


class Shops:
    """Some sites, one of which asks for half a second between two requests."""

    def __init__(self, site: Site, plain: int, each: int, paced: int) -> None:
        self.plain = site.authorities(plain, RULES, html(delay=0.1))
        self.paced = site.authority("User-agent: *\nCrawl-delay: 0.5\n")
        self.urls = [url for shop in self.plain for url in pages(shop, each)]
        self.urls += pages(self.paced, paced)

    def askers(self) -> dict[str, list[str]]:
        """The workers that asked for each page, in their order."""
        found: dict[str, list[str]] = {}
        hits = [(hit, shop) for shop in [*self.plain, self.paced] for hit in shop.page_hits]
        for hit, shop in sorted(hits, key=lambda pair: pair[0].received):
            found.setdefault(shop.url(hit.target), []).append(worker_of(hit))
        return found

    def check(self, workers: Workers, lost_to: str = "", early: int = 0) -> int:
        """No page is lost, and none is made twice but what one worker had; return how many.

        That worker was the first to make them, as far as it came. No more than `early` requests to
        the paced site were made too early.
        """
        askers = self.askers()
        assert set(askers) == {url for url, _ in workers.all_ends()} == set(self.urls)
        twice = [names for names in askers.values() if len(names) > 1]
        assert all(len(names) == 2 and lost_to in names for names in twice), twice
        assert sum(gap < 0.5 for gap in gaps(self.paced)) <= early
        return len(twice)


def taken_over(workers: Workers, *numbers: int) -> int:
    """How many requests of a dead worker were put back by these."""
    return sum(workers.stats(each).get("robotstxt/queue/taken_over", 0) for each in numbers)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(deep(4, 20)))
def test_a_kill_loses_nothing(site: Site, queue: RedisServer, tmp_path: Path, number: int) -> None:
    """SIGKILL of one of three at any moment: others get what it had, and make that alone twice."""
    shops = Shops(site, 6, 25, 6)
    moment = random.Random(number).randint(1, 140), random.uniform(0.0, 0.2)
    with working(queue, tmp_path, 3, shops.urls, QUEUE_SILENT_FOR=3.0) as workers:
        workers.when(moment[0])
        time.sleep(moment[1])
        workers.processes[1].kill()
        workers.finish(killed=1)
    had, twice = taken_over(workers, 0, 2), shops.check(workers, "worker-1")
    print(f"killed after {moment[0]} pages: it had {had}, made twice {twice}")  # noqa: T201
    assert twice <= had <= MOST_HELD


@pytest.mark.slow
def test_a_stop_gives_everything_back(site: Site, queue: RedisServer, tmp_path: Path) -> None:
    """SIGTERM at mid-crawl: nothing is lost, nothing comes twice, nothing has to lapse first."""
    shops = Shops(site, 3, 40, 6)
    with working(queue, tmp_path, 2, shops.urls, QUEUE_SILENT_FOR=600.0) as workers:
        workers.when(30)
        workers.processes[1].send_signal(signal.SIGTERM)
        workers.finish()
    assert shops.check(workers) == 0
    assert Counter(workers.all_ends()) == Counter((url, "downloaded") for url in shops.urls)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "lease"),
    [(5.0, 3.0), *AT_LENGTH],
)
def test_a_worker_that_stood_still_drops_what_others_have_got(
    site: Site, queue: RedisServer, tmp_path: Path, seconds: float, lease: float
) -> None:
    """SIGSTOP: only what it had may come twice, and only if that was for longer than a lease."""
    shops = Shops(site, 3, 40, 16)
    with working(queue, tmp_path, 2, shops.urls, QUEUE_SILENT_FOR=lease) as workers:
        workers.when(30)
        workers.processes[1].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        workers.processes[1].send_signal(signal.SIGCONT)
        said = workers.finish()
    # What it had let go just before may be early.
    had, twice = taken_over(workers, 0), shops.check(workers, "worker-1", early=1)
    print(f"stood still for {seconds:.0f} s: it had {had}, made twice {twice}")  # noqa: T201
    assert twice <= had <= MOST_HELD
    assert bool(had) == (seconds > lease)
    assert ["gave no sign of life" in each for each in said] == [False, seconds > lease]


@pytest.mark.slow
def test_an_upgrade_loses_nothing(site: Site, queue: RedisServer, tmp_path: Path) -> None:
    """Two workers without the add-on, with scrapy-redis's queue, beside two with it.

    The old ones push and crawl on until they are stopped. Each page comes once.
    """
    shops = site.authorities(6, RULES, html(delay=0.1))
    urls = [url for shop in shops for url in pages(shop, 40)]
    folders = tmp_path / "old", tmp_path / "new"
    for folder in folders:
        folder.mkdir()
    with (
        Workers(queue.uri, folders[0], 2, ADDONS={}, **FEW) as old,
        Workers(queue.uri, folders[1], 2, **FEW) as new,
        redis.Redis(port=queue.port) as client,
    ):
        for number in range(0, len(urls), 60):
            for each in (old, new):
                each.ready()
            fill(client, urls[number : number + 60])
            until(lambda made=number: len(old.all_ends() + new.all_ends()) >= made + 30)
        for process in old.processes:
            process.send_signal(signal.SIGTERM)
        said = [*old.finish(), *new.finish()]
    ends = {name: Counter(each.all_ends()) for name, each in (("old", old), ("new", new))}
    assert min(map(len, ends.values())) > 0
    assert ends["old"] + ends["new"] == Counter((url, "downloaded") for url in urls)
    asked = Counter(shop.url(hit.target) for shop in shops for hit in shop.page_hits)
    assert asked == Counter(urls)
    assert not any("cannot be read" in each for each in said)


# --- Redis fails


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "lease"),
    [(4.0, 3.0), *AT_LENGTH],
)
def test_an_outage_loses_nothing(site: Site, tmp_path: Path, seconds: float, lease: float) -> None:
    """It is gone, for longer than a lease or not, and comes back with what it had.

    Each page comes once: after an outage nobody is dead.
    """
    shops = Shops(site, 3, 50, 15)
    kept = ["--appendonly", "yes", "--appendfsync", "always"]
    with (
        running_server(*kept) as server,
        working(server, tmp_path, 2, shops.urls, QUEUE_SILENT_FOR=lease) as workers,
    ):
        workers.when(30)
        server.stop()
        time.sleep(seconds)
        server.start()
        said = workers.finish()
    assert shops.check(workers) == 0
    assert Counter(url for url, _ in workers.all_ends()) == Counter(shops.urls)
    for each in said:
        assert each.count("The queue in Redis fails") == 1
        assert "sign of life" not in each


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_redis_that_refuses_to_write_loses_nothing(
    site: Site, queue: RedisServer, tmp_path: Path, how: str
) -> None:
    """The crawl goes on when it writes again."""
    shops = Shops(site, 3, 30, 6)
    with (
        working(queue, tmp_path, 2, shops.urls) as workers,
        redis.Redis(port=queue.port, protocol=2) as client,
    ):
        workers.when(20)
        if how == "full":
            client.config_set("maxmemory", 1)
        else:
            client.execute_command("REPLICAOF", "127.0.0.1", "1")
        time.sleep(2.0)
        client.config_set("maxmemory", 0)
        client.execute_command("REPLICAOF", "NO", "ONE")
        workers.finish()
    assert shops.check(workers) == 0


@pytest.mark.slow
def test_what_a_worker_has_survives_a_flush(site: Site, queue: RedisServer, tmp_path: Path) -> None:
    """FLUSHALL at mid-crawl: the requests that it took are made, and no other one."""
    shop = site.authority(RULES, html(delay=0.3))
    with (
        working(queue, tmp_path, 1, pages(shop, BATCH), CONCURRENT_REQUESTS=1) as workers,
        redis.Redis(port=queue.port) as client,
    ):
        until(lambda: len(shop.page_hits) == 2)
        client.flushall()
        workers.finish()
    assert Counter(url for url, _ in workers.all_ends()) == Counter(pages(shop, BATCH))


@pytest.mark.slow
@pytest.mark.parametrize("hours", [-1.0, 1.0])
def test_a_clock_that_is_set_loses_nothing(site: Site, tmp_path: Path, hours: float) -> None:
    """Nobody counts as dead by that, and nothing has to wait for the old time to come again."""
    shops = Shops(site, 3, 60, 20)
    with (
        server_with_own_clock() as (server, set_clock),
        working(server, tmp_path, 3, shops.urls, QUEUE_SILENT_FOR=3.0) as workers,
    ):
        workers.when(100)  # all have been in contact for longer than a lease
        set_clock(hours * 3_600.0)
        said = workers.finish()
    assert shops.check(workers, early=hours > 0) == 0  # by that clock the interval was over
    assert Counter(url for url, _ in workers.all_ends()) == Counter(shops.urls)
    assert not any("sign of life" in each for each in said)


def crawl_on(
    site: Site, directory: Path, uri: str, client: Any, during: Callable[[], None], **settings: Any
) -> int:
    """Two workers crawl while something happens; return how many pages were made twice."""
    shops = Shops(site, 3, 15, 8)
    with Workers(uri, directory, 2, **FEW, **settings) as workers:
        workers.ready()
        queue = HostQueue(client, WorkerSpider(), settings.get("SCHEDULER_QUEUE_KEY", KEY))
        for url in shops.urls:
            queue.push(queue.spider.request(url))
        queue.spider.file.close()
        workers.when(20)
        during()
        workers.finish()
    return shops.check(workers)


@pytest.mark.slow
def test_a_crawl_on_a_cluster(site: Site, tmp_path: Path) -> None:
    """With a hash tag in the key: all keys of the queue are on one node."""
    with running(ClusterDeployment(tmp_path)) as cluster:
        port = cluster.servers[0].port
        settings = {"REP_STORE": cluster.uri, "SCHEDULER_QUEUE_KEY": "{%(spider)s}:requests"}
        settings["REDIS_PARAMS"] = {"redis_cls": "redis.cluster.RedisCluster"}
        with redis.RedisCluster("127.0.0.1", port) as client:
            uri = f"redis://127.0.0.1:{port}"
            assert crawl_on(site, tmp_path, uri, client, lambda: None, **settings) == 0


@pytest.mark.slow
def test_a_crawl_goes_on_when_a_replica_takes_over(site: Site, tmp_path: Path) -> None:
    """The master dies at mid-crawl; Sentinels choose another one."""
    with running(SentinelDeployment(tmp_path, given_up_after=500)) as sentinels:
        params = {"redis_cls": "tests.crawl.worker.BySentinel"}
        settings = {"REP_STORE": sentinels.uri, "REDIS_PARAMS": params}
        places = ",".join(str(each.port) for each in sentinels.sentinels)

        def take_over() -> None:
            master = sentinels.master()
            master.stop()
            until(lambda: sentinels.master() is not master)

        with BySentinel.from_url(places) as client:
            twice = crawl_on(site, tmp_path, places, client, take_over, **settings)
    assert twice <= 2 * BATCH  # what was done in the last moment
