"""The pace of a host is kept however a request comes to it, and holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from scrapy_rep.awaiting import sleep
from tests.crawl.harness import visit
from tests.crawl.middlewares import HoldingMiddleware, inner
from tests.crawl.pacing import HURRIED, at_once, gaps
from tests.crawl.plugin import RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Site
from tests.timed import waits

SLOW = "User-agent: *\nCrawl-delay: 0.2\n"


async def test_requests_that_pass_by_wait_for_no_interval(site: Site) -> None:
    """They end in less than the minute that the site asks for, whichever comes first."""
    slow = site.authority("User-agent: *\nCrawl-delay: 60\n")
    onward = {"/1": [{"url": f"/by{n}", "meta": {"dont_obey_robotstxt": True}} for n in range(2)]}
    await visit([slow.url("/1")], onward=onward, timeout=50, **HURRIED)
    assert len(slow.page_hits) == 3


class LimboMiddleware:
    """Holds some requests up for a second behind the gate, and drops them then."""

    async def process_request(self, request: Request) -> None:
        """A second goes by."""
        if request.url.endswith("/limbo"):
            await sleep(1.0)
            raise IgnoreRequest


async def test_what_never_gets_to_its_host_holds_it_up_no_longer_than_it_is_there(
    site: Site,
) -> None:
    """A host begins to ask for a pace while a request to it is under way that ends unheard."""
    free = site.authority(RULES)
    slow = site.authority(Reply(200, SLOW, delay=0.3), host=free.host)
    plans = [free.url("/limbo"), *(slow.url(f"/{number}") for number in range(3))]
    result = await visit(plans, DOWNLOADER_MIDDLEWARES={LimboMiddleware: 950}, **HURRIED)
    assert result.downloaded == plans[1:]
    assert min(gaps(slow)) >= 0.2


@pytest.mark.parametrize(
    ("order", "paths"),
    first(
        1,
        [
            # The downloader has them before the gate does; the host begins to ask in between.
            (50, ["/", "/1?0.5", "/2?0.5"]),
            # What is held up counts as sent after a moment, so the next is an interval behind it.
            (950, ["/0?1.3", "/1?1.3"]),
        ],
    ),
    ids=["before the gate", "behind it"],
)
async def test_a_middleware_that_takes_its_time_does_not_lose_the_pace(
    site: Site, order: int, paths: list[str]
) -> None:
    """Nor does a request that it holds up wait for itself."""
    slow = site.authority(SLOW)
    plans = [slow.url(path) for path in paths]
    result = await visit(plans, DOWNLOADER_MIDDLEWARES={HoldingMiddleware: order}, **HURRIED)
    assert result.downloaded == plans
    assert min(gaps(slow)) >= 0.2


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
    """Cancels a slow download of its own on its first page, and finds another page.

    It finds `meanwhile` while the slow page, which is of the same host, is under way.
    """

    meanwhile = ""

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """The slow page, and the other one."""
        for each in super().page(response):
            yield each
        if response.url.endswith("/first"):
            if self.meanwhile:
                yield self.request(self.meanwhile)
            download = self.crawler.engine.download_async(Request(response.urljoin("/slow")))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(download, 1.0 if self.meanwhile else 0.3)
            if not self.meanwhile:
                yield self.request(response.urljoin("/last"))


@pytest.mark.parametrize("by", first(1, [obey, by_hand, by_hand_with_last_step]))
async def test_a_download_that_was_cancelled_keeps_its_host_no_longer(site: Site, by: Any) -> None:
    """Nothing tells of its end; the next request waits for its turn, with a scheduler or not."""
    shop = site.authority(SLOW, {"/slow": Reply(200, "page", delay=1.0, framing="close")})
    plans = [shop.url("/first")]
    result = await visit(plans, ImpatientSpider, by=by, timeout=30)
    assert result.downloaded == [shop.url("/first"), shop.url("/last")]


@pytest.mark.slow
@pytest.mark.parametrize("by", [obey, by_hand, by_hand_with_last_step])
async def test_so_does_one_that_was_under_way_when_its_host_began_to_ask_for_a_pace(
    site: Site, by: Any
) -> None:
    """The robots.txt of the other port comes meanwhile."""
    one = site.authority(RULES, {"/slow": Reply(200, "page", delay=3.0, framing="close")})
    two = site.authority(Reply(200, SLOW, delay=0.3), host=one.host)
    plans = [one.url("/first")]
    result = await visit(plans, ImpatientSpider, by=by, timeout=30, meanwhile=two.url("/last"))
    assert result.downloaded == [one.url("/first"), two.url("/last")]


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


async def test_a_request_whose_rules_expire_while_it_waits_keeps_its_order(
    site: Site, constants: Any
) -> None:
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


@waits
async def test_what_passed_the_gate_before_its_host_asked_for_a_pace_keeps_it(site: Site) -> None:
    """Two sites of one host; only the second asks, while pages of the first are held up."""
    one = site.authority(RULES)
    asks = Reply(200, "User-agent: *\nCrawl-delay: 0.3\n", delay=0.3)
    two = site.authority(asks, host=one.host)
    plans = [one.url(f"/{n}?0.6") for n in range(5)] + [two.url(f"/{n}") for n in range(5)]
    result = await visit(plans, DOWNLOADER_MIDDLEWARES={HoldingMiddleware: 950})
    assert len(result.downloaded) == 10
    assert one.page_hits[0].received > two.page_hits[0].received
    assert min(gaps(one, two)) >= 0.3


async def test_what_waits_at_the_last_step_is_given_back_at_a_stop(
    site: Site, tmp_path: Path
) -> None:
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
