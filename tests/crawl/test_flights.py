"""How often an authority is asked for its robots.txt: once, at expiry, and as the back-off says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.crawl.clock import Ahead
from tests.crawl.harness import MODES, crawl, crawl_in_child, visit
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.spiders import OneByOneSpider as OneByOneSpider
from tests.crawl.spiders import TickingSpider
from tests.replies import Reply, Reset
from tests.rows import first
from tests.site import Authority, Site


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


@pytest.mark.parametrize("total", first(1, [1, 2, 16]))
async def test_waiting_needs_no_concurrency(site: Site, total: int) -> None:
    """Ten requests to each of ten authorities pass, however few may be active at once."""
    shops = site.authorities(10, Reply(200, RULES, delay=0.05))
    paths = [f"{place}{number}" for number in range(5) for place in ("/open", "/private")]
    urls = [shop.url(path) for path in paths for shop in shops]
    result = await visit(urls, CONCURRENT_REQUESTS=total)
    assert len(result.downloaded) == len(result.forbidden) == 50
    assert [len(shop.robots_hits) for shop in shops] == [1] * 10


# --- at expiry, and after a failure


def asked(shops: Iterable[Authority]) -> Counter[int]:
    """How many authorities were asked how often; no two fetches of one overlap."""
    for shop in shops:
        hits = shop.robots_hits
        for hit, following in zip(hits, hits[1:]):  # noqa: B905, RUF007
            assert hit.finished is not None
            assert hit.finished <= following.received
    return Counter(len(shop.robots_hits) for shop in shops)


@pytest.mark.parametrize("requests", first(1, [100, 10_000]))
async def test_dead_hosts_are_left_alone_for_a_minute(
    site: Site, clock: Ahead, requests: int
) -> None:
    """RFC 9309 2.3.1.4: ten of them are each tried three times, and no page is asked for."""
    dead = [site.authority(Reset() if n % 2 else Reply(503)) for n in range(10)]

    def tick(ended: int) -> None:
        clock.seconds = 59.0 * ended / requests

    settings = obey(CONCURRENT_REQUESTS=200, REP_RETRY_DELAYS=[0.05, 0.1])
    plans = [dead[n % 10].url(f"/{n}") for n in range(requests)]
    result = (await crawl(TickingSpider, settings, plans=plans, tick=tick)).check()
    assert asked(dead) == {3: 10}
    assert len(result.unreachable) == requests
    assert [hit for shop in dead for hit in shop.page_hits] == []
