"""The limits of the downloader are kept, and used, whatever makes a download.

So for what a middleware downloads before or after a page, and by a downloader of a project's own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.python import global_object_name
from twisted.internet.defer import Deferred

from scrapy_rep.awaiting import sleep
from tests.crawl.harness import MODES, crawl_in_child, visit
from tests.crawl.middlewares import inner, middleware
from tests.crawl.pacing import SLOTLESS, SlotlessDownloader, at_once, gaps, taken
from tests.crawl.plugin import LATE, RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply, redirect
from tests.rows import first
from tests.site import Site
from tests.timed import waits


@waits
@pytest.mark.parametrize("by", [by_hand, by_hand_with_last_step])
@pytest.mark.parametrize("places", [1, 2])
async def test_by_hand_no_turns_are_lost_while_the_downloader_is_full(
    site: Site, mode: str, places: int, by: Any
) -> None:
    """The request that has a place takes the next turn: others are in the queue, and cannot."""
    paced = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    slow = site.authority(RULES, Reply(200, "page", delay=1))
    plans = [*(paced.url(f"/{n}") for n in range(24)), *(slow.url(f"/{n}") for n in range(4))]
    await visit(plans, by=by, mode=mode, CONCURRENT_REQUESTS=places)
    assert taken((paced, slow)) < 24 * 0.1 + 4 * 1 + 3


@pytest.mark.parametrize("by", first(1, [obey, by_hand]), ids=["add-on", "by hand"])
async def test_what_waits_for_its_turn_in_place_is_not_one_too_many(site: Site, by: Any) -> None:
    """One place; each page of a paced host has to wait, as a middleware downloads there before."""
    paced = site.authority("User-agent: *\nCrawl-delay: 0.2\n", Reply(200, "page", delay=0.1))
    plain = site.authority(RULES, Reply(200, "page", delay=0.1))
    plans = [paced.url("/page1"), paced.url("/page2"), *(plain.url(f"/{n}") for n in range(12))]
    result = await visit(plans, by=inner(by, 500), CONCURRENT_REQUESTS=1)
    assert sorted(result.downloaded) == sorted(plans)
    hits = [hit for shop in (paced, plain) for hit in shop.page_hits if "inner" not in hit.path]
    hits.sort(key=lambda hit: hit.received)
    assert all((hit.sent or 0.0) <= later.received for hit, later in pairwise(hits))


@pytest.mark.parametrize("urgent", first(1, [5, 0]))
async def test_a_slot_gets_no_more_of_what_waited_than_it_sends(site: Site, urgent: int) -> None:
    """Under asyncio Scrapy sends all that a slot has queued as soon as one of them has ended."""
    shop, named = site.authorities(2, LATE, Reply(200, "page", delay=0.05))
    pages = [(n, each.url(f"/{n}")) for n in range(25) for each in (shop, named)]
    plans = [{"url": url, "priority": n % 2 * urgent} for n, url in pages]
    slots = {named.host: {"concurrency": 4}}
    result = await visit(plans, CONCURRENT_REQUESTS_PER_DOMAIN=2, DOWNLOAD_SLOTS=slots)
    assert len(result.downloaded) == 50
    assert at_once(shop) <= 2
    assert at_once(named) <= 4


async def test_a_response_that_a_middleware_holds_keeps_no_page_from_being_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page at a time: the second one goes when the download of the first has ended."""
    sent: list[str] = []

    def reached(request: Request) -> None:
        sent.extend([request.url] * ("number" in request.meta))

    async def hold(request: Request, response: Response) -> Response:
        while "number" in request.meta and len(sent) < 2:
            await sleep(0.01)
        return response

    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 1_000)
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(3)]
    settings = {"DOWNLOADER_MIDDLEWARES": {middleware(process_response=hold): 500}}
    on = {signals.request_reached_downloader: reached}
    result = await visit(plans, on=on, CONCURRENT_REQUESTS_PER_DOMAIN=1, **settings)
    assert sorted(result.downloaded) == plans


class CountingSpider(RequestsSpider):
    """Notes at each page how many requests for pages the downloader has, with the one that came."""

    def found(self, response: Response) -> Iterable[Any]:
        """Nothing is found."""
        active = self.crawler.engine.downloader.active
        count = sum("robots.txt" not in request.url for request in active)
        self.crawler.stats.max_value("most", count)
        return ()


