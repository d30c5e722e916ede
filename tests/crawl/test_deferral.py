"""REP_DEFER_UNREACHABLE: requests to a site whose robots.txt is unreachable wait for the next
attempt, for as long as the setting says (RFC 9309 section 2.3.1.4).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from tests.crawl.clock import DAY, Ahead, pass_quickly
from tests.crawl.harness import EACH_MODE, visit
from tests.crawl.middlewares import inner
from tests.crawl.pacing import pages
from tests.crawl.plugin import NOTHING, RULES, by_hand, by_hand_with_last_step, obey, override
from tests.crawl.result import Result
from tests.crawl.spiders import OneByOneSpider, RequestsSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Hit, Site

MINUTE = 60.0

EACH_MINUTE = {"REP_UNREACHABLE_TTL": [MINUTE, MINUTE]}
"""A site that is unreachable is asked once a minute."""

FOR_TEN_MINUTES = {**EACH_MINUTE, "REP_DEFER_UNREACHABLE": 10.5 * MINUTE}

BEGINS = "Requests to {} wait for its robots.txt; next attempt in"
BACK = "robots.txt of {} can be fetched again: its requests go on"
GIVEN_UP = "robots.txt of {} is given up: its requests are refused"


class Outage:
    """A robots.txt that is unreachable for the first so many attempts."""

    def __init__(self, attempts: float, then: str = RULES, **headers: str) -> None:
        self.left = attempts
        self.then = then
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def __call__(self, hit: Hit) -> Reply:
        """One attempt."""
        self.left -= 1
        return Reply.text(self.then) if self.left < 0 else Reply(503, headers=self.headers)


FOR_EVER = float("inf")


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """The clock of the package, on which the time of a back-off passes at once."""
    return pass_quickly(monkeypatch)


def said(result: Result, authority: str) -> list[str]:
    """The lines of the log that say when the requests to a site wait, and why no longer."""
    texts = {each.format(authority): each for each in (BEGINS, BACK, GIVEN_UP)}
    lines = [line.text for line in result.log if line.level == "INFO"]
    return [each for line in lines for text, each in texts.items() if line.startswith(text)]


HOWS: dict[str, dict[str, Any]] = {
    "queues": {},
    "front": {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
    "several attempts": {"REP_RETRY_DELAYS": [0.01, 0.01]},
}


@pytest.mark.parametrize("how", first(1, HOWS))
async def test_requests_wait_until_their_site_is_back(site: Site, passing: Ahead, how: str) -> None:
    """It is down for ten minutes; each attempt is one that the back-off makes, and none more."""
    rounds = 1 + len(HOWS[how].get("REP_RETRY_DELAYS", []))
    shop = site.authority(Outage(10 * rounds))
    plans = [*pages(shop, 5), shop.url("/private")]
    result = await visit(plans, **FOR_TEN_MINUTES, **HOWS[how])
    assert sorted(result.downloaded) == plans[:5]
    assert result.forbidden == plans[5:]
    assert len(shop.robots_hits) == 10 * rounds + 1
    assert shop.page_hits[0].received > shop.robots_hits[-1].received
    assert 10 * MINUTE <= passing.seconds < 10.5 * MINUTE
    assert said(result, str(shop.url())[:-1]) == [BEGINS, BACK]
    assert "robotstxt/unreachable" not in result.stats
    assert result.stats["robotstxt/waiting"] == len(plans)


ENDS: dict[str, tuple[dict[str, Any], str, int, list[str]]] = {
    "down for longer": ({"attempts": FOR_EVER}, "unreachable", 11, [BEGINS, GIVEN_UP]),
    "asks for an hour": ({"attempts": FOR_EVER, "Retry_After": "3600"}, "unreachable", 1, []),
    "back": ({"attempts": 2}, "downloaded", 3, [BEGINS, BACK]),
    "back and closed": ({"attempts": 2, "then": NOTHING}, "forbidden", 3, [BEGINS, BACK]),
}
"""Outages: how requests end, after how many attempts, and what the log says."""


@pytest.mark.parametrize(("outage", "end", "attempts", "lines"), ENDS.values(), ids=ENDS)
async def test_requests_wait_for_as_long_as_there_is_something_to_wait_for(
    site: Site, passing: Ahead, outage: Any, end: str, attempts: int, lines: list[str]
) -> None:
    """Not if the next attempt comes too late.

    It is said once that a site is given up, or is back, whatever its rules are.
    """
    shop, other = site.authority(Outage(**outage)), site.authority(RULES)
    plans = [*pages(shop, 5), *pages(other, 2)]
    result = await visit(plans, **FOR_TEN_MINUTES)
    assert result.by_url == {**dict.fromkeys(plans, "downloaded"), **dict.fromkeys(plans[:5], end)}
    assert len(shop.robots_hits) == attempts
    assert (passing.seconds == 0) == (attempts == 1)
    assert len(shop.page_hits) == 5 * (end == "downloaded")
    assert said(result, shop.url()[:-1]) == lines
    assert result.stats.get("robotstxt/unreachable", 0) == 5 * (end == "unreachable")


async def test_a_good_copy_is_followed_and_nothing_waits(site: Site, clock: Ahead) -> None:
    """It is two days old when the site fails."""
    script = Outage(0)
    shop = site.authority(script)

    def tick(ended: int) -> None:
        if ended == 1:
            clock.seconds = 2 * DAY
            script.left = FOR_EVER

    plans = [shop.url("/0"), shop.url("/private"), shop.url("/1")]
    result = await visit(plans, OneByOneSpider, tick=tick, **FOR_TEN_MINUTES)
    assert result.kinds == ["downloaded", "forbidden", "downloaded"]
    assert len(shop.robots_hits) == 2
    assert said(result, shop.url()[:-1]) == []


async def test_a_site_may_be_down_twice(site: Site, passing: Ahead) -> None:
    """Each time is said, and has its own ten minutes."""
    script = Outage(3)
    shop = site.authority(script)

    def tick(ended: int) -> None:
        if ended == 1:
            passing.seconds += 40 * DAY
            script.left = 8

    result = await visit(pages(shop, 2), OneByOneSpider, tick=tick, **FOR_TEN_MINUTES)
    assert len(result.downloaded) == 2
    assert len(shop.robots_hits) == 4 + 9
    assert said(result, shop.url()[:-1]) == [BEGINS, BACK] * 2


async def test_a_bounded_number_of_sites_is_remembered(
    site: Site, passing: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their requests wait all the same. It is said again of those that were forgotten."""
    monkeypatch.setattr("scrapy_rep.stats._MOST_SAID", 1)
    shops = [site.authority(Outage(3)) for _ in range(2)]
    result = await visit([shop.url("/page") for shop in shops], **FOR_TEN_MINUTES)
    assert len(result.downloaded) == 2
    lines = [line for shop in shops for line in said(result, shop.url()[:-1])]
    assert lines.count(BEGINS) > 2


