"""Requests that a middleware holds up, or whose rules expire: what comes late keeps the pace."""

from __future__ import annotations

from pathlib import Path

import pytest
import scrapy

from tests.crawl.harness import crawl, crawl_under, visit
from tests.crawl.middlewares import HoldingMiddleware, inner
from tests.crawl.pacing import at_once, gaps
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply
from tests.rows import first
from tests.site import Site
from tests.timed import waits

SLOW = "User-agent: *\nCrawl-delay: 0.15\n"


UNLIMITED = 0 if scrapy.version_info >= (2, 15) else 1_000
"""``CONCURRENT_REQUESTS`` without a limit; with 0, Scrapy 2.14 downloads nothing at all."""


@pytest.mark.parametrize("concurrent", first(1, [UNLIMITED, 1, 16]))
async def test_what_passed_ungated_may_wait_for_the_pace_that_begins_after_it(
    site: Site, mode: str, concurrent: int
) -> None:
    """The host learns of its pace while a request to it, off the wire, awaits another one."""
    slow = site.authority(SLOW)
    before = [slow.url("/token"), slow.url("/key")]
    plan = {"url": slow.url("/"), "meta": {"dont_obey_robotstxt": True, "first": before}}
    settings = inner(obey, 900, CONCURRENT_REQUESTS=concurrent)
    (await crawl_under(mode, settings=settings, plans=[plan])).check()
    assert [hit.path for hit in slow.page_hits] == ["/token", "/key", "/"]
    assert gaps(slow)[0] >= 0.15


async def test_a_request_whose_rules_expire_while_it_waits_keeps_its_order(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for fresh rules (RFC 9309 section 2.4), and is the next again."""
    monkeypatch.setattr("scrapy_rep.access.policy.MIN_LIFETIME", 0.3)
    slow = site.authority(Reply(200, SLOW, {"Cache-Control": "max-age=0"}, delay=0.05))
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
    (await crawl_under(mode, settings=obey(CONCURRENT_REQUESTS=1), plans=plans)).check()
    assert at_once(*shops, *rest) == 1


@waits
async def test_what_passed_the_gate_before_its_host_asked_for_a_pace_keeps_it(site: Site) -> None:
    """Two sites of one host; only the second asks, while pages of the first are held up."""
    one = site.authority(RULES)
    asks = Reply(200, "User-agent: *\nCrawl-delay: 0.3\n", delay=0.3)
    two = site.authority(asks, host=one.host)
    settings = obey(DOWNLOADER_MIDDLEWARES={HoldingMiddleware: 950})
    plans = [one.url(f"/{n}?0.6") for n in range(5)] + [two.url(f"/{n}") for n in range(5)]
    result = (await crawl(settings=settings, plans=plans)).check()
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
    settings = obey(
        DOWNLOADER_MIDDLEWARES={HoldingMiddleware: 950},
        JOBDIR=str(tmp_path),
        REP_STORE="memory:",
        CLOSESPIDER_TIMEOUT=1,
    )
    plans = [two.url("/"), *(one.url(f"/{n}?0.6") for n in range(3))]
    first = (await crawl(settings=settings, plans=plans, timeout=40)).check_log()
    assert first.downloaded == plans[:1]
    two.robots = RULES
    settings["CLOSESPIDER_TIMEOUT"] = 0
    second = (await crawl(settings=settings, plans=[])).check_log()
    assert sorted(second.downloaded) == sorted(plans[1:])
