"""Authorities whose robots.txt never comes hold nobody else up (RFC 9309 section 2.3)."""

from __future__ import annotations

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import MODES, crawl, crawl_under
from tests.crawl.pacing import taken
from tests.crawl.plugin import RULES, obey
from tests.crawl.silence import SILENT, good_ones, pages
from tests.replies import Hang
from tests.site import Site
from tests.timed import waits

CONCURRENT = 16
"""Scrapy's default CONCURRENT_REQUESTS."""


@ensureDeferred
async def test_more_than_may_be_withheld_wait_without_being_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the limit, the others stay in the queue that they are in; all of them end.

    Those that the downloader already has come back, and are withheld as well.
    """
    monkeypatch.setattr("scrapy_rep.waiting.withheld.MOST", 10)
    silent, good = site.authorities(2, Hang()), good_ones(site, 0.1)
    waits = [silent[n % 2].url(f"/{n}") for n in range(100)]
    result = (await crawl(settings=obey(REP_TIMEOUT=3), plans=[*waits, *pages(good)])).check()
    assert (result.unreachable, result.downloaded) == (waits, pages(good))
    assert result.stats["robotstxt/waiting/max"] <= 10 + CONCURRENT


@ensureDeferred
async def test_the_delay_between_pages_is_kept(site: Site) -> None:
    """The robots.txt has a slot of its own, the pages keep theirs."""
    shop = site.authority(RULES)
    settings = obey(DOWNLOAD_DELAY=0.4, DOWNLOAD_DELAY_JITTER=0)
    (await crawl(settings=settings, plans=[shop.url(f"/{n}") for n in range(3)])).check()
    times = [hit.received for hit in shop.page_hits]
    assert min(times[1] - times[0], times[2] - times[1]) > 0.15


@waits
@pytest.mark.parametrize(("mode", "waiting"), [("asyncio", 256), *((mode, 64) for mode in MODES)])
@ensureDeferred
async def test_silent_authorities_do_not_stall_the_others(
    site: Site, mode: str, waiting: int
) -> None:
    """A hundred pages on fifty good authorities come before the silent ones are given up."""
    good = good_ones(site, 0.05)
    silent = [site.authority(reply) for reply in (*SILENT.values(), SILENT["hangs"])]
    waits = [silent[number % 4].url(f"/{number}") for number in range(waiting)]
    urls = pages(good)
    plans = [*waits, *urls]
    result = (await crawl_under(mode, settings=obey(REP_TIMEOUT=4), plans=plans)).check()
    assert (result.downloaded, result.unreachable) == (urls, waits)
    assert taken(good) < 4
    begun = min(shop.robots_hits[0].received for shop in silent)
    assert all(hit.received < begun + 4 for shop in good for hit in shop.hits)
