"""Many requests to one authority at once: one robots.txt is fetched, and all wait for it."""

from __future__ import annotations

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import MODES, crawl, crawl_in_child
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.replies import Reply
from tests.rows import first
from tests.site import Site


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("per_domain", first(1, [8, 1, 100]))
def test_a_hundred_requests_at_once_get_one_answer(site: Site, mode: str, per_domain: int) -> None:
    """Disallow: / forbids all of them: no page, one fetch (Scrapy alone downloads most)."""
    shop = site.authority(Reply(200, NOTHING, delay=0.1))
    urls = [shop.url(f"/{number}") for number in range(100)]
    settings = obey(CONCURRENT_REQUESTS=100, CONCURRENT_REQUESTS_PER_DOMAIN=per_domain)
    result = crawl_in_child(mode=mode, settings=settings, plans=urls).check()
    assert result.forbidden == urls
    assert {ending.problem.type for ending in result.endings if ending.problem} == {
        "RobotsForbidden"
    }
    assert (len(shop.robots_hits), shop.page_hits) == (1, [])
    assert result.stats["robotstxt/forbidden"] == 100
    assert result.stats["robotstxt/request_count"] == 1


@pytest.mark.parametrize("total", [1, 2, 16])
@ensureDeferred
async def test_waiting_needs_no_concurrency(site: Site, total: int) -> None:
    """Ten requests to each of ten authorities pass, however few may be active at once."""
    shops = site.authorities(10, Reply(200, RULES, delay=0.05))
    paths = [f"{place}{number}" for number in range(5) for place in ("/open", "/private")]
    urls = [shop.url(path) for path in paths for shop in shops]
    result = (await crawl(settings=obey(CONCURRENT_REQUESTS=total), plans=urls)).check()
    assert len(result.downloaded) == len(result.forbidden) == 50
    assert [len(shop.robots_hits) for shop in shops] == [1] * 10


@ensureDeferred
async def test_a_herd_before_an_unreachable_robots_txt_gets_one_answer(site: Site) -> None:
    """RFC 9309 2.3.1.4: a 503 disallows all that wait, by one fetch."""
    shop = site.authority(Reply(503, delay=0.1))
    urls = [shop.url(f"/{number}") for number in range(50)]
    result = (await crawl(settings=obey(CONCURRENT_REQUESTS=50), plans=urls)).check()
    assert result.unreachable == urls
    assert (len(shop.robots_hits), shop.page_hits) == (1, [])
