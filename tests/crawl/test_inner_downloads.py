"""Downloads that a middleware makes for a request that it has in hand, before or after its page."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest

from tests.crawl.harness import MODES, crawl_in_child, visit
from tests.crawl.middlewares import inner
from tests.crawl.pacing import taken
from tests.crawl.plugin import LATE, RULES, by_hand, by_hand_with_last_step, obey
from tests.replies import Reply
from tests.rows import first
from tests.site import Site
from tests.timed import waits

HOW = {"after the page": ("/after", 500), "behind the gate": ("/page", 500)}
HOW["before the gate"] = ("/page", 50)
"""The path of a page for which the middleware downloads another one, and the middleware's order."""


async def test_a_page_may_hold_the_only_place_meanwhile(site: Site) -> None:
    """The inner page is of another site, whose rules are awaited, too: no deadlock."""
    token, shop = site.authority(LATE), site.authority(RULES)
    plans = [shop.url(f"/page?{token.url('/token')}")]
    result = await visit(plans, by=inner(obey, 950), CONCURRENT_REQUESTS=1)
    assert result.downloaded == plans
    assert [hit.path for hit in token.page_hits] == ["/token"]


async def test_pages_that_wait_for_their_own_site_end(site: Site, mode: str) -> None:
    """Where a request goes on at once when it is let go, the queue behind it is kept."""
    shop = site.authority(LATE)
    plans = [shop.url(f"/page{n}") for n in range(20)]
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    result = await visit(plans, by=inner(obey, 950), mode=mode, **settings)
    assert sorted(result.downloaded) == sorted(plans)
    assert len(shop.page_hits) == 40


@waits
@pytest.mark.parametrize(
    ("how", "mode"),
    [
        *((how, "asyncio") for how in HOW),
        *(("behind the gate", mode) for mode in MODES if mode != "asyncio"),
    ],
)
def test_those_of_many_sites_take_no_longer_than_with_robots_off(
    site: Site, how: str, mode: str
) -> None:
    """60 sites, a page of each, eight at a time: neither download waits for the other ones."""
    shops = site.authorities(60, RULES, Reply(200, "page", delay=0.05))
    path, order = HOW[how]
    plans = [shop.url(path) for shop in shops]
    started = time.monotonic()
    settings = inner(obey, order)(CONCURRENT_REQUESTS=8)
    result = crawl_in_child(settings=settings, mode=mode, plans=plans).check()
    assert result.downloaded == plans
    assert sum(hit.path == "/inner" for shop in shops for hit in shop.hits) == 60
    hits = [hit.received for shop in shops for hit in shop.page_hits]
    assert max(hits) - min(hits) < 6
    assert time.monotonic() - started < 20


@waits
@pytest.mark.parametrize("how", HOW)
async def test_those_of_other_sites_go_on_beside_a_page_that_is_slow_to_answer(
    site: Site, how: str
) -> None:
    """One of thirty sites answers its page after six seconds; all others are done long before."""
    slow = site.authority(RULES, Reply(200, "page", delay=6.0))
    shops = site.authorities(30, RULES)
    path, order = HOW[how]
    plans = [shop.url(path) for shop in (slow, *shops)]
    result = await visit(plans, by=inner(obey, order))
    assert result.downloaded == plans
    begun = min(hit.received for hit in slow.page_hits)
    late = [hit for shop in shops for hit in shop.page_hits if hit.received > begun + 5]
    assert late == []


@pytest.mark.parametrize("settings", [obey, by_hand], ids=["add-on", "by hand"])
@pytest.mark.parametrize("how", first(1, HOW))
async def test_those_of_a_paced_host_keep_its_pace_with_one_place(
    site: Site, how: str, settings: Any
) -> None:
    """The page and its inner one go one after the other, although nothing else may go at all."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.2\n")
    path, order = HOW[how]
    plans = [shop.url(f"{path}/{number}") for number in range(3)]
    result = await visit(plans, by=inner(settings, order), CONCURRENT_REQUESTS=1)
    assert result.downloaded == plans
    hits = sorted(shop.page_hits, key=lambda hit: hit.received)
    # The first page of a site passes the middlewares before the gate twice; by hand, all pages may.
    again = {obey: 1, by_hand: 3}[settings] if how == "before the gate" else 0
    assert 6 <= len(hits) <= 6 + again
    if settings is by_hand and how == "behind the gate":
        return  # without the last step, the turn of the page is taken before its inner one
    for earlier, later in pairwise(hits):
        assert later.received - (earlier.sent or earlier.received) >= 0.195


async def test_without_the_scheduler_none_waits_behind_pages_that_need_its_place(
    site: Site,
) -> None:
    """Each page keeps the only place until it has its inner one, so that no page is put back.

    One that was would have its inner page downloaded a second time.
    """
    shop = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    plans = [shop.url(f"/page/{number}") for number in range(5)]
    result = await visit(plans, by=inner(by_hand_with_last_step, 950), CONCURRENT_REQUESTS=1)
    assert sorted(result.downloaded) == plans
    assert len(shop.page_hits) == 10


@waits
@pytest.mark.parametrize("settings", [by_hand, by_hand_with_last_step])
@pytest.mark.parametrize("how", ["after the page", "behind the gate"])
async def test_without_the_scheduler_those_of_a_paced_host_go_on(
    site: Site, how: str, settings: Any
) -> None:
    """No page's inner one waits a second for each of the pages that wait for their turn."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.05\n")
    path, order = HOW[how]
    plans = [shop.url(f"{path}/{number}") for number in range(20)]
    result = await visit(plans, by=inner(settings, order), CONCURRENT_REQUESTS=2)
    assert sorted(result.downloaded) == sorted(plans)
    assert taken([shop]) < 10


@pytest.mark.parametrize("settings", [obey, by_hand], ids=["add-on", "by hand"])
async def test_those_of_forbidden_pages_are_refused(site: Site, settings: Any) -> None:
    """The middleware gets the refusal, so its page ends with it; the server sees neither."""
    for path, order in HOW.values():
        shop = site.authority("User-agent: *\nDisallow: /inner\nDisallow: /*/private\n")
        plans = [shop.url(path), shop.url(f"{path}/private")]
        result = await visit(plans, by=inner(settings, order))
        assert sorted(result.forbidden) == sorted(plans)
        assert not any("inner" in hit.path or "private" in hit.path for hit in shop.hits)


async def test_a_host_that_begins_to_ask_for_a_pace_waits_for_no_page_that_waits_for_it(
    site: Site,
) -> None:
    """By hand without the last step: a page's middleware asks another port of its host first."""
    for meta in ({}, {"dont_obey_robotstxt": True}):
        shop = site.authority(RULES)
        slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n", host=shop.host)
        plans = [{"url": shop.url(f"/page?{slow.url('/inner')}"), "meta": meta}]
        result = await visit(plans, by=inner(by_hand, 950))
        assert len(result.downloaded) == 1
        assert [hit.path for hit in slow.page_hits] == ["/inner"]
