"""A crawl that is stopped while requests wait: soon over, nothing left behind, nothing lost."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from tests.crawl.closing import AskingSpider, ClosingSpider, FetchingSpider
from tests.crawl.harness import crawl, crawl_in_child, visit
from tests.crawl.leftovers import turn
from tests.crawl.middlewares import inner
from tests.crawl.pacing import gaps, slowness
from tests.crawl.plugin import LATE, RULES, obey
from tests.crawl.result import Result
from tests.replies import Endless, Hang, Reply, Stall, Trickle, redirect
from tests.site import Authority, Script, Site
from tests.timed import waits

AT_ONCE = 2.0
"""Seconds within which a stop is over."""


def mixed(site: Site, chance: random.Random) -> list[Authority]:
    """Authorities whose robots.txt hangs, trickles, is late, fails or is there at once."""
    replies = [
        Hang(),
        Hang(),
        Trickle(200, RULES, interval=0.5),
        Reply(200, RULES, delay=chance.uniform(0.05, 0.6)),
        Reply(503, delay=chance.uniform(0.0, 0.4)),
        Reply(200, RULES),
    ]
    return [site.authority(replies[n % len(replies)]) for n in range(20)]


def busy(**settings: Any) -> dict[str, Any]:
    """Room for everything at once; attempts are made again, so that pauses are met too.

    For what each errback gives Scrapy starts CONCURRENT_ITEMS workers, by default a hundred, which
    takes it longer than a whole stop.
    """
    room = {"CONCURRENT_REQUESTS": 100, "CONCURRENT_REQUESTS_PER_DOMAIN": 100}
    return obey(**{**room, "CONCURRENT_ITEMS": 2, "REP_RETRY_DELAYS": [0.2, 5], **settings})


async def stopped(plans: list[Any], spider: Any = ClosingSpider, **named: Any) -> Result:
    """A crawl with room for everything, of which the stop was quick."""
    result = await visit(plans, spider, **{"by": busy, "whole": False, **named})
    assert result.stats.get("closing/seconds", 0.0) < AT_ONCE * slowness()
    return result


@waits
@pytest.mark.timeout(400)
async def test_a_stop_at_any_point_is_over_at_once(site: Site) -> None:
    """500 for silent sites, thirteen seeded points: every request ends, or is left as it was."""
    waiting, seconds = [], []
    for seed in range(13):
        chance = random.Random(seed)
        replies = Hang(), Hang(), Trickle(200, RULES, interval=2)
        silent, shops = [site.authority(reply) for reply in replies], mixed(site, chance)
        urls = [silent[n % len(silent)].url(f"/{n}") for n in range(500)]
        urls += [shops[n % len(shops)].url(f"/{n}") for n in range(100)]
        chance.shuffle(urls)
        after = chance.uniform(0.0, 1.0)
        result = await stopped(urls, parked=200, close_after=after, timeout=20)
        stats = result.stats
        left = stats["scheduler/enqueued"] - stats.get("scheduler/dequeued", 0)
        assert len(result.endings) + left == len(result.made), f"seed {seed}: {left} left"
        assert result.crawler.engine.downloader.active == set()
        waiting.append(result.stats.get("closing/waiting", 0))
        seconds.append(result.stats["closing/seconds"])
    print(f"\nstops: {len(seconds)}, median {statistics.median(seconds):.2f} s, ", end="")  # noqa: T201
    print(f"longest {max(seconds):.2f} s; {min(waiting)} to {max(waiting)} waited")  # noqa: T201
    assert min(waiting) >= 190  # a few may have come to their end in the last moment


# --- with a job directory


async def test_a_request_comes_back_as_it_was(site: Site, job: Any) -> None:
    """Method, body and headers of what a stop interrupts are kept.

    The redirect of a page off the site is still stopped.
    """
    far = site.authority(RULES, host="127.9.9.9")
    shop = site.authority([Hang(), RULES], {"/a": redirect(far.url("/b"))})
    form = {"method": "POST", "body": "the body", "headers": {"X-Mine": "yes"}, "meta": {"mine": 1}}
    plans = [{"url": shop.url("/form"), "priority": 7, **form}, shop.url("/a")]
    how = {"by": busy, "whole": False, "allowed_domains": [shop.host], **job}
    first = await visit(plans, ClosingSpider, parked=2, close_after=0.1, **how)
    assert first.endings == []
    second = await visit([], ClosingSpider, **how)
    assert second.stats["scheduler/dequeued"] == 2
    page, moved = shop.page_hits
    sent = page.method, page.header("X-Mine"), page.header("Content-Length")
    assert sent == ("POST", "yes", "8")
    assert (moved.path, far.page_hits) == ("/a", [])


async def test_the_spider_is_not_called_idle_while_requests_wait(site: Site) -> None:
    """`spider_idle` comes once, at the end; its handlers often make more requests.

    However many waited, CONCURRENT_REQUESTS is in force again, and nothing waits any more.
    """
    shops = site.authorities(5, Reply(200, RULES + "Crawl-delay: 0.02\n", delay=0.8))
    urls = [shop.url(f"/{number}") for shop in shops for number in range(10)]
    result = await visit(urls, ClosingSpider, CONCURRENT_REQUESTS=7)
    assert len(result.downloaded) == 50
    assert (result.stats["idle/all"], result.stats.get("idle/waiting", 0)) == (1, 0)
    downloader = result.crawler.engine.downloader
    assert (downloader.total_concurrency, downloader.active) == (7, set())


# --- while robots.txt files are awaited


SILENT: list[Script] = [Hang(), Stall(200, RULES), Trickle(200, RULES, interval=0.5)]


async def hung_up(*authorities: Authority) -> None:
    """Returns once all connections have ended; one that trickles learns of it at an octet."""
    for _ in range(1_000):
        open_ones = [h for a in authorities for h in a.hits if h.finished is None]
        if not open_ones:
            return
        await turn(0.05)
    raise AssertionError(f"still open: {open_ones}")


async def test_a_stop_does_not_wait_for_robots_txt(site: Site, mode: str) -> None:
    """All that waits stays with the scheduler.

    In a process that lives on, nothing is left: no task, no delayed call, no open connection.
    """
    silent = [site.authority(robots) for robots in [*SILENT, [Reply(503), Hang()], Reply(503)]]
    good = site.authority(RULES)
    waiting = [authority.url(f"/{number}") for authority in silent for number in range(20)]
    how = {"mode": mode, "parked": len(waiting), "close_after": 1, "whole": False}
    patient = {"REP_TIMEOUT": 60, "REP_RETRY_DELAYS": [0.1, 60]}
    result = await visit([good.url("/"), *waiting], ClosingSpider, **how, **patient)
    assert [ending.url for ending in result.endings] == result.downloaded == [good.url("/")]
    assert result.stats["robotstxt/waiting/max"] > 50
    assert result.stats["finish_reason"] == "stopped"
    assert result.stats["closing/seconds"] < 60  # else it waited for the silent ones
    assert all(authority.page_hits == [] for authority in silent)
    await hung_up(*silent)
    assert [len(authority.hits) for authority in silent[:4]] == [1, 1, 1, 2]


async def test_a_resumed_crawl_makes_what_was_left(site: Site, tmp_path: Path, mode: str) -> None:
    """With JOBDIR, what waited goes back to the scheduler: made later, once, with its rules."""
    silent = [site.authority(robots) for robots in SILENT]
    good = site.authority(RULES)
    urls = [a.url(path) for a in [good, *silent] for path in ("/1", "/2", "/private")]
    job = {"mode": mode, "whole": False, "REP_TIMEOUT": 60, "JOBDIR": str(tmp_path)}
    first = await visit(urls, ClosingSpider, parked=9, close_after=1, **job)
    assert {ending.url for ending in first.endings} == set(urls[:3])
    for authority in silent:
        authority.robots = RULES
    second = await visit(urls, **job)
    ends = Counter((ending.url, ending.kind) for ending in [*first.endings, *second.endings])
    kinds = {url: "forbidden" if url.endswith("/private") else "downloaded" for url in urls}
    assert ends == Counter(kinds.items())
    pages = Counter(hit.path for authority in [good, *silent] for hit in authority.page_hits)
    assert pages == {"/1": 4, "/2": 4}


@pytest.mark.parametrize("begins", ["with", "without"])
@pytest.mark.parametrize("queue", ["Lifo", "Fifo"])
async def test_a_job_may_go_on_with_or_without_the_addon(
    site: Site, job: Any, begins: str, queue: str
) -> None:
    """Its queues are Scrapy's: nothing is lost, and nothing is made twice."""
    shops = site.authorities(3, RULES)
    plans = [shop.url(f"/{number}") for number in range(8) for shop in shops]
    ways: list[Any] = [obey, lambda **settings: {"ROBOTSTXT_OBEY": False, **settings}]
    disk = f"scrapy.squeues.Pickle{queue}DiskQueue"
    limits = {"CONCURRENT_REQUESTS": 2, "SCHEDULER_START_DISK_QUEUE": disk}
    ends: list[str] = []
    first, then = ways if begins == "with" else ways[::-1]
    for by, made, more in ((first, plans, {"CLOSESPIDER_PAGECOUNT": 6}), (then, [], {})):
        result = await visit(made, by=by, whole=False, **job, **limits, **more)
        ends += result.downloaded
        assert 0 < len(ends) < len(plans) or not made
    assert sorted(ends) == sorted(plans)
    assert sorted(shop.url(h.target) for shop in shops for h in shop.page_hits) == sorted(plans)


