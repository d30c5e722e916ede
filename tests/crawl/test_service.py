"""A request to a service that fetches a page: the page's robots.txt governs, not the service's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from scrapy import Request
from scrapy.http import Response

from tests.crawl.harness import visit
from tests.crawl.pacing import gaps
from tests.crawl.plugin import NOTHING, RULES, by_hand, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply, html, redirect
from tests.site import Authority, Site


def asked(service: Authority, page: str, **meta: Any) -> dict[str, Any]:
    """A request that asks the service for a page, and says so."""
    url = service.url(f"/render?url={quote(page, safe='')}")
    return {"url": url, "meta": {"robotstxt_page": page, **meta}}


def urls(plans: list[dict[str, Any]]) -> list[str]:
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
    assert result.forbidden == [*pages, *urls(there[:5]), absent["url"]]
    assert result.downloaded == urls(there[5:])
    assert len(service.hits) == 3


@pytest.mark.parametrize("way", ["redirect", "meta refresh", "redirect and back"])
async def test_a_redirect_out_of_the_service_is_judged_by_where_it_leads(
    site: Site, way: str
) -> None:
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
    plans = [
        {"url": service.url(path), "meta": {"robotstxt_page": shop.url("/open")}} for path in pages
    ]
    result = await visit(plans)
    went_on = way != "redirect and back"
    assert result.downloaded == (urls(plans[2:3]) if went_on else [])
    assert result.forbidden == [u for u in urls(plans) if u not in result.downloaded]
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