async def test_rules_that_expire_while_a_site_waits_for_room_let_nothing_into_a_full_slot(
    site: Site, constants: Any
) -> None:
    """Many sites behind one service: they wait for new rules in their queues, as before."""
    constants("access.policy", MIN_LIFETIME=0.3)
    rules = Reply(200, RULES, {"Cache-Control": "max-age=0"}, delay=0.2)
    shops = site.authorities(20, rules, Reply(200, "page", delay=0.1))
    plans = [{"url": shop.url("/x"), "meta": {"download_slot": "service"}} for shop in shops]
    result = await visit(plans, CountingSpider, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    assert len(result.downloaded) == 20
    assert sum(len(shop.robots_hits) for shop in shops) > 25
    assert result.stats["most"] <= 5  # on a busy machine rules may expire on the way to the gate


# --- downloads that a middleware makes for a request that it has in hand

HOW = {"after the page": ("/after", 500), "behind the gate": ("/page", 500)}
HOW["before the gate"] = ("/page", 50)
"""The path of a page for which the middleware downloads another one, and the middleware's order."""


async def test_pages_that_wait_for_their_own_site_end(site: Site, mode: str) -> None:
    """Where a request goes on at once when it is let go, the queue behind it is kept."""
    shop = site.authority(LATE)
    plans = [shop.url(f"/page{n}") for n in range(20)]
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    result = await visit(plans, by=inner(obey, 950), mode=mode, **settings)
    assert sorted(result.downloaded) == sorted(plans)
    assert len(shop.page_hits) == 40


WAYS = [(how, "asyncio") for how in HOW] + [("behind the gate", mode) for mode in [*MODES][1:]]


@waits
@pytest.mark.parametrize(("how", "mode"), WAYS)
def test_those_of_many_sites_take_as_long_as_without_rules(site: Site, how: str, mode: str) -> None:
    """60 sites, a page of each, eight at a time: neither download waits for the other ones."""
    shops = site.authorities(60, RULES, Reply(200, "page", delay=0.05))
    path, order = HOW[how]
    plans = [shop.url(path) for shop in shops]
    started = time.monotonic()
    settings = inner(obey, order)(CONCURRENT_REQUESTS=8)
    result = crawl_in_child(settings=settings, mode=mode, plans=plans).check()
    assert result.downloaded == plans
    assert sum(hit.path == "/inner" for shop in shops for hit in shop.hits) == 60
    hits = [hit.received for shop in shops for hit in shop.page_hits]
    assert max(hits) - min(hits) < 6
    assert time.monotonic() - started < 20


@waits
@pytest.mark.parametrize("how", HOW)
async def test_those_of_other_sites_go_on_beside_a_slow_page(site: Site, how: str) -> None:
    """One of thirty sites answers its page after six seconds; all others are done long before."""
    slow = site.authority(RULES, Reply(200, "page", delay=6.0))
    shops = site.authorities(30, RULES)
    path, order = HOW[how]
    plans = [shop.url(path) for shop in (slow, *shops)]
    result = await visit(plans, by=inner(obey, order))
    assert result.downloaded == plans
    begun = min(hit.received for hit in slow.page_hits)
    late = [hit for shop in shops for hit in shop.page_hits if hit.received > begun + 5]
    assert late == []


@pytest.mark.parametrize("by", first(1, [obey, by_hand]), ids=["add-on", "by hand"])
@pytest.mark.parametrize("how", first(1, HOW))
async def test_those_of_a_host_keep_its_pace_with_one_place(site: Site, how: str, by: Any) -> None:
    """The page and its inner one go one after the other, although nothing else may go at all."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.2\n")
    path, order = HOW[how]
    plans = [shop.url(f"{path}/{number}") for number in range(3)]
    result = await visit(plans, by=inner(by, order), CONCURRENT_REQUESTS=1)
    assert result.downloaded == plans
    hits = sorted(shop.page_hits, key=lambda hit: hit.received)
    assert len(hits) == 6
    if by is by_hand:
        return  # without the last step, requests are spaced where the gate is
    for earlier, later in pairwise(hits):
        assert later.received - (earlier.sent or earlier.received) >= 0.195


async def test_without_the_scheduler_none_waits_behind_pages_that_need_it(site: Site) -> None:
    """Each page keeps the only place until it has its inner one, so that no page is put back.

    One that was would have its inner page downloaded a second time.
    """
    shop = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    plans = [shop.url(f"/page/{number}") for number in range(5)]
    result = await visit(plans, by=inner(by_hand_with_last_step, 950), CONCURRENT_REQUESTS=1)
    assert sorted(result.downloaded) == plans
    assert len(shop.page_hits) == 10


@waits
@pytest.mark.parametrize("by", [by_hand, by_hand_with_last_step])
@pytest.mark.parametrize("how", ["after the page", "behind the gate"])
async def test_without_the_scheduler_those_of_a_host_go_on(site: Site, how: str, by: Any) -> None:
    """No page's inner one waits a second for each of the pages that wait for their turn."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.05\n")
    path, order = HOW[how]
    plans = [shop.url(f"{path}/{number}") for number in range(20)]
    result = await visit(plans, by=inner(by, order), CONCURRENT_REQUESTS=2)
    assert sorted(result.downloaded) == sorted(plans)
    assert taken([shop]) < 10


@pytest.mark.parametrize("by", [obey, by_hand], ids=["add-on", "by hand"])
async def test_those_of_forbidden_pages_are_refused(site: Site, by: Any) -> None:
    """The middleware gets the refusal, so its page ends with it; the server sees neither."""
    for path, order in HOW.values():
        shop = site.authority("User-agent: *\nDisallow: /inner\nDisallow: /*/private\n")
        plans = [shop.url(path), shop.url(f"{path}/private")]
        result = await visit(plans, by=inner(by, order))
        assert sorted(result.forbidden) == sorted(plans)
        assert not any("inner" in hit.path or "private" in hit.path for hit in shop.hits)


async def test_a_host_that_begins_to_ask_waits_for_no_page_that_waits_for_it(site: Site) -> None:
    """By hand without the last step: a page's middleware asks another port of its host first."""
    for meta in ({}, {"dont_obey_robotstxt": True}):
        shop = site.authority(RULES)
        slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n", host=shop.host)
        plans = [{"url": shop.url(f"/page?{slow.url('/inner')}"), "meta": meta}]
        result = await visit(plans, by=inner(by_hand, 950))
        assert len(result.downloaded) == 1
        assert [hit.path for hit in slow.page_hits] == ["/inner"]


# --- a DOWNLOADER of a project's own


class OneAtATimeDownloader(SlotlessDownloader):
    """Has room for one request, and says so in no way but the documented one."""

    def needs_backout(self) -> bool:
        """There is room for one."""
        return len(self.active) >= 1


@pytest.mark.parametrize("where", ["page", "after"])
async def test_a_downloader_without_slots_is_not_stuck(site: Site, mode: str, where: str) -> None:
    """A request may wait for another one of its host, before its download or after it."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    settings = {**SLOTLESS, "DOWNLOADER": global_object_name(OneAtATimeDownloader)}
    plans = [slow.url(f"/{where}{number}") for number in range(3)]
    result = await visit(plans, by=inner(obey, 950), mode=mode, **settings)
    assert len(result.downloaded) == 3
    assert len(slow.page_hits) == 6
    assert min(gaps(slow)) >= 0.1


class HidingDownloader(SlotlessDownloader):
    """Does not show its middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._chain = self.__dict__.pop("middleware")

    def fetch(self, request: Request) -> Deferred[Any]:
        """What a request comes to."""
        self.active.add(request)
        fetching = self._chain.download_async(self._download, request)
        return deferred_from_coro(fetching).addBoth(self._done, request)


async def test_a_pace_is_kept_by_a_downloader_that_hides_its_middlewares(site: Site) -> None:
    """Without the last step, which is asked for and not found."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    settings = {**SLOTLESS, "DOWNLOADER": global_object_name(HidingDownloader)}
    await visit([slow.url(f"/{number}") for number in range(3)], by=by_hand, **settings)
    assert len(slow.page_hits) == 3
    assert min(gaps(slow)) >= 0.09


async def test_a_long_wait_in_place_leaves_its_place_to_others(site: Site) -> None:
    """A middleware downloads another page of the paced site first, and the interval begins."""
    paced = site.authorities(2, "User-agent: *\nCrawl-delay: 5\n")
    plain = site.authority(RULES)
    plans = [*(shop.url("/page") for shop in paced), *(plain.url(f"/{n}") for n in range(12))]
    await visit(plans, by=inner(obey, 500), CONCURRENT_REQUESTS=2)
    waited = [hit for shop in paced for hit in shop.page_hits if hit.path == "/page"]
    last = max(hit.received for hit in plain.page_hits)
    assert last < min(hit.received for hit in waited)


@waits
async def test_long_waits_in_place_let_few_requests_more_be_under_way(site: Site) -> None:
    """No more are lent places than CONCURRENT_REQUESTS, however many wait."""
    answers = Reply(200, "page", delay=3.0)
    shops = site.authorities(12, "User-agent: *\nCrawl-delay: 2\n", answers)
    plans = [shop.url("/page") for shop in shops]
    await visit(plans, by=inner(obey, 500), CONCURRENT_REQUESTS=2)
    assert at_once(*shops) <= 4


class SlotsSpider(RequestsSpider):
    """Notes which slots the downloader has while a page is read."""

    def found(self, response: Response) -> Iterable[Any]:
        """Nothing but that note."""
        self.crawler.stats.set_value("slots", list(self.crawler.engine.downloader.slots))
        return ()


async def test_a_fetch_leaves_no_slot_behind(site: Site, mode: str) -> None:
    """Scrapy would keep each for a minute or two; the delay of a slot sets a timer for it."""
    shop = site.authority(RULES)
    moved = site.authority(redirect(shop.url("/robots.txt")))
    result = await visit([moved.url("/open")], SlotsSpider, mode=mode, DOWNLOAD_DELAY=0.1)
    assert result.stats["slots"] == [moved.host]
