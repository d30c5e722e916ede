"""The pace of a host is kept however a request comes to it, also one that a middleware holds."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy import Request
from scrapy.http import Response

from scrapy_rep.awaiting import sleep
from tests.crawl.clock import Ahead
from tests.crawl.harness import visit
from tests.crawl.middlewares import AgeingMiddleware, HoldingMiddleware, LoginMiddleware, inner
from tests.crawl.pacing import at_once, gaps
from tests.crawl.plugin import RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

SLOW = "User-agent: *\nCrawl-delay: 0.2\n"


class InlineSpider(RequestsSpider):
    """Downloads another page of the same site from within each callback."""

    async def page(self, response: Response) -> None:  # type: ignore[override]
        """The inner page first."""
        await self.crawler.engine.download_async(Request(response.url + "/inner"))
        self._note(response.meta, status=response.status, final=response.url)


@pytest.mark.parametrize("most", first(1, [1, 16]))
async def test_downloads_of_a_callback_do_not_lock_up(site: Site, mode: str, most: int) -> None:
    """One place, one site that asks for a pace: each page and each inner page comes in its turn."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    plans = [slow.url(f"/{n}") for n in range(4)]
    result = await visit(plans, InlineSpider, mode=mode, CONCURRENT_REQUESTS=most)
    assert len(result.downloaded) == 4
    assert len(slow.page_hits) == 8
    assert min(gaps(slow)) >= 0.1


class ImpatientSpider(RequestsSpider):
    """Cancels a slow download of its own on its first page, and finds another page."""

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """The slow page, and the other one."""
        for each in super().page(response):
            yield each
        if response.url.endswith("/first"):
            download = self.crawler.engine.download_async(Request(response.urljoin("/slow")))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(download, 0.3)
            yield self.request(response.urljoin("/last"))


@pytest.mark.parametrize("by", first(1, [obey, by_hand, by_hand_with_last_step]))
async def test_a_download_that_was_cancelled_keeps_its_host_no_longer(site: Site, by: Any) -> None:
    """Nothing tells of its end; the next request waits for its turn, with a scheduler or not."""
    shop = site.authority(SLOW, {"/slow": Reply(200, "page", delay=1.0, framing="close")})
    plans = [shop.url("/first")]
    result = await visit(plans, ImpatientSpider, by=by, timeout=30)
    assert result.downloaded == [shop.url("/first"), shop.url("/last")]


# --- what comes late


PACED = "User-agent: *\nCrawl-delay: 0.15\n"
UNLIMITED = 0 if scrapy.version_info >= (2, 15) else 1_000
"""``CONCURRENT_REQUESTS`` without a limit; with 0, Scrapy 2.14 downloads nothing at all."""


@pytest.mark.parametrize("concurrent", first(1, [UNLIMITED, 1, 16]))
async def test_what_passed_ungated_may_wait_for_the_pace_that_begins_after_it(
    site: Site, mode: str, concurrent: int
) -> None:
    """The host learns of its pace while a request to it, off the wire, awaits another one."""
    slow = site.authority(PACED)
    before = [slow.url("/token"), slow.url("/key")]
    plan = {"url": slow.url("/"), "meta": {"dont_obey_robotstxt": True, "first": before}}
    await visit([plan], by=inner(obey, 900), mode=mode, CONCURRENT_REQUESTS=concurrent)
    assert [hit.path for hit in slow.page_hits] == ["/token", "/key", "/"]
    assert gaps(slow)[0] >= 0.15


async def test_rules_that_expire_meanwhile_change_no_order(site: Site, constants: Any) -> None:
    """It waits for fresh rules (RFC 9309 section 2.4), and is the next again."""
    constants("access.policy", MIN_LIFETIME=0.3)
    slow = site.authority(Reply(200, PACED, {"Cache-Control": "max-age=0"}, delay=0.05))
    plans = [slow.url(f"/{number}") for number in range(9)]
    await visit(plans)
    assert len(slow.robots_hits) > 2
    assert [hit.path for hit in slow.page_hits] == [f"/{number}" for number in range(9)]
    assert min(gaps(slow)) >= 0.15


async def test_the_end_of_a_fetch_is_no_place_for_one_page_too_many(site: Site, mode: str) -> None:
    """Fetches end while pages are under way: CONCURRENT_REQUESTS holds at the server."""
    shops = site.authorities(4, RULES, Reply(200, "a page", delay=0.03))
    rest = [site.authority(Reply(200, RULES, delay=0.04 * n)) for n in range(15)]
    plans = [shop.url(f"/{n}") for n in range(6) for shop in shops]
    plans[8:8] = [other.url("/") for other in rest]
    await visit(plans, mode=mode, CONCURRENT_REQUESTS=1)
    assert at_once(*shops, *rest) == 1


async def test_what_waits_at_the_last_step_comes_back_at_a_stop(site: Site, tmp_path: Path) -> None:
    """Its host began to ask for a pace when it was on its way there; the job loses no request."""
    one = site.authority(RULES)
    asks = Reply(200, "User-agent: *\nCrawl-delay: 60\n", delay=0.3)
    two = site.authority(asks, host=one.host)
    job = {"REP_STORE": "memory:", "JOBDIR": str(tmp_path)}
    job["DOWNLOADER_MIDDLEWARES"] = {HoldingMiddleware: 950}
    plans = [two.url("/"), *(one.url(f"/{n}?0.6") for n in range(3))]
    first = await visit(plans, whole=False, timeout=40, CLOSESPIDER_TIMEOUT=1, **job)
    assert first.downloaded == plans[:1]
    two.robots = RULES
    second = await visit([], whole=False, **job)
    assert sorted(second.downloaded) == sorted(plans[1:])


# --- other sites, and a stop


async def test_a_resumed_crawl_makes_what_waited_for_its_turn(site: Site, tmp_path: Path) -> None:
    """A stop waits for no turn: with JOBDIR, requests are made later, once, at their pace."""
    shop = site.authority("User-agent: *\nCrawl-delay: 30\n")
    urls = [shop.url(f"/{number}") for number in range(6)]
    job = {"REP_STORE": "memory:", "JOBDIR": str(tmp_path)}
    first = await visit(urls, whole=False, CLOSESPIDER_TIMEOUT=1.5, **job)
    assert len(first.downloaded) == len(first.endings) == 1
    # What waits never leaves its queue.
    assert first.stats["scheduler/enqueued"] == 6
    shop.robots = SLOW
    second = await visit(urls, whole=False, **job)
    assert sorted([*first.downloaded, *second.downloaded]) == urls
    assert min(gaps(shop)) >= 0.2


# --- what a middleware holds for a while

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
    site: Site, constants: Any, order: int
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
