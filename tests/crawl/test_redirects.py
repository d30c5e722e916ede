"""Redirects of robots.txt, followed for the authority first asked (RFC 9309 section 2.3.1.2)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import crawl
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.redirect_graph import Graph, known
from tests.crawl.result import Result
from tests.proxy import Proxy
from tests.replies import Reply, redirect
from tests.rows import first
from tests.site import Site

STATUSES = (301, 302, 303, 307, 308)


async def visit(plans: list[Any], **settings: Any) -> Result:
    """A crawl."""
    return (await crawl(settings=obey(**settings), plans=plans)).check()


@pytest.mark.parametrize("status", first(2, STATUSES))
@ensureDeferred
async def test_chains_of_up_to_five_lead_to_the_rules(site: Site, status: int) -> None:
    """Chains of 0 to 8 across as many authorities: past the fifth hop unavailable, so allowed."""
    plans, ends = [], []
    for hops in range(9):
        last = site.authority(RULES)
        for _ in range(hops):
            last = site.authority(redirect(last.url("/robots.txt"), status))
        plans.append(last.url("/private"))
        ends.append("forbidden" if hops <= 5 else "downloaded")
    result = await visit(plans)
    assert [result.kind(url) for url in plans] == ends
    # 0 to 5 hops each cost one request more; the three longer chains are cut after six.
    assert len([hit for hit in site.hits if hit.path == "/robots.txt"]) == 21 + 3 * 6


@ensureDeferred
async def test_the_limit_can_be_raised(site: Site) -> None:
    """REP_MAX_REDIRECTS: at least five hops must be followed, more may be."""
    last = site.authority(NOTHING)
    for _ in range(8):
        last = site.authority(redirect(last.url("/robots.txt")))
    result = await visit([last.url("/a")], REP_MAX_REDIRECTS=8)
    assert result.forbidden == [last.url("/a")]


@ensureDeferred
async def test_a_loop_is_left_after_five_hops(site: Site) -> None:
    """To itself, and of two: unavailable, and no more requests than that."""
    alone = site.authority(redirect("/robots.txt"))
    first, second = site.authority(), site.authority()
    first.robots = redirect(second.url("/robots.txt"))
    second.robots = redirect(first.url("/robots.txt"))
    plans = [alone.url("/a"), first.url("/a")]
    result = await visit(plans)
    assert result.downloaded == plans
    assert len(alone.robots_hits) == 6
    assert (len(first.robots_hits), len(second.robots_hits)) == (3, 3)


@ensureDeferred
async def test_rules_found_by_redirect_are_nobody_elses(site: Site) -> None:
    """The target's pages go by the target's robots.txt, query or no query."""
    target = site.authority(
        lambda hit: Reply(200, NOTHING if "for=" in hit.target else "User-agent: *\nDisallow:\n")
    )
    shop = site.authority(redirect(target.url("/robots.txt?for=shop")))
    other = site.authority(redirect(target.url("/rules")), {"/a": "page"})
    target.pages = {"/rules": NOTHING, "/a": "page"}
    plans = [shop.url("/a"), other.url("/a"), target.url("/a")]
    result = await visit(plans)
    assert (result.forbidden, result.downloaded) == (plans[:2], plans[2:])


@ensureDeferred
async def test_a_chain_may_change_the_scheme(site: Site) -> None:
    """From http to https and back."""
    proxy = Proxy(site)
    proxy.authority("http://shop.example", redirect("https://shop.example/robots.txt"))
    proxy.authority("https://shop.example", redirect("http://rules.example:8080/r"))
    proxy.authority("http://rules.example:8080", None, {"/r": RULES})
    plan = {"url": "http://shop.example/private", "meta": {"proxy": proxy.url}}
    result = await visit([plan])
    assert result.forbidden == ["http://shop.example/private"]
    assert [hit.path for hit in proxy.hits] == ["/robots.txt", "/robots.txt", "/r"]


NOT_HTTP = [
    "file:///etc/hostname",
    "data:text/plain,hello",
    "ftp://127.0.0.1/robots.txt",
    "javascript:alert(1)",
    "s3://bucket/robots.txt",
    "about:blank",
    "http://[::1",
]


@ensureDeferred
async def test_a_redirect_to_anything_but_http_is_not_followed(site: Site) -> None:
    """Refused, and the authority unreachable: no page is requested."""
    shops = {location: site.authority(redirect(location)) for location in NOT_HTTP}
    result = await visit([shop.url("/a") for shop in shops.values()])
    for location, shop in shops.items():
        assert result.kind(shop.url("/a")) == "unreachable", location
        assert (len(shop.robots_hits), shop.page_hits) == (1, []), location


# --- graphs


async def compare_graphs(site: Site, seeds: range) -> None:
    """Each of twenty entries is the one that the graph says, and one is also fetched alone."""
    for seed in seeds:
        graph = Graph(Proxy(site), random.Random(seed))
        together = await visit(graph.plans(graph.origins), CONCURRENT_REQUESTS=40)
        entries = known(together)
        assert entries == {origin: graph.expected(origin) for origin in graph.origins}, seed
        alone = random.Random(seed).choice(graph.origins)
        single = await visit(graph.plans([alone]))
        assert known(single) == {alone: entries[alone]}, seed


@ensureDeferred
async def test_what_is_learnt_of_an_authority_depends_on_no_other(site: Site) -> None:
    """Three seeded graphs of redirects over 20 authorities: each entry as if fetched alone."""
    await compare_graphs(site, range(3))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 100, 25))
@ensureDeferred
async def test_what_is_learnt_of_an_authority_depends_on_no_other_at_length(
    site: Site, first: int
) -> None:
    """100 seeded graphs."""
    await compare_graphs(site, range(first, first + 25))
