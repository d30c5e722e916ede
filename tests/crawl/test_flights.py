"""How often an authority is asked for its robots.txt: once, at expiry, and as the back-off says.

RFC 9309 section 2.4.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import pytest
from scrapy import signals
from scrapy.http import Response

from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from tests.crawl.clock import Ahead
from tests.crawl.harness import MODES, crawl_in_child, visit
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.sharing import shared_store_of
from tests.crawl.spiders import OneByOneSpider as OneByOneSpider
from tests.crawl.spiders import TickingSpider
from tests.replies import Reply, Reset
from tests.rows import first
from tests.site import Authority, Site


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("per_domain", first(1, [8, 1, 100]))
def test_a_hundred_requests_at_once_get_one_answer(site: Site, mode: str, per_domain: int) -> None:
    """Disallow: / forbids all of them: no page, one fetch (Scrapy alone downloads most)."""
    shop = site.authority(Reply(200, NOTHING, delay=0.1))
    urls = [shop.url(f"/{number}") for number in range(100)]
    settings = obey(CONCURRENT_REQUESTS=100, CONCURRENT_REQUESTS_PER_DOMAIN=per_domain)
    result = crawl_in_child(mode=mode, settings=settings, plans=urls).check()
    assert result.forbidden == urls
    assert {ending.problem.type for ending in result.endings if ending.problem} == {
        "RobotsForbidden"
    }
    assert (len(shop.robots_hits), shop.page_hits) == (1, [])
    assert result.stats["robotstxt/forbidden"] == 100
    assert result.stats["robotstxt/request_count"] == 1


@pytest.mark.parametrize("total", first(1, [1, 2, 16]))
async def test_waiting_needs_no_concurrency(site: Site, total: int) -> None:
    """Ten requests to each of ten authorities pass, however few may be active at once."""
    shops = site.authorities(10, Reply(200, RULES, delay=0.05))
    paths = [f"{place}{number}" for number in range(5) for place in ("/open", "/private")]
    urls = [shop.url(path) for path in paths for shop in shops]
    result = await visit(urls, CONCURRENT_REQUESTS=total)
    assert len(result.downloaded) == len(result.forbidden) == 50
    assert [len(shop.robots_hits) for shop in shops] == [1] * 10


# --- at expiry, and after a failure


def asked(shops: Iterable[Authority]) -> Counter[int]:
    """How many authorities were asked how often; no two fetches of one overlap."""
    for shop in shops:
        hits = shop.robots_hits
        for hit, following in zip(hits, hits[1:]):  # noqa: B905, RUF007
            assert hit.finished is not None
            assert hit.finished <= following.received
    return Counter(len(shop.robots_hits) for shop in shops)


@pytest.mark.parametrize("requests", first(1, [100, 10_000]))
async def test_dead_hosts_are_left_alone_for_a_minute(
    site: Site, clock: Ahead, requests: int
) -> None:
    """RFC 9309 2.3.1.4: ten of them are each tried three times, and no page is asked for."""
    dead = [site.authority(Reset() if n % 2 else Reply(503)) for n in range(10)]

    def tick(ended: int) -> None:
        clock.seconds = 59.0 * ended / requests

    settings = {"CONCURRENT_REQUESTS": 200, "REP_RETRY_DELAYS": [0.05, 0.1]}
    plans = [dead[n % 10].url(f"/{n}") for n in range(requests)]
    result = await visit(plans, TickingSpider, tick=tick, **settings)
    assert asked(dead) == {3: 10}
    assert len(result.unreachable) == requests
    assert [hit for shop in dead for hit in shop.page_hits] == []


# --- what memory has no room for is not fetched again while it is fresh

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
        plans = rounds_of(shops, 2)
        await visit(plans, OneByOneSpider, tick=tick, REP_MEMORY_LIMIT=MIB)
    finally:
        tracemalloc.stop()
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

    on = {signals.response_received: count}
    gc.collect()
    before = sum(isinstance(thing, RobotsTxt) for thing in gc.get_objects())
    plans = [shop.url("/open") for shop in shops]
    result = await visit(plans, on=on, REP_MEMORY_LIMIT=MIB, CONCURRENT_REQUESTS=2)
    assert len(result.downloaded) == 16
    assert result.stats["robotstxt/waiting/max"] > 8
    assert {len(shop.robots_hits) for shop in shops} == {1}
    assert max(alive) - before < 8
