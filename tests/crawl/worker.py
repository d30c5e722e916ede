"""`python -m tests.crawl.worker REDIS LOG SETTINGS`: one of several workers on a shared queue.

SETTINGS are those of its own, as JSON; `LEASE_TERM` among them is the constant of that name,
`QUEUE_SILENT_FOR` that of the queue, and `CLOCK` the days by which the clock of the machine is at
most wrong, now this way and now that. Each line of the log is how a request ended; it is written at
once, so that it survives a SIGKILL.
"""

from __future__ import annotations

import json
import random
import sys
import time
import warnings
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from redis.sentinel import Sentinel
from scrapy import Request, Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.exceptions import DontCloseSpider, ScrapyDeprecationWarning
from scrapy.http import Response
from scrapy_redis.queue import PriorityQueue

from scrapy_rep import parts, redis_queue
from scrapy_rep.sites import refresh as inquiry
from scrapy_rep.stores.redis import RedisStore
from tests.crawl.harness import MODES, settings_of
from tests.crawl.plugin import OVER_REDIS, obey
from tests.crawl.result import Problem
from tests.stores.deployments import SentinelDeployment

PATIENCE = 1.5
"""Seconds without a request after which a worker takes the crawl for finished."""

FIRST_PATIENCE = 30.0
"""Seconds for which it waits for its first request, so that all workers can start together."""


class WorkerSpider(Spider):
    """Says how each request ended; stays for a while when the queue is empty."""

    name = "worker"

    def __init__(self, log: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.file = Path(log or "/dev/null").open("ab", buffering=0)  # noqa: SIM115
        self.busy_at = time.monotonic() + FIRST_PATIENCE

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> WorkerSpider:
        """The spider, told when it is idle."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    def request(self, url: str) -> Request:
        """A request that any worker can take up."""
        return Request(url, self.page, errback=self.failed)

    async def start(self) -> AsyncIterator[Any]:
        """What there is to do is in the queue."""
        self.file.write(b"ready .\n")
        return
        yield

    def page(self, response: Response) -> Iterable[Any]:
        """A page came."""
        self.say("downloaded", response.url)
        return ()

    def failed(self, failure: Any) -> None:
        """A request ended without one."""
        self.say(Problem.of(failure.value).kind, failure.request.url)

    def say(self, what: str, url: str) -> None:
        """One line of the log."""
        self.busy_at = time.monotonic()
        self.file.write(f"{what} {url}\n".encode())

    def idle(self) -> None:
        """Another worker may yet put something into the queue."""
        if time.monotonic() < self.busy_at + PATIENCE:
            raise DontCloseSpider

    def closed(self, reason: str) -> None:
        """The stats are the last line."""
        assert self.crawler.stats
        stats = {k: v for k, v in self.crawler.stats.get_stats().items() if "robots" in k}
        self.say("stats", json.dumps(stats))
        self.file.close()


class BySentinel:
    """A client by way of Sentinels, for REDIS_PARAMS of scrapy-redis."""

    @staticmethod
    def from_url(ports: str, **how: Any) -> Any:
        """A client of the master, whichever server that is; `ports` are those of the Sentinels."""
        places = [("127.0.0.1", int(port)) for port in ports.split(",")]
        return Sentinel(places).master_for(SentinelDeployment.name, **how)


def fill(server: Any, urls: Iterable[str]) -> None:
    """Requests for these are put into the workers' queue."""
    spider = WorkerSpider()
    queue = PriorityQueue(server, spider, "%(spider)s:requests")
    for url in urls:
        queue.push(spider.request(url))
    spider.file.close()


class WrongClock:
    """A clock that is set anew every few seconds."""

    def __init__(self, days: float) -> None:
        self._seconds = days * 86_400.0
        self._off = self._until = 0.0

    def time(self) -> float:
        """Seconds since the epoch, as far as it knows."""
        if time.monotonic() > self._until:
            self._until = time.monotonic() + random.uniform(1.0, 20.0)
            self._off = random.uniform(-self._seconds, self._seconds)
        return time.time() + self._off


def main(uri: str, log: str, own: str) -> None:
    """One worker crawls until there is nothing left to do."""
    chosen = json.loads(own)
    if days := chosen.pop("CLOCK", 0.0):
        clock = WrongClock(days)
        parts.time = clock  # type: ignore[assignment]
        (RedisStore.__init__.__kwdefaults__ or {})["clock"] = clock.time
    redis_queue.SILENT_FOR = chosen.pop("QUEUE_SILENT_FOR", redis_queue.SILENT_FOR)
    redis_queue.BEAT = min(redis_queue.BEAT, redis_queue.SILENT_FOR / 6)
    inquiry.LEASE_TERM = chosen.pop("LEASE_TERM", inquiry.LEASE_TERM)
    # scrapy-redis passes stats the spider, which Scrapy asks no more.
    warnings.filterwarnings("ignore", category=ScrapyDeprecationWarning, module="scrapy_redis")
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.1
    settings = {
        **obey(**{"REP_STORE": uri, **chosen}),
        **MODES["asyncio"],
        "REDIS_URL": uri,
        **OVER_REDIS,
        "SCHEDULER_PERSIST": True,
        "LOG_LEVEL": "WARNING",
    }
    process = AsyncCrawlerProcess(settings_of(settings))
    process.crawl(WorkerSpider, log=log)
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
