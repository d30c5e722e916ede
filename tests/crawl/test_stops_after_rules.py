"""A crawl that stops while requests whose rules are known wait for their turn."""

from __future__ import annotations

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply
from tests.site import Site

LATE = Reply(200, RULES, delay=0.2)


@ensureDeferred
async def test_a_stop_soon_after_the_rules_came_is_quick(site: Site) -> None:
    """CLOSESPIDER_PAGECOUNT counts: a few pages more, not all that had waited."""
    shop = site.authority(LATE, Reply(200, "page", delay=0.03))
    plans = [shop.url(f"/{n}") for n in range(100)]
    settings = obey(CLOSESPIDER_PAGECOUNT=6, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    result = await crawl(settings=settings, plans=plans)
    assert len(result.downloaded) < 40
    assert {p.type for _, p in result.errors} <= {"IgnoreRequest"}


@pytest.mark.slow
@ensureDeferred
async def test_a_stop_long_after_the_rules_came_is_quick(site: Site) -> None:
    """All fetches are over, 30 requests wait for their slot: as many as the downloader has go."""
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(30)]
    settings = obey(CLOSESPIDER_TIMEOUT=1, DOWNLOAD_DELAY=0.8, CONCURRENT_REQUESTS=2)
    result = (await crawl(settings=settings, plans=plans)).check_log()
    assert result.stats["elapsed_time_seconds"] < 6
    assert len(result.endings) == len(result.downloaded) < 10
