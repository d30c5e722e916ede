"""What pages ask of crawlers: counted by default, obeyed on request, in real crawls."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from twisted.internet.defer import CancelledError

from scrapy_rep import RepDownloaderMiddleware, RepSpiderMiddleware, RobotsForbidden
from tests.crawl.faults import FaultError, crawled, modules, some, struck
from tests.crawl.harness import crawl, visit
from tests.crawl.links import (
    CLOSED,
    VILLAGE,
    AsyncLinksSpider,
    LinksSpider,
    links,
    meta,
    with_header,
)
from tests.crawl.plugin import BUILT_IN, RULES, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply, redirect
from tests.site import Authority, Site
from tests.timed import waits


def obeying(**settings: Any) -> dict[str, Any]:
    """The settings of a project that obeys what pages ask of `mybot`."""
    return obey(REP_PAGE_DIRECTIVES="obey", ROBOTSTXT_USER_AGENT="mybot", **settings)


def paths(shop: Authority, urls: list[str]) -> list[str]:
    """The paths of URLs of an authority, in order."""
    return sorted(url.removeprefix(shop.url("/").removesuffix("/")) for url in urls)


async def crawl_of(shop: Authority, spider: Any = LinksSpider, **named: Any) -> Result:
    """One crawl from the first page of an authority on, by default one that obeys its pages."""
    return await visit([shop.url("/")], spider, **{"by": obeying, **named})


class OwnGate(RepDownloaderMiddleware):
    """That of a project."""


def page_stats(result: Result) -> dict[str, int]:
    """The stats of pages, by the last part of their names."""
    prefix = "robotstxt/page/"
    return {k.removeprefix(prefix): v for k, v in result.stats.items() if k.startswith(prefix)}


WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "asynchronous": {"spider": AsyncLinksSpider},
    "own order": {"SPIDER_MIDDLEWARES": {RepSpiderMiddleware: 640}},
    "by hand, own gate": {
        "by": partial(by_hand, REP_PAGE_DIRECTIVES="obey", ROBOTSTXT_USER_AGENT="mybot"),
        "DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, OwnGate: 100},
        "SPIDER_MIDDLEWARES": {RepSpiderMiddleware: 100},
    },
}


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)
async def test_links_of_nofollow_pages_end_in_robots_forbidden(site: Site, how: Any) -> None:
    """By META, by either header, for all and for this crawler.

    The verdict has no rule of robots.txt, and its text does not blame one. The middleware is there
    once, where the project has it; a project may extend the gate.
    """
    shop = site.authority(RULES, VILLAGE)
    result = await crawl_of(shop, **how)
    middlewares = result.crawler.engine.scraper.spidermw.middlewares
    assert [isinstance(each, RepSpiderMiddleware) for each in middlewares].count(True) == 1
    assert paths(shop, result.forbidden) == CLOSED
    assert not {hit.path for hit in shop.hits} & {*CLOSED}
    assert {"/open/1", "/for-other/1"} <= {*paths(shop, result.downloaded)}
    assert result.errors == []
    assert result.stats["robotstxt/forbidden"] == len(CLOSED)
    assert result.stats["item_scraped_count"] == 9  # those of noindex pages are kept by default
    said = {"count": 9, "nofollow": 4, "noindex": 2, "noarchive": 1, "requests_refused": 5}
    assert page_stats(result) == said
    for path in CLOSED[:4]:
        source = "meta" if path.startswith("/by-meta") else "X-Robots-Tag"
        problem = result.problem(shop.url(path))
        assert isinstance(problem.exception, RobotsForbidden)
        assert problem.text.startswith(f"Forbidden by page directive: nofollow ({source})")
        assert problem.exception.verdict.reason == f"nofollow ({source})"
        assert problem.exception.verdict.rule is None
        assert str(problem.exception.authority) + "/" == shop.url("/")
        line = rf"^Forbidden by page directive: .*{path}> \(nofollow \({source}\)\)"
        assert len(result.lines(line, "DEBUG")) == 1


@pytest.mark.parametrize("more", [{}, {"REP_NOINDEX": "drop"}], ids=["plain", "noindex"])
async def test_by_default_pages_are_counted_and_nothing_changes(site: Site, more: Any) -> None:
    """One line at the close says what pages said, and advertises no setting.

    `REP_NOINDEX` is a part of obeying.
    """
    shop = site.authority(RULES, VILLAGE)
    result = await crawl_of(shop, by=obey, ROBOTSTXT_USER_AGENT="mybot", **more)
    assert result.forbidden == []
    assert result.stats["item_scraped_count"] == 14
    assert {*CLOSED} <= {*paths(shop, result.downloaded)}
    assert page_stats(result) == {"count": 14, "nofollow": 4, "noindex": 2, "noarchive": 1}
    line = "What pages said: 1 noarchive, 4 nofollow, 2 noindex"
    assert result.lines("What pages said", "INFO") == [line]


OFF = {"REP_PAGE_DIRECTIVES": "off", "REP_NOINDEX": "drop"}


@pytest.mark.parametrize(
    ("settings", "is_there"),
    [
        (OFF | {"REP_PREFERENCES": "report"}, True),
        (OFF | {"REP_PREFERENCES": "off"}, True),
        ({"REP_PAGE_DIRECTIVES": "obey", "ROBOTSTXT_OBEY": False}, False),
        ({"SPIDER_MIDDLEWARES": {"scrapy_rep.RepSpiderMiddleware": None}}, False),
    ],
    ids=["preferences alone", "both off", "robots.txt is not obeyed", "disabled"],
)
async def test_off_reads_no_page(site: Site, settings: dict[str, Any], is_there: bool) -> None:
    """The spider middleware may have other things to do; callbacks may ask all the same.

    Where it has none, it is not there, and there is no warning of a middleware that is disabled.
    """
    shop = site.authority(RULES, VILLAGE)
    result = await crawl_of(shop, by=obey, **settings)
    middlewares = result.crawler.engine.scraper.spidermw.middlewares
    assert any(isinstance(each, RepSpiderMiddleware) for each in middlewares) is is_there
    assert page_stats(result) == {}
    assert result.forbidden == []
    assert result.stats["item_scraped_count"] == 14
    assert result.lines("What pages said") == []
    said = result.crawler.spider.said
    assert said[shop.url("/by-header")].restrictions == {"noindex", "nofollow"}
    assert result.lines("Disabled.*Spider", "WARNING") == [
        line for line in result.lines("OBEY is off", "WARNING") if "Spider" in line
    ]


async def test_a_request_may_name_another_crawler(site: Site) -> None:
    """The page is read for the name by which its request went."""
    shop = site.authority(RULES, VILLAGE)
    plans = [
        {"url": shop.url("/for-other"), "meta": {"robotstxt_user_agent": "otherbot"}},
        {"url": shop.url("/for-mybot"), "meta": {"robotstxt_user_agent": "otherbot"}},
    ]
    result = await visit(plans, LinksSpider, by=obeying)
    assert paths(shop, result.forbidden) == ["/for-other/1"]
    assert paths(shop, result.downloaded) == ["/for-mybot", "/for-mybot/1", "/for-other"]


async def test_a_profile_counts_for_pages(site: Site) -> None:
    """In the text of 1996-98, NOINDEX alone closes the links."""
    shop = site.authority(Reply(404), {"/": links("/a", head=meta("noindex"))})
    assert (await crawl_of(shop)).forbidden == []
    assert (await crawl_of(shop, REP_PROFILE="kollar")).forbidden == [shop.url("/a")]


async def test_a_callback_gets_what_the_page_says_to_this_crawler(site: Site) -> None:
    """All of it, without naming the crawler: what the crawl does not need, too.

    Where nothing is said that is counted, there is no line at the close.
    """
    pages = {
        "/": links("/a", head=meta("nosnippet", "mybot") + meta("static", "document-state")),
        "/a": '<html><head><meta name="URL" content="https://e.org/a">',
    }
    shop = site.authority(RULES, pages)
    result = await crawl_of(shop)
    said = result.crawler.spider.said
    assert said[shop.url("/")].restrictions == {"nosnippet"}
    assert said[shop.url("/")].document_state == "static"
    assert said[shop.url("/a")].url == "https://e.org/a"
    shop.pages = {"/": links("/a")}
    result = await crawl_of(shop)
    assert page_stats(result) == {"count": 2}
    assert result.lines("What pages said") == []


async def test_a_request_that_says_so_itself_or_has_no_page_passes(site: Site) -> None:
    """`dont_obey_robotstxt` is counted as any other; a start request has no page."""
    shop = site.authority(RULES, VILLAGE)
    result = await crawl_of(shop, meta_of=lambda response: {"dont_obey_robotstxt": True})
    assert result.forbidden == []
    assert {*CLOSED} <= {*paths(shop, result.downloaded)}
    assert result.stats["robotstxt/bypassed"] == 13
    plans = [shop.url(path) for path in ("/by-meta", "/by-meta/1", "/by-header/1")]
    result = await visit(plans, LinksSpider, by=obeying)
    assert result.kind(shop.url("/by-header/1")) == "downloaded"
    kinds = {ending.kind for ending in result.endings if ending.url == shop.url("/by-meta/1")}
    assert kinds == {"downloaded", "forbidden"}


async def test_a_refused_request_waits_for_nothing(site: Site) -> None:
    """Neither for rules, which are not even asked for, nor for a pace, whatever its scheme."""
    hung = site.authority(Hang())
    urls = [f"/{n}" for n in range(10)]
    page = links(hung.url("/a"), "data:,x", *urls, head=meta("nofollow"))
    shop = site.authority("User-agent: *\nCrawl-delay: 60\n", {"/": page})
    result = await crawl_of(shop, REP_TIMEOUT=20)
    assert result.forbidden == [hung.url("/a"), "data:,x", *map(shop.url, urls)]
    assert hung.hits == []
    error: Any = result.problem("data:,x").exception
    assert str(error) == "Forbidden by page directive: nofollow (meta)"
    assert error.authority is None


async def test_only_the_response_that_is_served_counts(site: Site) -> None:
    """What the header of a redirect says is not said of the page that it leads to."""
    away = Reply(302, b"", {"Location": "/open", "X-Robots-Tag": "nofollow"})
    shop = site.authority(RULES, {**VILLAGE, "/": away})
    result = await crawl_of(shop)
    assert paths(shop, result.downloaded) == ["/", "/open/1"]
    back = site.authority(RULES, {**VILLAGE, "/": redirect("/by-meta")})
    assert paths(back, (await crawl_of(back)).forbidden) == ["/by-meta/1", "/by-meta/2"]


async def test_items_of_noindex_pages_are_dropped_on_request(site: Site) -> None:
    """Also of those whose date is over; one line of DEBUG for each page."""
    pages = {
        "/": links("/noindex", "/over", "/soon"),
        "/noindex": with_header("<p>", ("X-Robots-Tag", "noindex")),
        "/over": links(head=meta("unavailable_after: 2001-01-01")),
        "/soon": links(head=meta("unavailable_after: 2999-01-01")),
    }
    shop = site.authority(RULES, pages)

    class TwoItemsSpider(LinksSpider):
        def found(self, response: Any) -> Any:
            yield from super().found(response)
            yield {"more": response.url}

    result = await crawl_of(shop, TwoItemsSpider, REP_NOINDEX="drop")
    assert result.stats["item_scraped_count"] == 4
    said = {"count": 4, "noindex": 1, "unavailable_after": 2, "items_dropped": 4}
    assert page_stats(result) == said
    assert sorted(result.lines("noindex page is dropped", "DEBUG")) == [
        f"An item of a noindex page is dropped: <{shop.url(path)}>"
        for path in ("/noindex", "/noindex", "/over", "/over")
    ]


LINKS = """<html><head><base href="/shop/"></head><body>
<a href="open">1</a>
<a rel="ugc NoFollow" href="closed">2</a>
<a rel="nofollow" href="both#a">3</a> <a href="both">4</a>
<a rel="sponsored" href="/sponsored">5</a>
<map><area rel=nofollow href="/map?b=1&amp;a=2"></map>
<!-- <a href="closed"> --><template><a href="closed"></a></template>
</body></html>"""


class MapSpider(LinksSpider):
    """Follows the areas of a map as well, and orders their query."""

    def found(self, response: Any) -> Any:
        """Each URL once: a link to it that is left out is an open one."""
        yield from (item for item in super().found(response) if isinstance(item, dict))
        if response.css("map"):
            self.made.clear()
            for path in ("/shop/open", "/shop/closed", "/shop/both", "/sponsored", "/map?a=2&b=1"):
                yield self.request(response.urljoin(path))


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        (obeying(REP_LINK_NOFOLLOW=True), ["/map?a=2&b=1", "/shop/closed"]),
        (obeying(), []),
        (obey(REP_LINK_NOFOLLOW=True), []),
    ],
    ids=["on request", "by default", "where pages are not obeyed"],
)
async def test_nofollow_links_are_refused_on_request(
    site: Site, settings: dict[str, Any], refused: list[str]
) -> None:
    """A URL to which another link of the page leads without it is open."""
    shop = site.authority(RULES, {"/": LINKS})
    result = await crawl(MapSpider, settings, plans=[shop.url("/")])
    assert paths(shop, result.forbidden) == refused
    for path in refused:
        problem = result.problem(shop.url(path))
        assert problem.text.startswith("Forbidden by page directive: nofollow (rel)")
    assert len(result.downloaded) == 6 - len(refused)


# --- what becomes of a refused request beside all that Scrapy does


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
    how = {"by": obeying, "whole": False, "CONCURRENT_REQUESTS": 1}
    result = await visit(plans, LinksSpider, **how, REFERRER_POLICY="unsafe-url")
    assert paths(shop, result.forbidden) == ["/other", "/shared", "/shared"]
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
    """`replace` does not know how to make it: it is marked itself, and a line says why.

    The duplicate filter does not know of it either.
    """
    shop = site.authority(RULES, {"/": links("/a", "/a", head=meta("nofollow"))})

    class UncopiedRequest(Request):
        def __init__(self, *args: Any, reason: str, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    class Spider(LinksSpider):
        def found(self, response: Any) -> Any:
            for plain in super().found(response):
                if isinstance(plain, Request):
                    fields = {name: getattr(plain, name) for name in plain.attributes}
                    yield UncopiedRequest(**fields, reason="a test")

    result = await crawl_of(shop, Spider, expected=["The marking of a request failed"])
    assert result.forbidden == [shop.url("/a")] * 2


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

    result = await crawl_of(shop, Spider)
    kinds = [ending.kind for ending in result.endings if ending.url == shop.url("/a")]
    assert kinds == ["forbidden", "downloaded" if again else "forbidden"]
    if again:  # the mark went along with the meta, and is taken off where the page says nothing
        assert result.kind(shop.url("/b")) == "downloaded"


async def test_a_resumed_crawl_refuses_what_its_queue_holds(site: Site, tmp_path: Path) -> None:
    """The mark is kept on disk with the request, and the URL is not known to the filter."""
    shop = site.authority(RULES, {"/": links("/a", "/b", head=meta("nofollow"))})
    job = {"by": obeying, "whole": False, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
    first = await visit([shop.url("/")], LinksSpider, **job, CLOSESPIDER_ITEMCOUNT=1)
    assert first.stats["finish_reason"] == "closespider_itemcount"
    second = await visit([], LinksSpider, **job)
    assert sorted(first.forbidden + second.forbidden) == [shop.url("/a"), shop.url("/b")]
    assert second.forbidden
    assert second.downloaded == []
    for path in ("/a", "/b"):
        third = await visit([shop.url(path)], LinksSpider, **job)
        assert third.downloaded == [shop.url(path)]


EVIL = "evil\x1b[31m\u202e"
HOSTILE = {
    "unknown terms": meta(f"{EVIL}, nofollow, {EVIL}: 5"),
    "a million metas": "<meta name=robots content=nofollow>" * 15_000,
}


@pytest.mark.parametrize("page", HOSTILE.values())
async def test_no_text_of_a_page_gets_into_stats_or_log(site: Site, page: str) -> None:
    """Names of stats are a closed list, and what a page says stays in its statements."""
    long = f"evil: noindex, evil, max-snippet: evil{'a' * 6_000}"
    reply = with_header(page, ("X-Robots-Tag", long))
    shop = site.authority(RULES, {"/": reply})
    result = await crawl_of(shop, RequestsSpider, onward={"/": ["/x"]}, LOG_LEVEL="DEBUG")
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
