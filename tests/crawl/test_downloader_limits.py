"""The limits of the downloader are kept, and used, also by a downloader of a project's own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.python import global_object_name

from scrapy_rep.awaiting import sleep
from tests.crawl.component import Component
from tests.crawl.harness import visit
from tests.crawl.middlewares import inner
from tests.crawl.pacing import SLOTLESS, SlotlessDownloader, at_once, gaps, taken
from tests.crawl.plugin import LATE, RULES, by_hand, by_hand_with_last_step, obey
from tests.replies import Reply
from tests.rows import first
from tests.site import Site
from tests.timed import waits


@waits
async def test_concurrent_requests_is_kept_by_hand_when_turns_come(site: Site) -> None:
    """Requests wait for their turns, and others take their places: no page more when one comes."""
    paced = site.authorities(6, RULES + "Crawl-delay: 0.2\n", Reply(200, "page", delay=0.3))
    plain = site.authorities(10, RULES, Reply(200, "page", delay=0.3))
    plans = [shop.url(f"/{n}") for n in range(4) for shop in (*paced, *plain)]
    result = await visit(plans, by=by_hand, CONCURRENT_REQUESTS=4)
    assert sorted(result.downloaded) == sorted(plans)
    assert result.stats["robotstxt/allowed"] == len(plans)  # each is counted once
    assert at_once(*paced, *plain) <= 4


@waits
@pytest.mark.parametrize("settings", [by_hand, by_hand_with_last_step])
@pytest.mark.parametrize("places", [1, 2])
async def test_by_hand_no_turns_are_lost_while_the_downloader_is_full(
    site: Site, mode: str, places: int, settings: Any
) -> None:
    """The request that has a place takes the next turn: others are in the queue, and cannot."""
    paced = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    slow = site.authority(RULES, Reply(200, "page", delay=1))
    plans = [*(paced.url(f"/{n}") for n in range(24)), *(slow.url(f"/{n}") for n in range(4))]
    await visit(plans, by=settings, mode=mode, CONCURRENT_REQUESTS=places)
    assert taken((paced, slow)) < 24 * 0.1 + 4 * 1 + 3


@pytest.mark.parametrize("settings", first(1, [obey, by_hand]), ids=["add-on", "by hand"])
async def test_what_waits_for_its_turn_in_place_is_not_one_too_many(
    site: Site, settings: Any
) -> None:
    """One place; each page of a paced host has to wait, as a middleware downloads there before."""
    paced = site.authority("User-agent: *\nCrawl-delay: 0.2\n", Reply(200, "page", delay=0.1))
    plain = site.authority(RULES, Reply(200, "page", delay=0.1))
    plans = [paced.url("/page1"), paced.url("/page2"), *(plain.url(f"/{n}") for n in range(12))]
    result = await visit(plans, by=inner(settings, 500), CONCURRENT_REQUESTS=1)
    assert sorted(result.downloaded) == sorted(plans)
    hits = [hit for shop in (paced, plain) for hit in shop.page_hits if "inner" not in hit.path]
    hits.sort(key=lambda hit: hit.received)
    assert all((hit.sent or 0.0) <= later.received for hit, later in pairwise(hits))


@pytest.mark.parametrize("urgent", first(1, [5, 0]))
async def test_a_slot_gets_no_more_of_what_has_waited_than_it_sends(
    site: Site, urgent: int
) -> None:
    """Under asyncio Scrapy sends all that a slot has queued as soon as one of them has ended."""
    shop, named = site.authorities(2, LATE, Reply(200, "page", delay=0.05))
    pages = [(n, each.url(f"/{n}")) for n in range(25) for each in (shop, named)]
    plans = [{"url": url, "priority": n % 2 * urgent} for n, url in pages]
    slots = {named.host: {"concurrency": 4}}
    result = await visit(plans, CONCURRENT_REQUESTS_PER_DOMAIN=2, DOWNLOAD_SLOTS=slots)
    assert len(result.downloaded) == 50
    assert at_once(shop) <= 2
    assert at_once(named) <= 4


class WaitsForTheNext(Component):
    """A middleware that holds the first response until a second request was sent."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.sent = 0
        crawler.signals.connect(self._reached, signal=signals.request_reached_downloader)

    def _reached(self, request: Request) -> None:
        self.sent += "number" in request.meta

    async def process_response(self, request: Request, response: Response) -> Response:
        """Hold it."""
        while "number" in request.meta and self.sent < 2:
            await sleep(0.01)
        return response


async def test_a_response_that_a_middleware_holds_keeps_no_page_from_being_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page at a time: the second one goes when the download of the first has ended."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 1_000)
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(3)]
    settings = {"DOWNLOADER_MIDDLEWARES": {WaitsForTheNext: 500}}
    result = await visit(plans, CONCURRENT_REQUESTS_PER_DOMAIN=1, **settings)
    assert sorted(result.downloaded) == plans


@waits
async def test_a_site_that_is_slow_to_serve_does_not_fill_the_downloader(site: Site) -> None:
    """60 requests for a site with a delay: ten other sites are done long before it."""
    slow = site.authority(LATE)
    shops = site.authorities(10, RULES)
    plans = [slow.url(f"/{n}") for n in range(60)]
    plans += [shop.url(f"/{n}") for n in range(2) for shop in shops]
    result = await visit(plans, DOWNLOAD_DELAY=0.05, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    assert len(result.downloaded) == 80
    last = max(hit.received for shop in shops for hit in shop.page_hits)
    assert sum(hit.received < last for hit in slow.page_hits) < 30


# --- a DOWNLOADER of a project's own


class OneAtATimeDownloader(SlotlessDownloader):
    """Has room for one request, and says so in no way but the documented one."""

    def needs_backout(self) -> bool:
        """There is room for one."""
        return len(self.active) >= 1


@pytest.mark.parametrize("where", ["page", "after"])
@pytest.mark.parametrize(
    "downloader",
    [pytest.param(SlotlessDownloader, marks=pytest.mark.slow), OneAtATimeDownloader],
)
async def test_a_downloader_without_slots_locks_nothing_up(
    site: Site, mode: str, where: str, downloader: type[Any]
) -> None:
    """A request may wait for another one of its host, before its download or after it."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    settings = {**SLOTLESS, "DOWNLOADER": global_object_name(downloader)}
    plans = [slow.url(f"/{where}{number}") for number in range(3)]
    result = await visit(plans, by=inner(obey, 950), mode=mode, **settings)
    assert len(result.downloaded) == 3
    assert len(slow.page_hits) == 6
    assert min(gaps(slow)) >= 0.1