async def test_an_endless_robots_txt_ends_with_the_crawl(site: Site) -> None:
    """What is cut at the limit is hung up on, so that no connection outlives the crawl."""
    endless = site.authority(Endless(200, RULES))
    result = await visit([endless.url("/a")])
    assert result.downloaded == [endless.url("/a")]
    await hung_up(endless)


# --- what goes back to the scheduler


async def test_what_cannot_be_written_is_given_back_as_well(site: Site, tmp_path: Path) -> None:
    """JOBDIR, a request that cannot be written, a stop: it ends with the queue, as in Scrapy."""

    class GivenBackSpider(ClosingSpider):
        def request(self, url: str, **fields: Any) -> Request:
            return super().request(url, **fields).replace(callback=lambda response: None)

    how = {"parked": 1, "close_after": 0.1, "whole": False, "JOBDIR": str(tmp_path)}
    result = await visit([site.authority(Hang()).url("/a")], GivenBackSpider, **how)
    assert result.endings == []
    assert result.stats["scheduler/enqueued/memory"] == 1


# --- before the first request


class ClosedSpider(ClosingSpider):
    """It finds that there is nothing to do."""

    async def opened(self) -> None:  # type: ignore[override]
        """The crawl is over before the engine has started."""
        await self.crawler.engine.close_spider_async(reason="nothing to do")


