"""The pace that a robots.txt asks for, measured where it matters: at the server.

RFC 9309 section 2.2.4 leaves Crawl-delay and Request-rate open.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from tests.crawl.harness import EACH_MODE, crawl_in_child
from tests.crawl.pacing import gaps
from tests.crawl.plugin import obey
from tests.crawl.result import Result
from tests.site import Authority, Site
from tests.timed import timed

HALF = "User-agent: *\nCrawl-delay: 0.5\n"
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
    "download delay": {"DOWNLOAD_DELAY": 0.4},
    "bursts": {},
}


def measure(site: Site, name: str, mode: str) -> Measured:
    """One crawl: six pages of an authority that asks for 0.5 s, six of one that does not."""
    shop, other = site.authority(HALF), site.authority(PLAIN)
    pages = [shop.url(f"/{number}") for number in range(6)]
    plans: dict[str, Any] = {"plans": [*pages, *(other.url(f"/{n}") for n in range(6))]}
    spider = "tests.crawl.spiders.RequestsSpider"
    if name == "download delay":
        shop = site.authority("User-agent: *\nCrawl-delay: 0.2\n")
        plans = {"plans": [shop.url(f"/{number}") for number in range(14)]}
    if name == "bursts":
        spider = "tests.crawl.pacing.BurstsSpider"
        plans = {"bursts": [pages[:3], pages[3:5], pages[5:]], "idle": [0.2, 0.8]}
    chosen = settings(**SCENARIOS[name])
    return Measured(crawl_in_child(spider, chosen, mode=mode, **plans).check(), shop, other)


@pytest.fixture(scope="module", params=EACH_MODE)
def measured(request: pytest.FixtureRequest) -> Iterator[dict[str, Measured]]:
    """All the crawls of the table above under one reactor; they take time, so all at once."""
    with Site() as site, ThreadPoolExecutor(len(SCENARIOS)) as pool:
        runs = {name: pool.submit(measure, site, name, request.param) for name in SCENARIOS}
        yield {name: run.result() for name, run in runs.items()}


Runs = dict[str, Measured]


@pytest.mark.parametrize("name", ["plain", "autothrottle"])
def test_every_gap_is_as_long_as_asked_for(measured: Runs, name: str) -> None:
    """Neither concurrency, nor jitter, nor AutoThrottle makes it shorter."""
    run = measured[name]
    assert len(run.shop.page_hits) == 6
    assert min(gaps(run.shop)) >= 0.5
    assert run.result.stats["robotstxt/crawl_delay/applied"] == 1


@timed
def test_the_gap_is_not_much_longer_than_asked_for(measured: Runs) -> None:
    """Jitter is Scrapy's, for the operator's delay: what a robots.txt asks for is kept as it is."""
    run = measured["plain"]
    assert sorted(gaps(run.shop))[2] < 0.6


def test_a_delay_of_one_authority_does_not_slow_another(measured: Runs) -> None:
    """The other six pages do not wait for those that take 2.5 seconds."""
    run = measured["plain"]
    assert len(run.other.page_hits) == 6
    assert run.other.page_hits[-1].received < run.shop.page_hits[-1].received


def test_the_operators_longer_delay_stays(measured: Runs) -> None:
    """DOWNLOAD_DELAY = 0.4 is never undercut, where the file asks for 0.2."""
    found = gaps(measured["download delay"].shop)
    assert len(found) == 13
    assert min(found) >= 0.4


def test_the_operators_jitter_is_left_alone(measured: Runs) -> None:
    """It varies DOWNLOAD_DELAY by up to a half; of that, what lengthens it is kept."""
    found = gaps(measured["download delay"].shop)
    assert max(found) > 0.41


def test_the_interval_outlasts_its_slot(measured: Runs) -> None:
    """Scrapy may collect the slot meanwhile: the interval is the host's."""
    run = measured["bursts"]
    assert len(run.shop.page_hits) == 6
    assert min(gaps(run.shop)) >= 0.5
    assert run.result.stats["slots/collected"] >= 2
