"""A crawl of up to a million sites with a virtual clock: all that is real but the network.

``python -m tests.benchmarks.simulation [--pages 3] [--days DAYS --every HOURS] [--concurrent 256]
[--life SECONDS] [--memory MIB] [--store URI] [--most 400] [--csv FILE] [SITES...]`` crawls pages of
1,000, 10,000, 100,000 and 1,000,000 sites, each in a process of its own. With ``--days`` each site
is visited again and again, so many hours after the visit before, until the days are over.
Scheduler, frontier, gate, last step, fetcher, policy, cache and store are the real ones, and so are
the timers. Only the loop of the engine is rewritten here, without spiders and pages, and a download
takes just the time that the site would take. The clock jumps to the next timer whenever nothing is
left to do, so days take minutes. The sites are those of :mod:`tests.benchmarks.field`. A crawl that
takes more than ``--most`` seconds of processor time is stopped, and counts as far as it came;
``--life`` is how long robots.txt files may be kept, and ``--memory`` what rules may take. Python's
garbage collector is set as the documentation recommends for such crawls (``COLLECTED``).

What is printed for each crawl:

- the pages of each site, those that came, with ``+`` if more would have come, and the hours that
  the clock showed;
- the share of the places for pages that were taken, until nine tenths of the pages had come;
- the longest time in which a site was ready, and the downloader had room, in seconds;
- the greatest delay of a page of a paced host beyond its interval, as a share of that, and how many
  were more than 2 % and 50 ms late. Pages that became due before the downloader was full for the
  last time do not count;
- the least time between the end of a page of a paced host and the next one, by its interval;
- robots.txt fetches for each life of rules: 1 if none was made before the rules had expired;
- microseconds of processor time: to queue the first page of each site; to hand out a page, with all
  calls of ``next_request()``, the begin of fetches and verdicts; and all that a page takes;
- microseconds that a piece of plain Python took meanwhile, which says how fast the machine was;
- MiB of memory when all sites are queued or at the end, and KiB by which each site made it grow;
- with ``--days``: what it takes to hand out a page in the second half of them, and the memory at
  their end by that at half time;
- with a store in Redis, the processor time of the server and the memory that it took more.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import selectors
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from math import inf
from pathlib import Path
from typing import Any

from redis import Redis
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.utils.reactor import CallLaterOnce, install_reactor

from scrapy_rep import RepDownloaderMiddleware, RepLastStep
from tests.benchmarks.field import SILENT, site
from tests.benchmarks.gate import open_crawler
from tests.benchmarks.memory import resident
from tests.benchmarks.running import ADDON, in_a_process, write_csv

COUNTS = (1_000, 10_000, 100_000, 1_000_000)
COLLECTED = (50_000, 20, 50)
"""When the garbage collector looks at objects: it would take 23 % of the time of 20,000 sites."""

EPOCH = 1_800_000_000.0
"""When it begins, in seconds since the epoch."""

SHARE, SOME = 0.02, 0.05
"""A page is late if it comes more than this share of its interval, and these seconds, too late."""

TOGETHER = 0.1
"""Visits within these seconds begin together."""

KEPT_FOR = 86_400.0
"""How long policy keeps a robots.txt that does not say how long it may be kept."""

SETTINGS: dict[str, Any] = {
    **ADDON,
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "USER_AGENT": "mybot",
}
MEASURED_EACH = 20
"""Calls of the engine's loop from one measurement of the machine to the next."""

cpu = time.process_time


class Clock:
    """The time. It stands still while something is done, or a store is waited for."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.asked = 0
        """How many answers of the store are waited for."""
        self.passes: Callable[[float], None] = lambda seconds: None
        """Called before so many seconds pass."""

    def monotonic(self) -> float:
        """The monotonic clock."""
        return self.now

    def time(self) -> float:
        """The time of the day."""
        return EPOCH + self.now

    def install(self) -> None:
        """Be the clock of this process."""
        real = time.monotonic
        for name, module in list(sys.modules.items()):
            if name.startswith("scrapy_rep") and getattr(module, "monotonic", None) is real:
                module.monotonic = self.monotonic  # type: ignore[attr-defined]
        time.monotonic, time.time = self.monotonic, self.time


CLOCK = Clock()


class JumpingSelector(selectors.DefaultSelector):  # type: ignore[valid-type,misc]
    """Waits for nothing but a store: the clock jumps instead."""

    def select(self, timeout: float | None = None) -> Any:
        """What has come from other threads; the time passes if nothing has."""
        found = super().select(0.001 if CLOCK.asked else 0)
        if timeout is None and not found:
            raise RuntimeError("nothing would ever happen again")
        if timeout and not found and not CLOCK.asked:
            CLOCK.passes(timeout)
            CLOCK.now += timeout
        return found


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop for the clock."""

    def __init__(self) -> None:
        super().__init__(JumpingSelector())


