"""Workers on a queue of ready hosts: what waits is in Redis, and nothing is lost."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from scrapy import Request
from scrapy.http import Response
from scrapy_redis.spiders import RedisMixin

from scrapy_rep.redis_queue import HostQueue
from tests.crawl.harness import visit
from tests.crawl.pacing import gaps, pages
from tests.crawl.spiders import RequestsSpider
from tests.crawl.test_stall import UntilSpider
from tests.crawl.test_workers import Workers, at_work, until
from tests.crawl.worker import BySentinel, WorkerSpider
from tests.replies import Hang, html
from tests.site import Authority, Site
from tests.stores.deployments import ClusterDeployment, SentinelDeployment
from tests.stores.servers import RedisServer, running, running_server

KEY = "%(spider)s:requests"
"""The default key of scrapy-redis."""

FEW = {"CONCURRENT_REQUESTS": 4}
"""A worker keeps at most sixteen requests that wait."""


REDIS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
}
DEPRECATED = "ignore::scrapy.exceptions.ScrapyDeprecationWarning"
"""scrapy-redis uses methods of Scrapy that are deprecated."""


@pytest.fixture
def queue(module_server: RedisServer) -> RedisServer:
    """That server, empty: it has the queue and the store."""
    with redis.Redis(port=module_server.port) as client:
        client.flushall()
    return module_server


@contextmanager
def working(
    server: RedisServer, directory: Path, count: int, urls: list[str], **settings: Any
) -> Iterator[Workers]:
    """So many workers at these requests; none of them outlives the context."""
    workers = at_work(server, directory, count, urls, **{**FEW, **settings})
    try:
        yield workers
    finally:
        for process in workers.processes:
            if process.returncode is None:
                process.close()


def come(shops: list[Authority], each: int) -> Callable[[], bool]:
    """All pages of some sites have come."""
    return lambda: all(len(shop.page_hits) >= each for shop in shops)


def own(server: RedisServer, **settings: Any) -> dict[str, Any]:
    """The settings of a project with this queue."""
    return {"REDIS_URL": server.uri, "REP_STORE": server.uri, **REDIS, **settings}


@pytest.mark.filterwarnings(DEPRECATED)
async def test_sites_that_wait_delay_no_other(site: Site, queue: RedisServer) -> None:
    """Three paced hosts and a silent one with twenty requests each are ahead of all others.

    A worker keeps at most eight requests here.
    """
    paced = site.authorities(3, "User-agent: *\nCrawl-delay: 60\n")
    silent = site.authority(Hang())
    plain = site.authorities(5, "User-agent: *\nDisallow: /private\n")
    until = [url for shop in plain for url in pages(shop, 5)]
    plans = [url for shop in [*paced, silent] for url in pages(shop, 20)] + until
    settings = own(queue, CONCURRENT_REQUESTS=2, REP_TIMEOUT=60)
    await visit(plans, UntilSpider, until=until, whole=False, **settings)
    assert [len(shop.page_hits) for shop in plain] == [5] * 5
    assert [len(shop.robots_hits) for shop in [*paced, silent, *plain]] == [1] * 9


class AgainMiddleware:
    """Makes a request three times, as it has changed it: the same object, with other meta."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Count in the meta."""
        tries = request.meta["tries"] = request.meta.get("tries", 0) + 1
        if tries == 3:
            return response
        request.dont_filter = True
        return request


@pytest.mark.filterwarnings(DEPRECATED)
async def test_a_request_that_is_made_again_is_as_it_was_changed(
    site: Site, queue: RedisServer
) -> None:
    """It is a new one, and not the one that the queue gave out."""
    shop = site.authority("User-agent: *\nDisallow: /private\n")
    settings = own(queue, DOWNLOADER_MIDDLEWARES={AgainMiddleware: 950})
    result = await visit([shop.url("/a"), shop.url("/b")], **settings)
    assert sorted(result.downloaded) == [shop.url("/a"), shop.url("/b")]
    assert Counter(hit.path for hit in shop.page_hits) == {"/a": 3, "/b": 3}