async def test_rules_that_something_else_fetches_wake_the_site(site: Site, clock: Ahead) -> None:
    """A callback downloads a page of it directly; its own attempt would come a minute later."""
    shop, other = site.authority(Outage(1)), site.authority(RULES, Reply(200, "p", delay=0.3))

    class Direct(RequestsSpider):
        async def page(self, response: Response) -> Any:  # type: ignore[override]
            if response.url == other.url("/lead"):
                clock.seconds += MINUTE + 1
                await self.crawler.engine.download_async(Request(shop.url("/direct")))
            return super().page(response)

    plans = [*pages(shop, 3), other.url("/lead")]
    result = await visit(plans, Direct, timeout=40, **FOR_TEN_MINUTES)
    assert sorted(result.downloaded) == sorted(plans)
    assert len(shop.robots_hits) == 2
    assert said(result, shop.url()[:-1]) == [BEGINS, BACK]


async def test_direct_downloads_do_not_wait_for_such_a_site(site: Site, passing: Ahead) -> None:
    """What a middleware downloads for a request that it has in hand ends at once."""
    shop, other = site.authority(Outage(FOR_EVER)), site.authority(RULES)
    plans = [other.url(f"/page?{shop.url('/inner')}")]
    result = await visit(plans, by=inner(obey, 500), **FOR_TEN_MINUTES)
    assert result.unreachable == plans
    assert passing.seconds == 0


SPARED = {"": "unreachable", "unreachable-is-allowed": "downloaded"}
SPARED |= {"allow": "downloaded", "forbid": "forbidden"}
"""Overrides, or none and no time to wait, and how requests to a site end that is down."""


