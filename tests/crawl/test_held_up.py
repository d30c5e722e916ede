"""Requests that a middleware holds up, or whose rules expire: what comes late keeps the pace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.crawler import Crawler

from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.middlewares import HoldingMiddleware
from tests.crawl.pacing import gaps, taken
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply
from tests.site import Site
from tests.timed import waits

SLOW = "User-agent: *\nCrawl-delay: 0.15\n"


class Asking:
    """A downloader middleware that first downloads the URLs in `meta["first"]`, as logins do."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Asking:
        """For this crawl."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """What comes first is awaited."""
        for url in request.meta.get("first", ()):
            assert self._crawler.engine is not None
            await self._crawler.engine.download_async(Request(url))


UNLIMITED = 0 if scrapy.version_info >= (2, 15) else 1_000
"""``CONCURRENT_REQUESTS`` without a limit; with 0, Scrapy 2.14 downloads nothing at all."""

ASKING = {"DOWNLOADER_MIDDLEWARES": {"tests.crawl.test_held_up.Asking": 900}}


@pytest.mark.parametrize("concurrent", [UNLIMITED, 1, 16])
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_what_passed_ungated_may_wait_for_the_pace_that_begins_after_it(
    site: Site, mode: str, concurrent: int
) -> None:
    """The host learns of its pace while a request to it, off the wire, awaits another one."""
    slow = site.authority(SLOW)
    first = [slow.url("/token"), slow.url("/key")]
    plan = {"url": slow.url("/"), "meta": {"dont_obey_robotstxt": True, "first": first}}
    settings = obey(**ASKING, CONCURRENT_REQUESTS=concurrent)
    (await crawl_under(mode, settings=settings, plans=[plan])).check()
    assert [hit.path for hit in slow.page_hits] == ["/token", "/key", "/"]
    assert gaps(slow)[0] >= 0.15


@waits
@ensureDeferred
async def test_requests_that_wait_off_the_wire_take_no_room_from_their_slot(site: Site) -> None:
    """Six pages await one more each, which are the last in the queue; the others flow past."""
    shop = site.authority(RULES, Reply(200, "a page", delay=0.02))
    held = [
        {"url": shop.url(f"/{n}"), "priority": 9, "meta": {"first": [shop.url(f"/{n}/first")]}}
        for n in range(6)
    ]
    others = [{"url": shop.url(f"/other/{n}"), "priority": 5} for n in range(60)]
    settings = obey(**ASKING, CONCURRENT_REQUESTS=UNLIMITED, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    (await crawl(settings=settings, plans=[*held, *others])).check()
    assert len(shop.page_hits) == 72
    assert taken([shop]) < 6  # with one every 0.2 seconds it takes 13


@ensureDeferred
async def test_a_request_whose_rules_expire_while_it_waits_keeps_its_order(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for fresh rules (RFC 9309 section 2.4), and is the next again."""
    monkeypatch.setattr("scrapy_rep.access.policy.MIN_LIFETIME", 0.3)
    slow = site.authority(Reply(200, SLOW, {"Cache-Control": "max-age=0"}, delay=0.05))
    plans = [slow.url(f"/{number}") for number in range(9)]
    (await crawl(settings=obey(), plans=plans)).check()
    assert len(slow.robots_hits) > 2
    assert [hit.path for hit in slow.page_hits] == [f"/{number}" for number in range(9)]
    assert min(gaps(slow)) >= 0.15


