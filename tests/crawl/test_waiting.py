"""Requests that wait keep their order, and do not hold up other requests."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
import scrapy
from scrapy.core.engine import ExecutionEngine
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from scrapy_rep.frontier.frontier import Frontier
from scrapy_rep.frontier.limits import SlotLoads
from scrapy_rep.frontier.sites import Sites
from tests.crawl.harness import MODES, crawl, visit
from tests.crawl.pacing import taken
from tests.crawl.plugin import LATE, RULES, obey
from tests.crawl.sharing import shared_store_of
from tests.crawl.spiders import QueuedSpider, RequestsSpider
from tests.replies import Hang, Reply, Stall, Trickle, html, redirect
from tests.rows import first
from tests.site import Site
from tests.timed import waits

BY_PRIORITY = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}


@waits
async def test_the_most_urgent_of_all_sites_go_first(site: Site) -> None:
    """With one queue for all sites, what waited goes by priority, whatever the site.

    The rules of twenty sites come at the same moment.
    """
    shops = site.authorities(20, Reply(200, RULES, delay=0.5), Reply(200, "page", delay=0.02))
    chance = random.Random(7)
    urgencies = [(shop, n, chance.randint(0, 9)) for n in range(5) for shop in shops]
    plans = [{"url": shop.url(f"/{p}/{n}"), "priority": p} for shop, n, p in urgencies]
    await visit(plans, CONCURRENT_REQUESTS=4, **BY_PRIORITY)
    hits = sorted((hit.received, hit.path) for shop in shops for hit in shop.page_hits)
    order = [int(path.split("/")[1]) for _, path in hits][8:]
    assert sum(later > earlier + 1 for earlier, later in pairwise(order)) <= 10


@pytest.mark.skipif(
    scrapy.version_info < (2, 15), reason="the engine of Scrapy 2.14 schedules it too late"
)
async def test_the_most_urgent_goes_first(site: Site) -> None:
    """A request of high priority overtakes those that have waited for the rules."""
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(60)]

    class UrgentSpider(RequestsSpider):
        def found(self, response: Response) -> Any:
            return () if self.endings[1:] else [self.request(shop.url("/urgent"), priority=100)]

    limits = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CONCURRENT_REQUESTS": 4}
    result = await visit(plans, UrgentSpider, **limits)
    order = [hit.path for hit in shop.page_hits]
    assert len(order) == 61
    assert order.index("/urgent") < 15
    assert len(result.downloaded) == 61


@pytest.mark.parametrize("at_once", [1, 2, 16])
async def test_the_engine_is_told_when_there_is_a_place(
    site: Site, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Behind a site that hangs, no request waits until the engine looks by itself."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 1_000)
    paced, moved = RULES + "Crawl-delay: 0.1\n", redirect("/rules")
    shops = [site.authority(Hang()), *[site.authority(RULES) for _ in range(4)]]
    shops += [site.authority(paced), site.authority(moved, {"/rules": RULES}), *shops[1:3]]
    plans = [shop.url(f"/{number}") for number, shop in enumerate(shops)]
    settings = obey(CONCURRENT_REQUESTS=at_once, REP_TIMEOUT=20)

    class EnoughSpider(QueuedSpider):
        def found(self, response: Response) -> Iterable[Any]:
            if len(self.endings) == len(self.plans) - 1:
                raise CloseSpider
            return ()

    result = await crawl(EnoughSpider, settings, plans=plans)
    assert result.downloaded == plans[1:]
    # The crawl was over before the robots.txt of the first one was, which stayed in the scheduler.
    assert sorted(ending.url for ending in result.endings) == sorted(plans[1:])


@pytest.mark.slow
async def test_the_first_page_of_a_site_with_stored_rules_holds_up_no_other(site: Site) -> None:
    """It has its rules as soon as the gate has seen it, and not only when it has come."""
    lead = site.authority(RULES)
    shop = site.authority(RULES, {"/slow": Reply(200, "page", delay=2), "/0": "page", "/1": "page"})
    later = [{"url": shop.url("/slow"), "priority": 1}, shop.url("/0"), shop.url("/1")]
    with shared_store_of("custom") as store:
        await visit([lead.url("/"), shop.url("/0")], REP_STORE=store.uri)
        result = await visit([lead.url("/")], onward={"/": later}, REP_STORE=store.uri)
    assert len(result.downloaded) == 4
    assert len(shop.robots_hits) == 1
    slow = next(hit for hit in shop.page_hits if hit.path == "/slow")
    assert slow.sent is not None
    assert all(hit.received < slow.sent for hit in shop.page_hits)


FAULTS = {
    "pushed": (Sites, "pushed"),
    "chosen": (Sites, "_chosen"),
    "head": (Sites, "_head"),
    "taken": (Frontier, "distinct"),
    "parked": (Sites, "_park"),
    "arrived": (Sites, "arrived"),
    "asked": (Frontier, "hand_out"),
    "free": (Frontier, "is_free"),
    "sent": (SlotLoads, "sent"),
    "left": (SlotLoads, "left"),
}


@pytest.mark.parametrize("how", first(1, ["queues", "front"]))
@pytest.mark.parametrize("lasting", first(1, [True, False]), ids=["each time", "once"])
@pytest.mark.parametrize(("cls", "name"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_of_the_frontier_loses_no_request(
    site: Site, monkeypatch: pytest.MonkeyPatch, cls: type, name: str, lasting: bool, how: str
) -> None:
    """One line says so; from then on requests wait in the downloader, and nothing is permitted."""
    faults = iter([False, False, True])
    original = getattr(cls, name)

    def fail(self: Any, *args: Any) -> Any:
        if next(faults, lasting):
            raise ArithmeticError("injected")
        return original(self, *args)

    monkeypatch.setattr(cls, name, fail)
    shops = site.authorities(3, LATE)
    urls = [shop.url(path) for shop in shops for path in ("/a", "/private", "/b", "/c")]
    failed = "The frontier failed"
    settings = BY_PRIORITY if how == "front" else {}
    result = await visit(urls, CONCURRENT_REQUESTS=2, expected=[failed], **settings)
    assert len(result.lines(failed, "ERROR")) == 1
    assert sorted(result.downloaded) == sorted(url for url in urls if "private" not in url)
    assert sorted(result.forbidden) == sorted(url for url in urls if "private" in url)
    assert result.gate.cache_info()["waiting"] == 0


# --- sites that are silent, and others


@waits
@pytest.mark.parametrize(("mode", "waiting"), [("asyncio", 256), *((mode, 64) for mode in MODES)])
async def test_silent_authorities_stall_no_others(site: Site, mode: str, waiting: int) -> None:
    """A hundred pages on fifty good authorities come before the silent ones are given up."""
    good = site.authorities(50, Reply(200, RULES, delay=0.05), html(delay=0.05))
    replies = Hang(), Trickle(200, RULES, interval=1.0), Stall(200, RULES), Hang()
    silent = [site.authority(reply) for reply in replies]
    waits = [silent[number % 4].url(f"/{number}") for number in range(waiting)]
    urls = [shop.url(path) for path in ("/1", "/2") for shop in good]
    plans = [*waits, *urls]
    result = await visit(plans, mode=mode, REP_TIMEOUT=4)
    assert (result.downloaded, result.unreachable) == (urls, waits)
    assert taken(good) < 4
    begun = min(shop.robots_hits[0].received for shop in silent)
    assert all(hit.received < begun + 4 for shop in good for hit in shop.hits)