@pytest.mark.parametrize(("action", "end"), SPARED.items())
async def test_without_the_setting_or_by_an_override_nothing_waits(
    site: Site, passing: Ahead, action: str, end: str
) -> None:
    """Nothing is said of it either."""
    shop = site.authority(Outage(FOR_EVER))
    more = {"REP_OVERRIDES": [override(shop.url(), action)], **FOR_TEN_MINUTES} if action else {}
    plans = pages(shop, 5)
    result = await visit(plans, **EACH_MINUTE | more)
    assert sorted(result.urls(end)) == plans
    assert len(shop.robots_hits) == 1
    assert passing.seconds == 0
    assert said(result, shop.url()[:-1]) == []


async def test_an_override_for_some_paths_lets_the_others_wait(site: Site, passing: Ahead) -> None:
    """Requests that pass by an override do not say that the site is back."""
    shop = site.authority(Outage(3))
    overrides = [override(shop.url(), "allow", paths=["/ours"])]
    plans = [shop.url(f"/{where}{n}") for n in range(4) for where in ("", "ours/")]
    result = await visit(plans, REP_OVERRIDES=overrides, **FOR_TEN_MINUTES)
    assert sorted(result.downloaded) == sorted(plans)
    assert len(shop.robots_hits) == 4
    assert said(result, shop.url()[:-1]) == [BEGINS, BACK]


@pytest.mark.parametrize("store", first(1, ["memory:", None]))
async def test_a_stop_keeps_what_waits(site: Site, tmp_path: Path, store: str | None) -> None:
    """With JOBDIR no request is lost. Without a store the next run asks anew."""
    shop, other = site.authority(Outage(FOR_EVER)), site.authority(RULES)
    settings = {"JOBDIR": str(tmp_path), "REP_STORE": store, "REP_DEFER_UNREACHABLE": 1_000}
    settings |= {"REP_UNREACHABLE_TTL": [1, 1]}
    plans = [*pages(shop, 6), other.url("/")]
    stopped = await visit(plans, whole=False, timeout=40, CLOSESPIDER_TIMEOUT=1.5, **settings)
    assert stopped.downloaded == plans[6:]
    assert [ending.kind for ending in stopped.endings] == ["downloaded"]
    shop.robots = RULES
    resumed = await visit([], whole=False, **settings)
    assert sorted(resumed.downloaded) == plans[:6]
    assert shop.page_hits[0].received > shop.robots_hits[-1].received


async def test_what_is_found_meanwhile_waits_too(site: Site, passing: Ahead) -> None:
    """More urgent requests to the site are made first when it is back."""
    shop, other = site.authority(Outage(8)), site.authority(RULES, Reply(200, "p", delay=0.05))
    onward = {"/lead": [{"url": shop.url("/urgent"), "priority": 5}]}
    plans, one = [*pages(shop, 3), other.url("/lead")], {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    result = await visit(plans, onward=onward, **one, **FOR_TEN_MINUTES)
    assert len(result.downloaded) == 5
    assert shop.page_hits[0].path == "/urgent"


@pytest.mark.parametrize("by", first(1, [by_hand, by_hand_with_last_step]))
async def test_without_the_scheduler_they_end_at_once(site: Site, passing: Ahead, by: Any) -> None:
    """There is no queue in which they could wait, and a line says so."""
    shop = site.authority(Outage(1))
    result = await visit(pages(shop, 3), by=by, **FOR_TEN_MINUTES)
    assert len(result.unreachable) == 3
    assert passing.seconds == 0
    (line,) = result.lines("REP_DEFER_UNREACHABLE", "WARNING")
    assert line == "REP_DEFER_UNREACHABLE has no effect without RepScheduler as the SCHEDULER"


@pytest.mark.parametrize("mode", EACH_MODE)
async def test_the_next_attempt_is_made_in_time(site: Site, mode: str) -> None:
    """By a real clock, in each reactor mode."""
    shop = site.authority(Outage(1))
    settings = {"REP_UNREACHABLE_TTL": [1, 5], "REP_DEFER_UNREACHABLE": 60}
    result = await visit(pages(shop, 3), mode=mode, **settings)
    assert len(result.downloaded) == 3
    first, second = (hit.received for hit in shop.robots_hits)
    assert second - first >= 1
