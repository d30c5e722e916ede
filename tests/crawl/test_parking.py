"""Requests that wait for a robots.txt hold nobody up."""

from __future__ import annotations

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import MODES, crawl, crawl_under
from tests.crawl.pacing import taken
from tests.crawl.plugin import RULES, obey
from tests.crawl.silence import SILENT, good_ones, pages
from tests.replies import Reply
from tests.site import Site
from tests.timed import waits


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
