"""How long workers that share a queue in Redis take for plain hosts beside paced ones.

``python -m tests.benchmarks.cluster [--rounds 3] [--quick] [--csv FILE] [WORD...]``, which needs
``redis-server`` and scrapy-redis. Several workers, each a process of its own, crawl the same pages
by three queues in turn: ours, and two of scrapy-redis's own with robots.txt off, which know no
pace. The hosts are in another process, whose notes are the judge; a page takes 50 ms. With words,
only the cases with these words in their names are crawled.

What is printed for each case, in the median of the rounds:

- the seconds from the first request to the last page of a plain host, by each queue;
- how many times as long ours takes as the quicker one of the others;
- from its first page on, the share of the pages that its pace allows of the paced host that got the
  least (the benchmark ``stall`` says how), and the least gap of all paced hosts, by all workers;
- the calls of scripts that Redis had for a request, and the microseconds that these took it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack
from math import inf
from random import Random
from typing import Any, NamedTuple

import redis
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, ScrapyDeprecationWarning
from scrapy.utils.misc import load_object

from tests.benchmarks import stall
from tests.benchmarks.running import ADDON, crawled, print_cases
from tests.benchmarks.stall import figures_of, paced
from tests.benchmarks.stall_server import Hosts, served
from tests.stores.servers import DistantServer, running_server

QUEUES = {
    "ours": "scrapy_rep.redis_queue.HostQueue",
    "PriorityQueue, off": "scrapy_redis.queue.PriorityQueue",
    "FifoQueue, off": "scrapy_redis.queue.FifoQueue",
}
AT_ONCE = 12
"""Requests that all workers have under way together, so that two processors are not the bound."""

MOST = 120
"""Seconds after which a crawl is given up."""


class Case(NamedTuple):
    """Paced hosts beside twenty plain ones, and some workers."""

    name: str
    paced: int = 0
    workers: int = 3
    is_mixed: bool = False
    distance: float = 0.0
    """Seconds of a round trip to Redis."""
    pages: int = 100
    """Of each plain host."""
    pace: float = 2.0
    """The seconds that each paced host asks for."""

    @property
    def hosts(self) -> stall.Case:
        """The plain hosts, and those beside them."""
        return stall.Case(self.name, paced(self.paced, self.pace), Hosts(1, 20, self.pages))


CASES = (
    *(Case(f"{n} paced hosts x 100 first", n) for n in (0, 1, 5, 20, 100)),
    Case("20 paced hosts x 100 mixed", 20, is_mixed=True),
    Case("20 paced hosts x 100 first, 6 workers", 20, workers=6),
    Case("5 paced hosts x 100 first, Redis 20 ms away", 5, distance=0.02),
)
QUICK = (Case("2 paced hosts x 100 first", 2, workers=2, pages=50, pace=0.5),)


class Figures(NamedTuple):
    """What one crawl showed."""

    seconds: float
    share: float
    gap: float
    calls: float
    """Of scripts, for each page."""
    microseconds: float
    """That those took, for each page."""


class ClusterSpider(Spider):
    """One worker. It counts pages of plain hosts in Redis, and stays until it is killed."""

    name = "cluster"
    counts: str
    """The URI of Redis without the distance, so that counting does not delay the crawl."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> ClusterSpider:
        """The spider, told when it is idle; the others are told when it is there."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.redis = redis.Redis.from_url(spider.counts)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    async def start(self) -> Any:
        """What there is to do is in the queue."""
        self.redis.incr("ready")
        return
        yield

    def idle(self) -> None:
        """There may yet be something in the queue."""
        raise DontCloseSpider

    def parse(self, response: Any) -> None:
        """A page came."""
        if response.meta["is_plain"]:
            self.redis.incr("came")


def work(uri: str, counts: str, at_once: int, queue: str) -> None:
    """One worker in this process."""
    # scrapy-redis passes stats the spider, which Scrapy asks no more.
    warnings.filterwarnings("ignore", category=ScrapyDeprecationWarning)
    settings = {
        "REDIS_URL": uri,
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "SCHEDULER_QUEUE_CLASS": QUEUES[queue],
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        "CONCURRENT_REQUESTS": at_once,
        "RETRY_ENABLED": False,
    }
    settings |= {"ROBOTSTXT_OBEY": False} if "off" in queue else {**ADDON, "REP_STORE": uri}
    crawled(ClusterSpider, settings, counts=counts)


def measured(case: Case, queue: str) -> Figures:
    """What one crawl showed."""
    hosts = case.hosts
    with ExitStack() as stack:
        server = stack.enter_context(running_server())
        client = stack.enter_context(redis.Redis(port=server.port))
        uri = server.uri
        if case.distance:
            uri = stack.enter_context(DistantServer(server.port, case.distance)).uri
        site = stack.enter_context(served([hosts.plain, hosts.others]))
        words = ["work", uri, server.uri, str(AT_ONCE // case.workers), queue]
        command = [sys.executable, "-m", "tests.benchmarks.cluster", *words]
        for _ in range(case.workers):
            worker = stack.enter_context(subprocess.Popen(command))
            stack.callback(worker.kill)
        wait_for(client, "ready", case.workers)
        requests = list(hosts.requests("ours", site.ports))
        if case.is_mixed:
            Random(1).shuffle(requests)
        filled = load_object(QUEUES[queue])(client, ClusterSpider(), "%(spider)s:requests")
        client.config_resetstat()
        for request in requests:
            filled.push(request)
        wait_for(client, "came", hosts.plain.count * hosts.plain.pages)
        used = client.info("commandstats").get("cmdstat_evalsha", {"calls": 0, "usec": 0})
    begun = min(note.received for note in site.notes)
    found = figures_of(hosts, site.notes, begun, from_first_page=True)
    pages = sum(note.is_page for note in site.notes)
    return Figures(
        found.seconds, found.share, found.gap, used["calls"] / pages, used["usec"] / pages
    )


def wait_for(client: Any, key: str, count: int) -> None:
    """All workers have counted so many, or the crawl is given up."""
    end = time.monotonic() + MOST
    while int(client.get(key) or 0) < count and time.monotonic() < end:
        time.sleep(0.02)


HEAD = (
    "beside", *(f"{queue}, s" for queue in QUEUES), "ratio", "share, %", "gap, s", "calls", "us",
)  # fmt: skip


def row_of(case: Case, rounds: int) -> tuple[str, ...]:
    """The cells of a case."""
    found = [[measured(case, queue) for queue in QUEUES] for _ in range(rounds)]
    ours = [row[0] for row in found]
    seconds = [statistics.median(row[n].seconds for row in found) for n in range(len(QUEUES))]
    ratio = statistics.median(row[0].seconds / min(row[1].seconds, row[2].seconds) for row in found)
    share = statistics.median(row.share for row in ours)
    return (
        case.name,
        *(f"{each:.1f}" for each in seconds),
        f"{ratio:.2f}",
        "" if share == inf else f"{100 * share:.0f}",
        "" if share == inf else f"{min(row.gap for row in ours):.3f}",
        f"{statistics.median(row.calls for row in ours):.2f}",
        f"{statistics.median(row.microseconds for row in ours):.0f}",
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        uri, counts, at_once, queue = sys.argv[2:]
        work(uri, counts, int(at_once), queue)
    else:
        print_cases(__doc__, HEAD, CASES, QUICK, row_of)
