"""Whatever stops the crawl, and whoever waits: the spider, a pipeline, someone who asks why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred

from tests.crawl.closing import ClosingSpider, FetchingSpider, ItemSpider
from tests.crawl.harness import EACH_MODE, crawl, crawl_in_child
from tests.crawl.pace import slowness
from tests.crawl.plugin import RULES
from tests.crawl.test_stops import AT_ONCE, busy, stopped_well
from tests.replies import Hang, Reply
from tests.site import Site
from tests.timed import timed

pytestmark = timed

# Scrapy 2.14 logs any file that did not come as an error of its own.
TOLD_LOUDLY = ["FileException"] if scrapy.version_info < (2, 15) else []


@pytest.mark.parametrize(
    "settings",
    [
        {"CLOSESPIDER_TIMEOUT": 1},
        {"CLOSESPIDER_PAGECOUNT": 3},
        {"CLOSESPIDER_ITEMCOUNT": 2},
        {"CLOSESPIDER_TIMEOUT_NO_ITEM": 1},
    ],
    ids=lambda settings: next(iter(settings)),
)
@ensureDeferred
async def test_closespider_settings_stop_a_crawl_that_waits(
    site: Site, settings: dict[str, Any]
) -> None:
    """Whatever makes Scrapy stop: requests that wait for a robots.txt do not hold it up."""
    dark, shop = site.authority(Hang()), site.authority(RULES)
    urls = [dark.url(f"/{n}") for n in range(50)] + [shop.url(f"/{n}") for n in range(5)]
    result = await crawl(ItemSpider, busy(**settings), plans=urls, timeout=8)
    stopped_well(result)
    assert result.stats["finish_reason"].startswith("closespider_")
    # The spider without items is looked at once a second, and the second time it has none.
    assert result.stats["elapsed_time_seconds"] < (2 + AT_ONCE) * slowness()
    assert dark.page_hits == []


@ensureDeferred
async def test_a_stop_while_attempts_are_made_requests_no_page(site: Site) -> None:
    """A stop in the middle leaves no page of a dark authority requested."""
    dark = site.authority(Reply(503, delay=0.2))
    urls = [dark.url(f"/{n}") for n in range(20)]
    result = await crawl(ItemSpider, busy(CLOSESPIDER_PAGECOUNT=1), plans=urls, timeout=6)
    stopped_well(result)
    assert dark.page_hits == []


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_fetch_of_the_spiders_own_ends_with_the_crawl(site: Site, mode: str) -> None:
    """`engine.download_async` in a callback waits for a robots.txt like any other request."""
    dark, shop = site.authority(Hang()), site.authority(RULES)
    result = crawl_in_child(
        "tests.crawl.closing.FetchingSpider",
        busy(),
        mode=mode,
        plans=[shop.url("/a")],
        inner=dark.url("/b"),
        close_after=0.8,
    )
    stopped_well(result)
    assert result.stats["inner"] == ["RobotsUnreachable"]
    assert dark.page_hits == []


@ensureDeferred
async def test_a_fetch_of_the_spiders_own_ends_with_a_job_too(site: Site, tmp_path: Path) -> None:
    """What the scheduler never held is not given to it: its caller waits for an answer."""
    dark, shop = site.authority(Hang()), site.authority(RULES)
    result = await crawl(
        FetchingSpider,
        busy(JOBDIR=str(tmp_path)),
        plans=[shop.url("/a")],
        inner=dark.url("/b"),
        close_after=0.6,
    )
    stopped_well(result)
    assert result.crawler.spider.outcomes == ["RobotsUnreachable"]
    assert dark.page_hits == []


@pytest.mark.parametrize("job", [False, True], ids=["without JOBDIR", "JOBDIR"])
@ensureDeferred
async def test_a_media_pipeline_ends_with_the_crawl(site: Site, tmp_path: Path, job: bool) -> None:
    """The item goes on without the file whose robots.txt never came."""
    dark, shop = site.authority(Hang()), site.authority(RULES)
    settings = busy(
        ITEM_PIPELINES={"scrapy.pipelines.files.FilesPipeline": 1},
        FILES_STORE=str(tmp_path / "files"),
        JOBDIR=str(tmp_path / "job") if job else None,
    )
    files = [dark.url("/file"), shop.url("/file")]
    plans = [shop.url("/page")]
    result = await crawl(ItemSpider, settings, plans=plans, files=files, close_after=0.8)
    stopped_well(result, TOLD_LOUDLY)
    assert result.stats["item_scraped_count"] == 1
    assert dark.page_hits == []
    assert [hit.path for hit in shop.page_hits] == ["/page", "/file"]


@ensureDeferred
async def test_explain_ends_with_the_crawl(site: Site) -> None:
    """Who asks about a URL gets an answer, and it is no permission."""
    dark = site.authority(Hang())
    verdicts: list[Any] = []

    class AskingSpider(ClosingSpider):
        async def start(self) -> Any:
            verdicts.append(await self.gate.explain(dark.url("/a")))
            for nothing in ():
                yield nothing

    result = await crawl(AskingSpider, busy(), close_after=0.5, timeout=6)
    stopped_well(result)
    assert [verdict.allowed for verdict in verdicts] in ([False], [])


@ensureDeferred
async def test_a_background_refresh_does_not_hold_up_the_end(site: Site) -> None:
    """Nobody waits for it: the crawl is over when its pages are."""
    shop = site.authority([Reply(200, RULES, {"Cache-Control": "max-age=60"}), Hang()])

    class LateSpider(ClosingSpider):
        def found(self, response: Any) -> Any:
            if response.url.endswith("/a"):
                cache = self.gate._cache
                cache._clock = lambda ahead=cache._clock: ahead() + 58
                yield self.request(response.urljoin("/b"))

    result = await crawl(LateSpider, busy(), plans=[shop.url("/a")], timeout=8)
    result.check()
    assert len(result.downloaded) == 2
    assert result.stats["elapsed_time_seconds"] < AT_ONCE * slowness()
