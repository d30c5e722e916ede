"""One pace for a host, kept by all workers that share a store: real processes, real stores."""

from __future__ import annotations

import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.crawl.pacing import gaps, taken
from tests.crawl.test_workers import Workers
from tests.crawl.worker import fill
from tests.replies import Reply
from tests.site import Authority, Hit, Site
from tests.stores.servers import RedisServer
from tests.timed import timed

PAGE = 0.1
"""Seconds that each page of a paced host takes."""


@pytest.fixture
def queue() -> Iterator[RedisServer]:
    """The redis-server of the workers' queue."""
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory)).start()
        yield server
        server.stop()


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """Another one, for their store."""
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory)).start()
        yield server
        server.stop()


def paced(site: Site, interval: float) -> Authority:
    """A host that asks for a pace."""
    return site.authority(f"User-agent: *\nCrawl-delay: {interval:g}\n", Reply(200, delay=PAGE))


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
    times = sorted(hit.received for hit in shop.page_hits)
    return (len(times) - 1) * (interval + PAGE) / (times[-1] - times[0])


@pytest.mark.timeout(180)
@pytest.mark.parametrize("store", ["SQLite", "Redis"])
def test_three_workers_keep_one_pace_together(
    site: Site, queue: RedisServer, server: RedisServer, tmp_path: Path, store: str
) -> None:
    """The host asks for 1 s and gets 1 s, from all of them; each has its turns."""
    shop = paced(site, 1.0)
    uri = server.uri if store == "Redis" else f"sqlite://{tmp_path}/robots.db"
    own = {"REP_STORE": uri, "CONCURRENT_REQUESTS": 2, "REP_PARK_LIMIT": 2}
    workers = at_work(queue, tmp_path, 3, [shop.url(f"/{n}") for n in range(12)], **own)
    workers.finish()
    assert Counter(kind for _, kind in workers.all_ends()) == {"downloaded": 12}
    assert min(gaps(shop)) >= 1.0
    assert len({worker_of(hit) for hit in shop.page_hits}) >= 2
    stats = [workers.stats(number) for number in range(3)]
    assert all(each["robotstxt/crawl_delay/hosts"] == 1 for each in stats)
    assert sum(each.get("robotstxt/crawl_delay/waited", 0) for each in stats) >= 10
    print(f"used: {used(shop, 1.0):.0%}")  # noqa: T201
