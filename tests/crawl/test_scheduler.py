"""The scheduler, over Scrapy's queues and over schedulers of a project."""

from __future__ import annotations

from asyncio import gather
from collections import deque
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from scrapy_rep import Addon, RepScheduler, RepSchedulerMixin
from scrapy_rep.awaiting import sleep
from scrapy_rep.scheduler import with_frontier
from tests.crawl.closing import ClosingSpider
from tests.crawl.harness import crawl, visit
from tests.crawl.middlewares import Component, middleware
from tests.crawl.pacing import at_once, gaps
from tests.crawl.plugin import RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.spiders import OneByOneSpider, RequestsSpider
from tests.processes import run_python
from tests.replies import Hang, Reply
from tests.rows import first
from tests.site import Site

LATE = Reply(200, RULES, delay=0.15)
QUEUES = "ScrapyPriorityQueue", "DownloaderAwarePriorityQueue"
PACED = "User-agent: *\nCrawl-delay: {}\nDisallow: /private\n"


class PlainScheduler:
    """The three methods that Scrapy requires, and a list."""

    def __init__(self) -> None:
        self.requests: deque[Request] = deque()

    def has_pending_requests(self) -> bool:
        """Anything left."""
        return bool(self.requests)

    def enqueue_request(self, request: Request) -> bool:
        """At the end."""
        self.requests.append(request)
        return True

    def next_request(self) -> Request | None:
        """From the beginning."""
        return self.requests.popleft() if self.requests else None


class ForgetfulScheduler(PlainScheduler):
    """Takes back no request that it has had before."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def enqueue_request(self, request: Request) -> bool:
        """Once."""
        if request.url in self.seen:
            return False
        self.seen.add(request.url)
        return super().enqueue_request(request)


class OwnScheduler(RepSchedulerMixin, PlainScheduler):
    """As the documents say that a project may write it."""


class LateScheduler(Scheduler):
    """Makes its queues after a while: ``open`` may return a Deferred."""

    def open(self, spider: Any) -> Any:
        """Later."""

        async def open_late() -> None:
            await sleep(0.05)
            Scheduler.open(self, spider)

        return deferred_from_coro(open_late())


@pytest.mark.parametrize("scheduler", [PlainScheduler, OwnScheduler])
async def test_a_scheduler_of_three_methods_is_wrapped(site: Site, scheduler: type[Any]) -> None:
    """It has neither ``open`` nor ``close``; many sites, paces and rules that come late."""
    shops = [site.authority(LATE) for _ in range(4)] + [site.authority(PACED.format(0.1))]
    plans = [shop.url(path) for path in ("/a", "/private", "/b") for shop in shops]
    result = await visit(plans, SCHEDULER=scheduler)
    assert (len(result.downloaded), len(result.forbidden)) == (10, 5)
    assert result.stats["robotstxt/cache/miss"] == 5
    assert min(gaps(shops[-1])) >= 0.1


async def test_a_scheduler_may_open_its_queues_later(site: Site) -> None:
    """It has a queue for each site then, as any of Scrapy's."""
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(9)]
    result = await visit(plans, SCHEDULER=LateScheduler)
    assert sorted(result.downloaded) == sorted(plans)


async def test_by_hand_a_scheduler_is_named(site: Site) -> None:
    """``RepScheduler`` and ``RepLastStep`` without the add-on; nothing is left to recommend.

    A request counts once, though it is withheld for rules and for its turn, and handed out again.
    """
    shops = [site.authority(LATE), *site.authorities(2, PACED.format(0.05))]
    shops.append(site.authority(Reply(200, PACED.format(0.05), delay=0.1)))
    plans = [shop.url(path) for path in ("/a", "/b", "/private", "/c") for shop in shops]
    result = await visit(plans, by=by_hand_with_last_step, SCHEDULER="scrapy_rep.RepScheduler")
    assert not result.lines("RepLastStep is not in|Set SCHEDULER")
    assert result.stats["robotstxt/allowed"] == len(result.downloaded) == 12
    assert result.stats["robotstxt/forbidden"] == len(result.forbidden) == 4
    looked_up = result.stats["robotstxt/cache/hit"] + result.stats["robotstxt/cache/miss"]
    assert looked_up == len(plans)
    assert result.gate.cache_info()["waiting"] == 0


