"""Workers on a queue of ready hosts: what waits is in Redis, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import redis
from scrapy import Request
from scrapy.http import Response
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.spiders import RedisMixin

from scrapy_rep.redis_queue import HostQueue
from tests.crawl.harness import visit
from tests.crawl.middlewares import middleware
from tests.crawl.pacing import at_once as most_at_once
from tests.crawl.pacing import gaps, pages
from tests.crawl.plugin import OVER_REDIS, RULES, override
from tests.crawl.spiders import RequestsSpider
from tests.crawl.test_stall import UntilSpider
from tests.crawl.test_workers import Workers, at_work
from tests.replies import Hang, html
from tests.site import Site
from tests.stores.servers import RedisServer

KEY = "%(spider)s:requests"
"""The default key of scrapy-redis."""

FEW = {"CONCURRENT_REQUESTS": 4}
"""A worker keeps at most sixteen requests that wait."""


pytestmark = pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
"""scrapy-redis uses methods of Scrapy that are deprecated."""


def working(server: RedisServer, folder: Path, count: int, urls: list[str], **more: Any) -> Workers:
    """So many workers at these requests."""
    return at_work(server, folder, count, urls, **{**FEW, **more})


def own(server: RedisServer, **settings: Any) -> dict[str, Any]:
    """The settings of a project with this queue."""
    return {"REDIS_URL": server.uri, "REP_STORE": server.uri, **OVER_REDIS, **settings}


async def test_sites_that_wait_delay_no_other(site: Site, queue: RedisServer) -> None:
    """Three paced hosts and a silent one with twenty requests each are ahead of all others.

    A worker keeps at most eight requests here.
    """
    paced = site.authorities(3, "User-agent: *\nCrawl-delay: 60\n")
    silent = site.authority(Hang())
    plain = site.authorities(5, RULES)
    until = [url for shop in plain for url in pages(shop, 5)]
    plans = [url for shop in [*paced, silent] for url in pages(shop, 20)] + until
    settings = own(queue, CONCURRENT_REQUESTS=2, REP_TIMEOUT=60)
    await visit(plans, UntilSpider, until=until, whole=False, **settings)
    assert [len(shop.page_hits) for shop in plain] == [5] * 5
    assert [len(shop.robots_hits) for shop in [*paced, silent, *plain]] == [1] * 9


async def test_a_request_that_is_made_again_stays_changed(site: Site, queue: RedisServer) -> None:
    """It is a new one, and not the one that the queue gave out: the same object, with more meta."""

    def again(request: Request, response: Response) -> Request | Response:
        tries = request.meta["tries"] = request.meta.get("tries", 0) + 1
        request.dont_filter = True
        return response if tries == 3 else request

    shop = site.authority(RULES)
    settings = own(queue, DOWNLOADER_MIDDLEWARES={middleware(process_response=again): 950})
    result = await visit([shop.url("/a"), shop.url("/b")], **settings)
    assert sorted(result.downloaded) == [shop.url("/a"), shop.url("/b")]
    assert Counter(hit.path for hit in shop.page_hits) == {"/a": 3, "/b": 3}


async def test_what_a_dead_worker_had_comes_back(
    site: Site, queue: RedisServer, client: Any, constants: Any
) -> None:
    """It took all there was, and gave no sign of life for a lease."""
    constants("redis_queue", SILENT_FOR=1.0, BEAT=0.1)
    urls = [shop.url("/") for shop in site.authorities(3, RULES)]
    spider = RequestsSpider()
    dead = HostQueue(client, spider, KEY)
    for url in urls:
        dead.push(spider.request(url))
    dead._step(8)
    assert client.zcard("requests:requests:hosts") == 0
    result = await visit([], **own(queue), whole=False)
    assert sorted(end.url for end in result.endings) == sorted(urls)
    assert result.stats["robotstxt/queue/taken_over"] == 3


# --- as scrapy-redis has it


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


async def test_a_start_list_is_read_meanwhile(site: Site, queue: RedisServer, client: Any) -> None:
    """Otherwise it would be read when the crawl is idle, hours later."""
    paced, plain = site.authority("User-agent: *\nCrawl-delay: 60\n"), site.authority(RULES)
    until = pages(plain, 40)
    client.rpush("requests:start_urls", *until)
    await visit(pages(paced, 3), StartListSpider, until=until, whole=False, **own(queue))
    assert len(plain.page_hits) == 40


@pytest.mark.parametrize("persist", [True, False])
async def test_requests_are_there_in_the_next_run_if_they_are_to_persist(
    site: Site, queue: RedisServer, client: Any, persist: bool
) -> None:
    """What waits goes back at the close; without SCHEDULER_PERSIST it is removed then."""
    paced, plain = site.authority("User-agent: *\nCrawl-delay: 60\n"), site.authority(RULES)
    urls = pages(paced, 5) + pages(plain, 2)
    settings = own(queue, SCHEDULER_PERSIST=persist)
    await visit(urls, UntilSpider, until=pages(plain, 2), whole=False, **settings)
    made = len(paced.page_hits)
    assert client.zcard("requests:requests:hosts") == (5 - made if persist else 0)
    assert client.zcard("requests:requests:out") == 0
    assert client.zcount("requests:requests:workers", 0, "+inf") == 0
    other = site.authority(RULES)
    await visit(pages(other, 2), **settings, SCHEDULER_FLUSH_ON_START=True)
    assert len(paced.page_hits) == made
    assert len(other.page_hits) == 2


async def test_without_a_store_the_queue_keeps_the_pace(site: Site, queue: RedisServer) -> None:
    """One line recommends a store."""
    paced, plain = site.authority("User-agent: *\nCrawl-delay: 0.3\n"), site.authority(RULES)
    urls = pages(paced, 4) + pages(plain, 4) + [plain.url("/private")]
    result = await visit(urls, REDIS_URL=queue.uri, **OVER_REDIS, expected=["REP_STORE is not set"])
    assert (len(result.downloaded), result.forbidden) == (8, [plain.url("/private")])
    assert min(gaps(paced)) >= 0.3


@pytest.mark.slow
def test_without_a_store_a_request_that_waits_for_room_keeps_its_site(
    site: Site, queue: RedisServer, tmp_path: Path
) -> None:
    """No worker gets another one of that site meanwhile, so that both would be made together."""
    plain = site.authority(RULES, html(delay=1.5))
    paced = site.authorities(2, "User-agent: *\nCrawl-delay: 0.5\n")
    urls = [url for shop in paced for url in pages(shop, 8)] + pages(plain, 60)
    limits = {"CONCURRENT_REQUESTS": 2, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    with working(queue, tmp_path, 3, urls, REP_STORE=None, **limits) as workers:
        workers.finish()
    assert {url for url, _ in workers.all_ends()} == set(urls)
    assert min(min(gaps(shop)) for shop in paced) >= 0.5


async def test_the_limits_and_overrides_of_the_operator_hold(
    site: Site, queue: RedisServer
) -> None:
    """As in one process: DOWNLOAD_DELAY, a limit for a slot, and a pace of the operator's own."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    few = site.authority(RULES, html(delay=0.3))
    paced = site.authority("User-agent: *\nCrawl-delay: 600\n")
    shut = site.authority(RULES)
    slots = {slow.host: {"delay": 0.4, "randomize_delay": False}, few.host: {"concurrency": 2}}
    entries = [override(paced.url(), "delay", delay=0.3), override(shut.url(), "forbid")]
    settings = own(queue, DOWNLOAD_SLOTS=slots, REP_OVERRIDES=entries, CONCURRENT_REQUESTS=16)
    urls = [url for shop in (slow, few, paced) for url in pages(shop, 4)]
    result = await visit([*urls, shut.url("/")], **settings, expected=["overrid"])
    assert (sorted(result.downloaded), result.forbidden) == (sorted(urls), [shut.url("/")])
    assert min(gaps(slow)) >= 0.4
    assert min(gaps(paced)) >= 0.3
    assert most_at_once(few) == 2


