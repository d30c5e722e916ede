"""Requests for robots.txt files: the settings for pages neither delay them nor add to them."""

from __future__ import annotations

from pytest_twisted import ensureDeferred

from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.replies import redirect
from tests.site import Site


@ensureDeferred
async def test_no_delay_comes_between_the_hops_of_a_fetch(site: Site) -> None:
    """Several sites redirect to one robots.txt: DOWNLOAD_DELAY is for pages."""
    target = site.authority(RULES)
    shops = site.authorities(8, redirect(target.url("/robots.txt")))
    plans = [shop.url("/a") for shop in shops]
    settings = obey(DOWNLOAD_DELAY=5, REP_TIMEOUT=3)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)


@ensureDeferred
async def test_default_headers_bring_no_cookie_to_robots_txt(site: Site) -> None:
    """DEFAULT_REQUEST_HEADERS: no Cookie, no Referer; Authorization for no other authority."""
    other = site.authority(RULES)
    shop = site.authority(redirect(other.url("/robots.txt")))
    secrets = {"Cookie": "sid=1", "Authorization": "Bearer t0ken", "Referer": "http://r/"}
    settings = obey(DEFAULT_REQUEST_HEADERS=secrets)
    (await crawl(settings=settings, plans=[shop.url("/a")])).check()
    (first,), (second,) = shop.robots_hits, other.robots_hits
    assert [first.header(name) for name in secrets] == [None, "Bearer t0ken", None]
    assert [second.header(name) for name in secrets] == [None, None, None]