async def test_the_middleware_alone_recommends_the_rest(site: Site) -> None:
    """One line each; requests wait in the downloader, and its limits hold."""
    shop = site.authority(LATE, Reply(200, "page", delay=0.05))
    plans = [shop.url(f"/{n}") for n in range(30)]
    result = await visit(plans, by=by_hand, CONCURRENT_REQUESTS=4)
    assert sorted(result.downloaded) == sorted(plans)
    assert len(result.lines("RepLastStep is not in", "WARNING")) == 1
    assert len(result.lines("Set SCHEDULER to", "INFO")) == 1
    assert at_once(shop) <= 4


@pytest.mark.parametrize(
    ("setting", "own", "usual"),
    [
        ("SCHEDULER", f"{__name__}.PlainScheduler", "scrapy_rep.RepScheduler"),
        ("SCHEDULER_PRIORITY_QUEUE", *(f"scrapy.pqueues.{name}" for name in QUEUES)),
    ],
)
async def test_a_crawl_that_stalls_names_what_it_stalls_for(
    site: Site, constants: Any, setting: str, own: str, usual: str
) -> None:
    """The line names the project's own class, which the add-on may have wrapped."""
    constants("frontier.front", _MOST=4)
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(9)]
    result = await visit(plans, CONCURRENT_REQUESTS=1, **{setting: own})
    (line,) = result.lines("requests wait for their sites", "WARNING")
    assert f'{setting} = "{own}" has one queue for all sites' in line
    assert f'{setting} = "{usual}" has one for each' in line


def test_what_withholds_is_not_wrapped_again() -> None:
    """Neither this package's scheduler, nor one that a project has mixed the class into."""
    assert with_frontier(Scheduler) is RepScheduler
    assert with_frontier(RepScheduler) is RepScheduler
    assert with_frontier(OwnScheduler) is OwnScheduler
    assert issubclass(with_frontier(PlainScheduler), (RepSchedulerMixin, PlainScheduler))
    settings = Settings()
    Addon().update_settings(settings)
    Addon().update_settings(settings)
    assert settings["SCHEDULER"] is RepScheduler


async def test_without_a_gate_the_scheduler_is_its_base(site: Site) -> None:
    """The middleware is not enabled: nothing is withheld."""
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(3)]
    result = await visit(plans, by=dict, SCHEDULER=RepScheduler)
    assert result.downloaded == plans
    assert not any(name.startswith("robotstxt") for name in result.stats)


async def test_a_first_request_that_never_reaches_the_gate_holds_up_no_other(site: Site) -> None:
    """The downloader no longer has it, so that another one asks for the rules."""

    def answer(request: Request) -> Response | None:
        return Response(request.url, request=request) if request.url.endswith("/a") else None

    shops = site.authorities(3, LATE)
    plans = [shop.url(path) for shop in shops for path in ("/a", "/b", "/private")]
    answering = {middleware(process_request=answer): 50}
    result = await visit(plans, DOWNLOADER_MIDDLEWARES=answering)
    assert len(result.downloaded) + len(result.forbidden) == 9
    assert all(len(shop.robots_hits) == 1 for shop in shops)
    assert not any("private" in hit.path for shop in shops for hit in shop.hits)


class AgainSpider(RequestsSpider):
    """Downloads the request of its page once more, directly, and then yields it again."""

    again = 0

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """A page came."""
        list(super().page(response))
        if self.again:
            return
        self.again += 1
        request: Any = response.request
        await self.crawler.engine.download_async(request)
        self.made.append(request.url)
        yield request.replace(dont_filter=True)
        yield request  # the filter of duplicates drops it


@pytest.mark.parametrize("robots", [LATE, PACED.format(0.1)], ids=["late", "paced"])
async def test_the_same_request_may_be_downloaded_or_yielded_again(site: Site, robots: Any) -> None:
    """A request object is what it was when it was handed out, and no longer."""
    shop = site.authority(robots)
    result = await crawl(AgainSpider, obey(), plans=[shop.url("/a")])
    assert len(shop.page_hits) == 3
    assert len(result.downloaded) == 2
    assert result.stats["dupefilter/filtered"] == 1


class BothWaysSpider(RequestsSpider):
    """Yields a request, and downloads that very object while it waits in the scheduler."""

    late: str

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """Two downloads wait in place, and the second one is of what is yielded."""
        list(super().page(response))
        if response.url not in self.plans:
            return
        request = self.request(f"{self.late}both")
        yield request
        await sleep(0.05)
        download = self.crawler.engine.download_async
        await gather(download(Request(f"{self.late}before")), download(request))
        yield self.request(f"{self.late}after")


