"""Which robots.txt governs a URL: that of its scheme, host and port (RFC 9309 section 2.3).

A request to a service that fetches a page is governed by the page's, not by the service's.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import default_settings as defaults

from tests.crawl.harness import visit
from tests.crawl.pacing import gaps
from tests.crawl.plugin import NOTHING, RULES, by_hand, obey
from tests.crawl.spiders import RequestsSpider
from tests.proxy import Proxy
from tests.replies import Reply, html, redirect
from tests.site import Authority, Site

# Without it, Scrapy under Twisted looks up no IPv6 address, not even a literal one.
RESOLVER = "TWISTED_DNS_RESOLVER" if hasattr(defaults, "TWISTED_DNS_RESOLVER") else "DNS_RESOLVER"
SIX = {RESOLVER: "scrapy.resolver.CachingHostnameResolver"}
PASSWORD = "s3cret-pa55"


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


async def test_each_authority_has_its_own_rules_however_written(site: Site, mode: str) -> None:
    """Scheme, host and port make one; case, a trailing dot, a default port and IDN do not."""
    proxy, robots = Proxy(site), "User-agent: *\nDisallow: /{}\n"
    there = [proxy.authority(origin, robots.format(n)) for n, origin in enumerate(AUTHORITIES)]
    urls, closed = [], []
    for number, spellings in enumerate(AUTHORITIES.values()):
        for n, start in enumerate(spellings):
            urls += [f"{start}/{page}?{n}" for page in range(len(AUTHORITIES))]
            closed.append(f"{start}/{number}?{n}")
    plans = [{"url": url, "meta": {"proxy": proxy.url}} for url in urls]
    result = await visit(plans, mode=mode)
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
    plans: list[Any] = [shop.url(path) for path in pages]
    plans[1] = {"url": shop.url("/by"), "meta": {"dont_obey_robotstxt": True}}
    result = await visit(plans)
    kinds = ["forbidden", "downloaded", "forbidden", "forbidden", "unreachable"]
    assert result.kinds == [*kinds, "downloaded", "downloaded"]
    assert result.ending(shop.url("/own")).final == shop.url("/private?own")
    assert [hit.target for hit in shop.page_hits if hit.path == "/private"] == ["/private?by"]
    assert result.stats["robotstxt/bypassed"] == 2
    assert closed.page_hits == dark.page_hits == []
    assert [hit.path for hit in shop.page_hits].count("/shaky") == 3
    assert len(shop.robots_hits) == 1


# --- a request to a service that fetches a page


def asked(service: Authority, page: str, **meta: Any) -> dict[str, Any]:
    """A request that asks the service for a page, and says so."""
    url = service.url(f"/render?url={quote(page, safe='')}")
    return {"url": url, "meta": {"robotstxt_page": page, **meta}}


def requested(plans: list[dict[str, Any]]) -> list[str]:
    """The URLs that are really requested."""
    return [plan["url"] for plan in plans]


@pytest.mark.parametrize("by", [obey, by_hand], ids=["add-on", "by hand"])
async def test_the_rules_of_the_page_govern_a_request_to_a_service(site: Site, by: Any) -> None:
    """RFC 9309 section 2.3: its authority and its path; the service is not asked for rules.

    The service may answer at another of its URLs. A page whose rules are unreachable is not asked
    for. `dont_obey_robotstxt` comes first.
    """
    service, shop = site.authority(NOTHING), site.authority(RULES)
    service.pages = lambda hit: html() if hit.path == "/v2" else redirect(f"/v2?{hit.target}")
    dark, free = site.authority(Reply(503)), site.authority(NOTHING)
    plans = [asked(service, shop.url(path)) for path in ("/open", "/private/x")]
    plans += [asked(service, dark.url("/x")), asked(service, free.url(), dont_obey_robotstxt=True)]
    result = await visit(plans, by=by)
    assert result.kinds == ["downloaded", "forbidden", "unreachable", "downloaded"]
    assert sorted(hit.path for hit in service.hits) == ["/render", "/render", "/v2", "/v2"]
    assert (len(shop.robots_hits), shop.page_hits, free.hits) == (1, [], [])
    problem = result.problem(plans[1]["url"]).exception
    assert str(problem.authority) == shop.url("").rstrip("/")
    assert result.lines(f"Forbidden by robots.txt: <GET {shop.url('/private/x')}>")
    assert result.lines(f"unreachable .*<GET {dark.url('/x')}> is not requested", "DEBUG")
    assert result.stats["robotstxt/forbidden"] == 1


class NamingMiddleware:
    """In front of the gate, sends each request by way of a service that fetches its page."""

    def process_request(self, request: Request) -> None:
        """Name the page, which a query of the URL gives."""
        for page in parse_qs(urlsplit(request.url).query).get("url", ()):
            request.meta["robotstxt_page"] = page


async def test_a_page_that_is_named_in_front_of_the_gate_governs(site: Site) -> None:
    """Although the scheduler has looked at the request before, and the rules of both are known."""
    service, shop = site.authority(RULES), site.authority(RULES)
    known = [service.url("/a"), shop.url("/a")]
    later = [service.url(f"/render?url={shop.url(path)}") for path in ("/open", "/private/x")]
    settings = {"CONCURRENT_REQUESTS": 1, "DOWNLOADER_MIDDLEWARES": {NamingMiddleware: 50}}
    result = await visit([*known, *later], **settings)
    assert (set(result.downloaded), result.forbidden) == ({*known, later[0]}, later[1:])


BAD = [
    *("", " ", "/x", "example.org/x", "//example.org/x", "ftp://example.org/x", "data:,x"),
    *("http://", "http:///x", "https://:80/", "http://a b/", "http://[::1/", "http://h:port/"),
    *(7, True, False, 0, b"http://example.org/", ["http://example.org/"], {"url": "http://h/"}),
]


async def test_a_page_that_is_none_is_no_permission(site: Site) -> None:
    """The request ends unreachable, by its URL; neither the service nor a page is asked.

    The address of a robots.txt is always allowed: that natural slip would let a page of a closed
    site pass.
    """
    service, closed = site.authority(), site.authority(NOTHING)
    robots = ["/robots.txt", "/robots.txt?v=2", "/robots.txt#top", "/%72obots.txt"]
    values = [*BAD, *map(closed.url, robots)]
    asked_for = {service.url(f"/render{number}"): value for number, value in enumerate(values)}
    plans = [{"url": url, "meta": {"robotstxt_page": value}} for url, value in asked_for.items()]
    result = await visit(plans)
    assert result.by_url == dict.fromkeys(asked_for, "unreachable")
    assert site.hits == []
    problems = [result.problem(url) for url in asked_for]
    assert {problem.data["cause"] for problem in problems[: len(BAD)]} == {"malformed url"}
    said = result.lines(r"meta\['robotstxt_page'\] is not an http or https URL", "DEBUG")
    assert len(said) == len(BAD)
    for problem in problems[len(BAD) :]:
        assert "is the address of a robots.txt; it has to be the URL of the page" in problem.text
        assert problem.text.endswith(problem.data["detail"])


async def test_a_page_is_read_as_the_url_of_a_request_is(site: Site) -> None:
    """Not yet encoded, with a fragment, in other spellings: as a request for the page is judged.

    Only the path `/robots.txt` is the address of one. `None` is as if the key were absent.
    """
    service = site.authority()
    rules = ("/caf%C3%A9", "/a%20b", "/q?x=1", "/private")
    shop = site.authority("User-agent: *\n" + "".join(f"Disallow: {rule}\n" for rule in rules))
    base = shop.url("")
    pages = [f"{base}/caf\xe9", f"{base}/a b#top", f" {base}/q?x=1\n", base.upper() + "/a%20b/c"]
    pages.append(shop.url("/private/robots.txt"))
    allowed = map(shop.url, ("/robots.txt/x", "/a/robots.txt", "/open?u=/robots.txt"))
    there = [asked(service, page) for page in [*pages, *allowed]]
    absent = {"url": shop.url("/private"), "meta": {"robotstxt_page": None}}
    result = await visit([*pages, *there, absent])
    assert result.forbidden == [*pages, *requested(there[:5]), absent["url"]]
    assert result.downloaded == requested(there[5:])
    assert len(service.hits) == 3


@pytest.mark.parametrize("way", ["redirect", "meta refresh", "redirect and back"])
async def test_a_redirect_out_of_a_service_is_judged_by_its_target(site: Site, way: str) -> None:
    """Else the rules of the page that was named would admit requests to any other site."""
    shop, service = site.authority(RULES), site.authority(NOTHING)
    closed, other = site.authority(NOTHING), site.authority(RULES)
    targets = [closed.url("/x"), other.url("/private"), other.url("/open"), shop.url("/private")]

    def hop(url: str) -> Reply:
        if way == "meta refresh":
            return html(f'<meta http-equiv="refresh" content="0;url={url}">')
        return redirect(url)

    pages = {f"/{number}": hop(url) for number, url in enumerate(targets)}
    if way == "redirect and back":
        other.pages = {"/open": redirect(service.url("/again"))}
    service.pages = pages
    on_behalf = {"robotstxt_page": shop.url("/open")}
    plans = [{"url": service.url(path), "meta": on_behalf} for path in pages]
    result = await visit(plans)
    went_on = way != "redirect and back"
    assert result.downloaded == (requested(plans[2:3]) if went_on else [])
    assert result.forbidden == [u for u in requested(plans) if u not in result.downloaded]
    assert [hit.path for hit in other.page_hits] == ["/open"]
    assert closed.page_hits == shop.page_hits == []
    assert len(service.page_hits) == len(plans)


class MetaCopyingSpider(RequestsSpider):
    """Makes one further request, with the meta of the page that it comes from, and `more`."""

    target: str
    more: dict[str, Any]

    def found(self, response: Response) -> Iterable[Any]:
        """One request, once."""
        if not self.made[1:]:
            meta = {k: v for k, v in response.meta.items() if k not in ("number", "asked")}
            yield self.request(self.target, meta={**meta, **self.more})


async def test_a_copied_meta_frees_no_page(site: Site) -> None:
    """It names the page of an earlier request, whose redirects it has, too."""
    service, shop = site.authority("", {"/x": html("done")}), site.authority(RULES)
    other = site.authority("", {"/a": redirect("/b"), "/b": html("b")})
    closed = site.authority(NOTHING)
    private, opened = ({"robotstxt_page": shop.url(path)} for path in ("/private", "/open"))
    redirected = {"robotstxt_page": other.url("/b")}
    for first, meta, target, more, kind in (
        (other.url("/a"), {}, service.url("/x"), private, "forbidden"),
        (other.url("/a"), redirected, service.url("/x"), private, "forbidden"),
        (service.url("/y"), opened, closed.url("/a"), {}, "forbidden"),
        (service.url("/y"), opened, service.url("/x?2"), {}, "downloaded"),
    ):
        plans = [{"url": first, "meta": dict(meta)}]
        result = await visit(plans, MetaCopyingSpider, target=target, more=more)
        assert result.kind(target) == kind
    assert [hit.target for hit in service.page_hits] == ["/y", "/y", "/x?2"]
    assert closed.page_hits == []


async def test_the_pace_of_the_page_is_kept_and_no_other_page_waits(site: Site) -> None:
    """One service for two sites: one asks for a pace, for which the other's pages do not wait."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.5\n")
    fast, service = site.authority(RULES), site.authority(NOTHING)
    fast_service = site.authority(NOTHING, host=service.host)
    plans = [asked(service, slow.url(f"/{n}")) for n in range(3)]
    plans += [{"url": slow.url("/direct"), "meta": {}}]
    plans += [asked(fast_service, fast.url(f"/{n}")) for n in range(8)]
    result = await visit(plans)
    assert len(result.downloaded) == len(plans)
    assert min(gaps(service, slow)) >= 0.5
    last = max(hit.received for hit in (*service.page_hits, *slow.page_hits))
    assert fast_service.page_hits[-1].received < last  # that is 1.5 s after the first
