"""Whatever stops the crawl, and whoever waits: the spider, a pipeline, someone who asks why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import scrapy

from tests.crawl.closing import ClosingSpider, ItemSpider
from tests.crawl.harness import MODES, crawl, crawl_under
from tests.crawl.middlewares import inner
from tests.crawl.pacing import gaps, slowness
from tests.crawl.plugin import RULES
from tests.crawl.test_explain import AskingSpider
from tests.crawl.test_stops import AT_ONCE, busy, stopped_well
from tests.replies import Hang, Reply
from tests.site import Site
from tests.timed import waits

pytestmark = waits

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


# --- direct downloads: a stop waits for them, as Scrapy does


PATIENT = busy(REP_TIMEOUT=1.2, REP_RETRY_DELAYS=[])
"""Settings under which a robots.txt that never comes is given up in time for a stop."""


RULES_OF_ITS_PAGE = {"200": Reply(200, RULES, delay=1), "RobotsUnreachable": Hang()}


@pytest.mark.parametrize("ends", RULES_OF_ITS_PAGE)
@pytest.mark.parametrize("job", [False, True], ids=["without JOBDIR", "JOBDIR"])
async def test_a_download_of_a_callback_waits_for_its_rules_at_a_stop(
    site: Site, tmp_path: Path, mode: str, ends: str, job: bool
) -> None:
    """The callback waits for an answer, and has no later run; the last attempt is the end.

    What the scheduler never held is not given to it.
    """
    other, shop = site.authority(RULES_OF_ITS_PAGE[ends]), site.authority(RULES)
    spider = "tests.crawl.closing.FetchingSpider"
    settings = {**PATIENT, "JOBDIR": str(tmp_path) if job else None}
    how = {"plans": [shop.url("/a")], "inner": other.url("/b"), "close_after": 0.3}
    result = await crawl_under(mode, spider, settings, **how)
    stopped_well(result)
    assert result.stats["inner"] == ends
    assert len(other.page_hits) == (ends == "200")


@pytest.mark.parametrize(("mode", "job"), [("asyncio", True), *((mode, False) for mode in MODES)])
async def test_a_stop_waits_for_the_files_of_a_media_pipeline(
    site: Site, tmp_path: Path, mode: str, job: bool
) -> None:
    """Each in its turn, while the pages of that host that wait are given up."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.3\n")
    dark, late = site.authority(Hang()), site.authority(Reply(200, RULES, delay=0.9))
    shop = site.authority(RULES)
    settings = {
        **PATIENT,
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path / "files"),
        "JOBDIR": str(tmp_path / "job") if job else None,
    }
    files = [dark.url("/file"), late.url("/file"), *(slow.url(f"/{n}") for n in range(4))]
    plans = [shop.url("/page"), *(slow.url(f"/page{n}") for n in range(20))]
    spider, how = "tests.crawl.closing.ItemSpider", {"files": files, "close_after": 0.5}
    result = await crawl_under(mode, spider, settings, plans=plans, **how)
    stopped_well(result, TOLD_LOUDLY)
    assert dark.page_hits == []
    assert [hit.path for hit in late.page_hits] == ["/file"]
    asked = [hit.path for hit in slow.page_hits]
    assert {f"/{n}" for n in range(4)} <= {*asked}
    assert len(asked) < 10
    assert min(gaps(slow)) >= 0.29


async def test_a_stop_waits_for_what_a_middleware_downloads(site: Site, mode: str) -> None:
    """The page that it holds goes on as well."""
    shop, slow = site.authority(RULES), site.authority("User-agent: *\nCrawl-delay: 0.3\n")
    plans = [shop.url(f"/page{n}?{slow.url(f'/inner{n}')}") for n in range(5)]
    spider, settings = "tests.crawl.closing.ClosingSpider", inner(dict, 950, **PATIENT)
    result = await crawl_under(mode, spider, settings, plans=plans, close_after=0.4)
    stopped_well(result)
    assert sorted(result.downloaded) == sorted(plans)
    assert len(slow.page_hits) == 5
    assert min(gaps(slow)) >= 0.29


async def test_explain_ends_with_the_crawl(site: Site) -> None:
    """Who asks about a URL gets an answer, and it is no permission."""
    dark = site.authority(Hang())
    questions = [(dark.url("/a"), None)]
    result = await crawl(AskingSpider, busy(), questions=questions, close_after=0.5, timeout=6)
    stopped_well(result)
    assert [verdict.allowed for verdict in result.crawler.spider.answers] in ([False], [])


async def test_a_background_refresh_does_not_hold_up_the_end(site: Site) -> None:
    """Nobody waits for it: the crawl is over when its pages are."""
    shop = site.authority([Reply(200, RULES, {"Cache-Control": "max-age=60"}), Hang()])

    class LateSpider(ClosingSpider):
        def found(self, response: Any) -> Any:
            if response.url.endswith("/a"):
                cache = self.gate._parts.cache
                cache._clock = lambda ahead=cache._clock: ahead() + 58
                yield self.request(response.urljoin("/b"))

    result = await crawl(LateSpider, busy(), plans=[shop.url("/a")], timeout=8)
    result.check()
    assert len(result.downloaded) == 2
    assert result.stats["elapsed_time_seconds"] < AT_ONCE * slowness()
