"""A crawl that stops while robots.txt files are awaited: soon over, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.closing import ClosingSpider
from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.leftovers import turn
from tests.crawl.plugin import RULES, obey
from tests.replies import Endless, Hang, Reply, Stall, Trickle
from tests.site import Authority, Script, Site
from tests.timed import waits

SILENT: list[Script] = [Hang(), Stall(200, RULES), Trickle(200, RULES, interval=0.5)]


async def hung_up(*authorities: Authority) -> None:
    """Returns once all connections have ended; one that trickles learns of it at an octet."""
    for _ in range(1_000):
        open_ones = [h for a in authorities for h in a.hits if h.finished is None]
        if not open_ones:
            return
        await turn(0.05)
    raise AssertionError(f"still open: {open_ones}")


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_stop_does_not_wait_for_robots_txt(site: Site, mode: str) -> None:
    """All that waits stays with the scheduler."""
    silent = [site.authority(robots) for robots in [*SILENT, [Reply(503), Hang()], Reply(503)]]
    good = site.authority(RULES)
    waiting = [authority.url(f"/{number}") for authority in silent for number in range(20)]
    settings = obey(REP_TIMEOUT=60, REP_RETRY_DELAYS=[0.1, 60])
    plans, how = [good.url("/"), *waiting], {"parked": len(waiting), "close_after": 1}
    spider = "tests.crawl.closing.ClosingSpider"
    result = await crawl_under(mode, spider, settings, plans=plans, **how)
    result.check_log()
    assert [ending.url for ending in result.endings] == result.downloaded == [good.url("/")]
    assert result.stats["robotstxt/waiting/max"] > 50
    assert result.stats["finish_reason"] == "stopped"
    assert result.stats["closing/seconds"] < 60  # else it waited for the silent ones
    assert all(authority.page_hits == [] for authority in silent)


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_resumed_crawl_makes_what_a_stop_left(
    site: Site, tmp_path: Path, mode: str
) -> None:
    """With JOBDIR, what waited goes back to the scheduler: made later, once, with its rules."""
    silent = [site.authority(robots) for robots in SILENT]
    good = site.authority(RULES)
    urls = [a.url(path) for a in [good, *silent] for path in ("/1", "/2", "/private")]
    settings = obey(REP_TIMEOUT=60, JOBDIR=str(tmp_path))
    spider, how = "tests.crawl.closing.ClosingSpider", {"parked": 9, "close_after": 1}
    first = (await crawl_under(mode, spider, settings, plans=urls, **how)).check_log()
    assert {ending.url for ending in first.endings} == set(urls[:3])
    for authority in silent:
        authority.robots = RULES
    second = (await crawl_under(mode, settings=settings, plans=urls)).check_log()
    ends = Counter((ending.url, ending.kind) for ending in [*first.endings, *second.endings])
    kinds = {url: "forbidden" if url.endswith("/private") else "downloaded" for url in urls}
    assert ends == Counter(kinds.items())
    pages = Counter(hit.path for authority in [good, *silent] for hit in authority.page_hits)
    assert pages == {"/1": 4, "/2": 4}


@waits
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_page_in_progress_is_finished(site: Site, mode: str) -> None:
    """A stop waits, as ever, for the page that is on its way."""
    slow = site.authority(RULES, Reply(200, "slow", delay=1.5))
    settings = obey(CLOSESPIDER_TIMEOUT=0.75)
    plans = [slow.url("/a"), slow.url("/private")]
    result = (await crawl_under(mode, settings=settings, plans=plans)).check()
    assert (result.downloaded, result.forbidden) == (plans[:1], plans[1:])


@ensureDeferred
async def test_nothing_is_left_of_the_fetches_that_a_stop_ended(site: Site) -> None:
    """In a process that lives on: no task, no delayed call, and every connection is hung up."""
    silent = [site.authority(robots) for robots in [*SILENT, [Reply(503), Hang()]]]
    urls = [authority.url("/a") for authority in silent]
    settings = obey(REP_TIMEOUT=60, REP_RETRY_DELAYS=[0.1, 60])
    how = {"parked": len(urls), "close_after": 1}
    result = (await crawl(ClosingSpider, settings, plans=urls, **how)).check_log()
    assert result.endings == []
    await hung_up(*silent)
    assert [len(authority.hits) for authority in silent] == [1, 1, 1, 2]


@ensureDeferred
async def test_an_endless_robots_txt_ends_with_the_crawl(site: Site) -> None:
    """What is cut at the limit is hung up on, so that no connection outlives the crawl."""
    endless = site.authority(Endless(200, RULES))
    result = (await crawl(settings=obey(), plans=[endless.url("/a")])).check()
    assert result.downloaded == [endless.url("/a")]
    await hung_up(endless)


@ensureDeferred
async def test_the_downloader_is_left_as_it_was(site: Site) -> None:
    """However many waited, CONCURRENT_REQUESTS is in force again, and nothing waits any more."""
    shops = site.authorities(5, [Reply(200, RULES, delay=0.2)])
    urls = [shop.url(f"/{number}") for shop in shops for number in range(20)]
    result = (await crawl(settings=obey(CONCURRENT_REQUESTS=7), plans=urls)).check()
    downloader = result.crawler.engine.downloader
    assert downloader.total_concurrency == 7
    assert not downloader.active
    assert len(result.downloaded) == 100
