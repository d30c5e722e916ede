"""The throttler that Scrapy is about to have: it is told of, and does not touch robots.txt."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from tests.crawl.harness import visit
from tests.crawl.middlewares import Component
from tests.crawl.plugin import RULES, by_hand, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

SLOW = "User-agent: *\nCrawl-delay: 60\n"
SAID = "Scrapy's throttler keeps Crawl-delay as well as scrapy_rep"


class Throttled(Component):
    """An extension in whose crawl there is a throttler."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.crawler.throttler = object()


THROTTLED = {"EXTENSIONS": {Throttled: 0}}


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        (THROTTLED, 1),
        ({**THROTTLED, "THROTTLER_ROBOTSTXT_OBEY": False}, 0),
        ({**THROTTLED, "REP_CRAWL_DELAY": False}, 0),
        ({}, 0),
    ],
)
async def test_a_throttler_that_keeps_the_same_pace_is_told_of(
    site: Site, settings: dict[str, Any], times: int
) -> None:
    """One line at the start, with the setting that ends it."""
    result = await visit([site.authority(RULES).url("/")], **settings)
    assert len(result.downloaded) == 1
    lines = result.lines(SAID, "INFO")
    assert len(lines) == times
    assert all("THROTTLER_ROBOTSTXT_OBEY to False" in line for line in lines)


async def test_a_throttler_leaves_fetches_of_robots_txt_alone(site: Site) -> None:
    """They carry `dont_throttle`, and pages do not."""
    shop = site.authority(RULES)
    seen: dict[str, Any] = {}

    def reached(request: Request) -> None:
        seen[request.url] = request.meta.get("dont_throttle")

    await visit([shop.url("/")], on={signals.request_reached_downloader: reached})
    assert seen == {shop.url("/robots.txt"): True, shop.url("/"): None}


class Asking(RequestsSpider):
    """Asks the scheduler for the delay of the next request when `/lead` has come, and stops."""

    delays: list[float | None]

    def found(self, response: Response) -> Any:
        """Ask."""
        if response.url.endswith("/lead"):
            self.delays.append(self.crawler.engine._slot.scheduler.get_next_request_delay())
            raise CloseSpider
        return ()


LEAD = Reply(200, "page", delay=0.5)


async def test_the_scheduler_knows_when_a_site_may_be_ready(site: Site) -> None:
    """Its host is due."""
    slow, lead = site.authority(SLOW), site.authority(RULES, LEAD)
    plans = [*(slow.url(f"/{n}") for n in range(3)), lead.url("/lead")]
    delays: list[float | None] = []
    await visit(plans, Asking, whole=False, timeout=40, delays=delays)
    (found,) = delays
    assert found is not None
    assert 0 < found <= 60


@pytest.mark.parametrize("by", first(1, [obey, by_hand]), ids=["add-on", "by hand"])
async def test_no_delay_is_known_if_nothing_waits_for_a_time(site: Site, by: Any) -> None:
    """By hand without the add-on, the scheduler is Scrapy's, or ours without what it asks."""
    lead = site.authority(RULES, LEAD)
    delays: list[float | None] = []
    scheduler = "scrapy_rep.RepScheduler"
    await visit([lead.url("/lead")], Asking, by=by, delays=delays, SCHEDULER=scheduler)
    assert delays == [None]