@waits
@ensureDeferred
async def test_rules_that_expire_on_the_way_do_not_stall_a_slot(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes back for new rules leaves its room to the next, at once."""
    monkeypatch.setattr("scrapy_rep.access.policy.MIN_LIFETIME", 0.4)
    rules = Reply(200, RULES, {"Cache-Control": "max-age=0"}, delay=0.05)
    shop = site.authority(rules, Reply(200, "a page", delay=0.05))
    plans = [shop.url(f"/{number}") for number in range(50)]
    settings = obey(CONCURRENT_REQUESTS=2, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    (await crawl(settings=settings, plans=plans)).check()
    assert len(shop.robots_hits) > 2
    assert taken([shop]) < 8  # the pages alone take 2.5 seconds


def most_at_once(site: Site) -> int:
    """How many pages the server was busy with at the same time."""
    pages = [hit for hit in site.hits if hit.path != "/robots.txt"]
    events = [(hit.received, 1) for hit in pages] + [(hit.sent or 0.0, -1) for hit in pages]
    under_way = most = 0
    for _, change in sorted(events):
        under_way += change
        most = max(most, under_way)
    return most


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_the_end_of_a_fetch_is_no_place_for_one_page_too_many(site: Site, mode: str) -> None:
    """Fetches end while pages are under way: CONCURRENT_REQUESTS holds at the server."""
    settings: dict[str, Any] = obey(CONCURRENT_REQUESTS=1)
    shops = site.authorities(4, RULES, Reply(200, "a page", delay=0.03))
    rest = [site.authority(Reply(200, RULES, delay=0.04 * n)) for n in range(15)]
    plans = [shop.url(f"/{n}") for n in range(6) for shop in shops]
    plans[8:8] = [other.url("/") for other in rest]
    (await crawl_under(mode, settings=settings, plans=plans)).check()
    assert most_at_once(site) == 1


# --- turns that were not used in time


SLOWER = "User-agent: *\nCrawl-delay: 0.3\n"


def holding(middleware: type[Any], order: int = 950, **settings: Any) -> dict[str, Any]:
    """Settings of a crawl with a middleware behind the gate."""
    path = f"{middleware.__module__}.{middleware.__name__}"
    return obey(CONCURRENT_REQUESTS=16, DOWNLOADER_MIDDLEWARES={path: order}, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("order", [150, 950])
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_what_is_held_up_for_long_still_keeps_the_pace(
    site: Site, mode: str, order: int
) -> None:
    """However long each is held up, and however many others go meanwhile."""
    slow = site.authority(SLOWER)
    held = [slow.url(f"/held{n}?{1.1 + n * 0.17:.2f}") for n in range(4)]
    plans = [{"url": url, "priority": 1} for url in held]
    plans += [{"url": slow.url(f"/{n}")} for n in range(8)]
    result = (
        await crawl_under(mode, settings=holding(HoldingMiddleware, order), plans=plans)
    ).check()
    assert len(result.downloaded) == 12
    assert len(slow.page_hits) == 12
    assert min(gaps(slow)) >= 0.3
    assert result.stats["robotstxt/allowed"] == 12


@waits
@ensureDeferred
async def test_what_passed_the_gate_before_its_host_asked_for_a_pace_keeps_it(site: Site) -> None:
    """Two sites of one host; only the second asks, while pages of the first are held up."""
    one = site.authority(RULES)
    two = site.authority(Reply(200, SLOWER, delay=0.3), host=one.host)
    plans = [one.url(f"/{n}?0.6") for n in range(5)] + [two.url(f"/{n}") for n in range(5)]
    result = (await crawl(settings=holding(HoldingMiddleware), plans=plans)).check()
    assert len(result.downloaded) == 10
    assert one.page_hits[0].received > two.page_hits[0].received
    assert min(gaps(one, two)) >= 0.3


@waits
@ensureDeferred
async def test_a_late_request_goes_before_those_that_have_yet_to_begin(site: Site) -> None:
    """It is the next of its host, or it would be late for ever."""
    slow = site.authority(SLOWER)
    plans = [{"url": slow.url("/held?1.2"), "priority": 1}]
    plans += [{"url": slow.url(f"/{n}")} for n in range(8)]
    (await crawl(settings=holding(HoldingMiddleware), plans=plans)).check()
    order = [hit.target for hit in slow.page_hits]
    assert order.index("/held?1.2") <= 3


@pytest.mark.slow
@ensureDeferred
async def test_a_late_request_is_given_back_when_the_crawl_stops(
    site: Site, tmp_path: Path
) -> None:
    """A job loses no request, wherever it waits."""
    slow = site.authority("User-agent: *\nCrawl-delay: 2\n")
    settings = holding(HoldingMiddleware, JOBDIR=str(tmp_path), CLOSESPIDER_TIMEOUT=2)
    plans = [slow.url(f"/held{n}?1.1") for n in range(3)]
    first = await crawl(settings=settings, plans=plans)
    settings.pop("CLOSESPIDER_TIMEOUT")
    second = await crawl(settings=settings, plans=[])
    assert sorted([*first.downloaded, *second.downloaded]) == plans
    assert not first.errors
    assert not second.errors
