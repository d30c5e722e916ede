"""A crawl to which no request was allowed says so, in one warning at its end."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy.exceptions import CloseSpider

from tests.crawl.harness import crawl
from tests.crawl.plugin import NOTHING, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply
from tests.site import Site


class StoppingSpider(RequestsSpider):
    """Closes the crawl as soon as a request was refused."""

    def failed(self, failure: Any) -> None:
        """The first one ends the crawl."""
        super().failed(failure)
        raise CloseSpider("enough")


def warned(result: Result) -> list[str]:
    """What was said at the end."""
    return result.lines("No request was allowed", "WARNING")


@pytest.mark.parametrize("settings", [obey(), by_hand()], ids=["add-on", "by hand"])
@ensureDeferred
async def test_a_crawl_to_which_nothing_was_allowed_says_so(
    site: Site, settings: dict[str, Any]
) -> None:
    """The requests are counted by what they ended in."""
    shop, dark, gone = site.authority(NOTHING), site.authority(Reply(503)), site.refusing()
    urls = [*(shop.url(f"/{n}") for n in range(3)), dark.url("/a"), gone.url("/a")]
    result = (await crawl(settings=settings, plans=urls)).check()
    assert warned(result) == ["No request was allowed: 3 forbidden, 2 with robots.txt unreachable"]


@pytest.mark.parametrize(
    "plan",
    ["/a", {"url": "/private", "meta": {"dont_obey_robotstxt": True}}, "/robots.txt"],
    ids=["allowed", "bypass", "robots.txt"],
)
@ensureDeferred
async def test_one_request_that_passes_is_enough(site: Site, plan: Any) -> None:
    """Nothing is said, however many others were refused."""
    shop, free = site.authority(NOTHING), site.authority()
    plan = {**plan, "url": shop.url(plan["url"])} if isinstance(plan, dict) else free.url(plan)
    result = (await crawl(settings=obey(), plans=[shop.url("/a"), shop.url("/b"), plan])).check()
    assert len(result.forbidden) == 2
    assert warned(result) == []


@ensureDeferred
async def test_nothing_is_said_without_requests(site: Site) -> None:
    """An empty crawl was not refused."""
    assert warned((await crawl(settings=obey(), plans=[])).check()) == []


@ensureDeferred
async def test_a_crawl_that_is_stopped_was_not_refused(site: Site) -> None:
    """One was forbidden; of those that waited when the crawl was stopped nothing is known."""
    shop, slow = site.authority(NOTHING), site.authority(Hang())
    urls = [shop.url("/a"), slow.url("/a"), slow.url("/b")]
    result = (await crawl(StoppingSpider, obey(), plans=urls)).check_log()
    assert [ending.url for ending in result.endings] == result.forbidden == urls[:1]
    assert warned(result) == []
