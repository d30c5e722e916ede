"""The event loop stands still for longer than a robots.txt may take, fetches and all."""

from __future__ import annotations

import time

import pytest
from pytest_twisted import ensureDeferred
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later

from tests.crawl.harness import EACH_MODE, crawl_under
from tests.crawl.plugin import obey
from tests.replies import Hang
from tests.site import Site


class BlockingExtension:
    """Holds the loop up for 3 s while the first robots.txt is fetched."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BlockingExtension:
        """The extension, which has begun to listen."""
        extension = cls()
        crawler.signals.connect(extension.block, signals.engine_started)
        return extension

    def block(self) -> None:
        """Nothing goes on for a while."""
        call_later(0.2, time.sleep, 1.2)


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_a_site_that_does_not_answer_meanwhile_is_unreachable(site: Site, mode: str) -> None:
    """RFC 9309 section 2.3.1.4: it is an end like any other, not a fault of the check."""
    silent = site.authority(Hang())
    settings = obey(REP_TIMEOUT=0.5, EXTENSIONS={f"{__name__}.{BlockingExtension.__name__}": 1})
    plans = [silent.url("/a"), silent.url("/b")]
    result = (await crawl_under(mode, settings=settings, plans=plans)).check()
    problems = [ending.problem for ending in result.endings if ending.problem is not None]
    assert [problem.kind for problem in problems] == ["unreachable"] * 2
    assert {problem.data["cause"] for problem in problems} == {"timeout"}
    assert silent.page_hits == []
