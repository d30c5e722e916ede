"""What a request costs the scheduler, however many sites have requests, and what they take.

``python -m tests.benchmarks.frontier [--csv FILE] [counts...]`` queues a request to each of so many
sites: by default 10, 1,000, 10,000, 100,000, and a million, the last with ours alone. Their rules
are known, and once 90 % of the sites are parked until their hosts are due. Then requests to other
sites are pushed, handed out, checked and ended, one after another, and so with Scrapy's own queue,
which checks nothing. What is printed are microseconds of processor time for each, those that
``len()`` takes, and the memory of a site with two requests. Each figure comes from a process of its
own.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import tracemalloc
from collections.abc import Coroutine
from pathlib import Path
from time import process_time
from typing import Any

from scrapy import Request
from scrapy.http import Response

from scrapy_rep import RepDownloaderMiddleware, RepLastStep
from tests.benchmarks.gate import know, open_crawler
from tests.benchmarks.running import ADDON, in_a_loop, in_a_process, write_csv

COUNTS = (10, 1_000, 10_000, 100_000, 1_000_000)
MOST_OF_SCRAPY = 100_000
"""With more sites, Scrapy's own queue takes too long."""
CHUNKS = 5
KINDS = {
    "known": "scrapy_rep",
    "parked": "scrapy_rep, 90 % of the sites parked",
    "scrapy": "Scrapy's own",
}
MEMORY_OF = {
    "scrapy": "Scrapy's own",
    "known": "ready",
    "unknown": "parked for its robots.txt",
    "parked": "parked for its turn",
}
MOST_MEASURED = 3_000
"""Sites whose memory is measured; that of a site does not depend on their number."""

PARKED = 0.9
RULES = b"User-agent: *\nDisallow: /private\n"
PACED = RULES + b"Crawl-delay: 86400\n"


def done(step: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that never waits."""
    try:
        step.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


class Bench:
    """A crawl that is open, and never begins: the requests are handed out here."""

    def __init__(self, crawler: Any, kind: str):
        self.crawler = crawler
        self.scheduler = crawler.engine._slot.scheduler
        self.gate = crawler.get_downloader_middleware(RepDownloaderMiddleware)
        self.last: Any = crawler.get_downloader_middleware(RepLastStep)
        assert (self.gate is None) == (kind == "scrapy")

    def know(self, numbers: range, body: bytes) -> None:
        """Put the rules of sites into the cache, and the pace that they ask for into effect."""
        if self.gate is not None:
            know(self.gate, body, map(url_of, numbers))

    def push(self, number: int, path: str = "") -> None:
        """Queue a request."""
        assert self.scheduler.enqueue_request(Request(url_of(number) + path))

    def pop(self) -> bool:
        """Hand a request out, check it and end it; return whether there was one."""
        request = self.scheduler.next_request()
        if request is None:
            return False
        if self.gate is not None:
            assert done(self.gate.process_request(request)) is None
            assert done(self.last.process_request(request)) is None
            self.last.process_response(request, Response(request.url))
        return True

    def park(self, numbers: range) -> None:
        """Give out a request of each of these sites, so that another one waits for its turn."""
        for number in numbers:
            self.push(number)
            assert self.pop()
            self.push(number)
        if numbers:
            sites = self.gate._parts.frontier.sites
            while sites.is_ready:
                assert not self.pop()
            assert sites.sites_waiting == len(numbers)


def url_of(number: int) -> str:
    """A site."""
    return f"http://h{number}.example/"


async def cost(kind: str, count: int) -> dict[str, float]:
    """Microseconds of a request, and of ``len()``."""
    bench = Bench(await opened(kind), kind)
    parked = range(int(count * PARKED) if kind == "parked" else 0)
    ready = range(len(parked), count)
    bench.know(parked, PACED)
    bench.know(ready, RULES)
    bench.park(parked)
    for number in ready:
        bench.push(number)
    each = 1_000 if kind != "scrapy" else max(20, min(1_000, 1_000_000 // count))
    # A full garbage collection would count for the one cell in which it happens to fall.
    gc.collect()
    gc.freeze()
    gc.disable()
    costs = []
    for chunk in range(CHUNKS):
        begun = process_time()
        for number in range(each):
            bench.push(ready[number % len(ready)], f"{chunk}/{number}")
            assert bench.pop()
        costs.append((process_time() - begun) / each * 1e6)
    begun = process_time()
    for _ in range(20):
        size = len(bench.scheduler)
    taken = (process_time() - begun) / 20 * 1e6
    assert size == count
    return {"request": statistics.median(costs), "len": taken}


async def memory(kind: str, count: int) -> float:
    """KiB of Python's memory that two requests to each site take, with all that belongs to it."""
    tracemalloc.start(1)
    bench = Bench(await opened(kind), kind)
    if kind != "unknown":
        bench.know(range(count), PACED if kind == "parked" else RULES)
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    if kind == "parked":
        for number in range(count):
            bench.push(number)
            assert bench.pop()
            await asyncio.sleep(0)
    for path in ("a", "b"):
        for number in range(count):
            bench.push(number, path)
    if kind == "parked":
        while bench.gate._parts.frontier.sites.is_ready:
            assert not bench.pop()
    assert len(bench.scheduler) == 2 * count
    gc.collect()
    return (tracemalloc.get_traced_memory()[0] - before) / count / 1024


async def opened(kind: str) -> Any:
    """A crawler that is open."""
    settings = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    if kind == "scrapy":
        return await open_crawler(None, **settings, ROBOTSTXT_OBEY=False)
    return await open_crawler(
        None, **settings, **ADDON, REP_MEMORY_LIMIT=1 << 40, REP_MAX_CRAWL_DELAY=86_400
    )


def main() -> None:
    """Each figure from a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    counts = options.counts or COUNTS
    rows = [["", *(f"{count:,}" for count in counts)]]
    print(f"{'sites':44}" + "".join(f"{cell:>14}" for cell in rows[0][1:]), flush=True)
    sizes = []
    for kind, title in KINDS.items():
        of_kind = [c for c in counts if kind != "scrapy" or c <= MOST_OF_SCRAPY]
        found = [in_a_process("frontier", "cost", kind, str(count)) for count in of_kind]
        rows.append([title, *(f"{each['request']:.1f}" for each in found)])
        sizes.append([f"len(), {title}", *(f"{each['len']:.1f}" for each in found)])
        print(f"{title:44}" + "".join(f"{cell:>11} us" for cell in rows[-1][1:]), flush=True)
    for row in sizes:
        print(f"{row[0]:44}" + "".join(f"{cell:>11} us" for cell in row[1:]), flush=True)
    for kind, title in MEMORY_OF.items():
        grown = in_a_process("frontier", "memory", kind, str(min(max(counts), MOST_MEASURED)))
        print(f"memory, {title}: {grown:.2f} KiB for a site with two requests", flush=True)
    write_csv(options.csv, rows)


if __name__ == "__main__":
    if sys.argv[1:2] in (["cost"], ["memory"]):
        what, kind, count = sys.argv[1:]
        print(json.dumps(in_a_loop((cost if what == "cost" else memory)(kind, int(count)))))
    else:
        main()
