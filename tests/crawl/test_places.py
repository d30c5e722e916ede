"""What happens after a robots.txt has arrived: those who waited set off as there is room."""

from __future__ import annotations

import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import scrapy
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.http import Response

from scrapy_rep.protocol.entry import Answer, Entry
from scrapy_rep.scheduling.shutdown import Shutdown
from scrapy_rep.scrapy_internals import ScrapyInternals
from scrapy_rep.stores import Store
from tests.crawl.harness import MODES, crawl, crawl_in_child
from tests.crawl.plugin import RULES, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply, Reset, redirect
from tests.site import Site
from tests.timed import timed

LATE = Reply(200, RULES, delay=0.2)


def at_once(result: Result, shops: list[Any]) -> int:
    """The most pages that were served at the same time."""
    hits = [hit for shop in shops for hit in shop.page_hits]
    return max(
        sum(h.received <= hit.received < (h.finished or hit.received + 1) for h in hits)
        for hit in hits
    )


@timed
@ensureDeferred
@pytest.mark.parametrize("most", [1, 4])
async def test_concurrent_requests_is_kept_after_the_landing(site: Site, most: int) -> None:
    """20 sites at once: their pages are not many more at a time than the project allows."""
    shops = site.authorities(20, LATE, Reply(200, "page", delay=0.03))
    plans = [shop.url("/a") for shop in shops]
    result = (await crawl(settings=obey(CONCURRENT_REQUESTS=most), plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    # Seen from the server, one may not be over yet when the next is there.
    assert at_once(result, shops) <= most + 3


@ensureDeferred
async def test_a_site_that_is_slow_to_serve_does_not_fill_the_downloader(site: Site) -> None:
    """60 requests for a site with a delay: ten other sites are done long before it."""
    slow = site.authority(LATE)
    shops = site.authorities(10, RULES)
    plans = [slow.url(f"/{n}") for n in range(60)]
    plans += [shop.url(f"/{n}") for n in range(2) for shop in shops]
    settings = obey(DOWNLOAD_DELAY=0.05, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert len(result.downloaded) == 80
    last = max(hit.received for shop in shops for hit in shop.page_hits)
    assert sum(hit.received < last for hit in slow.page_hits) < 30


class LatecomersSpider(RequestsSpider):
    """Asks for 200 pages more when the first is there."""

    def found(self, response: Response) -> Any:
        """Ask once."""
        if len(self.made) < 100:
            for number in range(200):
                yield self.request(response.urljoin(f"/late/{number}"))


@ensureDeferred
@pytest.mark.parametrize("limit", [0, 5, 1000])
async def test_who_comes_after_the_landing_is_not_parked(site: Site, limit: int) -> None:
    """The scheduler keeps what the downloader has no place for, though others still queue."""
    shop = site.authority(LATE, Reply(200, "page", delay=0.01))
    plans = [shop.url(f"/{n}") for n in range(60)]
    settings = obey(REP_PARK_LIMIT=limit)
    result = (await crawl(LatecomersSpider, settings=settings, plans=plans)).check()
    assert len(result.downloaded) == 260
    assert result.stats["robotstxt/cache/miss"] <= 60
    assert result.stats.get("robotstxt/parked", 0) == min(limit, 60)
    if limit == 1000:  # all are out of the scheduler, and go before those who come now
        early = [at for at, hit in enumerate(shop.page_hits) if "late" not in hit.path]
        assert early[-1] < 60 + 20


class UrgentSpider(RequestsSpider):
    """Asks for something urgent when the first page is there."""

    name = "urgent"
    urgent = ""

    def found(self, response: Response) -> Any:
        """Ask once."""
        if self.urgent not in self.made:
            yield self.request(self.urgent, priority=100)


@pytest.mark.skipif(
    scrapy.version_info < (2, 15), reason="the engine of Scrapy 2.14 schedules it too late"
)
@ensureDeferred
async def test_the_most_urgent_goes_first(site: Site) -> None:
    """A request of high priority overtakes those that have waited for the rules."""
    shop = site.authority(LATE)
    spider = type("Urgent", (UrgentSpider,), {"urgent": shop.url("/urgent")})
    plans = [shop.url(f"/{n}") for n in range(60)]
    settings = obey(CONCURRENT_REQUESTS_PER_DOMAIN=1, CONCURRENT_REQUESTS=4)
    result = (await crawl(spider, settings=settings, plans=plans)).check()
    order = [hit.path for hit in shop.page_hits]
    assert len(order) == 61
    assert order.index("/urgent") < 15
    assert len(result.downloaded) == 61


@ensureDeferred
async def test_a_stop_soon_after_the_landing_is_quick(site: Site) -> None:
    """CLOSESPIDER_PAGECOUNT counts: a few pages more, not all that had waited."""
    shop = site.authority(LATE, Reply(200, "page", delay=0.03))
    plans = [shop.url(f"/{n}") for n in range(100)]
    settings = obey(CLOSESPIDER_PAGECOUNT=6, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    result = await crawl(settings=settings, plans=plans)
    assert len(result.downloaded) < 40
    assert {p.type for _, p in result.errors} <= {"IgnoreRequest"}


@ensureDeferred
async def test_a_stop_long_after_the_landing_is_quick(site: Site) -> None:
    """All fetches are over, 30 requests wait for their turn: at a stop they end, and say why."""
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(30)]
    settings = obey(CLOSESPIDER_TIMEOUT=1, DOWNLOAD_DELAY=0.8, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert result.stats["elapsed_time_seconds"] < 6
    assert len(result.errors) > 20


@ensureDeferred
async def test_whoever_holds_the_places_may_wait_for_one(site: Site) -> None:
    """A middleware asks elsewhere for a page that holds the only place: no deadlock."""
    token, shop = site.authority(LATE, "token"), site.authority(RULES)
    middleware = type("Tokens", (TokenMiddleware,), {"url": token.url("/token")})
    settings = obey(CONCURRENT_REQUESTS=1, DOWNLOADER_MIDDLEWARES={middleware: 950})
    result = (await crawl(settings=settings, plans=[shop.url("/a")], timeout=20)).check()
    assert result.downloaded == [shop.url("/a")]
    assert [hit.path for hit in token.page_hits] == ["/token"]


@ensureDeferred
@pytest.mark.parametrize("status", ["ageing", "expired"])
async def test_rules_that_age_while_requests_wait_hold_up_none(
    site: Site, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    """Most of a day goes by while 30 requests wait for their turn: all are made."""
    real, skipped = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + skipped[0])
    shop = site.authority(LATE)
    hours = {"ageing": 22.8, "expired": 25.0}[status]

    def leap(hit: Any) -> Reply:
        skipped[0] = hours * 3600
        return Reply(200, "page")

    shop.pages = leap
    plans = [shop.url(f"/{n}") for n in range(30)]
    settings = obey(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    result = (await crawl(settings=settings, plans=plans, timeout=20)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert 2 <= len(shop.robots_hits) <= 3


class SlowStore(Store):
    """Answers later, and knows of any authority rules that are about to expire."""

    def get(self, authority: Any) -> Future[Entry | None]:
        """An entry in the last tenth of its life."""
        now = time.time()
        answer: Future[Entry | None] = Future()
        body = RULES.encode()
        answer.set_result(
            Entry(Answer(status=200, body=body, fetched_at=now - 82_000, lifetime=86_400.0))
        )
        return answer

    def put(self, authority: Any, entry: Entry) -> None:
        """Nothing is kept."""


@ensureDeferred
@pytest.mark.parametrize("limit", [0, 3, 1000])
async def test_ageing_rules_from_a_store_are_used(site: Site, limit: int) -> None:
    """The store's copy counts while it is refreshed in the background, parked or not."""
    shop = site.authority(RULES)
    plans = [shop.url(f"/{n}") for n in range(20)]
    settings = obey(REP_STORE="tests.crawl.test_places.SlowStore", REP_PARK_LIMIT=limit)
    result = (await crawl(settings=settings, plans=plans, timeout=20)).check()
    assert sorted(result.downloaded) == sorted(plans)


@ensureDeferred
async def test_pages_that_wait_for_one_of_their_own_site_are_no_deadlock(site: Site) -> None:
    """A middleware asks the same site for a token, for each of 20 pages."""
    shop = site.authority(LATE)
    middleware = type("Tokens", (TokenMiddleware,), {"url": shop.url("/token")})
    settings = obey(CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOADER_MIDDLEWARES={middleware: 950})
    plans = [shop.url(f"/{n}/a") for n in range(20)]
    result = (await crawl(settings=settings, plans=plans, timeout=40)).check()
    assert sorted(result.downloaded) == sorted(plans)


class TokenMiddleware:
    """Gets a token from elsewhere before a page is requested."""

    url = ""

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> TokenMiddleware:
        """The engine is needed later."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Ask for the token with the page's place in hand."""
        if request.url.endswith("/a"):
            await self.crawler.engine.download_async(Request(self.url))


class OwnTokenMiddleware(TokenMiddleware):
    """Gets the token from the page's own site."""

    async def process_request(self, request: Request) -> None:
        """Ask for it with the page's place in hand."""
        if request.url.endswith("/a"):
            await self.crawler.engine.download_async(Request(urljoin(request.url, "/token")))


@ensureDeferred
async def test_no_delay_comes_between_the_hops_of_a_fetch(site: Site) -> None:
    """Several sites redirect to one robots.txt: DOWNLOAD_DELAY is for pages."""
    target = site.authority(RULES)
    shops = site.authorities(8, redirect(target.url("/robots.txt")))
    plans = [shop.url("/a") for shop in shops]
    settings = obey(DOWNLOAD_DELAY=5, REP_TIMEOUT=3)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)


@ensureDeferred
async def test_default_headers_bring_no_cookie_to_robots_txt(site: Site) -> None:
    """DEFAULT_REQUEST_HEADERS: no Cookie, no Referer; Authorization for no other authority."""
    other = site.authority(RULES)
    shop = site.authority(redirect(other.url("/robots.txt")))
    secrets = {"Cookie": "sid=1", "Authorization": "Bearer t0ken", "Referer": "http://r/"}
    settings = obey(DEFAULT_REQUEST_HEADERS=secrets)
    (await crawl(settings=settings, plans=[shop.url("/a")])).check()
    (first,), (second,) = shop.robots_hits, other.robots_hits
    assert [first.header(name) for name in secrets] == [None, "Bearer t0ken", None]
    assert [second.header(name) for name in secrets] == [None, None, None]


class GivenBackSpider(RequestsSpider):
    """Its callback has no name, so that no disk queue can keep the request."""

    name = "nameless"

    def request(self, url: str, **fields: Any) -> Request:
        """The same with a lambda."""
        request = super().request(url, **fields)
        return request.replace(callback=lambda response: None)


@ensureDeferred
async def test_what_cannot_be_kept_is_not_given_back(site: Site, tmp_path: Path) -> None:
    """JOBDIR, a request that cannot be written, a stop: its errback hears of it."""
    shop = site.authority(Hang())
    settings = obey(JOBDIR=str(tmp_path), CLOSESPIDER_TIMEOUT=0.3)
    result = await crawl(GivenBackSpider, settings=settings, plans=[shop.url("/a")])
    assert result.unreachable == [shop.url("/a")]


@ensureDeferred
async def test_what_was_given_back_is_what_it_was(site: Site, tmp_path: Path) -> None:
    """After a stop and a resumption, the redirect of a page off the site is still stopped."""
    far = site.authority(RULES, host="127.9.9.9")
    shop = site.authority(Hang(), pages={"/a": redirect(far.url("/b"))})
    spider = type("Near", (RequestsSpider,), {"allowed_domains": [shop.host]})
    settings = obey(JOBDIR=str(tmp_path), REP_STORE="memory:")
    plans = [shop.url("/a")]
    stop = {**settings, "CLOSESPIDER_TIMEOUT": 0.3}
    first = await crawl(spider, settings=stop, plans=plans)
    assert first.endings == []
    shop.robots = RULES
    await crawl(spider, settings=settings, plans=plans)
    assert [hit.path for hit in shop.page_hits] == ["/a"]
    assert far.page_hits == []


@ensureDeferred
async def test_a_fault_of_ours_is_told_to_no_other_crawl(site: Site, tmp_path: Path) -> None:
    """A dead proxy says nothing of the site: the next crawl with the same store asks it."""
    shop, dead = site.authority(RULES), site.refusing()
    settings = obey(REP_STORE=f"sqlite://{tmp_path}/robots.db")
    plan = {"url": shop.url("/a"), "meta": {"proxy": dead.url("")}}
    first = (await crawl(settings=settings, plans=[plan])).check()
    assert first.unreachable == [shop.url("/a")]
    second = (await crawl(settings=settings, plans=[shop.url("/a")])).check()
    assert second.downloaded == [shop.url("/a")]
    gone = site.authority(Reset())
    (await crawl(settings=settings, plans=[gone.url("/a")])).check()
    (await crawl(settings=settings, plans=[gone.url("/a")])).check()
    assert len(gone.robots_hits) == 1


@timed
@pytest.mark.parametrize("mode", MODES)
def test_silent_sites_take_no_connection_from_others(site: Site, mode: str) -> None:
    """More sites hang than CONCURRENT_REQUESTS: the others are asked and served all the same."""
    silent, shops = site.authorities(12, Hang()), site.authorities(20, RULES)
    plans = [shop.url("/a") for shop in (*silent, *shops)]
    settings = obey(REP_TIMEOUT=5, CONCURRENT_REQUESTS=4)
    result = crawl_in_child(mode=mode, settings=settings, plans=plans).check()
    assert result.downloaded == [shop.url("/a") for shop in shops]
    begun = min(shop.robots_hits[0].received for shop in silent)
    assert all(hit.received < begun + 5 for shop in shops for hit in shop.page_hits)


@pytest.mark.parametrize("mode", MODES)
def test_pages_that_wait_for_their_own_site_end_under_every_reactor(site: Site, mode: str) -> None:
    """Where a request goes on at once when it is let go, the queue behind it is kept."""
    shop = site.authority(LATE)
    settings = obey(
        CONCURRENT_REQUESTS_PER_DOMAIN=1,
        DOWNLOADER_MIDDLEWARES={"tests.crawl.test_places.OwnTokenMiddleware": 950},
    )
    plans = [shop.url(f"/{n}/a") for n in range(20)]
    result = crawl_in_child(mode=mode, settings=settings, plans=plans).check()
    assert sorted(result.downloaded) == sorted(plans)


@timed
@ensureDeferred
async def test_one_place_is_enough_to_go_on(site: Site) -> None:
    """CONCURRENT_REQUESTS = 1: one page at a time, and each goes when the one before has ended."""
    shops = site.authorities(10, LATE)
    plans = [shop.url(f"/{n}") for shop in shops for n in range(10)]
    result = (await crawl(settings=obey(CONCURRENT_REQUESTS=1), plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert at_once(result, shops) == 1
    times = [hit.received for shop in shops for hit in shop.page_hits]
    assert max(times) - min(times) < 6  # ten a second would take ten seconds


@timed
@ensureDeferred
async def test_places_are_kept_however_many_land_at_once(site: Site) -> None:
    """Those past the limit, who waited in ordinary places, do not come on top of the others."""
    shops = site.authorities(40, LATE, Reply(200, "page", delay=0.1))
    plans = [shop.url(f"/{n}") for n in range(2) for shop in shops]
    settings = obey(CONCURRENT_REQUESTS=8, REP_PARK_LIMIT=24)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert at_once(result, shops) <= 8 + 3


@timed
@ensureDeferred
async def test_a_queue_of_one_port_does_not_hold_rules_of_another(site: Site) -> None:
    """A silent authority on the host of a queue: who waits for it takes nobody's place."""
    busy = site.authority(LATE, Reply(200, "page", delay=0.2))
    silent = site.authority(Hang(), host=busy.host)
    shops = site.authorities(10, RULES)
    plans = [busy.url(f"/{n}") for n in range(20)] + [silent.url(f"/{n}") for n in range(20)]
    plans += [shop.url(f"/{n}") for n in range(5) for shop in shops]
    settings = obey(REP_TIMEOUT=8, CONCURRENT_REQUESTS=4, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert len(result.downloaded) == 70
    begun = silent.robots_hits[0].received
    assert all(hit.received < begun + 8 for shop in shops for hit in shop.page_hits)


class OtherScheduler(Scheduler):
    """A scheduler of Scrapy's kind."""


@pytest.mark.parametrize(
    ("settings", "keeps"),
    [
        ({}, False),
        ({"JOBDIR": "x"}, True),
        ({"SCHEDULER": OtherScheduler}, False),
        ({"SCHEDULER": "scrapy_redis.scheduler.Scheduler"}, False),
        ({"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "SCHEDULER_PERSIST": True}, True),
    ],
)
def test_only_a_scheduler_that_keeps_requests_is_given_them_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: dict[str, Any], keeps: bool
) -> None:
    """A job directory, or a scheduler of another kind that is told to keep its queue."""
    from scrapy.utils.test import get_crawler

    monkeypatch.chdir(tmp_path)
    crawler = get_crawler(settings_dict=settings)
    engine = ScrapyInternals(crawler, warn=pytest.fail).engine
    assert Shutdown(crawler, engine, lambda before: None, lambda: False).keeps is keeps
