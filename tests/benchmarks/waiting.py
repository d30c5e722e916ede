"""What a pass costs while many requests wait, and what it costs to begin to wait.

``python -m tests.benchmarks.waiting [counts]`` has 100, 1,000 and 10,000 requests wait for 500
hosts, for their pace, for room in their slots, and for their rules. It prints the microseconds that
each request costs which is let go beside them, from its arrival on.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from time import process_time
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

from scrapy_rep import RepDownloaderMiddleware, downloadermiddlewares
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.requested_pace import RequestedPace
from scrapy_rep.waiting.hosts import host_of

COUNTS = tuple(map(int, sys.argv[1:])) or (100, 1_000, 10_000)
GOING = 1_000


class WaitingSpider(Spider):
    """Makes no request of its own: it measures the gate's waiting room in a crawl."""

    name = "waiting"
    custom_settings = {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}  # noqa: RUF012
    rows = 0

    async def start(self) -> AsyncIterator[Any]:
        """All measurements."""
        gate: Any = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        for how in ("for a pace", "for a slot", "for rules"):
            costs = [await measure(self.crawler, gate._room, how, count) for count in COUNTS]
            shown = "  ".join(f"{cost * 1e6:7.1f} us" for cost in costs)
            print(f"{how:24} {shown}", flush=True)
            WaitingSpider.rows += 1
        for nothing in ():
            yield nothing


def hold(room: Any, downloader: Any, request: Request) -> asyncio.Task[None]:
    """A request that waits, and is over as soon as it is let go."""
    downloader.active.add(request)

    async def wait() -> None:
        try:
            with room.hold(request, host_of(request), for_rules=False) as waiting:
                await room.until_let_go(waiting)
        finally:
            downloader.active.discard(request)

    return asyncio.ensure_future(wait())


class Crowd:
    """Requests that wait in one way."""

    def __init__(self, room: Any, downloader: Any) -> None:
        self.room = room
        self.downloader = downloader
        self.tasks: list[asyncio.Task[None]] = []
        self.held: list[tuple[Any, Request]] = []
        self.blockers: list[tuple[Any, Request]] = []

    def add(self, how: str, number: int) -> None:
        """One more of them, on one of 500 hosts."""
        host = f"h{number % 500}.example"
        request = Request(f"http://{host}/{number}")
        if how == "for rules":
            self.downloader.active.add(request)
            self.held.append((self.room.hold(request, host, for_rules=True), request))
            self.held[-1][0].__enter__()
            return
        if number < 500:
            self.prepare(how, host, request)
        self.tasks.append(hold(self.room, self.downloader, request))

    def prepare(self, how: str, host: str, request: Request) -> None:
        """The host is too early, or its slot is full."""
        if how == "for a pace":
            asker = (authority_of(request.url), ())
            self.room.ask(request, asker, RequestedPace((), 60.0), lambda *_: 0.0)
            self.room._hosts.get(host).ended = 1e12
            return
        _, slot = self.downloader._get_slot(request)
        for number in range(9):
            self.blockers.append((slot, Request(f"http://{host}/b{number}")))
            slot.active.add(self.blockers[-1][1])

    async def leave(self) -> None:
        """All go away."""
        for holding, request in self.held:
            holding.__exit__(None, None, None)
            self.downloader.active.discard(request)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for slot, request in self.blockers:
            slot.active.discard(request)
        for host in list(self.room._hosts.values()):
            self.room._hosts.remove(host)


async def measure(crawler: Any, room: Any, how: str, count: int) -> float:
    """Processor seconds for each of a thousand requests that go by while `count` wait."""
    crowd = Crowd(room, crawler.engine.downloader)
    for number in range(count):
        crowd.add(how, number)
    await asyncio.sleep(0.3)
    going = [Request(f"http://other{n % 20}.example/{n}") for n in range(GOING)]
    # A full garbage collection would count for the one cell in which it happens to fall.
    gc.collect()
    gc.disable()
    begun = process_time()
    await asyncio.gather(*(hold(room, crowd.downloader, request) for request in going))
    taken = process_time() - begun
    gc.enable()
    await crowd.leave()
    return taken / GOING


def main() -> None:
    """One crawl that measures."""
    print(f"{'requests that wait':24} " + "  ".join(f"{count:7,}   " for count in COUNTS))
    settings = {"ADDONS": {"scrapy_rep.Addon": 100}}
    downloadermiddlewares.MOST_LENT = 20_000
    process = AsyncCrawlerProcess(settings)
    process.crawl(WaitingSpider)
    process.start()
    if WaitingSpider.rows != 3:
        raise SystemExit("not everything was measured")


if __name__ == "__main__":
    main()
