"""What has waited for its turn is judged by the rules of the moment at which it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawl.clock import DAY, Ahead
from tests.crawl.harness import crawl_in_child, visit
from tests.crawl.pacing import gaps, keeps
from tests.crawl.plugin import NOTHING, RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.spiders import AgeingSpider, TickingSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

SLOW = "User-agent: *\nCrawl-delay: 0.2\n"


@pytest.mark.parametrize("by", first(1, [by_hand_with_last_step, by_hand]))
@pytest.mark.parametrize(
    ("later", "end", "least"),
    [
        (NOTHING, "forbidden", 0.0),
        (Reply(503), "unreachable", 0.0),
        (Reply(200, SLOW, delay=0.5), "downloaded", 0.2),
        (SLOW.replace("0.2", "0.5"), "downloaded", 0.5),
        (RULES, "downloaded", 0.0),
    ],
    ids=["disallows", "fails", "asks for the same, slowly", "asks for more", "asks for no pace"],
)
async def test_rules_that_change_while_requests_wait_for_their_turn_decide_about_them(
    site: Site,
    clock: Ahead,
    by: Any,
    later: Any,
    end: str,
    least: float,
) -> None:
    """RFC 9309 section 2.4: a request is made by rules of today, although it passed yesterday.

    The rest waits for no turn that is not used.
    """
    shop = site.authority(SLOW)

    def tick(ended: int) -> None:
        if ended == 1:
            clock.seconds += 40 * DAY
            shop.robots = later

    plans = [shop.url(f"/{number}") for number in range(4)]
    expected = ["is unreachable"] if end == "unreachable" else []
    result = await visit(plans, TickingSpider, by=by, tick=tick, expected=expected)
    assert len(shop.robots_hits) == 2
    assert {*getattr(result, end)} >= {*plans[1:]}
    assert len(shop.page_hits) == (4 if end == "downloaded" else 1)
    assert keeps(shop, least, by)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "path", "end"),
    [(by_hand_with_last_step, "/private", "forbidden"), (by_hand, "/open", "downloaded")],
)
def test_hundreds_that_wait_are_judged_again_in_turn(
    site: Site, by: Any, path: str, end: str
) -> None:
    """By rules that ask for no pace; each goes on at once when its turn is granted."""
    shop = site.authority([SLOW, RULES])
    plans = [shop.url(f"{path}/{number}") for number in range(400)]
    settings = by(CONCURRENT_REQUESTS=300)
    how = {"mode": "select", "timeout": 60, "after": 3, "plans": [*plans, shop.url("/last")]}
    result = crawl_in_child(AgeingSpider, settings, **how).check()
    assert len({*getattr(result, end)} & {*plans}) >= 397
    assert shop.url("/last") in result.downloaded


@pytest.mark.parametrize("by", first(1, [by_hand, by_hand_with_last_step, obey]))
async def test_rules_that_live_for_less_than_the_wait_for_a_turn_hold_up_nothing(
    site: Site, constants: Any, by: Any
) -> None:
    """They are fetched again now and then, and pages go after that."""
    constants("access.policy", MIN_LIFETIME=0.3)
    shop = site.authority(Reply(200, SLOW.replace("0.2", "0.05"), {"Cache-Control": "max-age=0"}))
    plans = [shop.url(f"/{number}") for number in range(20)]
    result = await visit(plans, by=by, timeout=30)
    assert len(result.downloaded) == len(shop.page_hits) == 20
    assert keeps(shop, 0.05, by)


async def test_a_slow_robots_txt_holds_up_no_other_of_its_host(site: Site, clock: Ahead) -> None:
    """Requests to both keep one pace, but only those to one of them wait for new rules."""
    slow = site.authority([SLOW, Reply(200, SLOW, delay=1.5)])
    other = site.authority(SLOW, host=slow.host)

    def tick(ended: int) -> None:
        if ended == 2:
            clock.seconds += 40 * DAY

    plans = [each.url(f"/{number}") for number in range(4) for each in (slow, other)]
    await visit(plans, TickingSpider, by=by_hand_with_last_step, tick=tick)
    assert other.page_hits[-1].received < slow.robots_hits[-1].received + 1.5
    assert min(gaps(slow, other)) >= 0.2