@pytest.mark.filterwarnings(DEPRECATED)
async def test_what_a_dead_worker_had_comes_back(
    site: Site, queue: RedisServer, constants: Callable[..., None]
) -> None:
    """It took all there was, and gave no sign of life for a lease."""
    constants("redis_queue", LEASE=1.0, BEAT=0.1)
    plain = site.authorities(3, "User-agent: *\nDisallow: /private\n")
    urls = [shop.url("/") for shop in plain]
    with redis.Redis(port=queue.port) as client:
        spider = RequestsSpider()
        dead = HostQueue(client, spider, KEY)
        for url in urls:
            dead.push(spider.request(url))
        dead._step(8)
        assert client.zcard("requests:requests:hosts") == 0
    result = await visit([], **own(queue), whole=False)
    assert sorted(end.url for end in result.endings) == sorted(urls)
    assert result.stats["robotstxt/queue/taken_over"] == 3


@pytest.mark.slow
def test_sites_that_wait_stop_no_worker(site: Site, queue: RedisServer, tmp_path: Path) -> None:
    """Four paced hosts and a silent one with fifty requests each are ahead of all others."""
    paced = site.authorities(4, "User-agent: *\nCrawl-delay: 60\n")
    silent = site.authority(Hang())
    plain = site.authorities(5, "User-agent: *\nDisallow: /private\n")
    urls = [url for shop in [*paced, silent] for url in pages(shop, 50)]
    urls += [url for shop in plain for url in pages(shop, 8)]
    with working(queue, tmp_path, 2, urls, REP_TIMEOUT=60):
        until(come(plain, 8))
    assert max(len(shop.page_hits) for shop in paced) <= 1
    assert [len(shop.robots_hits) for shop in [*paced, silent, *plain]] == [1] * 10


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(site: Site, queue: RedisServer, tmp_path: Path) -> None:
    """SIGKILL at mid-crawl: others get what it had, and twice at most what it had taken."""
    plain = site.authorities(3, "User-agent: *\nDisallow: /private\n", html(delay=0.1))
    paced = site.authority("User-agent: *\nCrawl-delay: 0.5\n")
    urls = [url for shop in plain for url in pages(shop, 40)] + pages(paced, 5)
    with working(queue, tmp_path, 2, urls, QUEUE_LEASE=3.0) as workers:
        workers.when(30)
        workers.processes[1].kill()
        workers.finish(killed=1)
    ends = Counter(url for url, _ in workers.all_ends())
    assert set(ends) == set(urls)
    asked = Counter(shop.url(hit.target) for shop in [*plain, paced] for hit in shop.page_hits)
    assert sum(asked.values()) <= len(urls) + 5 * 4 + 8  # those that it had, done or not
    assert min(gaps(paced)) >= 0.5


@pytest.mark.slow
def test_a_stop_gives_everything_back(site: Site, queue: RedisServer, tmp_path: Path) -> None:
    """SIGTERM at mid-crawl: nothing is lost, nothing comes twice, nothing has to lapse first."""
    plain = site.authorities(3, "User-agent: *\nDisallow: /private\n", html(delay=0.1))
    urls = [url for shop in plain for url in pages(shop, 40)]
    with working(queue, tmp_path, 2, urls, QUEUE_LEASE=600.0) as workers:
        workers.when(30)
        workers.processes[1].send_signal(signal.SIGTERM)
        workers.finish()
    assert Counter(workers.all_ends()) == Counter((url, "downloaded") for url in urls)
    assert sum(len(shop.page_hits) for shop in plain) == len(urls)


# --- Redis fails


