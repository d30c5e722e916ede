"""Nothing of the page is in the robots.txt request, and nothing of Scrapy changes the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy.http import Response

from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.spiders import RequestsSpider
from tests.proxy import Proxy
from tests.replies import Reply, html, redirect
from tests.site import Site

PRIVATE_HEADERS = {
    "Cookie": "of=page",
    "Authorization": "Basic b2Y6cGFnZQ==",
    "Referer": "http://of.page/",
    "X-Of-The-Page": "yes",
    "User-Agent": "of-the-page/1.0",
}


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_the_robots_txt_request_carries_nothing_of_the_page(site: Site, mode: str) -> None:
    """Not the headers, the cookies, the method or the body, on the first hop or the second."""
    second = site.authority(RULES)
    first = site.authority(redirect(second.url("/robots.txt")))
    plan = {
        "url": first.url("/open?q"),
        "headers": PRIVATE_HEADERS,
        "cookies": {"jar": "page"},
        "method": "POST",
        "body": "of the page",
    }
    result = (await crawl_under(mode, settings=obey(), plans=[plan])).check()
    assert result.downloaded == [first.url("/open?q")]
    for hit in [*first.robots_hits, *second.robots_hits]:
        assert (hit.method, hit.target) == ("GET", "/robots.txt")
        assert "page" not in str(hit.headers).lower()
        for name in ("Cookie", "Authorization", "Referer", "Content-Type"):
            assert hit.header(name) is None
    (page,) = first.page_hits
    assert page.header("X-Of-The-Page") == "yes"


class CookieSpider(RequestsSpider):
    """Visits a page that sets a cookie, without asking for rules, and then two more pages."""

    def found(self, response: Response) -> Iterable[Any]:
        """From the page that set the cookie on to the next."""
        if response.url.endswith("/login"):
            yield self.request(response.urljoin("/one"))
        elif response.url.endswith("/one"):
            yield self.request(response.urljoin("/two"))


@ensureDeferred
async def test_cookies_stay_on_their_side(site: Site) -> None:
    """The jar's cookies are not sent for robots.txt, and those it sets are not kept."""
    login = html(headers=[("Set-Cookie", "session=1; Path=/")])
    robots = Reply(200, RULES, {"Set-Cookie": "tracked=1; Path=/"})
    shop = site.authority(robots, {"/login": login})
    plan = {"url": shop.url("/login"), "meta": {"dont_obey_robotstxt": True}}
    result = (await crawl(CookieSpider, obey(COOKIES_DEBUG=True), plans=[plan])).check()
    assert len(result.downloaded) == 3
    assert [hit.header("Cookie") for hit in shop.robots_hits] == [None]
    assert [hit.header("Cookie") for hit in shop.page_hits] == [None, "session=1", "session=1"]


class ListSpider(RequestsSpider):
    """Wants to see every status itself."""

    handle_httpstatus_list = (301, 302, 303, 307, 308, 404, 429, 500, 503)


@ensureDeferred
async def test_the_spiders_status_list_changes_no_verdict(site: Site) -> None:
    """Redirects of robots.txt are followed, and failures are failures, whatever the spider sees."""
    robots = [redirect("/rules"), Reply(404, NOTHING), Reply(503, RULES), Reply(429)]
    shops = [site.authority(answer, {"/rules": RULES}) for answer in robots]
    urls = [shop.url("/private") for shop in shops]
    result = (await crawl(ListSpider, obey(), plans=urls)).check()
    assert result.forbidden == urls[:1]
    assert result.downloaded == urls[1:2]
    assert result.unreachable == urls[2:]


@ensureDeferred
async def test_pages_redirected_in_the_spiders_sight_are_judged_too(site: Site) -> None:
    """A spider that handles 302 itself gets the 302 of an allowed page."""
    shop = site.authority(RULES, {"/open": redirect("/private")})
    result = (await crawl(ListSpider, obey(), plans=[shop.url("/open")])).check()
    assert result.ending(shop.url("/open")).status == 302


@pytest.mark.parametrize("missing", [False, True])
@ensureDeferred
async def test_the_http_cache_opens_nothing(site: Site, tmp_path: Path, missing: bool) -> None:
    """Neither a robots.txt nor a page out of Scrapy's cache gets around today's rules."""
    shop = site.authority("User-agent: *\nDisallow:\n")
    urls = [shop.url("/open"), shop.url("/private")]
    settings = obey(HTTPCACHE_ENABLED=True, HTTPCACHE_DIR=str(tmp_path))
    first = (await crawl(settings=settings, plans=urls)).check()
    assert first.downloaded == urls
    shop.robots = RULES
    settings["HTTPCACHE_IGNORE_MISSING"] = missing
    second = (await crawl(settings=settings, plans=urls)).check()
    assert (second.downloaded, second.forbidden) == (urls[:1], urls[1:])
    assert second.stats["httpcache/hit"] == 1
    assert len(shop.robots_hits) == 2