async def test_a_request_may_be_downloaded_directly_while_it_waits(site: Site) -> None:
    """The two uses of the object have turns of their own, and other paced sites go on."""
    shop, late = site.authority(RULES), site.authority(Reply(200, PACED.format(0.2), delay=0.3))
    result = await visit([shop.url("/a")], BothWaysSpider, late=late.url())
    assert len(result.downloaded) == 3
    assert sorted(hit.path for hit in late.page_hits) == ["/after", "/before", "/both", "/both"]
    assert min(gaps(late)) >= 0.2


class LazySpider(ClosingSpider):
    """Yields one request after another, and stops the crawl when there are a great many."""

    url: str

    def opened(self) -> None:
        """The stop is arranged: two seconds after there are as many as slow ``start()`` down."""
        is_full = self.crawler.stats.get_value("scheduler/enqueued", 0) >= MANY
        call_later(1.0 if is_full else 0.01, self.stop if is_full else self.opened)

    async def start(self) -> AsyncIterator[Any]:
        """Requests without end."""
        for number in count():
            yield self.request(f"{self.url}{number}")


MANY = 1_000


async def test_a_start_without_end_is_slowed_down(site: Site, constants: Any) -> None:
    """Memory grows slowly while a great many requests wait, although the downloader has room."""
    constants("frontier.frontier", _MANY=MANY, _PAUSE=1e-3)
    result = await crawl(LazySpider, obey(), url=site.authority(Hang()).url("/"))
    # A hundred more are read within 5 s, as each waits for a millisecond longer than the last.
    assert result.stats["robotstxt/waiting/max"] >= MANY
    assert result.stats["scheduler/enqueued"] < 2 * MANY


@pytest.mark.parametrize("queue", ["PickleLifoDiskQueue", "PickleFifoDiskQueue"])
async def test_start_requests_keep_their_order_at_a_stop(site: Site, job: Any, queue: str) -> None:
    """Within a site it is the order of Scrapy, also for what was taken out of its queue."""
    shop = site.authority(Hang())
    plans = [shop.url(f"/{n}") for n in range(20)]
    job |= {"CONCURRENT_REQUESTS": 1, "SCHEDULER_START_DISK_QUEUE": f"scrapy.squeues.{queue}"}
    first = await visit(plans, ClosingSpider, whole=False, parked=20, close_after=0.1, **job)
    assert first.endings == []
    shop.robots = RULES
    second = await visit([], whole=False, **job)
    assert [ending.url for ending in sorted(second.endings, key=lambda e: e.number)] == plans
    order = [int(hit.path.strip("/")) for hit in shop.page_hits]
    # The first one was taken before the others came.
    assert order == ([0, *range(19, 0, -1)] if "Lifo" in queue else list(range(20)))


async def test_a_base_that_takes_nothing_back_is_heard_of(site: Site) -> None:
    """At a stop: one line for each request, and the signal ``request_dropped``."""
    shop = site.authority(Hang())
    plans = [shop.url(f"/{n}") for n in range(3)]
    dropped: list[str] = []
    on = {signals.request_dropped: lambda request: dropped.append(request.url)}
    settings = obey(SCHEDULER=ForgetfulScheduler, CLOSESPIDER_TIMEOUT=0.5)
    result = await crawl(settings=settings, plans=plans, on=on)
    assert sorted(dropped) == plans
    assert len(result.lines("The scheduler did not take back", "WARNING")) == 3


class FailingScheduler(PlainScheduler):
    """Raises once when it is asked for a request."""

    failed = False

    def next_request(self) -> Request | None:
        """The next one, or an error."""
        if self.requests and not self.failed:
            self.failed = True
            raise ConnectionError("the queue is away")
        return super().next_request()


async def test_a_base_that_fails_once_goes_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is the engine's to handle; it is not one of the frontier."""
    raised: list[str] = []

    class WatchedScheduler(RepSchedulerMixin, FailingScheduler):
        """Notes what the engine is to handle."""

        def next_request(self) -> Request | None:
            """The next one, or an error."""
            try:
                return super().next_request()
            except Exception as error:
                raised.append(str(error))
                raise

    monkeypatch.setattr("scrapy.core.engine.ExecutionEngine._SLOT_HEARTBEAT_INTERVAL", 0.2)
    shop = site.authority(LATE)
    plans = [shop.url(f"/{n}") for n in range(3)]
    result = await crawl(settings=obey(SCHEDULER=WatchedScheduler), plans=plans)
    assert sorted(result.downloaded) == plans
    assert raised == ["the queue is away"]
    assert not result.lines("The frontier failed")


