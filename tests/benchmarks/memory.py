"""What a crawl of very many authorities keeps in memory, beside Scrapy's own middleware.

``python -m tests.benchmarks.memory [authorities]`` sends one request to each of 200,000
authorities through the middleware, with REP_MEMORY_LIMIT at 16 MiB; the network is replaced by
seeded files as large as those of the world. Then the built-in parses 20,000 of them. Each runs in
a process of its own, which ends with an error if it did not measure what it says.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.http import Response

from scrapy_rep import RepDownloaderMiddleware, RobotsForbidden
from tests.benchmarks.gate import open_crawler
from tests.benchmarks.inputs import corpus
from tests.benchmarks.running import ADDON, in_a_loop

BOUND = 16 << 20
AUTHORITIES = 200_000
BUILT_IN = 20_000
WARM_UP = 200
AT_ONCE = 50
FILES = 2_000


def resident() -> int:
    """The octets that this process has in real memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class World:
    """Every host has a robots.txt; no two are the same octets."""

    def __init__(self) -> None:
        self._files = corpus(FILES, seed=8)
        self.fetches = 0

    def body(self, number: int) -> bytes:
        """The file of a host."""
        return b"# host %d\n" % number + self._files[number % FILES]

    async def download_async(self, request: Request) -> Response:
        """What the engine does, without a network."""
        self.fetches += 1
        await asyncio.sleep(0)
        number = int(request.url.removeprefix("https://h").partition(".")[0])
        return Response(request.url, body=self.body(number))


SETTINGS: dict[str, Any] = {
    **ADDON,
    "REP_MEMORY_LIMIT": BOUND,
    "REP_CRAWL_DELAY": False,
    "REP_RETRY_DELAYS": [],
}


async def opened(world: World) -> Crawler:
    """A crawler with an open engine of Scrapy's, which downloads from the world."""
    crawler = await open_crawler("mybot", **SETTINGS)
    assert crawler.engine is not None
    crawler.engine.download_async = world.download_async  # type: ignore[method-assign]
    return crawler


async def ours(count: int) -> None:
    """The middleware, one request to each."""
    world = World()
    crawler = await opened(world)
    gate = crawler.get_downloader_middleware(RepDownloaderMiddleware)
    assert gate is not None

    ends, downloader = Counter[str](), crawler.engine.downloader

    async def visit(number: int) -> None:
        try:
            await gate.process_request(Request(f"https://h{number}.example/shop/item-{number}"))
            ends["allowed"] += 1
        except RobotsForbidden:
            ends["forbidden"] += 1

    async def visit_all(first: int, last: int) -> None:
        for start in range(first, last, AT_ONCE):
            await asyncio.gather(*(visit(n) for n in range(start, min(start + AT_ONCE, last))))
            # Scrapy keeps a slot for a minute after the last request, whoever made it. Hosts that
            # are visited at this speed would have more slots than any crawl has.
            downloader._slot_gc(age=0)

    await visit_all(0, WARM_UP)
    before, most = resident(), 0
    row("authorities", "rules kept", "accounted", "grown", "of the bound")
    for first in range(WARM_UP, count, count // 10):
        await visit_all(first, min(first + count // 10, count))
        info, grown = gate.cache_info(), resident() - before
        most = max(most, grown)
        seen = min(first + count // 10, count)
        row(seen, info["sites"], mib(info["bytes"]), mib(grown), f"{grown / BOUND:.2f}")
    ask_that(world.fetches == ends.total() == count, f"{world.fetches} fetches, {ends}")
    ask_that(ends["allowed"] > 0 and ends["forbidden"] > 0, f"no rules were read: {ends}")
    ask_that(most > 0, "the process did not grow")
    info = gate.cache_info()
    left = f"{info['fetches']} fetches and {info['waiting']} requests left"
    print(
        f"{world.fetches} fetches; {left}; {mib(most)} MiB at most, {most / BOUND:.2f} x the bound"
    )


async def built_in(count: int) -> None:
    """Scrapy's dictionary of parsers, each asked once."""
    world = World()
    crawler = await opened(world)
    gate = RobotsTxtMiddleware.from_crawler(crawler)
    before = resident()
    for number in range(count):
        netloc = f"h{number}.example"
        parser = gate._parserimpl.from_crawler(crawler, world.body(number))
        parser.allowed(f"https://{netloc}/shop/item-{number}", "mybot")
        gate._parsers[netloc] = parser
    grown = resident() - before
    ask_that(grown > 0, "the process did not grow")
    print(
        f"built-in: {count} authorities, {mib(grown)} MiB, {grown / count / 1024:.1f} KiB each; "
        f"{grown / count * AUTHORITIES / 2**20:,.0f} MiB for {AUTHORITIES:,}"
    )


def ask_that(measured: bool, what: str) -> None:
    """End the process, with status 1 and a line on stderr, if nothing was ``measured``."""
    if not measured:
        raise SystemExit(f"nothing was measured: {what}")


def mib(octets: int) -> str:
    """For people."""
    return f"{octets / 2**20:.1f}"


def row(*cells: Any) -> None:
    """A line of the table."""
    print("".join(f"{cell!s:>14}" for cell in cells), flush=True)


PARTS: dict[str, tuple[Callable[[int], Any], int]] = {
    "ours": (ours, AUTHORITIES),
    "built-in": (built_in, BUILT_IN),
}


def main(arguments: list[str]) -> None:
    """Each part in a process of its own."""
    if arguments and arguments[0] in PARTS:
        part, count = PARTS[arguments[0]]
        in_a_loop(part(int(arguments[1]) if len(arguments) > 1 else count))
        return
    for name in PARTS:
        command = [sys.executable, "-m", "tests.benchmarks.memory", name]
        subprocess.run([*command, *(arguments if name == "ours" else [])], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