def test_a_crawl_that_is_closed_as_it_opens_leaves_nothing(site: Site, tmp_path: Path) -> None:
    """No file, and no line. In a process of its own, as Scrapy itself leaves a task behind."""
    records = {"REP_DECISION_LOG": f"{tmp_path}/log.jsonl", "REP_WARC": f"{tmp_path}/a.warc.gz"}
    settings, plans = obey(**records), [site.authority(RULES).url("/a")]
    result = crawl_in_child(ClosedSpider, settings, plans=plans).check_log()
    assert (result.made, site.hits, [*tmp_path.iterdir()]) == ([], [], [])
    assert result.stats["finish_reason"] == "nothing to do"
    assert result.lines("Obeying robots.txt") == []


# --- while requests wait for their turn


async def test_a_stop_soon_after_the_rules_came_is_quick(site: Site) -> None:
    """CLOSESPIDER_PAGECOUNT counts: a few pages more, not all that had waited."""
    shop = site.authority(LATE, Reply(200, "page", delay=0.03))
    plans = [shop.url(f"/{n}") for n in range(100)]
    settings = obey(CLOSESPIDER_PAGECOUNT=6, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    result = await crawl(settings=settings, plans=plans)
    assert len(result.downloaded) < 40
    assert {p.type for _, p in result.errors} <= {"IgnoreRequest"}


async def test_a_download_after_the_end_waits_for_no_shared_turn(
    site: Site, tmp_path: Path
) -> None:
    """What a listener of `spider_closed` downloads is refused: workers share the pace of its site.

    Scrapy itself raises an error after such a download.
    """
    slow = site.authority("User-agent: *\nCrawl-delay: 0.2\n")

    class LateSpider(ClosingSpider):
        async def at_the_end(self) -> None:  # type: ignore[override]
            with suppress(Exception):
                await self.crawler.engine.download_async(Request(slow.url("/late")))

    how = {"REP_STORE": f"sqlite://{tmp_path}/robots.db", "timeout": 20}
    await visit([slow.url("/a")], LateSpider, **how)
    assert [hit.path for hit in slow.page_hits] == ["/a"]


# --- direct downloads: a stop waits for them, as Scrapy does


PATIENT: dict[str, Any] = {"REP_TIMEOUT": 1.2, "REP_RETRY_DELAYS": []}
"""Settings under which a robots.txt that never comes is given up in time for a stop."""


RULES_OF_ITS_PAGE = {"200": Reply(200, RULES, delay=1), "RobotsUnreachable": Hang()}


@waits
@pytest.mark.parametrize("ends", RULES_OF_ITS_PAGE)
@pytest.mark.parametrize("job", [False, True], ids=["without JOBDIR", "JOBDIR"])
async def test_a_download_of_a_callback_waits_for_its_rules_at_a_stop(
    site: Site, tmp_path: Path, mode: str, ends: str, job: bool
) -> None:
    """The callback waits for an answer, and has no later run; the last attempt is the end.

    What the scheduler never held is not given to it.
    """
    other, shop = site.authority(RULES_OF_ITS_PAGE[ends]), site.authority(RULES)
    settings = {**PATIENT, "JOBDIR": str(tmp_path) if job else None}
    how = {"mode": mode, "inner": other.url("/b"), "close_after": 0.3}
    result = await stopped([shop.url("/a")], FetchingSpider, **how, **settings)
    assert result.stats["inner"] == ends
    assert len(other.page_hits) == (ends == "200")


@waits
async def test_a_stop_waits_for_what_a_middleware_downloads(site: Site, mode: str) -> None:
    """The page that it holds goes on as well."""
    shop, slow = site.authority(RULES), site.authority("User-agent: *\nCrawl-delay: 0.3\n")
    plans = [shop.url(f"/page{n}?{slow.url(f'/inner{n}')}") for n in range(5)]
    how = {"by": inner(busy, 950), "mode": mode, "close_after": 0.4}
    result = await stopped(plans, **how, **PATIENT)
    assert sorted(result.downloaded) == sorted(plans)
    assert len(slow.page_hits) == 5
    assert min(gaps(slow)) >= 0.29


@waits
async def test_explain_ends_with_the_crawl(site: Site) -> None:
    """Who asks about a URL gets an answer, and it is no permission."""
    dark = site.authority(Hang())
    how = {"questions": [(dark.url("/a"), None)], "close_after": 0.5, "timeout": 6}
    result = await stopped([], AskingSpider, **how)
    assert [verdict.allowed for verdict in result.crawler.spider.answers] == [False]


@waits
async def test_a_background_refresh_does_not_hold_up_the_end(site: Site) -> None:
    """Nobody waits for it: the crawl is over soon after its pages are."""
    shop = site.authority([Reply(200, RULES, {"Cache-Control": "max-age=1000"}), Hang()])

    class LateSpider(ClosingSpider):
        def found(self, response: Any) -> Any:
            if response.url.endswith("/a"):
                cache = self.gate._parts.cache
                ahead = lambda clock=cache._clock: clock() + 950  # noqa: E731
                cache._clock = cache.refresher.clock = ahead
                yield self.request(response.urljoin("/b"))

    result = await visit([shop.url("/a")], LateSpider, by=busy, REP_TIMEOUT=60, timeout=30)
    assert (len(result.downloaded), len(shop.robots_hits)) == (2, 2)