async def test_the_first_interval_counts_whatever_the_request_before_it_used(site: Site) -> None:
    """Another slot, and it does not obey: the host was asked all the same."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.6\n")
    free = {"dont_obey_robotstxt": True, "download_slot": "x"}
    await visit([{"url": shop.url("/first"), "meta": free}, shop.url("/second")], OneByOneSpider)
    first, second = shop.page_hits
    assert second.received - (first.sent or first.received) >= 0.59


CRAWL_TWICE = """
import gc, weakref
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

class NoneSpider(Spider):
    name = "none"

process = AsyncCrawlerProcess({"ADDONS": {"scrapy_rep.Addon": 100}, "LOG_LEVEL": "WARNING"})
crawlers = [process.create_crawler(NoneSpider) for _ in range(2)]
for crawler in crawlers:
    process.crawl(crawler)
process.start()
crawlers = [weakref.ref(crawlers.pop()), weakref.ref(crawlers.pop())]
del crawler, process
gc.collect()
assert [crawler() for crawler in crawlers] == [None, None]
"""


def test_a_crawl_that_is_over_is_freed() -> None:
    """A process may crawl again and again: nothing keeps the crawlers of before."""
    child = run_python("-c", CRAWL_TWICE, timeout=100)
    assert (child.returncode, child.stderr) == (0, "")


# --- the throttler that Scrapy is about to have


SAID = "Scrapy's throttler keeps Crawl-delay as well as scrapy_rep"


class Throttled(Component):
    """An extension in whose crawl there is a throttler."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.crawler.throttler = object()


THROTTLED = {"EXTENSIONS": {Throttled: 0}}


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        (THROTTLED, 1),
        ({**THROTTLED, "THROTTLER_ROBOTSTXT_OBEY": False}, 0),
        ({**THROTTLED, "REP_CRAWL_DELAY": False}, 0),
        ({}, 0),
    ],
)
async def test_a_throttler_that_keeps_the_same_pace_is_told_of(
    site: Site, settings: dict[str, Any], times: int
) -> None:
    """One line at the start, with the setting that ends it."""
    result = await visit([site.authority(RULES).url("/")], **settings)
    assert len(result.downloaded) == 1
    lines = result.lines(SAID, "INFO")
    assert len(lines) == times
    assert all("THROTTLER_ROBOTSTXT_OBEY to False" in line for line in lines)


async def test_a_throttler_leaves_fetches_of_robots_txt_alone(site: Site) -> None:
    """They carry `dont_throttle`, and pages do not."""
    shop = site.authority(RULES)
    seen: dict[str, Any] = {}

    def reached(request: Request) -> None:
        seen[request.url] = request.meta.get("dont_throttle")

    await visit([shop.url("/")], on={signals.request_reached_downloader: reached})
    assert seen == {shop.url("/robots.txt"): True, shop.url("/"): None}


class Asking(RequestsSpider):
    """Asks the scheduler for the delay of the next request when `/lead` has come, and stops."""

    delays: list[float | None]

    def found(self, response: Response) -> Any:
        """Ask."""
        if response.url.endswith("/lead"):
            self.delays.append(self.crawler.engine._slot.scheduler.get_next_request_delay())
            raise CloseSpider
        return ()


LEAD = Reply(200, "page", delay=0.5)


async def test_the_scheduler_knows_when_a_site_may_be_ready(site: Site) -> None:
    """Its host is due."""
    slow, lead = site.authority(PACED.format(60)), site.authority(RULES, LEAD)
    plans = [*(slow.url(f"/{n}") for n in range(3)), lead.url("/lead")]
    delays: list[float | None] = []
    await visit(plans, Asking, whole=False, timeout=40, delays=delays)
    (found,) = delays
    assert found is not None
    assert 0 < found <= 60


@pytest.mark.parametrize("by", first(1, [obey, by_hand]), ids=["add-on", "by hand"])
async def test_no_delay_is_known_if_nothing_waits_for_a_time(site: Site, by: Any) -> None:
    """By hand without the add-on, the scheduler is Scrapy's, or ours without what it asks."""
    lead = site.authority(RULES, LEAD)
    delays: list[float | None] = []
    scheduler = "scrapy_rep.RepScheduler"
    await visit([lead.url("/lead")], Asking, by=by, delays=delays, SCHEDULER=scheduler)
    assert delays == [None]
