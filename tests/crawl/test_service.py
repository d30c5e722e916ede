"""A request to a service that fetches a page: the page's robots.txt governs, not the service's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.http import Response

from tests.crawl.harness import crawl
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


@pytest.mark.parametrize("settings", [obey(), by_hand()], ids=["add-on", "by hand"])
@ensureDeferred
async def test_the_rules_of_the_page_govern_a_request_to_a_service(
    site: Site, settings: dict[str, Any]
) -> None:
    """RFC 9309 section 2.3: its authority and its path; the service is not asked for rules."""
    service, shop = site.authority(NOTHING), site.authority(RULES)
    plans = [asked(service, shop.url(path)) for path in ("/open", "/private/x")]
    result = (await crawl(settings=settings, plans=plans)).check()
    assert (result.downloaded, result.forbidden) == (urls(plans[:1]), urls(plans[1:]))
    assert service.robots_hits == []
    assert (len(shop.robots_hits), shop.page_hits) == (1, [])
    problem = result.problem(plans[1]["url"]).exception
    assert str(problem.authority) == shop.url("").rstrip("/")
    assert result.lines(f"Forbidden by robots.txt: <GET {shop.url('/private/x')}>")
    assert result.stats["robotstxt/forbidden"] == result.stats["robotstxt/allowed"] == 1


class NamingMiddleware:
    """In front of the gate, sends each request by way of a service that fetches its page."""

    def process_request(self, request: Request) -> None:
        """Name the page, which a query of the URL gives."""
        page = parse_qs(urlsplit(request.url).query).get("url")
        if page:
            request.meta["robotstxt_page"] = page[0]


@ensureDeferred
async def test_a_page_that_is_named_in_front_of_the_gate_governs(site: Site) -> None:
    """Although the scheduler has looked at the request before, and the rules of both are known."""
    service, shop = site.authority(RULES), site.authority(RULES)
    known = [service.url("/a"), shop.url("/a")]
    later = [service.url(f"/render?url={shop.url(path)}") for path in ("/open", "/private/x")]
    settings = obey(CONCURRENT_REQUESTS=1)
    settings["DOWNLOADER_MIDDLEWARES"] = {NamingMiddleware: 50}
    result = (await crawl(settings=settings, plans=[*known, *later])).check()
    assert (set(result.downloaded), result.forbidden) == ({*known, later[0]}, later[1:])


@ensureDeferred
async def test_a_page_whose_rules_are_unreachable_is_not_asked_for(site: Site) -> None:
    """RFC 9309 section 2.3.1.4: the service may be there, the rules are not."""
    service, dark = site.authority(), site.authority(Reply(503))
    plan = asked(service, dark.url("/x"))
    result = (await crawl(settings=obey(), plans=[plan])).check()
    assert result.unreachable == [plan["url"]]
    assert service.hits == []
    assert result.lines(f"unreachable .*<GET {dark.url('/x')}> is not requested", "DEBUG")


BAD = [
    *("", " ", "/x", "example.org/x", "//example.org/x", "ftp://example.org/x", "data:,x"),
    *("http://", "http:///x", "https://:80/", "http://a b/", "http://[::1/", "http://h:port/"),
    *(7, True, False, 0, b"http://example.org/", ["http://example.org/"], {"url": "http://h/"}),
]


@ensureDeferred
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
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert result.by_url == dict.fromkeys(asked_for, "unreachable")
    assert site.hits == []
    problems = [result.problem(url) for url in asked_for]
    assert {problem.data["cause"] for problem in problems[: len(BAD)]} == {"malformed url"}
    said = result.lines(r"meta\['robotstxt_page'\] is not an http or https URL", "DEBUG")
    assert len(said) == len(BAD)
    for problem in problems[len(BAD) :]:
        assert "is the address of a robots.txt; it has to be the URL of the page" in problem.text
        assert problem.text.endswith(problem.data["detail"])


@ensureDeferred
async def test_a_page_below_robots_txt_is_a_page(site: Site) -> None:
    """Only the path `/robots.txt` is the address of one. `None` is as if the key were absent."""
    service, shop = site.authority("", {"/render": html("done")}), site.authority(RULES)
    pages = ["/robots.txt/x", "/a/robots.txt", "/open?u=/robots.txt", "/private/robots.txt"]
    plans: list[Any] = [
        {"url": service.url(f"/render?{n}"), "meta": {"robotstxt_page": shop.url(page)}}
        for n, page in enumerate(pages)
    ]
    plans.append({"url": shop.url("/private"), "meta": {"robotstxt_page": None}})
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert (result.downloaded, result.forbidden) == (urls(plans[:3]), urls(plans[3:]))


@ensureDeferred
async def test_a_page_is_read_as_the_url_of_a_request_is(site: Site) -> None:
    """Not yet encoded, with a fragment, in other spellings: as a request for the page is judged."""
    service = site.authority()
    shop = site.authority(
        "User-agent: *\nDisallow: /caf%C3%A9\nDisallow: /a%20b\nDisallow: /q?x=1\n"
    )
    base = shop.url("")
    pages = [f"{base}/caf\xe9", f"{base}/a b#top", f" {base}/q?x=1\n", base.upper() + "/a%20b/c"]
    plans = [asked(service, page) for page in pages]
    direct = (await crawl(settings=obey(), plans=pages)).check()
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert direct.forbidden == pages
    assert result.forbidden == urls(plans)
    assert service.hits == []


@ensureDeferred
async def test_a_redirect_within_the_service_is_still_for_the_page(site: Site) -> None:
    """The meta goes along, and the service answers for the page at another of its URLs."""
    pages = {"/render": redirect("/v2/render"), "/v2/render": html("done")}
    service, shop = site.authority(NOTHING, pages), site.authority(RULES)
    plans = [asked(service, shop.url(path)) for path in ("/open", "/private")]
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert (result.downloaded, result.forbidden) == (urls(plans[:1]), urls(plans[1:]))
    assert [hit.path for hit in service.hits] == ["/render", "/v2/render"]
    assert shop.page_hits == []


@pytest.mark.parametrize("way", ["redirect", "meta refresh", "redirect and back"])
@ensureDeferred
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
    result = (await crawl(settings=obey(), plans=plans)).check()
    went_on = way != "redirect and back"
    assert result.downloaded == (urls(plans[2:3]) if went_on else [])
    assert result.forbidden == [u for u in urls(plans) if u not in result.downloaded]
    assert [hit.path for hit in other.page_hits] == ["/open"]
    assert closed.page_hits == shop.page_hits == []
    assert len(service.page_hits) == len(plans)


class MetaCopyingSpider(RequestsSpider):
    """Makes one further request, with the meta of the page that it comes from, and `more`."""

    def __init__(self, target: str = "", more: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target, self.more = target, more or {}

    def found(self, response: Response) -> Iterable[Any]:
        """One request, once."""
        if not self.made[1:]:
            meta = {k: v for k, v in response.meta.items() if k not in ("number", "asked")}
            yield self.request(self.target, meta={**meta, **self.more})


@ensureDeferred
async def test_a_copied_meta_frees_no_page(site: Site) -> None:
    """It names the page of an earlier request, whose redirects it has, too."""
    service, shop = site.authority("", {"/x": html("done")}), site.authority(RULES)
    other = site.authority("", {"/a": redirect("/b"), "/b": html("b")})
    closed, target = site.authority(NOTHING), service.url("/x")
    private, opened = ({"robotstxt_page": shop.url(path)} for path in ("/private", "/open"))
    redirected = {"robotstxt_page": other.url("/b")}
    for first, meta, then, more, kind in (
        (other.url("/a"), {}, target, private, "forbidden"),
        (other.url("/a"), redirected, target, private, "forbidden"),
        (service.url("/y"), opened, closed.url("/a"), {}, "forbidden"),
        (service.url("/y"), opened, service.url("/x?2"), {}, "downloaded"),
    ):
        plans = [{"url": first, "meta": dict(meta)}]
        result = await crawl(MetaCopyingSpider, obey(), plans=plans, target=then, more=more)
        assert result.check().kind(then) == kind
    assert [hit.target for hit in service.page_hits] == ["/y", "/y", "/x?2"]
    assert closed.page_hits == []


@ensureDeferred
async def test_a_request_that_bypasses_the_rules_needs_no_page(site: Site) -> None:
    """`dont_obey_robotstxt` comes first."""
    service, shop = site.authority(NOTHING), site.authority(NOTHING)
    plan = asked(service, shop.url("/x"), dont_obey_robotstxt=True)
    result = (await crawl(settings=obey(), plans=[plan])).check()
    assert result.downloaded == [plan["url"]]
    assert shop.hits == service.robots_hits == []


@ensureDeferred
async def test_the_pace_of_the_page_is_kept_and_no_other_page_waits(site: Site) -> None:
    """One service for two sites: one asks for a pace, for which the other's pages do not wait."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.5\n")
    fast, service = site.authority(RULES), site.authority(NOTHING)
    fast_service = site.authority(NOTHING, host=service.host)
    plans = [asked(service, slow.url(f"/{n}")) for n in range(3)]
    plans += [{"url": slow.url("/direct"), "meta": {}}]
    plans += [asked(fast_service, fast.url(f"/{n}")) for n in range(8)]
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert len(result.downloaded) == len(plans)
    assert min(gaps(service, slow)) >= 0.5
    last = max(hit.received for hit in (*service.page_hits, *slow.page_hits))
    assert fast_service.page_hits[-1].received < last  # that is 1.5 s after the first
