"""Authorities that ask for a pace hold up nobody else, and no stop."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred

from tests.crawl.harness import EACH_MODE, MODES, crawl, crawl_in_child, crawl_under
from tests.crawl.pacing import gaps
from tests.crawl.plugin import RULES, by_hand, obey
from tests.replies import html
from tests.rows import first
from tests.site import Authority, Site
from tests.timed import timed, waits

SLOW = "User-agent: *\nCrawl-delay: 1\n"
QUEUES = ("DownloaderAwarePriorityQueue", "ScrapyPriorityQueue")
EITHER = [("asyncio", QUEUES[0]), *((mode, QUEUES[1]) for mode in MODES)]
"""Each queue and each reactor."""


def crawled(site: Site, mode: str, slow: int, **settings: Any) -> tuple[float, list[Authority]]:
    """Seconds that 45 authorities took, after so many slow ones in the queue; and the slow ones.

    Every robots.txt is known by then, so that it is CONCURRENT_REQUESTS that sets the time.
    """
    five = site.authorities(slow, SLOW)
    others = site.authorities(45, RULES, html(delay=0.1))
    bursts = [[shop.url("/first") for shop in [*five, *others]]]
    bursts += [[shop.url(f"/{n}") for shops in (five, others) for n in range(3) for shop in shops]]
    spider = "tests.crawl.pacing.BurstsSpider"
    crawl_in_child(spider, obey(**settings), mode=mode, bursts=bursts, idle=[0.1]).check()
    hits = [hit for shop in others for hit in shop.page_hits if hit.path != "/first"]
    start = min(shop.page_hits[1].received for shop in [*five, *others])
    assert len(hits) == 3 * 45
    return max(hit.finished or 0.0 for hit in hits) - start, five


@timed
@pytest.mark.parametrize(("mode", "queue"), EITHER)
def test_five_slow_authorities_of_fifty_do_not_slow_the_others(
    site: Site, mode: str, queue: str
) -> None:
    """The other 45 are done within 1.2 times what they need without, at CONCURRENT_REQUESTS 16."""
    settings = {"SCHEDULER_PRIORITY_QUEUE": f"scrapy.pqueues.{queue}"}
    ratios = []
    for _ in range(3):  # the machine may be busy with something else
        without, _ = crawled(site, mode, 0, **settings)
        beside, five = crawled(site, mode, 5, **settings)
        assert all(min(gaps(shop)) >= 1.0 for shop in five)
        ratios.append(beside / without)
        if ratios[-1] <= 1.2:
            return
    pytest.fail(f"they took {ratios} times as long")


@waits
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_stop_does_not_wait_for_its_turn(site: Site, mode: str) -> None:
    """What waits for its turn stays with the scheduler; one page of each host came."""
    shops = site.authorities(2, "User-agent: *\nCrawl-delay: 30\n")
    urls = [shop.url(f"/{number}") for shop in shops for number in range(20)]
    settings = obey(CLOSESPIDER_TIMEOUT=0.5, CONCURRENT_REQUESTS=4)
    result = (await crawl_under(mode, settings=settings, plans=urls)).check_log()
    assert result.stats["elapsed_time_seconds"] < 2.5
    assert [len(shop.page_hits) for shop in shops] == [1, 1]
    assert len(result.downloaded) == len(result.endings) == 2


@waits
@pytest.mark.skipif(scrapy.version_info < (2, 15), reason="Scrapy 2.14 leaves queue files open")
@pytest.mark.parametrize("mode", ["asyncio", "select"])
@ensureDeferred
async def test_a_resumed_crawl_makes_what_waited_for_its_turn(
    site: Site, tmp_path: Path, mode: str
) -> None:
    """With JOBDIR, a stop gives it back to the scheduler: made later, once, at its pace."""
    shop = site.authority("User-agent: *\nCrawl-delay: 30\n")
    urls = [shop.url(f"/{number}") for number in range(6)]
    settings = obey(CLOSESPIDER_TIMEOUT=0.5, JOBDIR=str(tmp_path), REP_STORE="memory:")
    first = await crawl_under(mode, settings=settings, plans=urls)
    assert first.stats["elapsed_time_seconds"] < 2.5
    assert [ending.kind for ending in first.endings] == ["downloaded"]
    shop.robots = "User-agent: *\nCrawl-delay: 0.1\n"
    second = await crawl_under(mode, settings={**settings, "CLOSESPIDER_TIMEOUT": 0}, plans=urls)
    ends = Counter((ending.url, ending.kind) for ending in [*first.endings, *second.endings])
    assert ends == Counter((url, "downloaded") for url in urls)
    assert min(gaps(shop)) >= 0.1


@pytest.mark.parametrize("kept", first(1, [True, False]))
@ensureDeferred
async def test_a_stop_leaves_nothing_behind(site: Site, tmp_path: Path, kept: bool) -> None:
    """No timer of a slot, no request without an end but those that the scheduler keeps."""
    shop = site.authority("User-agent: *\nCrawl-delay: 30\n")
    urls = [shop.url(f"/{number}") for number in range(6)]
    settings = obey(CLOSESPIDER_TIMEOUT=1.5, REP_STORE="memory:")
    if kept:
        settings["JOBDIR"] = str(tmp_path)
    result = await crawl(settings=settings, plans=urls)
    assert len(result.downloaded) == len(result.endings) == 1
    # The first request of a site is returned and withheld, and five are given back at the end.
    assert result.stats["scheduler/enqueued"] == 6 + 5


@ensureDeferred
async def test_what_is_remembered_is_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a crawl meets more authorities than are remembered, each is held all the same."""
    monkeypatch.setattr("scrapy_rep.waiting.hosts._MOST_HOSTS", 2)
    monkeypatch.setattr("scrapy_rep.waiting.turns._MOST_SAID", 2)
    shops = site.authorities(5, "User-agent: *\nCrawl-delay: 30\n")
    urls = [shop.url(f"/{number}") for number in range(3) for shop in shops]
    result = (await crawl(settings=obey(REP_MAX_CRAWL_DELAY=0.2), plans=urls)).check()
    assert all(min(gaps(shop)) >= 0.2 for shop in shops)
    assert len(result.lines("asks for 30 s")) == 5


@ensureDeferred
async def test_a_fault_at_the_grant_of_a_turn_ends_the_request(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends unreachable, as do all later ones to a host whose pace cannot be kept."""

    def fail(*args: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("scrapy_rep.stats.RepStats.waited_for_pace", fail)
    shop = site.authority("User-agent: *\nCrawl-delay: 0.05\n")
    urls = [shop.url(f"/{number}") for number in range(4)]
    result = (await crawl(settings=by_hand(), plans=urls)).check(["out of order"])
    assert (len(result.downloaded), len(result.unreachable)) == (1, 3)


@ensureDeferred
async def test_nothing_is_lent_when_nothing_waits(site: Site) -> None:
    """However many waited for their turn, CONCURRENT_REQUESTS is in force again at the end."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.02\n")
    urls = [shop.url(f"/{number}") for number in range(30)]
    result = (await crawl(settings=obey(CONCURRENT_REQUESTS=5), plans=urls)).check()
    assert result.crawler.engine.downloader.total_concurrency == 5
    assert min(gaps(shop)) >= 0.02
