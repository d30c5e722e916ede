"""The limits of the downloader are kept, and used, also by a downloader of a project's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import accumulate, pairwise
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request, signals
from scrapy.core.downloader import Downloader
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_rep.awaiting import sleep
from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.pacing import SlotlessDownloader, gaps
from tests.crawl.plugin import RULES, by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply
from tests.rows import first
from tests.site import Site
from tests.timed import waits

LATE = Reply(200, RULES, delay=0.2)


def at_once(result: Result, shops: list[Any]) -> int:
    """The most pages that were served at the same time."""
    hits = [hit for shop in shops for hit in shop.page_hits]
    return max(
        sum(h.received <= hit.received < (h.finished or hit.received + 1) for h in hits)
        for hit in hits
    )


@waits
@ensureDeferred
async def test_one_place_in_the_downloader_is_enough(site: Site) -> None:
    """CONCURRENT_REQUESTS = 1: one page at a time, and each goes when the one before has ended."""
    shops = site.authorities(10, LATE)
    plans = [shop.url(f"/{n}") for shop in shops for n in range(10)]
    result = (await crawl(settings=obey(CONCURRENT_REQUESTS=1), plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert at_once(result, shops) == 1
    times = [hit.received for shop in shops for hit in shop.page_hits]
    assert max(times) - min(times) < 6  # ten a second would take ten seconds


@waits
@ensureDeferred
async def test_concurrent_requests_is_kept_although_many_fetches_end_at_once(site: Site) -> None:
    """80 requests waited for 40 sites: when all rules come at once, the limit still holds."""
    shops = site.authorities(40, LATE, Reply(200, "page", delay=0.1))
    plans = [shop.url(f"/{n}") for n in range(2) for shop in shops]
    settings = obey(CONCURRENT_REQUESTS=8)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert at_once(result, shops) <= 8 + 3


@waits
@ensureDeferred
async def test_concurrent_requests_is_kept_by_hand_when_turns_come(site: Site) -> None:
    """Requests wait for their turns, and others take their places: no page more when one comes."""
    paced = site.authorities(6, RULES + "Crawl-delay: 0.2\n", Reply(200, "page", delay=0.3))
    plain = site.authorities(10, RULES, Reply(200, "page", delay=0.3))
    plans = [shop.url(f"/{n}") for n in range(4) for shop in (*paced, *plain)]
    result = (await crawl(settings=by_hand(CONCURRENT_REQUESTS=4), plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert result.stats["robotstxt/allowed"] == len(plans)  # each is counted once
    assert at_once(result, [*paced, *plain]) <= 4


@pytest.mark.parametrize("settings", first(1, [obey, by_hand]), ids=["add-on", "by hand"])
@ensureDeferred
async def test_what_waits_for_its_turn_in_place_is_not_one_too_many(
    site: Site, settings: Any
) -> None:
    """One place; each page of a paced host has to wait, as a middleware downloads there before."""
    paced = site.authority("User-agent: *\nCrawl-delay: 0.2\n", Reply(200, "page", delay=0.1))
    plain = site.authority(RULES, Reply(200, "page", delay=0.1))
    plans = [paced.url("/page1"), paced.url("/page2"), *(plain.url(f"/{n}") for n in range(12))]
    made = settings(CONCURRENT_REQUESTS=1)
    inner = {"tests.crawl.middlewares.InnerMiddleware": 500}
    made["DOWNLOADER_MIDDLEWARES"] = {**made.get("DOWNLOADER_MIDDLEWARES", {}), **inner}
    result = (await crawl(settings=made, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    hits = [hit for shop in (paced, plain) for hit in shop.page_hits if "inner" not in hit.path]
    hits.sort(key=lambda hit: hit.received)
    assert all((hit.sent or 0.0) <= later.received for hit, later in pairwise(hits))


def at_once_of(shop: Any) -> int:
    """The most pages of one site that were served at the same time, as far as it can tell."""
    steps = [(hit.received, 1) for hit in shop.page_hits]
    steps += [(hit.sent, -1) for hit in shop.page_hits]
    return max(accumulate(step for _, step in sorted(steps)))


@pytest.mark.parametrize("urgent", [0, 5], ids=["one priority", "urgent ones come later"])
@ensureDeferred
async def test_a_slot_gets_no_more_of_what_has_waited_than_it_sends(
    site: Site, urgent: int
) -> None:
    """Under asyncio Scrapy sends all that a slot has queued as soon as one of them has ended."""
    shop, named = site.authorities(2, LATE, Reply(200, "page", delay=0.05))
    plans = [
        {"url": s.url(f"/{n}"), "priority": n % 2 * urgent}
        for n in range(25)
        for s in (shop, named)
    ]
    slots = {named.host: {"concurrency": 4}}
    settings = obey(CONCURRENT_REQUESTS_PER_DOMAIN=2, DOWNLOAD_SLOTS=slots)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert len(result.downloaded) == 50
    assert [at_once_of(shop), at_once_of(named)] == [2, 4]


class WaitsForTheNext:
    """A middleware that holds the first response until a second request was sent."""

    def __init__(self, crawler: Crawler) -> None:
        self.sent = 0
        crawler.signals.connect(self._reached, signal=signals.request_reached_downloader)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> WaitsForTheNext:
        """Build it."""
        return cls(crawler)

    def _reached(self, request: Request) -> None:
        self.sent += "number" in request.meta

    async def process_response(self, request: Request, response: Response) -> Response:
        """Hold it."""
        while "number" in request.meta and self.sent < 2:
            await sleep(0.01)
        return response


@ensureDeferred
async def test_a_response_that_a_middleware_holds_keeps_no_page_from_being_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page at a time: the second one goes when the download of the first has ended."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 1_000)
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(3)]
    settings = obey(CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOADER_MIDDLEWARES={WaitsForTheNext: 500})
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == plans


@waits
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


@waits
@ensureDeferred
async def test_a_queue_of_one_port_does_not_hold_rules_of_another(site: Site) -> None:
    """A silent authority on the host of a queue: a request that waits for it takes no place."""
    busy = site.authority(LATE, Reply(200, "page", delay=0.2))
    silent = site.authority(Hang(), host=busy.host)
    shops = site.authorities(10, RULES)
    plans = [busy.url(f"/{n}") for n in range(20)] + [silent.url(f"/{n}") for n in range(20)]
    plans += [shop.url(f"/{n}") for n in range(5) for shop in shops]
    settings = obey(REP_TIMEOUT=5, CONCURRENT_REQUESTS=4, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert len(result.downloaded) == 70
    begun = silent.robots_hits[0].received
    assert all(hit.received < begun + 5 for shop in shops for hit in shop.page_hits)


@waits
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_silent_sites_take_no_connection_from_others(site: Site, mode: str) -> None:
    """More sites hang than CONCURRENT_REQUESTS: the others are asked and served all the same."""
    silent, shops = site.authorities(12, Hang()), site.authorities(20, RULES)
    plans = [shop.url("/a") for shop in (*silent, *shops)]
    settings = obey(REP_TIMEOUT=5, CONCURRENT_REQUESTS=4)
    result = (await crawl_under(mode, settings=settings, plans=plans)).check()
    assert result.downloaded == [shop.url("/a") for shop in shops]
    begun = min(shop.robots_hits[0].received for shop in silent)
    assert all(hit.received < begun + 5 for shop in shops for hit in shop.page_hits)


class CountingPlaces:
    """A middleware that notes how many requests the downloader may have as robots.txt passes it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.noted: list[int] = []
        crawler.places_noted = self.noted  # type: ignore[attr-defined]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CountingPlaces:
        """Build it."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """On its way to the downloader."""
        self._note(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Its download has ended, and the downloader still has it."""
        self._note(request)
        return response

    def _note(self, request: Request) -> None:
        engine: Any = self._crawler.engine
        if request.url.endswith("/robots.txt"):
            self.noted.append(engine.downloader.total_concurrency)


