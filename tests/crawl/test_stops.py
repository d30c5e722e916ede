"""A crawl stopped at any point while requests wait: over at once, nothing left, nothing lost."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.closing import ClosingSpider, Remains
from tests.crawl.harness import MODES, crawl, crawl_in_child
from tests.crawl.pace import slowness
from tests.crawl.plugin import RULES, obey
from tests.crawl.result import Result
from tests.replies import Hang, Reply, Trickle
from tests.site import Authority, Site
from tests.timed import waits

AT_ONCE = 2.0
"""Seconds within which a stop is over."""


def mixed(site: Site, chance: random.Random, count: int = 20) -> list[Authority]:
    """Authorities whose robots.txt hangs, trickles, is late, fails or is there at once."""
    replies = [
        Hang(),
        Hang(),
        Trickle(200, RULES, interval=0.5),
        Reply(200, RULES, delay=chance.uniform(0.05, 0.6)),
        Reply(503, delay=chance.uniform(0.0, 0.4)),
        Reply(200, RULES),
    ]
    return [site.authority(replies[n % len(replies)]) for n in range(count)]


def busy(**settings: Any) -> dict[str, Any]:
    """Room for everything at once; attempts are made again, so that pauses are met too.

    For what each errback gives Scrapy starts CONCURRENT_ITEMS workers, by default a hundred, which
    takes it longer than a whole stop.
    """
    room = {"CONCURRENT_REQUESTS": 100, "CONCURRENT_REQUESTS_PER_DOMAIN": 100}
    room["CONCURRENT_ITEMS"] = 2
    return obey(**{**room, "REP_RETRY_DELAYS": [0.2, 5], **settings})


def stopped_well(result: Result, expected: Iterable[str] = ()) -> None:
    """The stop was quick and the log has no trouble."""
    assert result.stats.get("closing/seconds", 0.0) < AT_ONCE * slowness()
    Result([], [], {}, result.log).check(expected)


async def stop_at(site: Site, seed: int, parked: int) -> Result:
    """A crawl with so many requests for silent sites is stopped at a point that the seed says."""
    chance = random.Random(seed)
    silent = [site.authority(reply) for reply in (Hang(), Hang(), Trickle(200, RULES, interval=2))]
    shops = mixed(site, chance)
    urls = [silent[n % len(silent)].url(f"/{n}") for n in range(parked)]
    urls += [shops[n % len(shops)].url(f"/{n}") for n in range(100)]
    chance.shuffle(urls)
    remains = Remains()
    after = chance.uniform(0.0, 1.0)
    how = {"parked": min(parked, 200), "close_after": after, "timeout": 20}
    result = await crawl(ClosingSpider, busy(), plans=urls, **how)
    await remains.cleared()
    return result


async def stop_at_many(site: Site, seeds: range) -> None:
    """One crawl after another; every request has its end, or is left with the scheduler."""
    waiting, seconds = [], []
    for seed in seeds:
        result = await stop_at(site, seed, 500)
        stopped_well(result)
        stats = result.stats
        left = stats["scheduler/enqueued"] - stats.get("scheduler/dequeued", 0)
        assert len(result.endings) + left == len(result.made), f"seed {seed}: {left} left"
        assert result.crawler.engine.downloader.active == set()
        waiting.append(result.stats.get("closing/waiting", 0))
        seconds.append(result.stats["closing/seconds"])
    print(f"\nstops: {len(seconds)}, median {statistics.median(seconds):.2f} s, ", end="")  # noqa: T201
    print(f"longest {max(seconds):.2f} s; {min(waiting)} to {max(waiting)} waited")  # noqa: T201
    assert min(waiting) >= 190  # a few may have come to their end in the last moment


@waits
@ensureDeferred
async def test_a_stop_at_any_point_is_over_at_once(site: Site) -> None:
    """500 for silent sites, three seeded points: within 2 s, nothing pending, nothing unhandled."""
    await stop_at_many(site, range(3))


@waits
@pytest.mark.timeout(400)
@ensureDeferred
async def test_a_stop_at_any_point_is_over_at_once_at_length(site: Site) -> None:
    """500 for silent sites, ten more seeded points."""
    await stop_at_many(site, range(3, 13))


@waits
@pytest.mark.parametrize("mode", MODES)
def test_a_stop_is_over_at_once_under_every_reactor(site: Site, mode: str) -> None:
    """Asyncio's, another one, none: the hung fetches are interrupted, and nobody complains."""
    shops = mixed(site, random.Random(mode))
    urls = [shops[n % len(shops)].url(f"/{n}") for n in range(500)]
    result = crawl_in_child(
        "tests.crawl.closing.ClosingSpider", busy(), mode=mode, plans=urls, close_after=0.7
    )
    stopped_well(result)
    assert result.stats["closing/waiting"] > 10
    left = result.stats["scheduler/enqueued"] - result.stats["scheduler/dequeued"]
    assert len(result.endings) + left == 500