async def test_workers_may_keep_a_pace_each(site: Site, queue: RedisServer, client: Any) -> None:
    """REP_SHARED_PACE off: the queue knows no pace, and one request of each host waits here."""
    paced = site.authorities(3, "User-agent: *\nCrawl-delay: 0.5\n")
    urls = [url for shop in paced for url in pages(shop, 3)]
    HostQueue(client, RequestsSpider(), KEY)._step(0)  # the crawl's worker is not the last one
    await visit(urls, **own(queue, SCHEDULER_PERSIST=True, REP_SHARED_PACE=False))
    assert set(client.hvals("requests:requests:pace")) <= {b"0"}
    assert all(len(shop.page_hits) == 3 and min(gaps(shop)) >= 0.5 for shop in paced)


class FailingFilter(RFPDupeFilter):
    """Fails for some requests, as while Redis is full."""

    def request_seen(self, request: Request) -> bool:
        """Whether a request was seen; raises for some."""
        if "/lost/" in request.url:
            raise redis.ResponseError("OOM command not allowed")
        return bool(super().request_seen(request))


async def test_a_page_ends_even_if_the_filter_fails_for_each_of_its_links(
    site: Site, queue: RedisServer
) -> None:
    """Scrapy waits for ever for a page whose links all fail, if there are more than 200."""
    shop = site.authority(RULES)
    links = [*(f"/lost/{number}" for number in range(250)), "/found"]
    settings = own(queue) | {"DUPEFILTER_CLASS": f"{__name__}.FailingFilter"}
    how = {"onward": {"/": links}, "whole": False, "expected": ["A request is lost"]}
    result = await visit([shop.url("/")], **how, **settings)
    assert [hit.target for hit in shop.page_hits] == ["/", "/found"]
    lost = result.lines(r"A request is lost, .*/lost/\d+: ResponseError: OOM command", "ERROR")
    assert len(lost) == 250
