"""The pace that a robots.txt asks for, measured where it matters: at the server.

RFC 9309 section 2.2.4 leaves Crawl-delay and Request-rate open.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from tests.crawl.harness import EACH_MODE, crawl_in_child
from tests.crawl.pacing import gaps
from tests.crawl.plugin import obey
from tests.crawl.result import Result
from tests.site import Authority, Site
from tests.timed import timed

SLOW = "User-agent: *\nCrawl-delay: 0.3\n"
PLAIN = "User-agent: *\nDisallow: /private\n"


class Measured(NamedTuple):
    """What a crawl came to, and the authorities that it visited."""

    result: Result
    shop: Authority
    other: Authority


def settings(**more: Any) -> dict[str, Any]:
    """Much more concurrency than a robots.txt with a delay agrees to."""
    return obey(CONCURRENT_REQUESTS=32, CONCURRENT_REQUESTS_PER_DOMAIN=8, **more)


SCENARIOS: dict[str, dict[str, Any]] = {
    "plain": {},
    "autothrottle": {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1},
    "download delay": {"DOWNLOAD_DELAY": 0.2},
    "bursts": {},
}


def measure(site: Site, name: str, mode: str) -> Measured:
    """One crawl: five pages of an authority that asks for 0.3 s, five of one that does not."""
    shop, other = site.authority(SLOW), site.authority(PLAIN)
    pages = [shop.url(f"/{number}") for number in range(5)]
    plans: dict[str, Any] = {"plans": [*pages, *(other.url(f"/{n}") for n in range(5))]}
    spider = "tests.crawl.spiders.RequestsSpider"
    if name == "download delay":
        shop = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
        plans = {"plans": [shop.url(f"/{number}") for number in range(10)]}
    if name == "bursts":
        spider = "tests.crawl.pacing.BurstsSpider"
        plans = {"bursts": [pages[:2], pages[2:4], pages[4:]], "idle": [0.1, 0.5]}
    chosen = settings(**SCENARIOS[name])
    return Measured(crawl_in_child(spider, chosen, mode=mode, **plans).check(), shop, other)


@pytest.mark.parametrize("mode", EACH_MODE)
def test_every_gap_is_as_long_as_asked_for(site: Site, mode: str) -> None:
    """Neither concurrency, nor jitter, nor AutoThrottle, nor an idle spider makes it shorter.

    The crawls of the table above take time, so all are made at once.
    """
    with ThreadPoolExecutor(len(SCENARIOS)) as pool:
        runs = {name: pool.submit(measure, site, name, mode) for name in SCENARIOS}
    for name in ("plain", "autothrottle", "bursts"):
        run = runs[name].result()
        assert len(run.shop.page_hits) == 5
        assert min(gaps(run.shop)) >= 0.3
        assert run.result.stats["robotstxt/crawl_delay/applied"] == 1
    # Scrapy may collect the slot meanwhile: the interval is the host's.
    assert run.result.stats["slots/collected"] >= 2
    # A delay of one authority does not slow another.
    run = runs["plain"].result()
    assert len(run.other.page_hits) == 5
    assert run.other.page_hits[-1].received < run.shop.page_hits[-1].received
    # The operator's longer delay is never undercut. Jitter varies it by up to a half; of that, what
    # lengthens it is kept.
    found = gaps(runs["download delay"].result().shop)
    assert len(found) == 9
    assert min(found) >= 0.2
    assert max(found) > 0.205


@timed
def test_the_gap_is_not_much_longer_than_asked_for(site: Site) -> None:
    """Jitter is Scrapy's, for the operator's delay: what a robots.txt asks for is kept as it is."""
    run = measure(site, "plain", "asyncio")
    assert sorted(gaps(run.shop))[2] < 0.4