@ensureDeferred
async def test_a_fetch_gives_its_place_back_when_its_download_ends(site: Site) -> None:
    """One more for the fetch until then; the page that waits for it is in the scheduler."""
    shop = site.authority(RULES)
    settings = obey(CONCURRENT_REQUESTS=4, DOWNLOADER_MIDDLEWARES={CountingPlaces: 950})
    result = (await crawl(settings=settings, plans=[shop.url("/a")])).check()
    assert result.crawler.places_noted == [4 + 1, 4]
    assert result.crawler.engine.downloader.total_concurrency == 4


class NotingDownloader(Downloader):
    """Notes each change of how many requests it may have."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "total_concurrency" and value != vars(self).get(name):
            vars(self).setdefault("noted", []).append(value)
        super().__setattr__(name, value)


class PausingSpider(RequestsSpider):
    """Makes each request a while after the page before it."""

    async def page(self, response: Response) -> AsyncIterator[Request]:  # type: ignore[override]
        """A page came."""
        super().page(response)
        if self.plans:
            await sleep(0.3)
            yield self.request(self.plans.pop())

    async def start(self) -> AsyncIterator[Any]:
        """The first request alone."""
        yield self.request(self.plans.pop())


@ensureDeferred
async def test_a_request_that_has_its_turn_at_once_is_lent_no_place(site: Site) -> None:
    """A place is lent for the fetch alone; when the interval is over, none is needed."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.1\n")
    plans = [shop.url(f"/{n}") for n in range(3)]
    settings = obey(CONCURRENT_REQUESTS=4, DOWNLOADER=f"{__name__}.NotingDownloader")
    result = (await crawl(PausingSpider, settings, plans=plans)).check()
    assert sorted(result.downloaded) == plans
    assert result.crawler.engine.downloader.noted == [4, 4 + 1, 4]


