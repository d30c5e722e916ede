"""What the gate costs a request whose rules are in memory, beside Scrapy's own middleware.

``python -m tests.benchmarks.gate [calls]`` prints microseconds per ``process_request``, medians of
interleaved rounds in one process, and their ratio.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

from scrapy_rep import RepDownloaderMiddleware
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.entry import Answer
from scrapy_rep.access.policy import learn, standing
from tests.benchmarks.running import argument, in_a_loop, with_engine

ROUNDS = 15
CALLS = 4_000

FILES = {
    "2 rules": b"User-agent: *\nDisallow: /private\nDisallow: /tmp\n",
    "80 rules": b"User-agent: *\n"
    + b"".join(b"Disallow: /d%d/%s\n" % (n, b"*/x" if n % 3 == 0 else b"x") for n in range(80)),
    "3,000 rules, 50 agents": b"".join(
        b"User-agent: bot%d\n" % agent
        + b"".join(b"Disallow: /a%d/b%d\n" % (agent, n) for n in range(60))
        for agent in range(49)
    )
    + b"User-agent: *\n"
    + b"".join(b"Disallow: /c/b%d\n" % n for n in range(60)),
}


async def open_crawler(agent: str | None, **more: Any) -> Crawler:
    """A crawler whose engine is Scrapy's own, and open."""
    crawler = with_engine({"ROBOTSTXT_OBEY": True, "ROBOTSTXT_USER_AGENT": agent, **more})
    await crawler.engine.open_spider_async()
    return crawler


def _run(make: Callable[[Request], Awaitable[Any]], requests: list[Request]) -> float:
    """Return the microseconds of one call; what never waits ends at its first step."""
    start = time.perf_counter()
    for request in requests:
        step = make(request).__await__()
        try:
            next(step)
        except StopIteration:
            continue
        raise AssertionError("the fast path awaited something")
    return (time.perf_counter() - start) / len(requests) * 1e6


def _ours(crawler: Crawler, body: bytes) -> RepDownloaderMiddleware:
    gate = RepDownloaderMiddleware.from_crawler(crawler)
    know(gate, body, ["https://example.org/"])
    return gate


def know(gate: Any, body: bytes, urls: Iterable[str]) -> None:
    """Put the rules of sites into the cache, and the pace that they ask for into effect."""
    cache, now = gate._parts.cache, time.time()
    entry = learn(None, Answer(200, body), now, cache._policy)
    kept = cache._cached(None, entry, standing(entry, now, cache._policy), now)
    for url in urls:
        cache._keep(authority_of(url), kept)


def _builtin(crawler: Crawler, body: bytes) -> RobotsTxtMiddleware:
    gate = RobotsTxtMiddleware.from_crawler(crawler)
    gate._parsers["example.org"] = gate._parserimpl.from_crawler(crawler, body)
    return gate


async def measure(body: bytes, agent: str | None, calls: int) -> tuple[float, float]:
    """Return the microseconds per request of this package and of the built-in."""
    ours = _ours(await open_crawler(agent), body)
    builtin = _builtin(await open_crawler(agent), body)
    figures: tuple[list[float], list[float]] = ([], [])
    # A collection that looks at all that Scrapy has made would count for whichever is measured.
    gc.collect()
    gc.freeze()
    for _ in range(ROUNDS):
        for gate, taken in zip((ours, builtin), figures, strict=True):
            requests = [
                Request(f"https://example.org/shop/{n % 97}/item-{n}.html") for n in range(calls)
            ]
            taken.append(_run(gate.process_request, requests))
    return statistics.median(figures[0]), statistics.median(figures[1])


async def table(calls: int) -> None:
    """Print the table."""
    print(f"{'robots.txt':26}{'identity':12}{'ours':>9}{'built-in':>10}{'ratio':>8}   (us)")
    for name, body in FILES.items():
        for agent in ("mybot", None):
            ours, builtin = await measure(body, agent, calls)
            identity = "setting" if agent else "derived"
            print(f"{name:26}{identity:12}{ours:9.2f}{builtin:10.2f}{builtin / ours:7.1f}x")


if __name__ == "__main__":
    in_a_loop(table(argument(CALLS)))
