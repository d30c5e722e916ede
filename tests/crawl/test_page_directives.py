"""What pages ask of crawlers: counted by default, obeyed on request, in real crawls."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_rep import RepDownloaderMiddleware, RepSpiderMiddleware, RobotsForbidden
from tests.crawl.harness import crawl
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
from tests.replies import Hang, Reply, redirect
from tests.site import Authority, Site


def obeying(**settings: Any) -> dict[str, Any]:
    """The settings of a project that obeys what pages ask of `mybot`."""
    return obey(REP_PAGE_DIRECTIVES="obey", ROBOTSTXT_USER_AGENT="mybot", **settings)


def paths(shop: Authority, urls: list[str]) -> list[str]:
    """The paths of URLs of an authority, in order."""
    return sorted(url.removeprefix(shop.url("/").removesuffix("/")) for url in urls)


async def visit(shop: Authority, settings: Any, spider: Any = LinksSpider) -> Result:
    """One crawl from the first page of an authority on."""
    return (await crawl(spider, settings, plans=[shop.url("/")])).check()


def page_stats(result: Result) -> dict[str, int]:
    """The stats of pages, by the last part of their names."""
    prefix = "robotstxt/page/"
    return {k.removeprefix(prefix): v for k, v in result.stats.items() if k.startswith(prefix)}


OWN_ORDER = obeying(SPIDER_MIDDLEWARES={RepSpiderMiddleware: 640})
BY_HAND = by_hand(
    DOWNLOADER_MIDDLEWARES={BUILT_IN: None, type("OwnGate", (RepDownloaderMiddleware,), {}): 100},
    SPIDER_MIDDLEWARES={RepSpiderMiddleware: 100},
    REP_PAGE_DIRECTIVES="obey",
    ROBOTSTXT_USER_AGENT="mybot",
)


@pytest.mark.parametrize(
    ("settings", "spider"),
    [
        (obeying(), LinksSpider),
        (obeying(), AsyncLinksSpider),
        (OWN_ORDER, LinksSpider),
        (BY_HAND, LinksSpider),
    ],
    ids=["plain", "asynchronous", "own order", "by hand, own gate"],
)
async def test_links_of_nofollow_pages_end_in_robots_forbidden(
    site: Site, settings: Any, spider: Any
) -> None:
    """By META, by either header, for all and for this crawler.

    The verdict has no rule of robots.txt, and its text does not blame one. The middleware is there
    once, where the project has it; a project may extend the gate.
    """
    shop = site.authority(RULES, VILLAGE)
    result = await visit(shop, settings, spider)
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
    result = await visit(shop, obey(ROBOTSTXT_USER_AGENT="mybot", **more))
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
    result = await visit(shop, obey(**settings))
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
    result = (await crawl(LinksSpider, obeying(), plans=plans)).check()
    assert paths(shop, result.forbidden) == ["/for-other/1"]
    assert paths(shop, result.downloaded) == ["/for-mybot", "/for-mybot/1", "/for-other"]


async def test_a_profile_counts_for_pages(site: Site) -> None:
    """In the text of 1996-98, NOINDEX alone closes the links."""
    shop = site.authority(Reply(404), {"/": links("/a", head=meta("noindex"))})
    assert (await visit(shop, obeying())).forbidden == []
    assert (await visit(shop, obeying(REP_PROFILE="kollar"))).forbidden == [shop.url("/a")]


async def test_a_callback_gets_what_the_page_says_to_this_crawler(site: Site) -> None:
    """All of it, without naming the crawler: what the crawl does not need, too.

    Where nothing is said that is counted, there is no line at the close.
    """
    pages = {
        "/": links("/a", head=meta("nosnippet", "mybot") + meta("static", "document-state")),
        "/a": '<html><head><meta name="URL" content="https://e.org/a">',
    }
    shop = site.authority(RULES, pages)
    result = await visit(shop, obeying())
    said = result.crawler.spider.said
    assert said[shop.url("/")].restrictions == {"nosnippet"}
    assert said[shop.url("/")].document_state == "static"
    assert said[shop.url("/a")].url == "https://e.org/a"
    shop.pages = {"/": links("/a")}
    result = await visit(shop, obeying())
    assert page_stats(result) == {"count": 2}
    assert result.lines("What pages said") == []


async def test_a_request_that_says_so_itself_or_has_no_page_passes(site: Site) -> None:
    """`dont_obey_robotstxt` is counted as any other; a start request has no page."""
    shop = site.authority(RULES, VILLAGE)

    class ObstinateSpider(LinksSpider):
        def meta_of(self, response: Any) -> dict[str, Any]:
            return {"dont_obey_robotstxt": True}

    result = await visit(shop, obeying(), ObstinateSpider)
    assert result.forbidden == []
    assert {*CLOSED} <= {*paths(shop, result.downloaded)}
    assert result.stats["robotstxt/bypassed"] == 13
    plans = [shop.url(path) for path in ("/by-meta", "/by-meta/1", "/by-header/1")]
    result = (await crawl(LinksSpider, obeying(), plans=plans)).check()
    assert result.kind(shop.url("/by-header/1")) == "downloaded"
    kinds = {ending.kind for ending in result.endings if ending.url == shop.url("/by-meta/1")}
    assert kinds == {"downloaded", "forbidden"}


async def test_a_refused_request_waits_for_nothing(site: Site) -> None:
    """Neither for rules, which are not even asked for, nor for a pace, whatever its scheme."""
    hung = site.authority(Hang())
    urls = [f"/{n}" for n in range(10)]
    page = links(hung.url("/a"), "data:,x", *urls, head=meta("nofollow"))
    shop = site.authority("User-agent: *\nCrawl-delay: 60\n", {"/": page})
    result = await visit(shop, obeying(REP_TIMEOUT=20))
    assert result.forbidden == [hung.url("/a"), "data:,x", *map(shop.url, urls)]
    assert hung.hits == []
    problem = result.problem("data:,x")
    assert problem.text == "Forbidden by page directive: nofollow (meta)"
    assert problem.exception is not None
    assert problem.exception.authority is None  # type: ignore[attr-defined]


async def test_only_the_response_that_is_served_counts(site: Site) -> None:
    """What the header of a redirect says is not said of the page that it leads to."""
    away = Reply(302, b"", {"Location": "/open", "X-Robots-Tag": "nofollow"})
    shop = site.authority(RULES, {**VILLAGE, "/": away})
    result = await visit(shop, obeying())
    assert paths(shop, result.downloaded) == ["/", "/open/1"]
    back = site.authority(RULES, {**VILLAGE, "/": redirect("/by-meta")})
    assert paths(back, (await visit(back, obeying())).forbidden) == ["/by-meta/1", "/by-meta/2"]


async def test_a_page_out_of_the_http_cache_counts(site: Site, tmp_path: Any) -> None:
    """Its header is kept with it."""
    shop = site.authority(RULES, VILLAGE)
    settings = obeying(HTTPCACHE_ENABLED=True, HTTPCACHE_DIR=str(tmp_path))
    for _ in range(2):
        assert paths(shop, (await visit(shop, settings)).forbidden) == CLOSED
    assert len([hit for hit in shop.hits if hit.path == "/by-header"]) == 1


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

    result = await visit(shop, obeying(REP_NOINDEX="drop"), TwoItemsSpider)
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
