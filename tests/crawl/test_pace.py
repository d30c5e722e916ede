"""Whose pace counts, when, for how long, and what is too much to ask."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.crawl.clock import DAY, Ahead
from tests.crawl.harness import visit
from tests.crawl.pacing import HURRIED, gaps, pages, taken
from tests.crawl.plugin import RULES
from tests.crawl.spiders import OneByOneSpider
from tests.replies import Reply, html, redirect
from tests.site import Authority, Site
from tests.timed import waits


def since(first: Authority, other: Authority) -> list[float]:
    """The gaps of both, from the one before the first page of the first on."""
    moment = first.page_hits[0].received
    at_will = sum(1 for hit in other.page_hits if hit.received < moment)
    return gaps(first, other)[max(at_will - 1, 0) :]


async def at_their_pace(site: Site, mode: str) -> dict[float, list[Authority]]:
    """Sites of which a crawler asks four pages each, by the seconds that they ask for."""
    asked = {
        0.3: [
            "User-agent: *\nRequest-rate: 10/3\n",
            "User-agent: *\nRequest-rate: 10/3 0000-0001\nVisit-time: 0000-0001\n",
            "User-agent: *\nCrawl-delay: 0.3\nRequest-rate: 100/1\nCrawl-delay: 0.1\n",
            "User-agent: *\nCrawl-delay: 30\n\nUser-agent: mybot\nCrawl-delay: 0.3\n",
        ],
        0.4: ["User-agent: *\nRequest-rate: 1/10m\n"],  # cut to the longest allowed
        0.0: [
            "User-agent: *\nCrawl-delay: 30\n\nUser-agent: mybot\nDisallow: /x\n",
            "User-agent: otherbot\nRequest-rate: 1/9\n\nUser-agent: *\nDisallow: /x\n",
            "User-agent: *\nCrawl-delay: 0\nCrawl-delay: -5\nCrawl-delay: nan\n",
        ],
    }
    shops = {seconds: [site.authority(robots) for robots in asked[seconds]] for seconds in asked}
    urls = [url for those in shops.values() for shop in those for url in pages(shop, 4)]
    settings = {"REP_MAX_CRAWL_DELAY": 0.4, "CONCURRENT_REQUESTS": 99}
    await visit(urls, mode=mode, ROBOTSTXT_USER_AGENT="mybot", **settings)
    for seconds, those in shops.items():
        for shop in those:
            assert len(shop.page_hits) == 4
            assert min(gaps(shop)) >= seconds, (seconds, shop.robots)
    return shops


async def test_request_rates_and_groups(site: Site, mode: str) -> None:
    """Request-rate is kept; the group of the agent decides, not that of *."""
    await at_their_pace(site, mode)


@waits
async def test_no_site_is_asked_much_later_than_it_wants(site: Site) -> None:
    """Nor is one that asks another agent for a pace asked slowly."""
    shops = await at_their_pace(site, "asyncio")
    assert max(min(gaps(shop)) for shop in shops[0.3]) < 0.45
    assert taken(shops[0.0]) < 1.5


def politest(site: Site) -> tuple[list[Any], Callable[[], None]]:
    """The ports of one host keep one pace, whatever their slots, to the last of them."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.2\n")
    other = site.authority(host=slow.host)
    far = site.authority("User-agent: *\nRequest-rate: 10/1\n")
    near = site.authority(host=far.host)
    plans: list[Any] = [slow.url("/1"), other.url("/1"), slow.url("/2"), *pages(other, 6)[2:]]
    shared = [far.url("/1"), near.url("/1"), far.url("/2"), *pages(near, 5)[2:], near.url("/0")]
    plans += [{"url": url, "meta": {"download_slot": url}} for url in shared]

    def check() -> None:
        assert len(gaps(slow, other)) == len(gaps(far, near)) == 6
        assert min(since(slow, other)) >= 0.2
        assert min(since(far, near)) >= 0.1

    return plans, check


