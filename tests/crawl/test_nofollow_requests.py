"""A request that is not to be followed: what becomes of it beside all that Scrapy does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from twisted.internet.defer import CancelledError

from tests.crawl.faults import FaultError, crawled, modules, some, struck
from tests.crawl.harness import crawl, settings_of, within
from tests.crawl.links import CLOSED, VILLAGE, LinksSpider, links, meta
from tests.crawl.logtap import LogTap
from tests.crawl.plugin import RULES
from tests.crawl.test_page_directives import obeying, page_stats, paths
from tests.replies import Reply
from tests.rows import first
from tests.site import Site
from tests.timed import waits


@pytest.mark.parametrize("order", [["/closed", "/open"], ["/open", "/closed"]], ids=" ".join)
async def test_the_same_url_found_elsewhere_is_fetched(site: Site, order: list[str]) -> None:
    """Whichever page comes first: the duplicate filter does not know what was refused.

    Each refused request has its end, however often the URL is found; those that pass are filtered.
    A refused one has the depth, the referer and the callback of any other.
    """
    shared = ("/shared", "/shared", "/other")
    pages = {"/closed": links(*shared, head=meta("nofollow")), "/open": links(*shared)}
    shop = site.authority(RULES, pages)
    plans = [{"url": shop.url(path), "priority": -n} for n, path in enumerate(order)]
    settings = obeying(CONCURRENT_REQUESTS=1, REFERRER_POLICY="unsafe-url")
    result = await crawl(LinksSpider, settings, plans=plans)
    assert paths(shop, result.check_log().forbidden) == ["/other", "/shared", "/shared"]
    refused = result.crawler.spider.refused[0]
    assert (refused.meta["depth"], result.stats["request_depth_max"]) == (1, 1)
    assert refused.headers["Referer"].decode() == shop.url("/closed")
    assert refused.callback == result.crawler.spider.page
    assert paths(shop, result.downloaded) == sorted([*order, "/other", "/shared"])
    assert result.stats["dupefilter/filtered"] == 1


async def test_a_request_that_a_spider_yields_is_left_as_it_is(site: Site) -> None:
    """The mark is on a copy: what the spider keeps may be yielded from another page."""
    pages = {"/closed": links(head=meta("nofollow")), "/open": links()}
    shop = site.authority(RULES, pages)

    class Spider(LinksSpider):
        kept: Request | None = None

        def found(self, response: Any) -> Any:
            if self.kept is None:
                self.kept = self.request(shop.url("/shared"))
            if not response.url.endswith("/shared"):
                yield self.kept

    plans = [shop.url("/closed"), {"url": shop.url("/open"), "priority": -1}]
    result = await crawl(Spider, obeying(CONCURRENT_REQUESTS=1), plans=plans)
    kinds = {ending.kind for ending in result.endings if ending.url == shop.url("/shared")}
    assert kinds == {"forbidden", "downloaded"}  # whichever page comes first
    spider: Any = result.crawler.spider
    assert not spider.kept.dont_filter
    assert not [key for key in spider.kept.meta if key.startswith("_")]


async def test_a_request_that_cannot_be_copied_is_refused_as_well(site: Site) -> None:
    """`replace` does not know how to make it: it is marked itself, and one line says why."""
    shop = site.authority(RULES, {"/": links("/a", head=meta("nofollow"))})

    class UncopiedRequest(Request):
        def __init__(self, *args: Any, reason: str, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    class Spider(LinksSpider):
        def found(self, response: Any) -> Any:
            for plain in super().found(response):
                if isinstance(plain, Request):
                    fields = {name: getattr(plain, name) for name in plain.attributes}
                    yield UncopiedRequest(**fields, reason="a test")

    result = await crawl(Spider, obeying(), plans=[shop.url("/")])
    result.check(expected=["The marking of a request failed"])
    assert result.forbidden == [shop.url("/a")]


@pytest.mark.parametrize("again", [{}, {"dont_obey_robotstxt": True}], ids=["same", "insisting"])
async def test_a_refused_request_that_an_errback_repeats(site: Site, again: dict[str, Any]) -> None:
    """It is refused once more, unless it says itself that it does not obey."""
    shop = site.authority(RULES, {"/": links("/a", head=meta("nofollow")), "/a": links("/b")})

    class Spider(LinksSpider):
        def failed(self, failure: Any) -> Any:
            super().failed(failure)
            if not self.refused[1:]:
                number = {"number": len(self.made)}
                self.made.append(shop.url("/a"))
                yield failure.request.replace(meta={**failure.request.meta, **number, **again})

        def meta_of(self, response: Any) -> dict[str, Any]:
            kept = {k: v for k, v in response.meta.items() if k != "dont_obey_robotstxt"}
            return kept if response.url == shop.url("/a") else {}

    result = (await crawl(Spider, obeying(), plans=[shop.url("/")])).check()
    kinds = [ending.kind for ending in result.endings if ending.url == shop.url("/a")]
    assert kinds == ["forbidden", "downloaded" if again else "forbidden"]
    if again:  # the mark went along with the meta, and is taken off where the page says nothing
        assert result.kind(shop.url("/b")) == "downloaded"


async def test_a_crawl_that_is_resumed_refuses_what_its_queue_holds(
    site: Site, tmp_path: Path
) -> None:
    """The mark is kept on disk with the request, and the URL is not known to the filter."""
    shop = site.authority(RULES, {"/": links("/a", "/b", head=meta("nofollow"))})
    settings = obeying(JOBDIR=str(tmp_path), CONCURRENT_REQUESTS=1)
    stopping = settings | {"CLOSESPIDER_ITEMCOUNT": 1}
    first = await crawl(LinksSpider, stopping, plans=[shop.url("/")])
    assert first.stats["finish_reason"] == "closespider_itemcount"
    second = (await crawl(LinksSpider, settings, plans=[])).check_log()
    assert sorted(first.forbidden + second.forbidden) == [shop.url("/a"), shop.url("/b")]
    assert second.forbidden
    assert second.downloaded == []
    for path in ("/a", "/b"):
        third = await crawl(LinksSpider, settings, plans=[shop.url(path)])
        assert third.downloaded == [shop.url(path)]


async def test_a_crawl_spider_is_unharmed(site: Site) -> None:
    """Its rules, callbacks and errbacks work as they do without the middleware."""
    shop = site.authority(RULES, VILLAGE)
    pages, refused = [], []

    class RuleSpider(CrawlSpider):
        name = "rules"
        rules = (Rule(LinkExtractor(), callback="page", follow=True, errback="failed"),)

        def page(self, response: Any) -> None:
            pages.append(response.url)

        def failed(self, failure: Any) -> None:
            refused.append(failure.request.url)

    with LogTap() as tap:
        crawler = Crawler(RuleSpider, settings_of(obeying()))
        await within(30, crawler.crawl(start_urls=[shop.url("/")]))
    assert paths(shop, refused) == CLOSED
    assert {"/by-meta", "/open", "/open/1", "/for-other/1"} <= {*paths(shop, pages)}
    assert not [line for line in tap.lines if line.level in ("ERROR", "WARNING")]


EVIL = "evil\x1b[31m\u202e"
HOSTILE = {
    "unknown terms": meta(f"{EVIL}, nofollow, {EVIL}: 5"),
    "a million metas": "<meta name=robots content=nofollow>" * 15_000,
    "a tag without an end": meta("nofollow") + "<meta name=robots content='" + EVIL * 50_000,
    "20 MB without an end": meta("nofollow") + "<" + "x" * 20_000_000,
    "open elements": meta("nofollow") + "<div>" * 100_000,
}


@pytest.mark.parametrize("page", first(2, HOSTILE.values()))
async def test_no_text_of_a_page_gets_into_stats_or_log(site: Site, page: str) -> None:
    """Names of stats are a closed list, and what a page says stays in its statements."""
    lines = [("X-Robots-Tag", f"evil: noindex, evil, max-snippet: evil{'a' * 6_000}")]
    reply = Reply(200, page, [("Content-Type", "text/html"), *lines])
    shop = site.authority(RULES, {"/": reply})

    class Spider(LinksSpider):
        def found(self, response: Any) -> Any:
            yield self.request(shop.url("/x"))

    result = (await crawl(Spider, obeying(LOG_LEVEL="DEBUG"), plans=[shop.url("/")])).check()
    assert result.forbidden == [shop.url("/x")]
    assert result.lines("evil") == []
    assert not [name for name in result.stats if "evil" in name]
    assert page_stats(result) == {"count": 1, "nofollow": 1, "requests_refused": 1}


READING = ("pages", "gate.nofollow", "gate.page_responses", "spidermiddlewares")
"""What reads and marks."""


@waits
@pytest.mark.parametrize("error", [FaultError, CancelledError])
async def test_a_fault_of_ours_is_no_permission(site: Site, error: type[BaseException]) -> None:
    """Where a page cannot be read, its links are refused; no request is lost."""
    shop = site.authority(RULES, VILLAGE)
    settings = obeying(REP_NOINDEX="drop", REP_LINK_NOFOLLOW=True, RETRY_ENABLED=False)

    async def look() -> str:
        before = len(shop.hits)
        await crawled(settings, LinksSpider, plans=[shop.url("/")])
        came = {hit.path for hit in shop.hits[before:]} & {*CLOSED}
        return f"{came} came" if came else ""

    names = modules(*(f"scrapy_rep.{name}" for name in READING))
    assert await struck(names, look, some(25, error.__name__), error=error) == []
