"""What memory has no room for is not fetched again while it is fresh (RFC 9309 section 2.4)."""

from __future__ import annotations

import gc
import random
import tracemalloc
from contextlib import nullcontext
from typing import Any

import pytest
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from tests.crawl.harness import crawl, visit
from tests.crawl.plugin import obey
from tests.crawl.sharing import shared_store_of
from tests.crawl.spiders import OneByOneSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Authority, Site

MIB = 1 << 20
SIZE = 480_000


def text_file(number: int) -> bytes:
    """A robots.txt of 480 KB of rules."""
    line = b"Disallow: /%d/%%06d\n" % number
    rules = b"".join(line % n for n in range(SIZE // len(line % 0)))
    return b"User-agent: *\nDisallow: /private\n" + rules


def noise(number: int) -> bytes:
    """A robots.txt of 480 KB that cannot be compressed."""
    octets = random.Random(number).randbytes(SIZE).replace(b"\n", b" ").replace(b"\r", b" ")
    return b"User-agent: *\nDisallow: /private\n#" + octets


def rounds_of(shops: list[Authority], rounds: int) -> list[str]:
    """One page of each site after another, several times."""
    return [shop.url("/open") for _ in range(rounds) for shop in shops]


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        pytest.param("memory:", text_file, marks=pytest.mark.slow),
        ("SQLite", noise),
        *first(0, [("memory:", noise), ("Redis", noise), ("custom", noise)]),
    ],
)
async def test_large_files_are_fetched_once_each_under_a_small_limit(
    site: Site, kind: str, make: Any
) -> None:
    """480 KB each, REP_MEMORY_LIMIT of 1 MiB, two rounds of pages: one fetch each, no waiting."""
    shops = [site.authority(Reply(200, make(n))) for n in range(8)]
    plans = [*rounds_of(shops, 2), shops[0].url("/private")]
    shared = nullcontext(None) if kind == "memory:" else shared_store_of(kind)
    with shared as store:
        uri = store.uri if store else kind
        result = await visit(plans, OneByOneSpider, REP_STORE=uri, REP_MEMORY_LIMIT=MIB)
    assert (len(result.downloaded), len(result.forbidden)) == (16, 1)
    assert {len(shop.robots_hits) for shop in shops} == {1}
    assert result.stats["robotstxt/cache/evicted"] >= 12
    assert result.stats.get("robotstxt/store/error", 0) == 0
    assert result.stats["robotstxt/cache/miss"] == 8  # what was evicted is at hand


@pytest.mark.slow
async def test_evicted_files_take_no_memory(site: Site) -> None:
    """The memory of the crawl stays within bounds, whatever there is to evict."""
    shops = [site.authority(Reply(200, noise(n))) for n in range(15)]
    held: list[int] = []

    def tick(ended: int) -> None:
        if ended % 5 == 0:
            held.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        settings = obey(REP_MEMORY_LIMIT=MIB)
        plans = rounds_of(shops, 2)
        result = await crawl(OneByOneSpider, settings, plans=plans, tick=tick, timeout=100)
    finally:
        tracemalloc.stop()
    result.check()
    assert {len(shop.robots_hits) for shop in shops} == {1}
    # A file may be there more than once while it is read: as a response, a body, and text.
    assert max(held) < 6 * MIB


async def test_requests_that_wait_for_their_turns_keep_no_rules(site: Site) -> None:
    """The limit holds for what parked requests wait with: their rules are evicted meanwhile."""
    shops = [site.authority(Reply(200, noise(n)), Reply(200, delay=0.1)) for n in range(16)]
    alive: list[int] = []

    def count(response: Response) -> None:
        if not response.url.endswith("/robots.txt"):
            alive.append(sum(isinstance(thing, RobotsTxt) for thing in gc.get_objects()))

    def prepare(crawler: Crawler) -> None:
        crawler.signals.connect(count, signals.response_received, weak=False)

    gc.collect()
    before = sum(isinstance(thing, RobotsTxt) for thing in gc.get_objects())
    plans = [shop.url("/open") for shop in shops]
    result = await visit(plans, prepare=prepare, REP_MEMORY_LIMIT=MIB, CONCURRENT_REQUESTS=2)
    assert len(result.downloaded) == 16
    assert result.stats["robotstxt/waiting/max"] > 8
    assert {len(shop.robots_hits) for shop in shops} == {1}
    assert max(alive) - before < 8
