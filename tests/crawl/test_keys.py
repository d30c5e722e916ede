"""Which robots.txt governs a URL: that of its scheme, host and port (RFC 9309 section 2.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scrapy.settings import default_settings as defaults

from tests.crawl.harness import visit
from tests.crawl.plugin import NOTHING, RULES
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


AUTHORITIES = {
    "http://example.org": (
        "http://example.org",
        "http://EXAMPLE.org",
        "http://example.org.",
        "http://EXAMPLE.org.:80",
    ),
    "https://example.org": ("https://example.org:443", "HTTPS://Example.Org."),
    "http://example.org:8080": ("http://example.org:8080",),
    "https://example.org:8443": ("https://example.org:8443",),
    "http://xn--mnchen-3ya.example": (
        "http://münchen.example",
        "http://MÜNCHEN.example",
        "http://xn--mnchen-3ya.example",
    ),
}
"""Authorities, and how they may be written."""


async def test_each_authority_has_rules_of_its_own_however_it_is_written(
    site: Site, mode: str
) -> None:
    """Scheme, host and port make one; case, a trailing dot, a default port and IDN do not."""
    proxy = Proxy(site)
    there = [
        proxy.authority(origin, f"User-agent: *\nDisallow: /{number}\n")
        for number, origin in enumerate(AUTHORITIES)
    ]
    urls, closed = [], []
    for number, spellings in enumerate(AUTHORITIES.values()):
        for n, start in enumerate(spellings):
            urls += [f"{start}/{page}?{n}" for page in range(len(AUTHORITIES))]
            closed.append(f"{start}/{number}?{n}")
    result = await visit(through(proxy, urls), mode=mode)
    assert result.forbidden == closed
    assert len(result.downloaded) == len(urls) - len(closed)
    assert [len(authority.robots_hits) for authority in there] == [1] * len(there)
    assert proxy.strays == []


async def test_an_ipv6_literal_is_an_authority(site: Site, mode: str) -> None:
    """The brackets stay in the URL of the robots.txt, and a longer spelling is the same host."""
    six = site.authority(RULES, host="::1")
    long = six.url("/private?long").replace("[::1]", "[0:0:0:0:0:0:0:1]")
    urls = [six.url("/open"), six.url("/private"), long]
    result = await visit(urls, mode=mode, **SIX)
    assert (result.downloaded, result.forbidden) == (urls[:1], urls[1:])
    assert [hit.header("Host") for hit in six.robots_hits] == [f"[::1]:{six.port}"]


async def test_credentials_in_a_url_are_never_shown(site: Site) -> None:
    """No robots.txt request, log line or stat holds the user information of a page's URL."""
    shop, dark = site.authority(RULES), site.refusing()
    user = f"me:{PASSWORD}"
    urls = [shop.url("/private", user=user), dark.url("/", user=user), shop.url("/private?2")]
    result = await visit(urls)
    assert result.kinds == ["forbidden", "unreachable", "forbidden"]
    (robots,) = shop.robots_hits
    assert robots.header("Authorization") is None
    assert robots.target == "/robots.txt"
    problems = [ending.problem for ending in result.endings]
    assert PASSWORD not in f"{result.log} {result.stats} {problems}"


async def test_other_schemes_are_not_gated(site: Site, tmp_path: Path) -> None:
    """data:, file:, ftp: and s3: have no robots.txt; each goes on to its download handler."""
    page = tmp_path / "page.html"
    page.write_text("a page")
    dark = site.refusing()
    ftp = f"ftp://{dark.host}:{dark.port}/file"
    urls = ["data:,hello", page.as_uri(), ftp, "s3://bucket/key"]
    result = await visit(urls, expected=["s3", "S3"], RETRY_ENABLED=False)
    assert result.downloaded == urls[:2]
    assert {url for url, _ in result.errors} == set(urls[2:])
    assert "robotstxt/request_count" not in result.stats


async def test_a_url_without_a_usable_authority_is_refused(site: Site) -> None:
    """No authority, no rules, no permission: the request ends, and the crawl goes on."""
    shop, urls = site.authority(RULES), ["http:///a", "http://me@/", "http://."]
    result = await visit([*urls, shop.url("/open")])
    assert {result.kind(url) for url in urls} <= {"unreachable", "error"}
    assert result.downloaded == [shop.url("/open")]
    assert result.stats["robotstxt/request_count"] == 1


# --- a page that redirects, or is tried again


async def test_what_a_page_leads_to_is_judged_where_it_is(site: Site) -> None:
    """Each hop is a request like others: of a redirect, a meta refresh, a further attempt.

    `dont_obey_robotstxt` is the request's own, and a redirected request is a copy of it.
    """
    closed, dark, free = site.authority(NOTHING), site.authority(Reply(503)), site.authority()
    refresh = '<html><head><meta http-equiv="refresh" content="0;url=/private"></head></html>'
    pages: dict[str, Any] = {
        "/own": redirect("/private?own"),
        "/by": redirect("/private?by"),
        "/refresh": html(refresh),
        "/closed": redirect(closed.url("/x"), 301),
        "/dark": redirect(dark.url("/x"), 301),
        "/free": redirect(free.url("/x"), 301),
        "/shaky": [Reply(503), Reply(503), "at last"],
    }
    shop = site.authority(RULES, pages)
    plans = [
        {"url": shop.url(path), "meta": {"dont_obey_robotstxt": path == "/by"}} for path in pages
    ]
    result = await visit(plans)
    kinds = ["forbidden", "downloaded", "forbidden", "forbidden", "unreachable"]
    assert result.kinds == [*kinds, "downloaded", "downloaded"]
    assert result.ending(shop.url("/own")).final == shop.url("/private?own")
    assert [hit.target for hit in shop.page_hits if hit.path == "/private"] == ["/private?by"]
    assert result.stats["robotstxt/bypassed"] == 2
    assert closed.page_hits == dark.page_hits == []
    assert [hit.path for hit in shop.page_hits].count("/shaky") == 3
    assert len(shop.robots_hits) == 1