# --- a DOWNLOADER of a project's own


SLOW = "User-agent: *\nCrawl-delay: 0.1\n"


def settings_of(downloader: type[Any], **settings: Any) -> dict[str, Any]:
    """Settings of a crawl with a custom downloader, which Scrapy's default queue may not suit."""
    return obey(
        DOWNLOADER=f"{__name__}.{downloader.__name__}",
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
        **settings,
    )


class OneAtATimeDownloader(SlotlessDownloader):
    """Has room for one request, and says so in no way but the documented one."""

    def needs_backout(self) -> bool:
        """There is room for one."""
        return len(self.active) >= 1


@pytest.mark.parametrize("mode", EACH_MODE)
@pytest.mark.parametrize("where", ["page", "after"])
@pytest.mark.parametrize(
    "downloader",
    [pytest.param(SlotlessDownloader, marks=pytest.mark.slow), OneAtATimeDownloader],
)
@ensureDeferred
async def test_a_downloader_without_slots_locks_nothing_up(
    site: Site, mode: str, where: str, downloader: type[Any]
) -> None:
    """A request may wait for another one of its host, before its download or after it."""
    slow = site.authority(SLOW)
    middlewares = {"tests.crawl.middlewares.InnerMiddleware": 950}
    settings = settings_of(downloader, DOWNLOADER_MIDDLEWARES=middlewares)
    settings["DOWNLOADER"] = f"{downloader.__module__}.{downloader.__name__}"
    plans = [slow.url(f"/{where}{number}") for number in range(3)]
    result = (await crawl_under(mode, settings=settings, plans=plans)).check()
    assert len(result.downloaded) == 3
    assert len(slow.page_hits) == 6
    assert min(gaps(slow)) >= 0.1


class OtherSlot:
    """A slot that has nothing of Scrapy's."""

    def __init__(self) -> None:
        self.members: list[Request] = []


class OtherSlotsDownloader(SlotlessDownloader):
    """Keeps slots by the name that Scrapy's downloader has for them, but others."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.slots: dict[str, OtherSlot] = {}
        self.per_slot_settings: dict[str, Any] = {}
        self.domain_concurrency = self.total_concurrency = 8

    def _get_slot(self, request: Request) -> tuple[str, OtherSlot]:
        key = request.url.split("/")[2]
        return key, self.slots.setdefault(key, OtherSlot())


class MissingSlotsDownloader(OtherSlotsDownloader):
    """Fails when it is asked for a slot."""

    def _get_slot(self, request: Request) -> tuple[str, OtherSlot]:
        raise LookupError("there are none")


class HalfADownloader(Downloader):
    """Scrapy's, with other slots behind its back."""

    def _get_slot(self, request: Request, spider: Any = None) -> Any:
        key, slot = super()._get_slot(request)
        return key, _Guarded(slot)


class _Guarded:
    """A slot that shows of Scrapy's only what its downloader needs to send."""

    def __init__(self, slot: Any) -> None:
        self.__dict__["_slot"] = slot

    def __getattr__(self, name: str) -> Any:
        if name == "concurrency":
            raise AttributeError(name)
        return getattr(self.__dict__["_slot"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_slot"], name, value)


@pytest.mark.parametrize(
    "downloader", [OtherSlotsDownloader, MissingSlotsDownloader, HalfADownloader]
)
@ensureDeferred
async def test_a_downloader_with_other_slots_keeps_the_pace(
    site: Site, downloader: type[Any]
) -> None:
    """What is in ``slots`` need not be what Scrapy has there."""
    slow, quick = site.authority(SLOW), site.authority(RULES)
    plans = [shop.url(f"/{number}") for number in range(4) for shop in (slow, quick)]
    plans.append(quick.url("/private"))
    result = (await crawl(settings=settings_of(downloader), plans=plans)).check()
    assert (len(result.downloaded), len(result.forbidden)) == (8, 1)
    assert min(gaps(slow)) >= 0.1


class _Opaque:
    """Runs the middlewares, and shows nothing of their methods."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self.middlewares = own.middlewares

    def download_async(self, download: Any, request: Request) -> Any:
        """What a request comes to."""
        return self._own.download_async(download, request)


class OpaqueDownloader(SlotlessDownloader):
    """A downloader that nothing can be added to."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.middleware: Any = _Opaque(self.middleware)


@ensureDeferred
async def test_a_downloader_that_hides_its_middlewares_keeps_the_pace(site: Site) -> None:
    """The last step is a middleware like any other one."""
    slow, quick = site.authority(SLOW), site.authority(RULES)
    plans = [shop.url(f"/{number}") for number in range(4) for shop in (slow, quick)]
    result = (await crawl(settings=settings_of(OpaqueDownloader), plans=plans)).check()
    assert len(result.downloaded) == 8
    assert min(gaps(slow)) >= 0.1