@ensureDeferred
async def test_autothrottle_learns_nothing_from_robots_txt(site: Site) -> None:
    """A slow robots.txt is no sample of the pages' latency, and the verdict is the same."""
    shop = site.authority(Reply(200, RULES, delay=0.5))
    urls = [shop.url(path) for path in ("/open", "/private", "/1", "/2", "/3")]
    settings = obey(
        AUTOTHROTTLE_ENABLED=True, AUTOTHROTTLE_START_DELAY=0.01, AUTOTHROTTLE_DEBUG=True
    )
    result = (await crawl(settings=settings, plans=urls)).check()
    assert result.forbidden == [shop.url("/private")]
    samples = result.lines("slot: ")  # one for each response it learns from
    assert len(samples) == len(shop.page_hits) == 4


@ensureDeferred
async def test_an_offsite_page_asks_for_no_robots_txt(site: Site) -> None:
    """What OffsiteMiddleware drops, when it is scheduled or later, is dropped first."""
    shop, away = site.authority(RULES), site.authority(RULES)
    urls = [shop.url("/open"), away.url("/open"), away.url("/private")]
    result = await crawl(settings=obey(), plans=urls, allowed_domains=[shop.host])
    assert [ending.url for ending in result.endings] == urls[:1]
    assert result.stats["offsite/filtered"] == 2
    assert away.hits == []


@ensureDeferred
async def test_a_robots_txt_may_be_offsite(site: Site) -> None:
    """A robots.txt that redirects beyond `allowed_domains` is followed there."""
    away = site.authority(NOTHING)
    shop = site.authority(redirect(away.url("/robots.txt")))
    plans = [shop.url("/a")]
    result = (await crawl(settings=obey(), plans=plans, allowed_domains=[shop.host])).check()
    assert result.forbidden == plans
    assert "offsite/filtered" not in result.stats


@ensureDeferred
async def test_small_download_limits_do_not_reach_robots_txt(site: Site) -> None:
    """DOWNLOAD_MAXSIZE, DOWNLOAD_TIMEOUT and URLLENGTH_LIMIT are about pages."""
    shop = site.authority(Reply(200, RULES + "#" * 5000, delay=1.5), {"/open": html("x")})
    urls = [shop.url("/open"), shop.url("/private")]
    settings = obey(DOWNLOAD_MAXSIZE=1000, DOWNLOAD_WARNSIZE=0, DOWNLOAD_TIMEOUT=1)
    result = (await crawl(settings=settings, plans=urls)).check()
    assert (result.downloaded, result.forbidden) == (urls[:1], urls[1:])


@ensureDeferred
async def test_a_further_attempt_goes_by_another_proxy(site: Site) -> None:
    """A dead proxy of one request does not close the site to those that come by another."""
    proxy, dead = Proxy(site), site.refusing()
    shop = proxy.authority("http://shop.example", RULES)
    plans = [
        {"url": f"http://shop.example/{n}", "meta": {"proxy": url}}
        for n, url in enumerate([dead.url(""), proxy.url, proxy.url])
    ]
    settings = obey(REP_RETRY_DELAYS=[0.05], RETRY_ENABLED=False)
    result = (await crawl(settings=settings, plans=plans)).check(expected=["Connection refused"])
    assert result.downloaded == [plan["url"] for plan in plans[1:]]
    assert result.unreachable == []  # the first fails for its proxy's sake, not for robots.txt
    assert len(shop.robots_hits) == 1


@ensureDeferred
async def test_robots_txt_comes_by_the_pages_proxy(site: Site) -> None:
    """A page that goes through a proxy asks for its rules through it."""
    proxy = Proxy(site)
    shop = proxy.authority("http://behind.example", NOTHING)
    plan = {"url": "http://behind.example/a", "meta": {"proxy": proxy.url}}
    result = (await crawl(settings=obey(), plans=[plan])).check()
    assert result.forbidden == ["http://behind.example/a"]
    assert [hit.path for hit in shop.hits] == ["/robots.txt"]
