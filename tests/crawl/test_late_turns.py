"""A turn that was not used in time is over: what comes late takes a new one before it is sent.

A middleware behind the gate may hold a request up for longer than the turn of its host can be kept
for it. RFC 9309 section 2.2.4 leaves Crawl-delay open; a crawler that keeps it keeps it for every
request, whatever else it installs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.middlewares import HoldingMiddleware
from tests.crawl.pacing import gaps
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply
from tests.site import Site
from tests.timed import waits

SLOW = "User-agent: *\nCrawl-delay: 0.3\n"


def holding(middleware: type[Any], order: int = 950, **settings: Any) -> dict[str, Any]:
    """Settings of a crawl with a middleware behind the gate."""
    path = f"{middleware.__module__}.{middleware.__name__}"
    return obey(CONCURRENT_REQUESTS=16, DOWNLOADER_MIDDLEWARES={path: order}, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("order", [pytest.param(150, marks=pytest.mark.slow), 950])
@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_what_is_held_up_for_long_still_keeps_the_pace(
    site: Site, mode: str, order: int
) -> None:
    """However long each is held up, and however many others go meanwhile."""
    slow = site.authority(SLOW)
    held = [slow.url(f"/held{n}?{1.1 + n * 0.17:.2f}") for n in range(4)]
    plans = [{"url": url, "priority": 1} for url in held]
    plans += [{"url": slow.url(f"/{n}")} for n in range(8)]
    result = (
        await crawl_under(mode, settings=holding(HoldingMiddleware, order), plans=plans)
    ).check()
    assert len(result.downloaded) == 12
    assert len(slow.page_hits) == 12
    assert min(gaps(slow)) >= 0.3
    assert result.stats["robotstxt/allowed"] == 12


@waits
@ensureDeferred
async def test_what_passed_the_gate_before_its_host_asked_for_a_pace_keeps_it(site: Site) -> None:
    """Two sites of one host; only the second asks, while pages of the first are held up."""
    one = site.authority(RULES)
    two = site.authority(Reply(200, SLOW, delay=0.3), host=one.host)
    plans = [one.url(f"/{n}?0.6") for n in range(5)] + [two.url(f"/{n}") for n in range(5)]
    result = (await crawl(settings=holding(HoldingMiddleware), plans=plans)).check()
    assert len(result.downloaded) == 10
    assert one.page_hits[0].received > two.page_hits[0].received
    assert min(gaps(one, two)) >= 0.3


@waits
@ensureDeferred
async def test_a_late_request_goes_before_those_that_have_yet_to_begin(site: Site) -> None:
    """It is the next of its host, or it would be late for ever."""
    slow = site.authority(SLOW)
    plans = [{"url": slow.url("/held?1.2"), "priority": 1}]
    plans += [{"url": slow.url(f"/{n}")} for n in range(8)]
    (await crawl(settings=holding(HoldingMiddleware), plans=plans)).check()
    order = [hit.target for hit in slow.page_hits]
    assert order.index("/held?1.2") <= 3


@pytest.mark.slow
@ensureDeferred
async def test_a_late_request_is_given_back_when_the_crawl_stops(
    site: Site, tmp_path: Path
) -> None:
    """A job loses no request, wherever it waits."""
    slow = site.authority("User-agent: *\nCrawl-delay: 2\n")
    settings = holding(HoldingMiddleware, JOBDIR=str(tmp_path), CLOSESPIDER_TIMEOUT=2)
    plans = [slow.url(f"/held{n}?1.1") for n in range(3)]
    first = await crawl(settings=settings, plans=plans)
    settings.pop("CLOSESPIDER_TIMEOUT")
    second = await crawl(settings=settings, plans=[])
    assert sorted([*first.downloaded, *second.downloaded]) == plans
    assert not first.errors
    assert not second.errors