class Crawl:
    """The part of the engine and the downloader, and what is measured."""

    def __init__(self, crawler: Any, job: dict[str, Any]):
        sites, pages, most, life = (job[name] for name in ("sites", "pages", "most", "life"))
        self.begun = CLOCK.now
        self.engine, self.downloader = crawler.engine, crawler.engine.downloader
        self.scheduler = self.engine._slot.scheduler
        self.gate: Any = crawler.get_downloader_middleware(RepDownloaderMiddleware)
        self.last: Any = crawler.get_downloader_middleware(RepLastStep)
        self.places = self.gate._parts.places
        self.ready = self.gate._parts.frontier.sites
        self.sites, self.each, self.most, self.life = sites, pages, most, life
        self.every, self.last_day = job["every"] * 3_600, CLOCK.now + job["days"] * 86_400
        self.to_visit: deque[tuple[float, str]] = deque()
        """The first pages of visits to come, with their times."""
        self.at_half: tuple[float, int, int] | None = None
        """Seconds in which requests were handed out, pages and memory, after half of the days."""
        self.loop = asyncio.get_running_loop()
        self.over = self.loop.create_future()
        self.engine._slot.nextcall = CallLaterOnce(self.serve)
        self.engine.download_async = self.fetch
        self.answer = Response("http://page.example/")
        CLOCK.passes = self.passes
        self.under_way = self.came = self.refused = self.left = 0
        self.fetches = self.early = self.late = self.paced = 0
        self.latest, self.closest = 0.0, inf
        self.busy_seconds = self.seconds = self.idle = self.longest_idle = 0.0
        self.at_nine_tenths: tuple[float, float] = (0.0, 0.0)
        self.full_at = 0.0
        self.ended = array("d", bytes(8 * sites))
        """By the number of each site, when its last page ended, its robots.txt came, and its last
        page was queued."""
        self.fetched = array("d", bytes(8 * sites))
        self.queued = array("d", bytes(8 * sites))
        self.handing_out = 0.0
        """Seconds of processor time in which requests were handed out."""
        self.yardstick, self.measured, self.calls = 0.0, 0, 0

    # --- the engine

    def push(self, url: str) -> None:
        """Queue a page."""
        request = Request(url)
        self.queued[number_of(request)] = CLOCK.now
        self.scheduler.enqueue_request(request)
        self.left += 1

    def serve(self) -> None:
        """Send what may be sent, as the engine does."""
        active, begun, sent = self.downloader.active, cpu(), list[Request]()
        if begun > self.most and not self.over.done():
            self.over.set_result(False)
            return
        while len(active) < self.downloader.total_concurrency:
            request = self.scheduler.next_request()
            if request is None:
                break
            active.add(request)
            sent.append(request)
        else:
            self.full_at = CLOCK.now
        # The clock of the processor is slow on some machines, so it is asked seldom.
        now = cpu()
        self.handing_out += now - begun
        self.calls += 1
        if not self.calls % MEASURED_EACH:
            for number in range(200):
                site(number)
            self.yardstick += cpu() - now
            self.measured += 1
        self.under_way += len(sent)
        for request in sent:
            self.go_on(request, self.check(request))

    async def check(self, request: Request) -> None:
        """Let a page pass the middlewares."""
        if await self.gate.process_request(request) or await self.last.process_request(request):
            raise AssertionError("it comes back")

    def go_on(self, request: Request, step: Coroutine[Any, Any, None]) -> None:
        """Let a page go on; it may wait in place."""
        try:
            waits: Any = step.send(None)
        except StopIteration:
            self.begin(request)
        except IgnoreRequest:
            self.refused += 1
            self.end(request)
        else:
            waits._asyncio_future_blocking = False
            waits.add_done_callback(lambda _: self.go_on(request, step))

    def begin(self, request: Request) -> None:
        """Let a page take its time."""
        number = number_of(request)
        found, now = site(number), CLOCK.now
        interval = min(found.delay, 60)
        if interval and (ended := self.ended[number]):
            self.paced += 1
            due = max(ended + interval, self.queued[number], self.fetched[number])
            self.closest = min(self.closest, (now - ended) / interval)
            if self.full_at < due:
                delay = now - due
                self.latest = max(self.latest, delay / interval)
                self.late += delay > SHARE * interval + SOME
        self.loop.call_later(found.seconds, self.done, request, number)

    def done(self, request: Request, number: int) -> None:
        """End a page, which leads to the others of its site if it is the first one."""
        self.last.process_response(request, self.answer)
        self.ended[number] = CLOCK.now
        self.came += 1
        if request.url.endswith("/0"):
            for page in range(1, self.each):
                self.push(f"{request.url[:-1]}{page}")
            self.visit_again(request)
        self.end(request)

    def visit_again(self, request: Request) -> None:
        """Plan the next visit of a site, if it lies within the days."""
        when = CLOCK.now + self.every
        if self.every and when < self.last_day:
            if not self.to_visit:
                self.loop.call_later(self.every, self.visit)
            self.to_visit.append((when, request.url))

    def visit(self) -> None:
        """Begin the visits whose time has come."""
        until = CLOCK.now + TOGETHER
        while self.to_visit and self.to_visit[0][0] <= until:
            self.push(self.to_visit.popleft()[1])
        if self.to_visit:
            self.loop.call_later(self.to_visit[0][0] - CLOCK.now, self.visit)
        if self.at_half is None and CLOCK.now >= (self.begun + self.last_day) / 2:
            self.at_half = self.handing_out, self.came + self.refused, resident()
        self.engine._slot.nextcall.schedule()

    def end(self, request: Request) -> None:
        """Note that a page has left the downloader."""
        self.downloader.active.discard(request)
        self.under_way -= 1
        self.left -= 1
        if not self.left and not self.to_visit and not self.over.done():
            self.over.set_result(True)
        if self.came + self.refused <= 0.9 * self.sites * self.each:
            self.at_nine_tenths = self.busy_seconds, self.seconds
        self.engine._slot.nextcall.schedule()

    def later(self, handled: int) -> dict[str, str]:
        """The cells of the second half of the days."""
        if self.at_half is None:
            return {"hand out later, us": "", "grown": ""}
        handing_out, before, octets = self.at_half
        each = (self.handing_out - handing_out) / max(handled - before, 1)
        return {"hand out later, us": f"{each * 1e6:.0f}", "grown": f"{resident() / octets:.3f}"}

    def passes(self, seconds: float) -> None:
        """Count what is under way, and whether a site is ready all the same."""
        places = self.downloader.total_concurrency - len(self.places.fetches)
        self.busy_seconds += seconds * self.under_way / max(places, 1)
        self.seconds += seconds
        has_room = len(self.downloader.active) < self.downloader.total_concurrency
        self.idle = self.idle + seconds if has_room and self.ready.is_ready else 0.0
        self.longest_idle = max(self.longest_idle, self.idle)

    # --- the downloader, as the fetcher sees it

    async def fetch(self, request: Request) -> Response:
        """A robots.txt, after the time that its site takes."""
        number, found = number_of(request), None
        self.downloader.active.add(request)
        try:
            found = site(number)
            await asyncio.sleep(86_400 if found.status == SILENT else found.seconds)
        finally:
            self.downloader.active.discard(request)
            self.engine._slot.nextcall.schedule()
        if found.has_moved and request.url.endswith("/robots.txt"):
            return Response(request.url, status=301, headers={"Location": "/moved.txt"})
        if found.status in (200, 403, 404):
            self.fetches += 1
            before = self.fetched[number]
            self.early += bool(before) and CLOCK.now < before + (self.life or KEPT_FOR)
            self.fetched[number] = CLOCK.now
        headers = {"Cache-Control": f"max-age={self.life:.0f}"} if self.life else {}
        return TextResponse(request.url, found.status, headers, found.robots_txt)


