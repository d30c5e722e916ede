"""Downloads that a middleware behind the gate makes for the request that it holds."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import EACH_MODE, MODES, crawl, crawl_under
from tests.crawl.pacing import gaps, taken
from tests.crawl.plugin import RULES, by_hand, obey
from tests.replies import Reply
from tests.site import Site
from tests.timed import timed


def nesting(most: int, **settings: Any) -> dict[str, Any]:
    """Settings of a crawl with that middleware behind the gate."""
    path = "tests.crawl.middlewares.InnerMiddleware"
    return obey(CONCURRENT_REQUESTS=most, DOWNLOADER_MIDDLEWARES={path: 950}, **settings)


@timed
@pytest.mark.parametrize(
    ("mode", "most"), [("asyncio", 2), ("asyncio", 8), *((mode, 1) for mode in MODES)]
)
@ensureDeferred
async def test_they_wait_for_no_place_of_their_own(site: Site, mode: str, most: int) -> None:
    """20 pages that wait for rules at once take little longer than without robots.txt."""
    shop = site.authority(Reply(200, RULES, delay=0.1))
    plain = site.authority(RULES)
    times = []
    for authority, settings in ((plain, {"ROBOTSTXT_OBEY": False}), (shop, {})):
        plans = [authority.url(f"/page{n}") for n in range(20)]
        asked = nesting(most, **settings)
        result = (await crawl_under(mode, settings=asked, plans=plans)).check()
        assert len(result.downloaded) == 20
        assert len(authority.page_hits) == 40
        times.append(taken([authority]))
    assert times[1] < 4 * times[0] + 0.5, times


@timed
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_one_whose_rules_are_unknown_waits_for_them_alone(site: Site, mode: str) -> None:
    """The inner pages are of other sites, one of which disallows them."""
    shop = site.authority(Reply(200, RULES, delay=0.1))
    inner = [site.authority(Reply(200, RULES, delay=0.05)) for _ in range(10)]
    strict = site.authority("User-agent: *\nDisallow: /")
    plans = [shop.url(f"/page{n}?{other.url('/inner')}") for n, other in enumerate(inner)]
    plans.append(shop.url(f"/page?{strict.url('/inner')}"))
    result = (await crawl_under(mode, settings=nesting(1), plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans[:-1])
    assert [len(other.page_hits) for other in inner] == [1] * 10
    assert strict.page_hits == []
    assert taken([shop, *inner]) < 0.2 * 10  # 0.1 s for the rules, 0.05 s for each inner site


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_they_keep_the_pace_of_their_host(site: Site, mode: str) -> None:
    """An inner page takes a turn of its host, but no place."""
    shop = site.authority(RULES)
    slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    plans = [shop.url(f"/page{n}?{slow.url(f'/inner{n}')}") for n in range(6)]
    plans += [shop.url(f"/{n}") for n in range(20)]
    result = (await crawl_under(mode, settings=nesting(2), plans=plans)).check()
    assert len(result.downloaded) == 26
    assert len(slow.page_hits) == 6
    assert min(gaps(slow)) >= 0.1


@pytest.mark.parametrize("bypasses", [False, True], ids=["obeys", "bypasses"])
@ensureDeferred
async def test_a_host_that_begins_to_ask_for_a_pace_waits_for_no_page_that_waits_for_it(
    site: Site, bypasses: bool
) -> None:
    """By hand without the last step: a page's middleware asks another port of its host first."""
    shop = site.authority(RULES)
    slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n", host=shop.host)
    settings = by_hand()
    inner = {"tests.crawl.middlewares.InnerMiddleware": 950}
    settings["DOWNLOADER_MIDDLEWARES"] = {**settings["DOWNLOADER_MIDDLEWARES"], **inner}
    meta = {"dont_obey_robotstxt": True} if bypasses else {}
    plans = [{"url": shop.url(f"/page?{slow.url('/inner')}"), "meta": meta}]
    result = (await crawl(settings=settings, plans=plans, timeout=20)).check()
    assert len(result.downloaded) == 1
    assert [hit.path for hit in slow.page_hits] == ["/inner"]