@pytest.mark.slow
def test_an_outage_of_redis_loses_nothing(site: Site, tmp_path: Path) -> None:
    """It is gone for longer than a lease, and comes back with what it had: each page once.

    After an outage nobody is dead.
    """
    shops = site.authorities(3, "User-agent: *\nDisallow: /private\n", html(delay=0.1))
    paced = site.authority("User-agent: *\nCrawl-delay: 0.5\n")
    urls = [url for shop in shops for url in pages(shop, 50)] + pages(paced, 15)
    kept = ["--appendonly", "yes", "--appendfsync", "always"]
    with (
        running_server(*kept) as server,
        working(server, tmp_path, 2, urls, QUEUE_LEASE=3.0) as workers,
    ):
        workers.when(30)
        server.stop()
        time.sleep(4.0)
        server.start()
        said = workers.finish()
    assert Counter(url for url, _ in workers.all_ends()) == Counter(urls)
    assert min(gaps(paced)) >= 0.5
    for each in said:
        assert each.count("The queue in Redis fails") == 1
        assert "sign of life" not in each


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_redis_that_refuses_to_write_loses_nothing(
    site: Site, queue: RedisServer, tmp_path: Path, how: str
) -> None:
    """The crawl goes on when it writes again."""
    shops = site.authorities(3, "User-agent: *\nDisallow: /private\n", html(delay=0.1))
    urls = [url for shop in shops for url in pages(shop, 30)]
    with (
        working(queue, tmp_path, 2, urls) as workers,
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
    assert Counter(url for url, _ in workers.all_ends()) == Counter(urls)


@pytest.mark.slow
def test_what_a_worker_has_survives_a_redis_that_forgets(
    site: Site, queue: RedisServer, tmp_path: Path
) -> None:
    """FLUSHALL at mid-crawl: the requests that it took are made, and no other one."""
    shop = site.authority("User-agent: *\nDisallow: /private\n", html(delay=0.3))
    with (
        working(queue, tmp_path, 1, pages(shop, 6), CONCURRENT_REQUESTS=1) as workers,
        redis.Redis(port=queue.port) as client,
    ):
        until(lambda: len(shop.page_hits) == 2)
        client.flushall()
        workers.finish()
    assert Counter(url for url, _ in workers.all_ends()) == Counter(pages(shop, 6))


@pytest.mark.slow
def test_a_worker_that_was_stopped_drops_what_others_have_got(
    site: Site, queue: RedisServer, tmp_path: Path
) -> None:
    """SIGSTOP for longer than a lease: twice at most what it had under way or had just done."""
    shops = site.authorities(3, "User-agent: *\nDisallow: /private\n", html(delay=0.2))
    paced = site.authority("User-agent: *\nCrawl-delay: 0.5\n")
    urls = [url for shop in shops for url in pages(shop, 40)] + pages(paced, 16)
    with working(queue, tmp_path, 2, urls, QUEUE_LEASE=3.0) as workers:
        workers.when(30)
        workers.processes[1].send_signal(signal.SIGSTOP)
        time.sleep(5.0)
        assert len(workers.all_ends()) < len(urls)
        workers.processes[1].send_signal(signal.SIGCONT)
        said = workers.finish()
    ends = Counter(url for url, _ in workers.all_ends())
    assert set(ends) == set(urls)
    assert sum(ends.values()) <= len(urls) + 5 * 4 + 8
    assert "gave no sign of life" in said[1]
    assert "gave no sign of life" not in said[0]
    early = [gap for gap in gaps(paced) if gap < 0.5]
    assert len(early) <= 1  # what it had let go just before


# --- as scrapy-redis has it


@pytest.mark.slow
def test_workers_with_an_older_class_may_go_on_during_an_upgrade(
    site: Site, queue: RedisServer, tmp_path: Path
) -> None:
    """Two of each: nothing is lost, and nothing is made twice."""
    shops = site.authorities(6, "User-agent: *\nDisallow: /private\n", html(delay=0.1))
    urls = [url for shop in shops for url in pages(shop, 30)]
    (tmp_path / "older").mkdir()
    older_class = {"SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.PriorityQueue"}
    older = Workers(queue.uri, tmp_path / "older", 2, REP_STORE=queue.uri, **FEW, **older_class)
    try:
        older.ready()
        with working(queue, tmp_path, 2, urls) as workers:
            workers.finish()
        older.finish()
    finally:
        older.stop()
    assert Counter(workers.all_ends() + older.all_ends()) == Counter(
        (url, "downloaded") for url in urls
    )
    assert workers.all_ends()


class StartListSpider(RedisMixin, UntilSpider):  # type: ignore[misc]
    """A spider with a start list in Redis."""

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        """It reads its list when it is idle, which it never is."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.setup_redis(crawler)
        return spider

    def make_request_from_data(self, data: bytes) -> Any:
        """The list has URLs."""
        return self.request(data.decode())


@pytest.mark.filterwarnings(DEPRECATED)
async def test_a_start_list_is_read_while_sites_wait(site: Site, queue: RedisServer) -> None:
    """Otherwise it would be read when the crawl is idle, hours later."""
    paced = site.authority("User-agent: *\nCrawl-delay: 60\n")
    plain = site.authority("User-agent: *\nDisallow: /private\n")
    with redis.Redis(port=queue.port) as client:
        client.rpush("requests:start_urls", *pages(plain, 40))
    await visit(
        pages(paced, 3),
        StartListSpider,
        until=pages(plain, 40),
        whole=False,
        **own(queue),
    )
    assert len(plain.page_hits) == 40


@pytest.mark.filterwarnings(DEPRECATED)
@pytest.mark.parametrize("persist", [True, False])
async def test_requests_are_there_in_the_next_run_if_they_are_to_persist(
    site: Site, queue: RedisServer, persist: bool
) -> None:
    """What waits goes back at the close; without SCHEDULER_PERSIST it is removed then."""
    paced = site.authority("User-agent: *\nCrawl-delay: 60\n")
    plain = site.authority("User-agent: *\nDisallow: /private\n")
    urls = pages(paced, 5) + pages(plain, 2)
    settings = own(queue, SCHEDULER_PERSIST=persist)
    await visit(urls, UntilSpider, until=pages(plain, 2), whole=False, **settings)
    with redis.Redis(port=queue.port) as client:
        made = len(paced.page_hits)
        assert client.zcard("requests:requests:hosts") == (5 - made if persist else 0)
        assert client.zcard("requests:requests:out") == 0
        assert client.zcard("requests:requests:workers") == 0
    other = site.authority("User-agent: *\nDisallow: /private\n")
    await visit(pages(other, 2), **settings, SCHEDULER_FLUSH_ON_START=True)
    assert len(paced.page_hits) == made
    assert len(other.page_hits) == 2


@pytest.mark.filterwarnings(DEPRECATED)
async def test_without_a_store_the_queue_keeps_the_pace(site: Site, queue: RedisServer) -> None:
    """One line recommends a store."""
    paced = site.authority("User-agent: *\nCrawl-delay: 0.3\n")
    plain = site.authority("User-agent: *\nDisallow: /private\n")
    urls = pages(paced, 4) + pages(plain, 4) + [plain.url("/private")]
    result = await visit(urls, REDIS_URL=queue.uri, **REDIS, expected=["REP_STORE is not set"])
    assert (len(result.downloaded), result.forbidden) == (8, [plain.url("/private")])
    assert min(gaps(paced)) >= 0.3


@pytest.mark.slow
def test_without_a_store_a_request_that_waits_for_room_keeps_its_site(
    site: Site, queue: RedisServer, tmp_path: Path
) -> None:
    """No worker gets another one of that site meanwhile, so that both would be made together."""
    plain = site.authority("User-agent: *\nDisallow: /private\n", html(delay=1.5))
    paced = site.authorities(2, "User-agent: *\nCrawl-delay: 0.5\n")
    urls = [url for shop in paced for url in pages(shop, 8)] + pages(plain, 60)
    limits = {"CONCURRENT_REQUESTS": 2, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    with working(queue, tmp_path, 3, urls, REP_STORE=None, **limits) as workers:
        workers.finish()
    assert {url for url, _ in workers.all_ends()} == set(urls)
    assert min(min(gaps(shop)) for shop in paced) >= 0.5


@pytest.mark.filterwarnings(DEPRECATED)
async def test_workers_that_share_no_pace_keep_one_each(site: Site, queue: RedisServer) -> None:
    """REP_SHARED_PACE off: the queue knows no pace, and one request of each host waits here."""
    paced = site.authorities(3, "User-agent: *\nCrawl-delay: 0.5\n")
    urls = [url for shop in paced for url in pages(shop, 3)]
    await visit(urls, **own(queue, SCHEDULER_PERSIST=True, REP_SHARED_PACE=False))
    assert all(len(shop.page_hits) == 3 and min(gaps(shop)) >= 0.5 for shop in paced)
    with redis.Redis(port=queue.port) as client:
        assert set(client.hvals("requests:requests:pace")) <= {b"0"}


def crawl_on(
    site: Site, directory: Path, uri: str, client: Any, during: Callable[[], None], **settings: Any
) -> Counter[str]:
    """Two workers crawl 45 pages; return how often each was made, after what happens meanwhile."""
    shops = site.authorities(3, "User-agent: *\nDisallow: /private\n", html(delay=0.1))
    workers = Workers(uri, directory, 2, **FEW, **settings)
    try:
        workers.ready()
        queue = HostQueue(client, WorkerSpider(), settings.get("SCHEDULER_QUEUE_KEY", KEY))
        for shop in shops:
            for url in pages(shop, 15):
                queue.push(queue.spider.request(url))
        queue.spider.file.close()
        workers.when(20)
        during()
        workers.finish()
    finally:
        workers.stop()
    assert {hit.target for shop in shops for hit in shop.page_hits} == {f"/{n}" for n in range(15)}
    return Counter(url for url, _ in workers.all_ends())


@pytest.mark.slow
def test_a_crawl_on_a_cluster(site: Site, tmp_path: Path) -> None:
    """With a hash tag in the key: all keys of the queue are on one node."""
    with running(ClusterDeployment(tmp_path)) as cluster:
        port = cluster.servers[0].port
        settings = {
            "REP_STORE": cluster.uri,
            "REDIS_PARAMS": {"redis_cls": "redis.cluster.RedisCluster"},
            "SCHEDULER_QUEUE_KEY": "{%(spider)s}:requests",
        }
        with redis.RedisCluster("127.0.0.1", port) as client:
            uri = f"redis://127.0.0.1:{port}"
            ends = crawl_on(site, tmp_path, uri, client, lambda: None, **settings)
    assert (len(ends), sum(ends.values())) == (45, 45)


@pytest.mark.slow
def test_a_crawl_goes_on_when_a_replica_takes_over(site: Site, tmp_path: Path) -> None:
    """The master dies at mid-crawl; Sentinels choose another one."""
    with running(SentinelDeployment(tmp_path, given_up_after=500)) as sentinels:
        settings = {
            "REP_STORE": sentinels.uri,
            "REDIS_PARAMS": {"redis_cls": "tests.crawl.worker.BySentinel"},
        }
        places = ",".join(str(each.port) for each in sentinels.sentinels)

        def take_over() -> None:
            master = sentinels.master()
            master.stop()
            until(lambda: sentinels.master() is not master)

        with BySentinel.from_url(places) as client:
            ends = crawl_on(site, tmp_path, places, client, take_over, **settings)
    assert len(ends) == 45
    assert sum(ends.values()) <= 45 + 2 * 8  # what was done in the last moment
