"""How often an authority is asked for its robots.txt: once, at expiry, and as the back-off says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.clock import Ahead, take_over
from tests.crawl.harness import MODES, crawl, crawl_in_child
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.result import Result
from tests.crawl.spiders import OneByOneSpider, RequestsSpider, TickingSpider
from tests.replies import Reply, Reset
from tests.rows import first
from tests.site import Authority, Site
from tests.timed import waits


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


# --- at expiry, and after a failure


DAY = 86_400.0

BY_TURNS = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2}
"""No authority is through with its requests while others have hardly begun."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """The clock of the package."""
    return take_over(monkeypatch)


async def visit(
    plans: list[str],
    tick: Callable[[int], Any],
    spider: type[RequestsSpider] = TickingSpider,
    **settings: Any,
) -> Result:
    """A crawl with plenty under way at once."""
    many = {"CONCURRENT_REQUESTS": 200, "CONCURRENT_REQUESTS_PER_DOMAIN": 50}
    settings = obey(**{**many, **settings})
    result = await crawl(spider, settings, plans=plans, tick=tick, timeout=100)
    return result.check()


def spread(shops: list[Authority], count: int) -> list[str]:
    """So many URLs, the authorities by turns; every tenth is one that RULES forbid."""
    paths = [f"/private/{n}" if n // len(shops) % 10 == 9 else f"/{n}" for n in range(count)]
    return [shops[n % len(shops)].url(path) for n, path in enumerate(paths)]


def asked(shops: Iterable[Authority]) -> Counter[int]:
    """How many authorities were asked how often; no two fetches of one overlap."""
    for shop in shops:
        hits = shop.robots_hits
        for hit, following in zip(hits, hits[1:]):  # noqa: B905, RUF007
            assert hit.finished is not None
            assert hit.finished <= following.received
    return Counter(len(shop.robots_hits) for shop in shops)


class Leap:
    """The clock leaps ahead once every site has served a page; `ended` requests had by then."""

    def __init__(self, clock: Ahead, shops: list[Authority], seconds: float) -> None:
        self.clock, self.shops, self.seconds = clock, shops, seconds
        self.ended = 0
        self.pages = 0

    def __call__(self, ended: int) -> None:
        """So many requests have ended."""
        if not self.ended and all(shop.page_hits for shop in self.shops):
            self.ended = ended
            self.pages = sum(len(shop.page_hits) for shop in self.shops)
            self.clock.seconds += self.seconds


@waits
@ensureDeferred
async def test_at_expiry_under_load_there_are_20_more(site: Site, clock: Ahead) -> None:
    """In the middle of many requests a day goes by: 40 fetches, and the new rules hold."""
    rules = [Reply(200, RULES, delay=0.1), Reply(200, NOTHING, delay=0.1)]
    # No site is through with its pages before all others have begun.
    shops = site.authorities(20, rules, Reply(200, "page", delay=0.1))
    leap = Leap(clock, shops, DAY)
    result = await visit(spread(shops, 2_000), leap, CONCURRENT_REQUESTS=32, **BY_TURNS)
    assert asked(shops) == {2: 20}
    # What was let through before the day went by may still be on its way.
    assert leap.pages <= len(result.downloaded) <= leap.pages + 100
    assert result.stats["robotstxt/request_count"] == 40


@waits
@ensureDeferred
async def test_in_the_last_tenth_the_refresh_makes_nobody_wait(site: Site, clock: Ahead) -> None:
    """20 more fetches, in the background: requests go on by the rules there are."""
    shops = site.authorities(20, [RULES, Reply(200, NOTHING, delay=0.5)])
    leap = Leap(clock, shops, 0.95 * DAY)
    await visit(spread(shops, 600), leap, CONCURRENT_REQUESTS=16, **BY_TURNS)
    assert asked(shops) == {2: 20}
    refreshed = min(shop.robots_hits[1].sent or 0.0 for shop in shops)
    early = [h for shop in shops for h in shop.page_hits if h.received < refreshed]
    assert len(early) > leap.pages + 20


@pytest.mark.parametrize("requests", first(1, [300, 10_000]))
@ensureDeferred
async def test_dead_hosts_are_left_alone_for_a_minute(
    site: Site, clock: Ahead, requests: int
) -> None:
    """RFC 9309 2.3.1.4: ten of them are each tried three times, and no page is asked for."""
    dead = [site.authority(Reset() if n % 2 else Reply(503)) for n in range(10)]

    def tick(ended: int) -> None:
        clock.seconds = 59.0 * ended / requests

    result = await visit(spread(dead, requests), tick, REP_RETRY_DELAYS=[0.05, 0.1])
    assert asked(dead) == {3: 10}
    assert len(result.unreachable) == requests
    assert [hit for shop in dead for hit in shop.page_hits] == []


@ensureDeferred
async def test_a_host_that_recovers_is_visited_again(site: Site, clock: Ahead) -> None:
    """The first fetch after the back-off succeeds: from then on by its rules."""
    shop = site.authority([Reply(503), RULES])

    def tick(ended: int) -> None:
        if ended == 10:
            clock.seconds += 61.0

    urls = [shop.url(f"/{n}") for n in range(20)]
    result = await visit([*urls, shop.url("/private")], tick, OneByOneSpider)
    assert (result.unreachable, result.downloaded) == (urls[:10], urls[10:])
    assert result.forbidden == [shop.url("/private")]
    assert asked([shop]) == {2: 1}
