"""The pace of a host is kept however a request comes to it, and holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from scrapy_rep.awaiting import sleep
from tests.crawl.harness import crawl, crawl_under, visit
from tests.crawl.middlewares import HoldingMiddleware
from tests.crawl.pacing import gaps
from tests.crawl.plugin import RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.spiders import OneByOneSpider, RequestsSpider
from tests.replies import Reply, html
from tests.rows import first
from tests.site import Site

SLOW = "User-agent: *\nCrawl-delay: 0.2\n"


def many(**settings: Any) -> dict[str, Any]:
    """Much more concurrency than a robots.txt with a delay agrees to."""
    return obey(CONCURRENT_REQUESTS=32, CONCURRENT_REQUESTS_PER_DOMAIN=8, **settings)


async def test_requests_that_pass_by_begin_the_interval_anew(site: Site) -> None:
    """`dont_obey_robotstxt`: the next request waits from its end on."""
    slow = site.authority(SLOW, Reply(200, "page", delay=0.3))
    onward = {"/1": [{"url": "/by", "meta": {"dont_obey_robotstxt": True}}, "/2"]}
    (await crawl(settings=many(), plans=[slow.url("/1")], onward=onward)).check()
    _, passing, second = slow.page_hits
    assert passing.target == "/by"
    assert second.received - (passing.sent or 0.0) >= 0.2


async def test_requests_that_pass_by_wait_for_no_interval(site: Site) -> None:
    """They end in less than the minute that the site asks for, whichever comes first."""
    slow = site.authority("User-agent: *\nCrawl-delay: 60\n")
    onward = {"/1": [{"url": f"/by{n}", "meta": {"dont_obey_robotstxt": True}} for n in range(2)]}
    (await crawl(settings=many(), plans=[slow.url("/1")], onward=onward, timeout=50)).check()
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
    settings = many(DOWNLOADER_MIDDLEWARES={LimboMiddleware: 950})
    plans = [free.url("/limbo"), *(slow.url(f"/{number}") for number in range(3))]
    result = (await crawl(settings=settings, plans=plans)).check()
    assert result.downloaded == plans[1:]
    assert min(gaps(slow)) >= 0.2


async def test_what_gets_to_the_gate_after_the_rules_does_not_wait_for_itself(site: Site) -> None:
    """The downloader has a request before the gate does; the host begins to ask in between."""
    slow = site.authority(SLOW)
    settings = many(DOWNLOADER_MIDDLEWARES={HoldingMiddleware: 50})
    plans = [slow.url("/"), slow.url("/1?0.5"), slow.url("/2?0.5")]
    result = (await crawl(settings=settings, plans=plans)).check()
    assert result.downloaded == plans
    assert min(gaps(slow)) >= 0.2


async def test_a_middleware_that_takes_its_time_does_not_lose_the_pace(site: Site) -> None:
    """What it holds up counts as sent after a moment, so the next is an interval behind it."""
    slow = site.authority(SLOW)
    settings = many(DOWNLOADER_MIDDLEWARES={HoldingMiddleware: 950})
    plans = [slow.url(f"/{number}?1.3") for number in range(2)]
    (await crawl(settings=settings, plans=plans)).check()
    assert len(slow.page_hits) == 2
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
    spider, settings = f"{__name__}.InlineSpider", obey(CONCURRENT_REQUESTS=most)
    plans = [slow.url(f"/{n}") for n in range(4)]
    result = (await crawl_under(mode, spider, settings, plans=plans)).check()
    assert len(result.downloaded) == 4
    assert len(slow.page_hits) == 8
    assert min(gaps(slow)) >= 0.1


class ImpatientSpider(RequestsSpider):
    """Cancels a slow download of its own on its first page, and finds another page."""

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """The slow page is of the same host."""
        for each in super().page(response):
            yield each
        if response.url.endswith("/first"):
            download = self.crawler.engine.download_async(Request(response.urljoin("/slow")))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(download, 0.3)
            yield self.request(response.urljoin("/last"))


@pytest.mark.parametrize("settings", first(1, [obey, by_hand, by_hand_with_last_step]))
async def test_a_download_that_was_cancelled_keeps_its_host_no_longer(
    site: Site, settings: Any
) -> None:
    """Nothing tells of its end; the next request waits for its turn, with a scheduler or not."""
    shop = site.authority(SLOW, {"/slow": Reply(200, "page", delay=1.0, framing="close")})
    plans = [shop.url("/first")]
    result = (await crawl(ImpatientSpider, settings(), timeout=30, plans=plans)).check()
    assert result.downloaded == [shop.url("/first"), shop.url("/last")]


# --- other sites, and a stop


async def test_five_slow_sites_of_fifty_do_not_slow_the_others(site: Site) -> None:
    """They come first in the queue; all pages of the others come within their first interval."""
    slow = site.authorities(5, "User-agent: *\nCrawl-delay: 30\n")
    others = site.authorities(45, RULES, html(delay=0.05))
    plans = [shop.url(f"/{n}") for shops in (slow, others) for n in range(2) for shop in shops]
    result = (await crawl(settings=obey(CLOSESPIDER_PAGECOUNT=50 + 95), plans=plans)).check_log()
    assert len(result.downloaded) == 95
    assert [len(shop.page_hits) for shop in slow] == [1] * 5


async def test_a_resumed_crawl_makes_what_waited_for_its_turn(site: Site, tmp_path: Path) -> None:
    """A stop waits for no turn: with JOBDIR, requests are made later, once, at their pace."""
    shop = site.authority("User-agent: *\nCrawl-delay: 30\n")
    urls = [shop.url(f"/{number}") for number in range(6)]
    settings = obey(CLOSESPIDER_TIMEOUT=1.5, REP_STORE="memory:", JOBDIR=str(tmp_path))
    first = (await crawl(settings=settings, plans=urls)).check_log()
    assert len(first.downloaded) == len(first.endings) == 1
    # The first request of a site is returned and withheld, and five are given back at the end.
    assert first.stats["scheduler/enqueued"] == 6 + 5
    shop.robots = SLOW
    second = (await crawl(settings={**settings, "CLOSESPIDER_TIMEOUT": 0}, plans=urls)).check_log()
    assert sorted([*first.downloaded, *second.downloaded]) == urls
    assert min(gaps(shop)) >= 0.2


async def test_what_is_remembered_is_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a crawl meets more authorities than are remembered, each is held all the same."""
    monkeypatch.setattr("scrapy_rep.waiting.turns._MOST_HOSTS", 2)
    shops = site.authorities(5, "User-agent: *\nCrawl-delay: 30\n")
    urls = [shop.url(f"/{number}") for number in range(3) for shop in shops]
    result = (await crawl(settings=obey(REP_MAX_CRAWL_DELAY=0.2), plans=urls)).check()
    assert all(min(gaps(shop)) >= 0.2 for shop in shops)
    assert len(result.lines("asks for 30 s")) == 5


async def test_a_host_that_was_forgotten_keeps_its_interval(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host takes its place; when it was last requested is remembered all the same."""
    monkeypatch.setattr("scrapy_rep.waiting.turns._MOST_HOSTS", 1)
    one, other = site.authorities(2, "User-agent: *\nCrawl-delay: 0.4\n")
    plans = [one.url("/0"), other.url("/0"), one.url("/1")]
    result = await visit(plans, OneByOneSpider)
    assert len(result.gate.turns.hosts) == len(gaps(one)) == 1
    assert gaps(one)[0] >= 0.4


async def test_a_fault_at_the_grant_of_a_turn_ends_the_request(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends unreachable, as do all later ones to a host whose pace cannot be kept."""

    def fail(*args: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("scrapy_rep.stats.RepStats.waited_for_pace", fail)
    shop = site.authority("User-agent: *\nCrawl-delay: 0.05\n")
    urls = [shop.url(f"/{number}") for number in range(4)]
    result = (await crawl(settings=by_hand(), plans=urls)).check(["out of order"])
    assert (len(result.downloaded), len(result.unreachable)) == (1, 3)