def one_at_a_time(site: Site) -> tuple[list[Any], Callable[[], None]]:
    """However short the delay, no request is sent before the end of the one before."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.1\n", html(delay=0.2))

    def check() -> None:
        for earlier, later in pairwise(shop.page_hits):
            assert earlier.sent is not None
            assert later.received >= earlier.sent + 0.1

    return pages(shop, 3), check


def redirected(site: Site) -> tuple[list[Any], Callable[[], None]]:
    """Four sites redirect to one that asks for a pace; Scrapy leaves the slot of the first."""
    slow = site.authority("User-agent: *\nCrawl-delay: 0.2\n")
    others = [site.authority(RULES, {"/r": redirect(slow.url(f"/{n}"))}) for n in range(4)]

    def check() -> None:
        assert len(slow.page_hits) == 5
        assert min(gaps(slow)) >= 0.2

    return [slow.url("/own"), *(other.url("/r") for other in others)], check


def one_slot(site: Site) -> tuple[list[Any], Callable[[], None]]:
    """A host that asks for nothing is not slowed by one that shares its download slot."""
    slow, quick = site.authority("User-agent: *\nCrawl-delay: 0.2\n"), site.authority(RULES)
    urls = [shop.url(f"/{number}") for number in range(4) for shop in (slow, quick)]

    def check() -> None:
        assert min(gaps(slow)) >= 0.2
        assert quick.page_hits[-1].received < slow.page_hits[-1].received

    return [{"url": url, "meta": {"download_slot": "shared"}} for url in urls], check


async def test_a_host_keeps_its_pace_however_its_requests_come(site: Site, mode: str) -> None:
    """In one crawl.

    A request that is refused when its turn comes holds up no other (RFC 9309 section 2.2.2).
    """
    cases = [make(site) for make in (politest, one_at_a_time, redirected, one_slot)]
    shop = site.authority("User-agent: *\nDisallow: /no\nCrawl-delay: 0.1\n")
    shop.pages = lambda hit: redirect("/no") if hit.path == "/0" else html()
    plans = [*pages(shop, 5), *(plan for those, _ in cases for plan in those)]
    result = await visit(plans, mode=mode, **HURRIED)
    assert result.forbidden == [shop.url("/0")]
    assert len(result.downloaded) == len(plans) - 1
    for _, check in cases:
        check()


async def test_the_pace_can_be_switched_off(site: Site) -> None:
    """REP_CRAWL_DELAY = False: as fast as the operator likes, and nothing is too much to ask.

    Nor is anything said of a line that says no pace.
    """
    shops = [site.authority(f"User-agent: *\nCrawl-delay: {delay}\n") for delay in ("99", "5m")]
    plans = [url for shop in shops for url in pages(shop, 6)]
    result = await visit(plans, REP_CRAWL_DELAY=False, REP_OVER_MAX_CRAWL_DELAY="forbid")
    assert result.downloaded == plans
    assert "robotstxt/crawl_delay/applied" not in result.stats
    assert result.lines("says no pace") == []


async def test_a_pace_that_is_asked_for_no_more_holds_nothing_up(site: Site, clock: Ahead) -> None:
    """RFC 9309 2.4: the newer robots.txt counts; by the older one this would take two minutes."""
    shop = site.authority(["User-agent: *\nCrawl-delay: 60\n", RULES])
    tick = clock.through([0, 2 * DAY])
    result = await visit(pages(shop, 3), OneByOneSpider, tick=tick, timeout=50)
    assert result.downloaded == pages(shop, 3)
    assert len(shop.robots_hits) == 2


async def test_a_long_delay_is_cut_and_said_once(site: Site) -> None:
    """REP_MAX_CRAWL_DELAY; the log names each authority once, the stat counts them."""
    shops = site.authorities(2, "User-agent: *\nCrawl-delay: 3600\n")
    urls = [url for shop in shops for url in pages(shop, 3)]
    result = await visit(urls, REP_MAX_CRAWL_DELAY=0.2)
    for shop in shops:
        assert min(gaps(shop)) >= 0.2  # an hour between them would be too long for this test
        said = "asks for 3,600 s .*; REP_MAX_CRAWL_DELAY cuts that to 0.2 s"
        assert len(result.lines(f"{shop.host}:{shop.port} {said}", "INFO")) == 1
    assert result.stats["robotstxt/crawl_delay/capped"] == 2
    assert result.stats["robotstxt/crawl_delay/applied"] == 2


async def test_a_delay_that_becomes_too_long_is_said(site: Site, clock: Ahead) -> None:
    """REP_MAX_CRAWL_DELAY: the site has asked for a short one before."""
    delays = 0.1, 1_234_567
    shop = site.authority([f"User-agent: *\nCrawl-delay: {seconds}\n" for seconds in delays])
    tick = clock.through([0, 2 * DAY])
    result = await visit(pages(shop, 3), OneByOneSpider, tick=tick, REP_MAX_CRAWL_DELAY=0.2)
    said = "asks for 1,234,567 s .*; REP_MAX_CRAWL_DELAY cuts that to 0.2 s"
    assert len(result.lines(said, "INFO")) == 1


async def test_a_void_delay_is_said_once(site: Site, mode: str) -> None:
    """RFC 9309 section 2.2.4: by site, however many requests there are, and it delays nothing."""
    void = site.authorities(2, "User-agent: *\nCrawl-delay: 1,000,000\nDisallow: /no\n")
    read = site.authority("User-agent: *\nCrawl-delay: 0,2 sec\n")
    other = site.authority("User-agent: *\nAllow: /\n\nUser-agent: x\nCrawl-delay: 5m\n")
    urls = [url for shop in (*void, read, other) for url in pages(shop, 3)]
    urls += [void[0].url(f"/no/{number}") for number in range(3)]
    result = await visit(urls, mode=mode, ROBOTSTXT_USER_AGENT="mybot")
    for shop in void:
        said = f'{shop.host}:{shop.port}: "crawl-delay: 1,000,000" says no pace'
        assert len(result.lines(said, "DEBUG")) == 1
    assert len(result.lines("says no pace")) == 2
    assert min(gaps(read)) >= 0.2
    assert result.stats["robotstxt/crawl_delay/applied"] == 1
    assert len(result.forbidden) == 3


async def test_a_long_delay_can_forbid(site: Site) -> None:
    """REP_OVER_MAX_CRAWL_DELAY = "forbid": a site that asks for too much is left alone."""
    shop, at_will = site.authority("User-agent: *\nCrawl-delay: 0.1\n"), site.authority(RULES)
    shy = site.authority("User-agent: *\nDisallow: /x\nCrawl-delay: 61\n")
    plans = [*pages(shop, 2), *pages(shy, 2), *pages(at_will, 2)]
    result = await visit(plans, REP_OVER_MAX_CRAWL_DELAY="forbid")
    assert result.forbidden == pages(shy, 2)
    assert result.downloaded == [*pages(shop, 2), *pages(at_will, 2)]
    assert result.stats["robotstxt/forbidden"] == 2
    assert "robotstxt/crawl_delay/capped" not in result.stats
    assert (await result.gate.explain(shy.url("/x"))).reason == "rule"
    assert (await result.gate.explain(shop.url("/0"))).allowed
    assert (await result.gate.explain(at_will.url("/0"))).allowed


async def test_the_delay_of_a_configured_slot_is_kept_between_requests(site: Site) -> None:
    """DOWNLOAD_SLOTS: a site that asks for less than the operator does is not asked sooner."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.1\n", Reply(200, "page", delay=0.3))
    plans = [{"url": url, "meta": {"download_slot": "gentle"}} for url in pages(shop, 2)]
    await visit(plans, DOWNLOAD_SLOTS={"gentle": {"delay": 0.5}})
    first, second = sorted(shop.page_hits, key=lambda hit: hit.received)
    assert first.finished
    assert second.received - first.finished >= 0.49
