"""What it costs the scheduler to hand out requests while it withholds many.

``python -m tests.benchmarks.waiting [counts]`` has it withhold no request, 100 and 1,000, for the
rules of 500 sites or for their turn. It prints the microseconds for each of a thousand requests to
other sites, from ``enqueue_request`` to ``next_request``.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator
from time import process_time
from typing import Any

from scrapy import Request, Spider

from scrapy_rep import RepDownloaderMiddleware
from scrapy_rep.access.authority import authority_of
from scrapy_rep.frontier.hosts import PacedHost
from tests.benchmarks.running import ADDON, crawled

COUNTS = tuple(map(int, sys.argv[1:])) or (0, 100, 1_000)
GOING = 1_000


class WaitingSpider(Spider):
    """Makes no request of its own: it measures the scheduler of a crawl."""

    name = "waiting"
    rows = 0

    async def start(self) -> AsyncIterator[Any]:
        """All measurements."""
        engine: Any = self.crawler.engine
        gate: Any = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        for how in ("for rules", "for a turn"):
            costs = [measure(engine._slot.scheduler, gate.withheld, how, n) for n in COUNTS]
            shown = "  ".join(f"{cost * 1e6:7.1f} us" for cost in costs)
            print(f"{how:24} {shown}", flush=True)
            self.rows += 1
        for nothing in ():
            yield nothing


def measure(scheduler: Any, withheld: Any, how: str, count: int) -> float:
    """Processor seconds for each of a thousand requests that go by while `count` are withheld."""
    for number in range(count):
        request = Request(f"http://h{number % 500}.example/{number}")
        authority = authority_of(request.url)
        assert authority is not None
        withheld.trips.begin(request)
        if how == "for rules":
            withheld._wait(withheld._item(request), authority)
        else:
            withheld._turns.hosts.setdefault(authority.host, PacedHost(authority.host, 0.0))
            withheld._wait(withheld._item(request), authority.host)
    withheld._most = count + 1
    meta = {"dont_obey_robotstxt": True}
    going = [Request(f"http://other{n % 20}.example/{how}/{n}", meta=meta) for n in range(GOING)]
    # A full garbage collection would count for the one cell in which it happens to fall.
    gc.collect()
    gc.disable()
    begun = process_time()
    for request in going:
        scheduler.enqueue_request(request)
        assert scheduler.next_request() is request
    taken = process_time() - begun
    gc.enable()
    withheld._clear()
    return taken / GOING


def main() -> None:
    """One crawl that measures."""
    print(f"{'withheld':24} " + "  ".join(f"{count:7,}   " for count in COUNTS))
    settings = {**ADDON, "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    log = {"LOG_ENABLED": True, "LOG_LEVEL": "ERROR"}
    if crawled(WaitingSpider, {**settings, **log}).rows != 2:
        raise SystemExit("not everything was measured")


if __name__ == "__main__":
    main()
