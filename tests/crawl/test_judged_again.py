"""What has waited for its turn is judged by the rules of the moment at which it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.crawl.clock import DAY, Ahead
from tests.crawl.harness import visit
from tests.crawl.pacing import gaps
from tests.crawl.plugin import NOTHING, RULES, by_hand, by_hand_with_last_step
from tests.crawl.spiders import TickingSpider
from tests.replies import Reply
from tests.site import Site

SLOW = "User-agent: *\nCrawl-delay: 0.2\n"


@pytest.mark.parametrize("by", [by_hand_with_last_step, by_hand])
@pytest.mark.parametrize(
    ("later", "end", "least"),
    [
        (NOTHING, "forbidden", 0.0),
        (Reply(503), "unreachable", 0.0),
        (SLOW + "Disallow: /private\n", "downloaded", 0.2),
        (Reply(200, SLOW, delay=0.5), "downloaded", 0.2),
        (SLOW.replace("0.2", "0.5"), "downloaded", 0.5),
        (RULES, "downloaded", 0.0),
    ],
    ids=["disallows", "fails", "asks for the same", "is slow", "asks for more", "asks for no pace"],
)
async def test_rules_that_change_while_requests_wait_for_their_turn_decide_about_them(
    site: Site,
    clock: Ahead,
    by: Callable[..., dict[str, Any]],
    later: str | Reply,
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
    assert min(gaps(shop), default=0.0) >= least
