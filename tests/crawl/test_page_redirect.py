"""A page that redirects is a new request, so the rules are asked again at each hop."""

from __future__ import annotations

from pytest_twisted import ensureDeferred

from tests.crawl.harness import crawl
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.replies import Reply, html, redirect
from tests.site import Site


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
