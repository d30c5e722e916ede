"""What a crawl waits for is said at each LOGSTATS_INTERVAL, and counted."""

from __future__ import annotations

from asyncio import gather
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.internet.defer import DeferredList

from tests.crawl.harness import settings_of, visit, within
from tests.crawl.logtap import LogTap
from tests.crawl.pacing import pages
from tests.crawl.plugin import RULES, by_hand, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply
from tests.rows import first
from tests.site import Site

EVERY_MOMENT = {"LOGSTATS_INTERVAL": 0.2, "CLOSESPIDER_TIMEOUT": 1.5}
SLOW = "User-agent: *\nCrawl-delay: 60\n"
WAITS = "^Waiting for their "


class DownloadingSpider(RequestsSpider):
    """Downloads files at once from its callback, as a media pipeline does."""

    files: list[str]

    async def page(self, response: Response) -> None:
        """Download them, then note the end of the page."""
        engine = self.crawler.engine
        await gather(*(engine.download_async(Request(url)) for url in self.files))
        super().page(response)


@pytest.mark.parametrize(
    "queue", first(1, ["", "scrapy.pqueues.ScrapyPriorityQueue"]), ids=["queues", "front"]
)
async def test_what_waits_is_said_again_and_again(site: Site, queue: str) -> None:
    """One line of INFO, in which the sites that wait and all their requests are counted.

    A site is named without the login of its URLs, and nothing is said after the close.
    """
    slow, silent, other = site.authority(SLOW), site.authority(Hang()), site.authority(RULES)
    waiting = [(slow, 21), (silent, 4)]
    plans = [shop.url(f"/{n}", user="ann:secret") for shop, each in waiting for n in range(each)]
    settings: dict[str, Any] = {**EVERY_MOMENT, "LOGSTATS_INTERVAL": 0.05}
    settings |= {"SCHEDULER_PRIORITY_QUEUE": queue} if queue else {}
    result = await visit([*plans, *pages(other, 3)], whole=False, timeout=40, **settings)
    lines = [line for line in result.log if line.text.startswith("Waiting for their pace")]
    assert len(lines) > 1
    assert {(line.logger, line.level) for line in lines} == {("scrapy_rep", "INFO")}
    assert lines[-1].text == (
        "Waiting for their pace: 1 site, 20 requests; the slowest is "
        f"{slow.url()[:-1]}: 20 requests, at least 60 s apart, about 20 min. "
        "Waiting for their robots.txt: 1 site, 4 requests"
    )
    assert result.stats["robotstxt/waiting"] >= 24
    assert result.stats["robotstxt/waiting/max"] >= 24
    assert 2 <= result.stats["robotstxt/waiting/sites/max"] <= 3
    texts = [line.text for line in result.log]
    last = max(n for n, text in enumerate(texts) if text.startswith("Waiting"))
    assert last < texts.index("Spider closed (closespider_timeout)")


async def test_nothing_is_said_of_a_pace_that_is_not_kept(site: Site) -> None:
    """What waits for its rules is in the stats all the same."""
    slow = site.authority(SLOW, Reply(200, "page", delay=0.1))
    often = {"LOGSTATS_INTERVAL": 0.01, "REP_CRAWL_DELAY": False}
    crawl = await visit(pages(slow, 8), timeout=40, **often)
    assert crawl.lines("Waiting for their pace") == []
    assert crawl.stats["robotstxt/waiting"] >= 7


async def test_what_waits_in_the_downloader_is_said_too(site: Site) -> None:
    """By hand without the scheduler all that waits does, and with it a direct download."""
    slow, shop = site.authority("User-agent: *\nCrawl-delay: 0.2\n"), site.authority(RULES)
    said = "Waiting in the downloader: 3 requests"
    result = await visit(pages(slow, 4), by=by_hand, LOGSTATS_INTERVAL=0.1)
    assert result.lines(WAITS) == []
    assert said in result.lines("^Waiting in ", "INFO")
    assert result.stats["robotstxt/waiting"] >= 3
    files, page = [slow.url(f"/file{n}") for n in range(4)], shop.url("/a")
    result = await visit([page], DownloadingSpider, LOGSTATS_INTERVAL=0.1, files=files)
    assert said in result.lines("^Waiting in ", "INFO")


async def test_the_time_in_which_only_paced_sites_were_left_is_counted(site: Site) -> None:
    """And none for a crawl without a pace."""
    slow, plain = site.authority("User-agent: *\nCrawl-delay: 0.4\n"), site.authority(RULES)
    result = await visit([*pages(slow, 3), *pages(plain, 3)])
    assert 0 < result.stats["robotstxt/waiting/pace_only_time"] < result.stats[TOTAL]
    result = await visit(pages(plain, 3))
    assert "robotstxt/waiting/pace_only_time" not in result.stats


TOTAL = "elapsed_time_seconds"


async def test_crawls_in_one_process_have_a_line_each(site: Site) -> None:
    """Each says what it waits for itself."""
    shops = site.authorities(2, SLOW)
    settings = settings_of(obey(**EVERY_MOMENT))
    crawlers = [Crawler(RequestsSpider, settings.copy()) for _ in shops]
    with LogTap() as tap:
        each = zip(crawlers, shops, strict=True)
        crawls = [crawler.crawl(plans=pages(shop, 3)) for crawler, shop in each]
        await within(60, DeferredList(crawls))  # type: ignore[arg-type]
    lines = [line.text for line in tap.lines if line.text.startswith("Waiting for their pace")]
    for shop in shops:
        ours = [line for line in lines if shop.url()[:-1] in line]
        assert len(ours) > 1
        assert all("1 site, 2 requests" in line for line in ours)


async def test_a_fault_of_the_line_ends_nothing_but_the_line(site: Site, constants: Any) -> None:
    """It is said once."""

    def fail(*args: Any) -> str:
        raise RuntimeError("out of order")

    constants("frontier.progress", _counted=fail)
    slow = site.authority("User-agent: *\nCrawl-delay: 0.3\n")
    result = await visit(pages(slow, 4), LOGSTATS_INTERVAL=0.05, expected=["out of order"])
    assert len(result.downloaded) == 4
    assert len(result.lines("out of order")) == 1
