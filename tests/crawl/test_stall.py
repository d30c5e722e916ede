"""Authorities whose robots.txt never comes hold nobody else up (RFC 9309 section 2.3)."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import MODES, crawl, crawl_under
from tests.crawl.pacing import taken
from tests.crawl.plugin import RULES, obey
from tests.crawl.result import Result
from tests.crawl.silence import GOOD, SILENT, good_ones, pages
from tests.replies import Hang, Reply
from tests.site import Site
from tests.timed import timed, waits

LATENCY = 0.1
CONCURRENT = 16
"""Scrapy's default CONCURRENT_REQUESTS."""
PATIENCE = 8.0
"""Seconds after which a robots.txt is given up."""


async def visit(plans: list[str], **settings: Any) -> Result:
    """A crawl with Scrapy's default CONCURRENT_REQUESTS."""
    return (await crawl(settings=obey(**settings), plans=plans)).check()


async def compare(
    site: Site, how: str, authorities: int, waiting: int, patience: float = PATIENCE
) -> None:
    """The good pages are all there before the first of the silent authorities is given up."""
    alone, good = good_ones(site, LATENCY), good_ones(site, LATENCY)
    assert len((await visit(pages(alone))).downloaded) == 2 * GOOD
    silent = site.authorities(authorities, SILENT[how])
    waits = [silent[n % authorities].url(f"/{n}") for n in range(waiting)]
    result = await visit([*waits, *pages(good)], REP_TIMEOUT=patience)
    assert result.downloaded == pages(good)
    assert result.unreachable == waits
    assert [hit for authority in silent for hit in authority.page_hits] == []
    print(f"\n{waiting} wait for {authorities} ({how}): {taken(alone):.2f} -> {taken(good):.2f} s")  # noqa: T201
    begun = min(authority.robots_hits[0].received for authority in silent)
    assert taken(good) < patience
    assert all(hit.received < begun + patience for shop in good for hit in shop.hits)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "authorities", "waiting"),
    [*((how, 4, 64) for how in SILENT), ("hangs", 1, 256), ("hangs", 16, 16), ("hangs", 16, 256)],
)
@ensureDeferred
async def test_100_pages_elsewhere_do_not_wait(
    site: Site, how: str, authorities: int, waiting: int
) -> None:
    """However they are silent, and however many wait for how many."""
    await compare(site, how, authorities, waiting)


@ensureDeferred
async def test_more_than_may_be_withheld_wait_without_being_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the limit, the others stay in the queue that they are in; all of them end.

    Those that the downloader already has come back, and are withheld as well.
    """
    monkeypatch.setattr("scrapy_rep.waiting.withheld.MOST", 10)
    silent, good = site.authorities(2, Hang()), good_ones(site, LATENCY)
    waits = [silent[n % 2].url(f"/{n}") for n in range(100)]
    result = await visit([*waits, *pages(good)], REP_TIMEOUT=3)
    assert (result.unreachable, result.downloaded) == (waits, pages(good))
    assert result.stats["robotstxt/waiting/max"] <= 10 + CONCURRENT


@timed
@ensureDeferred
async def test_a_download_delay_does_not_hold_back_first_pages(site: Site) -> None:
    """DOWNLOAD_DELAY = 1: the median first page of 50 authorities comes within 0.3 s.

    That is 0.3 s beyond the latency of robots.txt and page; Scrapy alone takes 1.1 s.
    """
    good = good_ones(site, LATENCY)
    plans = [shop.url("/1") for shop in good]
    result = await visit(plans, DOWNLOAD_DELAY=1, CONCURRENT_REQUESTS=100)
    assert result.downloaded == plans
    firsts = [(shop.page_hits[0].finished or 0.0) - shop.robots_hits[0].received for shop in good]
    print(f"\nfirst page: median {statistics.median(firsts):.2f} s")  # noqa: T201
    assert statistics.median(firsts) < 2 * LATENCY + 0.3


@ensureDeferred
async def test_the_delay_between_pages_is_kept(site: Site) -> None:
    """The robots.txt has a slot of its own, the pages keep theirs."""
    shop = site.authority(RULES)
    await visit([shop.url(f"/{n}") for n in range(3)], DOWNLOAD_DELAY=0.4, DOWNLOAD_DELAY_JITTER=0)
    times = [hit.received for hit in shop.page_hits]
    assert min(times[1] - times[0], times[2] - times[1]) > 0.15


# --- in every mode


@waits
@pytest.mark.parametrize(("mode", "waiting"), [("asyncio", 256), *((mode, 64) for mode in MODES)])
@ensureDeferred
async def test_silent_authorities_do_not_stall_the_others(
    site: Site, mode: str, waiting: int
) -> None:
    """A hundred pages on fifty good authorities come before the silent ones are given up."""
    good, replies = good_ones(site, 0.05), [*SILENT.values()]
    silent = [site.authority(replies[n % 3]) for n in range(4)]
    waits = [silent[number % 4].url(f"/{number}") for number in range(waiting)]
    urls = pages(good)
    plans = [*waits, *urls]
    result = (await crawl_under(mode, settings=obey(REP_TIMEOUT=4), plans=plans)).check()
    assert (result.downloaded, result.unreachable) == (urls, waits)
    assert taken(good) < 4
    begun = min(shop.robots_hits[0].received for shop in silent)
    assert all(hit.received < begun + 4 for shop in good for hit in shop.hits)


@waits
@ensureDeferred
async def test_a_download_delay_does_not_delay_robots_txt(site: Site) -> None:
    """Each authority's first page comes at once, for its robots.txt has a slot of its own."""
    shops = site.authorities(20, RULES)
    settings = obey(DOWNLOAD_DELAY=6, CONCURRENT_REQUESTS=50)
    result = (await crawl(settings=settings, plans=[shop.url("/a") for shop in shops])).check()
    assert len(result.downloaded) == 20
    assert taken(shops) < 2.9  # the delay varies by half


@ensureDeferred
async def test_waiting_requests_keep_the_spider_open(site: Site) -> None:
    """A spider all of whose requests wait is not idle."""
    slow = site.authority(Reply(200, RULES, delay=0.7))
    result = (await crawl(settings=obey(), plans=[slow.url("/a"), slow.url("/private")])).check()
    assert (result.downloaded, result.forbidden) == ([slow.url("/a")], [slow.url("/private")])
    assert result.stats["finish_reason"] == "finished"
