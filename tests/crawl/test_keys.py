"""Which robots.txt governs a URL: that of its scheme, host and port (RFC 9309 section 2.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy.settings import default_settings as defaults

from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.result import Result
from tests.proxy import Proxy
from tests.replies import Reply, html, redirect
from tests.site import Site

# Without it, Scrapy under Twisted looks up no IPv6 address, not even a literal one.
RESOLVER = "TWISTED_DNS_RESOLVER" if hasattr(defaults, "TWISTED_DNS_RESOLVER") else "DNS_RESOLVER"
SIX = {RESOLVER: "scrapy.resolver.CachingHostnameResolver"}
PASSWORD = "s3cret-pa55"


def through(proxy: Proxy, urls: list[str]) -> list[dict[str, Any]]:
    """Plans for those URLs by way of the proxy."""
    return [{"url": url, "meta": {"proxy": proxy.url}} for url in urls]


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_schemes_and_ports_have_rules_of_their_own(site: Site, mode: str) -> None:
    """Http and https, port 80 and port 8080: four authorities, each with its own rules."""
    proxy = Proxy(site)
    origins = [
        "http://example.org",
        "https://example.org",
        "http://example.org:8080",
        "https://example.org:8443",
    ]
    there = {
        origin: proxy.authority(origin, f"User-agent: *\nDisallow: /{number}\n")
        for number, origin in enumerate(origins)
    }
    urls = [f"{origin}/{number}" for origin in origins for number in range(4)]
    result = (await crawl_under(mode, settings=obey(), plans=through(proxy, urls))).check()
    assert result.forbidden == [f"{origin}/{number}" for number, origin in enumerate(origins)]
    assert len(result.downloaded) == 12
    assert [len(authority.robots_hits) for authority in there.values()] == [1, 1, 1, 1]
    assert proxy.strays == []


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_spellings_of_one_authority_share_its_rules(site: Site, mode: str) -> None:
    """Case, a trailing dot, a default port and user information make no other authority."""
    proxy = Proxy(site)
    shop = proxy.authority("http://example.org", RULES)
    safe = proxy.authority("https://example.org", RULES)
    starts = [
        "http://example.org",
        "http://EXAMPLE.org",
        "http://example.org.",
        "http://EXAMPLE.org.:80",
        "https://example.org:443",
        "HTTPS://Example.Org.",
    ]
    urls = [f"{start}/{page}?{n}" for n, start in enumerate(starts) for page in ("open", "private")]
    result = (await crawl_under(mode, settings=obey(), plans=through(proxy, urls))).check()
    assert result.downloaded == urls[::2]
    assert result.forbidden == urls[1::2]
    assert (len(shop.robots_hits), len(safe.robots_hits)) == (1, 1)


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_an_idn_host_is_its_ascii_form(site: Site, mode: str) -> None:
    """`münchen.example` and `xn--mnchen-3ya.example` are one authority."""
    proxy = Proxy(site)
    city = proxy.authority("http://xn--mnchen-3ya.example", RULES)
    starts = ["http://münchen.example", "http://MÜNCHEN.example", "http://xn--mnchen-3ya.example"]
    urls = [f"{start}/private?{number}" for number, start in enumerate(starts)]
    result = (await crawl_under(mode, settings=obey(), plans=through(proxy, urls))).check()
    assert result.forbidden == urls
    assert (len(city.robots_hits), city.page_hits) == (1, [])


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_an_ipv6_literal_is_an_authority(site: Site, mode: str) -> None:
    """The brackets stay in the URL of the robots.txt, and a longer spelling is the same host."""
    six = site.authority(RULES, host="::1")
    long = six.url("/private?long").replace("[::1]", "[0:0:0:0:0:0:0:1]")
    urls = [six.url("/open"), six.url("/private"), long]
    result = (await crawl_under(mode, settings=obey(**SIX), plans=urls)).check()
    assert (result.downloaded, result.forbidden) == (urls[:1], urls[1:])
    assert [hit.header("Host") for hit in six.robots_hits] == [f"[::1]:{six.port}"]


def told(result: Result) -> str:
    """All that was logged and counted."""
    lines = [f"{line.text}\n{line.traceback}" for line in result.log]
    return "\n".join([*lines, json.dumps(result.stats, default=str)])


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_credentials_in_a_url_are_never_shown(site: Site, mode: str) -> None:
    """No robots.txt request, log line or stat holds the user information of a page's URL."""
    shop, dark = site.authority(RULES), site.refusing()
    user = f"me:{PASSWORD}"
    urls = [shop.url("/private", user=user), dark.url("/", user=user), shop.url("/private?2")]
    result = (await crawl_under(mode, settings=obey(), plans=urls)).check()
    assert [result.kind(url) for url in urls] == ["forbidden", "unreachable", "forbidden"]
    (robots,) = shop.robots_hits
    assert robots.header("Authorization") is None
    assert robots.target == "/robots.txt"
    assert PASSWORD not in told(result)
    problems = [ending.problem for ending in result.endings]
    assert not any(PASSWORD in f"{p.text} {p.data}" for p in problems if p)