# --- with a job directory


def every_page_once(shops: list[Authority], urls: list[str]) -> None:
    """None lost, none twice."""
    asked = Counter(shop.url(hit.target) for shop in shops for hit in shop.page_hits)
    lost = [url for url in urls if not asked[url]]
    twice = [url for url, times in asked.items() if times > 1]
    assert (lost, twice) == ([], [])


async def stop_and_resume(site: Site, directory: Path, seed: int, requests: int) -> None:
    """Stopped at a seeded point, twice; the third crawl makes all the rest."""
    chance = random.Random(seed)
    shops = [
        site.authority([Hang(), Hang(), RULES] if n % 2 else Reply(200, RULES, delay=0.1 * n))
        for n in range(6)
    ]
    urls = [shops[n % len(shops)].url(f"/{n}") for n in range(requests)]
    settings = busy(JOBDIR=str(directory))
    for _ in range(2):
        after = chance.uniform(0.0, 0.9)
        result = await crawl(ClosingSpider, settings, plans=urls, close_after=after)
        stopped_well(result)
        assert result.unreachable == []
    for shop in shops:
        shop.robots = RULES
    stopped_well(await crawl(ClosingSpider, settings, plans=urls))
    every_page_once(shops, urls)


@waits
@pytest.mark.parametrize("seed", range(3))
@ensureDeferred
async def test_what_a_stop_interrupts_is_made_by_a_later_run(
    site: Site, tmp_path: Path, seed: int
) -> None:
    """JOBDIR: 0 lost, 0 downloaded twice, over two stops at seeded points."""
    await stop_and_resume(site, tmp_path, seed, 100)


@waits
@pytest.mark.timeout(400)
@ensureDeferred
async def test_what_a_stop_interrupts_is_made_by_a_later_run_at_length(
    site: Site, tmp_path: Path
) -> None:
    """JOBDIR at five times two seeded points with 500 requests."""
    for seed in range(10, 15):
        await stop_and_resume(site, tmp_path / str(seed), seed, 500)


@ensureDeferred
async def test_a_request_comes_back_as_it_was(site: Site, tmp_path: Path) -> None:
    """Method, body and headers of what a stop interrupts are kept."""
    shop = site.authority([Hang(), RULES])
    plan = {
        "url": shop.url("/form"),
        "method": "POST",
        "body": "the body",
        "headers": {"X-Mine": "yes"},
        "meta": {"mine": 1},
        "priority": 7,
    }
    settings = busy(JOBDIR=str(tmp_path))
    await crawl(ClosingSpider, settings, plans=[plan], parked=1, close_after=0.1)
    second = await crawl(ClosingSpider, settings, plans=[])
    assert second.stats["scheduler/dequeued"] == 1
    (page,) = shop.page_hits
    sent = page.method, page.header("X-Mine"), page.header("Content-Length")
    assert sent == ("POST", "yes", "8")


@ensureDeferred
async def test_the_spider_is_not_called_idle_while_requests_wait(site: Site) -> None:
    """`spider_idle` comes once, at the end; its handlers often make more requests."""
    shops = site.authorities(5, Reply(200, RULES, delay=0.8))
    urls = [shops[n % 5].url(f"/{n}") for n in range(50)]
    result = (await crawl(ClosingSpider, busy(), plans=urls)).check()
    assert len(result.downloaded) == 50
    assert (result.stats["idle/all"], result.stats.get("idle/waiting", 0)) == (1, 0)
