"""Requests that a middleware holds until another one of their site is done, such as a login."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from scrapy import Request

from scrapy_rep.awaiting import sleep
from tests.crawl.clock import Ahead
from tests.crawl.harness import visit
from tests.crawl.middlewares import AgeingMiddleware, HoldingMiddleware, LoginMiddleware
from tests.crawl.pacing import gaps
from tests.crawl.plugin import RULES
from tests.site import Site

LOGIN = f"{LoginMiddleware.__module__}.{LoginMiddleware.__qualname__}"


@pytest.mark.parametrize(
    ("order", "robots"),
    [(543, "User-agent: *\nCrawl-delay: 0.15\n"), (50, RULES)],
    ids=["for its turn", "before the gate"],
)
async def test_a_page_may_be_held_until_a_later_one_of_its_site_is_done(
    site: Site, mode: str, order: int, robots: str
) -> None:
    """The one with the next turn, or the first of a site: after a second others go first."""
    shop = site.authority(robots)
    plans = [shop.url(path) for path in ("/page", "/login")]
    result = await visit(plans, mode=mode, timeout=60, DOWNLOADER_MIDDLEWARES={LOGIN: order})
    assert sorted(result.downloaded) == sorted(plans)
    assert [hit.path for hit in shop.page_hits] == ["/login", "/page"]
    assert order == 50 or min(gaps(shop)) >= 0.15


@pytest.mark.parametrize("order", [50, 543])
async def test_a_middleware_that_takes_its_time_with_each_page_only_costs_that_time(
    site: Site, constants: Callable[..., None], order: int
) -> None:
    """A page that comes too late for its turn waits for another one where it is."""
    constants("frontier.turns", _UNCLAIMED=0.2)
    shop = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    plans = [shop.url(f"/{number}?0.3") for number in range(5)]
    result = await visit(plans, timeout=30, DOWNLOADER_MIDDLEWARES={HoldingMiddleware: order})
    assert len(result.downloaded) == 5
    assert min(gaps(shop)) >= 0.1


async def test_a_page_may_be_held_for_longer_than_its_rules_live(site: Site, clock: Ahead) -> None:
    """Each time it comes to the gate they are old: then it waits for new ones where it is."""
    shop = site.authority(RULES)
    plans = [shop.url(path) for path in ("/open", "/private")]
    result = await visit(plans, timeout=30, DOWNLOADER_MIDDLEWARES={AgeingMiddleware: 50})
    assert (result.downloaded, result.forbidden) == (plans[:1], plans[1:])


async def test_a_request_passes_the_middlewares_before_the_gate_once(site: Site) -> None:
    """The scheduler hands it out when its rules have come."""
    seen = Counter[str]()

    class SlowWayMiddleware:
        async def process_request(self, request: Request) -> None:
            seen[request.url] += 1
            await sleep(0.1)

    shop = site.authority(RULES)
    plans = [shop.url(f"/{number}") for number in range(9)]
    result = await visit(plans, DOWNLOADER_MIDDLEWARES={SlowWayMiddleware: 50})
    assert sorted(result.downloaded) == plans
    assert {seen[url] for url in plans} == {1}
