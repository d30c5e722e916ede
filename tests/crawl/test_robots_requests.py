"""Requests for robots.txt files: those of the crawler itself, and those of a spider."""

from __future__ import annotations

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.crawl.spiders import OneByOneSpider
from tests.replies import Reply, redirect
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


@ensureDeferred
async def test_a_request_for_the_rules_waits_for_no_rules(site: Site) -> None:
    """RFC 9309 section 2.2.2, in every spelling of their URL: they are not even fetched."""
    paths = ("/robots.txt", "/robots.txt#part", "/robots.txt#/a?b")
    urls = [site.authority(Reply(503)).url(path) for path in paths]
    meta = {"handle_httpstatus_all": True, "dont_retry": True}
    plans = [{"url": url, "meta": dict(meta)} for url in urls]
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert result.downloaded == urls
    assert len(site.hits) == len(urls)
    assert "robotstxt/request_count" not in result.stats


LOOKALIKES = [
    *("?/robots.txt", "/?/robots.txt", "/robots.txt?a", "/a/robots.txt", "/robots.txt/"),
    *("//robots.txt", "/robots.txt;a", "/Robots.txt", "/a?b=http://b/robots.txt"),
    *("/a#/robots.txt", "#/robots.txt"),
]


@ensureDeferred
async def test_what_only_looks_like_the_url_of_the_rules_waits_for_them(site: Site) -> None:
    """A query, a fragment or another path: it is a page like any other."""
    urls = [site.authority(Reply(503)).url(path) for path in LOOKALIKES]
    result = await crawl(settings=obey(), plans=urls)
    result.check(["is unreachable"])
    assert result.unreachable == urls
    assert [hit.target for hit in site.hits if hit.path != "/robots.txt"] == []
    assert len(site.hits) == len(urls)  # its rules, and no more


@pytest.mark.parametrize(
    "lines",
    [
        "Crawl-delay: 1000\nAllow: /",
        "Content-Usage: train-ai=n\nAllow: /",
        "Disallow: /",
        "Allow: /\n\nUser-agent: buyer\nDisallow: /",
    ],
    ids=["pace", "use", "rules", "token"],
)
@ensureDeferred
async def test_a_request_for_the_rules_is_allowed_once_they_are_known(
    site: Site, lines: str
) -> None:
    """RFC 9309 section 2.2.2: neither rules, nor a pace, nor the purposes of a crawl refuse it."""
    shop = site.authority(f"User-agent: *\n{lines}\n")
    settings = obey(
        ROBOTSTXT_USER_AGENT="seller",
        REP_OVER_MAX_CRAWL_DELAY="forbid",
        REP_PREFERENCES="skip",
        REP_PURPOSES=["train-ai"],
        REP_PURPOSE_TOKENS={"train-ai": ["buyer"]},
    )
    urls = [shop.url("/a"), shop.url("/robots.txt")]
    result = (await crawl(OneByOneSpider, settings, plans=urls)).check()
    assert [ending.url for ending in result.endings] == urls
    assert (result.forbidden, result.downloaded) == (urls[:1], urls[1:])
