"""Requests that go back to the scheduler when a crawl stops, and those that cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_twisted import ensureDeferred
from scrapy import Request

from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, redirect
from tests.site import Site


class GivenBackSpider(RequestsSpider):
    """Its callback has no name, so that no disk queue can keep the request."""

    name = "nameless"

    def request(self, url: str, **fields: Any) -> Request:
        """The same with a lambda."""
        request = super().request(url, **fields)
        return request.replace(callback=lambda response: None)


@ensureDeferred
async def test_what_cannot_be_written_is_given_back_as_well(site: Site, tmp_path: Path) -> None:
    """JOBDIR, a request that cannot be written, a stop: it ends with the queue, as in Scrapy."""
    shop = site.authority(Hang())
    settings = obey(JOBDIR=str(tmp_path), CLOSESPIDER_TIMEOUT=1)
    result = await crawl(GivenBackSpider, settings=settings, plans=[shop.url("/a")])
    assert result.check_log().endings == []
    assert result.stats["scheduler/enqueued/memory"] == 2


@ensureDeferred
async def test_what_was_given_back_is_what_it_was(site: Site, tmp_path: Path) -> None:
    """After a stop and a resumption, the redirect of a page off the site is still stopped."""
    far = site.authority(RULES, host="127.9.9.9")
    shop = site.authority(Hang(), pages={"/a": redirect(far.url("/b"))})
    spider = type("Near", (RequestsSpider,), {"allowed_domains": [shop.host]})
    settings = obey(JOBDIR=str(tmp_path), REP_STORE="memory:")
    plans = [shop.url("/a")]
    stop = {**settings, "CLOSESPIDER_TIMEOUT": 1}
    first = await crawl(spider, settings=stop, plans=plans)
    assert first.endings == []
    shop.robots = RULES
    await crawl(spider, settings=settings, plans=plans)
    assert [hit.path for hit in shop.page_hits] == ["/a"]
    assert far.page_hits == []