@ensureDeferred
async def test_other_schemes_are_not_gated(site: Site, tmp_path: Path) -> None:
    """data:, file:, ftp: and s3: have no robots.txt; each goes on to its download handler."""
    page = tmp_path / "page.html"
    page.write_text("a page")
    dark = site.refusing()
    ftp = f"ftp://{dark.host}:{dark.port}/file"
    urls = ["data:,hello", page.as_uri(), ftp, "s3://bucket/key"]
    result = await crawl(settings=obey(RETRY_ENABLED=False), plans=urls)
    result.check(expected=["s3", "S3"])
    assert result.downloaded == urls[:2]
    assert {url for url, _ in result.errors} == set(urls[2:])
    assert "robotstxt/request_count" not in result.stats


@pytest.mark.parametrize("url", ["http:///a", "http://me@/", "http://."])
@ensureDeferred
async def test_a_url_without_a_usable_authority_is_refused(site: Site, url: str) -> None:
    """No authority, no rules, no permission: the request ends, and the crawl goes on."""
    shop = site.authority(RULES)
    result = (await crawl(settings=obey(), plans=[url, shop.url("/open")])).check()
    assert result.kind(url) in ("unreachable", "error")
    assert result.downloaded == [shop.url("/open")]
    assert result.stats["robotstxt/request_count"] == 1


# --- a page that redirects, or is tried again


@ensureDeferred
async def test_a_redirect_to_a_forbidden_page_is_stopped(site: Site) -> None:
    """The first hop is fetched, the second is not."""
    shop = site.authority(RULES, {"/start": redirect("/private")})
    result = (await crawl(settings=obey(), plans=[shop.url("/start")])).check()
    assert result.forbidden == [shop.url("/start")]
    assert result.ending(shop.url("/start")).final == shop.url("/private")
    assert [hit.path for hit in shop.page_hits] == ["/start"]


@ensureDeferred
async def test_a_redirect_to_another_authority_is_judged_there(site: Site) -> None:
    """Each authority's own robots.txt decides on its pages."""
    closed, dark, free = site.authority(NOTHING), site.authority(Reply(503)), site.authority()
    pages = {f"/{n}": redirect(a.url("/x"), 301) for n, a in enumerate([closed, dark, free])}
    shop = site.authority(RULES, pages)
    urls = [shop.url(path) for path in pages]
    result = (await crawl(settings=obey(), plans=urls)).check()
    assert [result.kind(url) for url in urls] == ["forbidden", "unreachable", "downloaded"]
    assert closed.page_hits == dark.page_hits == []
    assert len(shop.robots_hits) == 1


@ensureDeferred
async def test_a_meta_refresh_to_a_forbidden_page_is_stopped(site: Site) -> None:
    """What MetaRefreshMiddleware makes is a request like others."""
    page = html('<html><head><meta http-equiv="refresh" content="0;url=/private"></head></html>')
    shop = site.authority(RULES, {"/start": page})
    result = (await crawl(settings=obey(), plans=[shop.url("/start")])).check()
    assert result.forbidden == [shop.url("/start")]
    assert [hit.path for hit in shop.page_hits] == ["/start"]


@ensureDeferred
async def test_a_page_that_bypasses_the_rules_takes_its_redirect_along(site: Site) -> None:
    """`dont_obey_robotstxt` is the request's own, and a redirected request is a copy of it."""
    shop = site.authority(RULES, {"/start": redirect("/private")})
    plan = {"url": shop.url("/start"), "meta": {"dont_obey_robotstxt": True}}
    result = (await crawl(settings=obey(), plans=[plan])).check()
    assert result.downloaded == [shop.url("/start")]
    assert shop.robots_hits == []
    assert result.stats["robotstxt/bypassed"] == 2


@ensureDeferred
async def test_a_retried_page_is_judged_without_another_fetch(site: Site) -> None:
    """A page that fails twice is asked for three times, its robots.txt once."""
    shop = site.authority(RULES, {"/shaky": [Reply(503), Reply(503), "at last"]})
    result = (await crawl(settings=obey(), plans=[shop.url("/shaky")])).check()
    assert result.downloaded == [shop.url("/shaky")]
    assert len(shop.page_hits) == 3
    assert len(shop.robots_hits) == 1