def number_of(request: Request) -> int:
    """The site of a request."""
    return int(request.url[len("http://h") : request.url.index(".")])


def watched(ask: Callable[..., Any]) -> Callable[..., Any]:
    """A question to the store, for whose answer the clock waits."""
    loop = asyncio.get_running_loop()

    def is_answered() -> None:
        CLOCK.asked -= 1

    def asked(*args: Any) -> Any:
        answer = ask(*args)
        if isinstance(answer, Future) and not answer.done():
            CLOCK.asked += 1
            answer.add_done_callback(lambda _: loop.call_soon_threadsafe(is_answered))
        return answer

    return asked


def server_of(uri: str) -> tuple[float, float]:
    """The processor time that a Redis server has taken, in seconds, and its memory in octets."""
    if not uri.startswith("redis"):
        return 0.0, 0.0
    with Redis.from_url(uri) as server:
        info: Any = server.info()
    return info["used_cpu_user"] + info["used_cpu_sys"], info["used_memory"]


async def simulate(job: dict[str, Any]) -> dict[str, Any]:
    """One crawl in this process."""
    # The turns of a store go by its own clock.
    store = {"REP_STORE": job["store"], "REP_SHARED_PACE": False} if job["store"] else {}
    limits = {"CONCURRENT_REQUESTS": job["concurrent"], "REP_MEMORY_LIMIT": job["memory"] << 20}
    crawler = await open_crawler(None, **SETTINGS, **store, **limits)
    sites, pages = job["sites"], job["pages"]
    before = resident()
    crawl = Crawl(crawler, job)
    kept = crawl.gate._parts.store._store
    for name in ("get", "lease", "take_turn") if kept is not None else ():
        setattr(kept, name, watched(getattr(kept, name)))
    crawl.gate._parts.open()
    served, stored = server_of(job["store"])
    begun = cpu()
    for number in range(sites):
        crawl.push(f"http://h{number}.example/0")
    pushing = cpu() - begun
    queued, begun = resident(), cpu()
    crawl.most += begun
    is_whole = await crawl.over
    spent = cpu() - begun - crawl.yardstick
    most = max(queued, resident())
    seconds_served, octets = server_of(job["store"])
    handled = crawl.came + crawl.refused
    busy, seconds = crawl.at_nine_tenths
    return {
        "sites": f"{sites:,}",
        "of each": str(pages),
        "pages": f"{crawl.came:,}{'' if is_whole else '+'}",
        "hours": f"{crawl.seconds / 3_600:.1f}",
        "busy": f"{busy / max(seconds, 1e-9):.2f}",
        "ready, s": f"{crawl.longest_idle:.2f}",
        "late": f"{crawl.latest:.3f}",
        "too late": f"{crawl.late:,} of {crawl.paced:,}",
        "closest": f"{crawl.closest:.3f}" if crawl.paced else "",
        "fetches a life": f"{crawl.fetches / max(crawl.fetches - crawl.early, 1):.3f}",
        "fetches": f"{crawl.fetches:,}",
        "push, us": f"{pushing / sites * 1e6:.0f}",
        "hand out, us": f"{crawl.handing_out / handled * 1e6:.0f}",
        "all, us": f"{spent / handled * 1e6:.0f}",
        "machine, us": f"{crawl.yardstick / max(crawl.measured, 1) * 1e6:.0f}",
        **crawl.later(handled),
        "MiB": f"{most / 2**20:.0f}",
        "KiB a site": f"{(most - before) / sites / 1024:.2f}",
        "Redis, us a page": f"{(seconds_served - served) / handled * 1e6:.0f}",
        "Redis, KiB a site": f"{(octets - stored) / sites / 1024:.2f}",
    }


