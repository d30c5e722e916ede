"""What holds without the add-on, whichever parts of this package a project has installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import scrapy

from tests.crawl.harness import visit
from tests.crawl.middlewares import inner
from tests.crawl.pacing import at_once, keeps, pages
from tests.crawl.plugin import LATE, NOTHING, RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.result import Result
from tests.replies import Reply, redirect
from tests.rows import first
from tests.site import Authority, Hit, Site

SCHEDULER = "scrapy_rep.RepScheduler"


def with_scheduler(**settings: Any) -> dict[str, Any]:
    """The settings of a project that lacks only the last step."""
    return by_hand(SCHEDULER=SCHEDULER, **settings)


def with_all(**settings: Any) -> dict[str, Any]:
    """The settings of a project that does by hand what the add-on does."""
    return by_hand_with_last_step(SCHEDULER=SCHEDULER, **settings)


WAYS: dict[str, Callable[..., dict[str, Any]]] = {
    "the gate alone": by_hand,
    "no scheduler": by_hand_with_last_step,
    "no last step": with_scheduler,
    "all parts": with_all,
}
WITHOUT_LAST_STEP = (by_hand, with_scheduler)

PAGE = Reply(200, "page", delay=0.05)
PACE = 0.15


class Town:
    """Sites of all kinds, and how the requests for their pages have to end."""

    def __init__(self, site: Site) -> None:
        moved = site.authority(RULES)
        ruled = [RULES, LATE, redirect(moved.url("/robots.txt")), Reply(200, RULES, delay=0.6)]
        self.ruled = [site.authority(robots, PAGE) for robots in ruled]
        self.paced = site.authorities(2, f"{RULES}Crawl-delay: {PACE}\n", PAGE)
        self.open = site.authority(None, PAGE)
        self.closed, self.down = site.authority(NOTHING), site.authority(Reply(503, delay=0.3))
        self.expected = {
            shop.url(path): self._end(shop, path)
            for path in ("/0", "/private", "/1", "/2")
            for shop in self.all
        }

    @property
    def all(self) -> list[Authority]:
        """Each site."""
        return [*self.ruled, *self.paced, self.open, self.closed, self.down]

    def _end(self, shop: Authority, path: str) -> str:
        if shop is self.down:
            return "unreachable"
        if shop is self.closed or (shop is not self.open and path == "/private"):
            return "forbidden"
        return "downloaded"

    def check(self, result: Result) -> None:
        """Each request has ended as it has to, and no page was asked for too early, or at all."""
        assert result.by_url == self.expected
        for shop in self.all:
            asked = Counter(hit.path for hit in shop.page_hits)
            wanted = {path for path in asked if self.expected[shop.url(path)] == "downloaded"}
            assert asked == dict.fromkeys(wanted, 1)
            assert all(hit.received >= _sent(shop.robots_hits[0]) for hit in shop.page_hits)


def _sent(hit: Hit) -> float:
    assert hit.sent is not None
    return hit.sent


@pytest.mark.parametrize("by", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("places", first(1, [4, 1]))
async def test_rules_paces_and_limits_are_kept(site: Site, mode: str, by: Any, places: int) -> None:
    """As many pages at once as CONCURRENT_REQUESTS says, as the server sees it."""
    town = Town(site)
    result = await visit(town.expected, by=by, mode=mode, CONCURRENT_REQUESTS=places)
    town.check(result)
    assert at_once(*town.all) <= places
    for shop in town.paced:
        assert keeps(shop, PACE, by_hand if by in WITHOUT_LAST_STEP else by)


@pytest.mark.skipif(scrapy.version_info < (2, 15), reason="Scrapy 2.14 sends nothing then")
@pytest.mark.parametrize("by", [obey, *WAYS.values()], ids=["the add-on", *WAYS])
async def test_without_a_limit_rules_and_paces_are_kept(site: Site, by: Any) -> None:
    """CONCURRENT_REQUESTS = 0."""
    town = Town(site)
    town.check(await visit(town.expected, by=by, CONCURRENT_REQUESTS=0))
    for shop in town.paced:
        assert keeps(shop, PACE, by_hand if by in WITHOUT_LAST_STEP else by)


@pytest.mark.parametrize("by", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("path", "order"), first(1, [("/page", 500), ("/after", 500), ("/page", 50)])
)
async def test_a_provider_works_with_one_place(site: Site, by: Any, path: str, order: int) -> None:
    """A middleware downloads a page of another site, whose rules come late, for each request."""
    shop = site.authority(RULES)
    tokens = [site.authority(robots) for robots in (LATE, f"{RULES}Crawl-delay: {PACE}\n")]
    plans = [shop.url(f"{path}?{token.url(f'/{n}')}") for n in range(3) for token in tokens]
    settings = {"CONCURRENT_REQUESTS": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    result = await visit(plans, by=inner(by, order), **settings)
    assert sorted(result.downloaded) == sorted(plans)
    for token in tokens:
        assert sorted(hit.path for hit in token.page_hits) == ["/0", "/1", "/2"]
        assert all(hit.received >= _sent(token.robots_hits[0]) for hit in token.page_hits)
    assert keeps(tokens[1], PACE, by_hand if by in WITHOUT_LAST_STEP else by)


@pytest.mark.slow
@pytest.mark.parametrize("by", WAYS.values(), ids=WAYS)
async def test_a_stop_loses_no_request(site: Site, job: Any, by: Any) -> None:
    """With JOBDIR each has one end, in this run or in the next one."""
    paced = site.authority(f"User-agent: *\nCrawl-delay: {2 * PACE}\n")
    late = site.authority(Reply(200, RULES, delay=1.5))
    plans = [*pages(paced, 10), *pages(late, 4)]
    how = {"by": by, "whole": False, "CONCURRENT_REQUESTS": 4, **job}
    stopped = await visit(plans, CLOSESPIDER_TIMEOUT=1, **how)
    assert len(stopped.endings) < len(plans)
    resumed = await visit([], **how)
    ends = [(ending.url, ending.kind) for run in (stopped, resumed) for ending in run.endings]
    assert sorted(ends) == sorted((url, "downloaded") for url in plans)