def main() -> None:
    """A line for each crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="*", type=int)
    parser.add_argument("--pages", type=int, default=3, help="of each site")
    parser.add_argument("--days", type=float, default=0, help="for which sites are visited")
    parser.add_argument("--every", type=float, default=0, help="hours, from visit to visit")
    parser.add_argument("--concurrent", type=int, default=256, help="CONCURRENT_REQUESTS")
    parser.add_argument("--life", type=float, default=0, help="seconds, of a robots.txt")
    parser.add_argument("--memory", type=int, default=256, help="MiB for rules")
    parser.add_argument("--store", default="", help="REP_STORE")
    parser.add_argument("--most", type=float, default=400, help="seconds of processor time")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, str]] = []
    for sites in options.sites or COUNTS:
        job = {**vars(options), "sites": sites, "csv": None}
        row = in_a_process("simulation", "crawl", json.dumps(job))
        if not rows:
            print("".join(f"{name:>16}" for name in row), flush=True)
        rows.append(row)
        print("".join(f"{cell:>16}" for cell in row.values()), flush=True)
    write_csv(options.csv, [[*rows[0]], *([*row.values()] for row in rows)])


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        # The loop is found by its path, in the module of that name and not in this one.
        from tests.benchmarks import simulation

        simulation.CLOCK.install()
        gc.set_threshold(*COLLECTED)
        path = "tests.benchmarks.simulation.JumpingLoop"
        install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor", path)
        work = simulation.simulate(json.loads(sys.argv[2]))
        print(json.dumps(asyncio.get_event_loop_policy().get_event_loop().run_until_complete(work)))
    else:
        main()
