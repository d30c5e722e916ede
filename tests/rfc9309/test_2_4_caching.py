"""RFC 9309 section 2.4, by crawls whose clock goes as the test says."""

from __future__ import annotations

import time

import pytest
from pytest_twisted import ensureDeferred
from scrapy.http import Response

from tests.crawl.harness import crawl
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.site import Authority, Site

HOUR = 3_600.0


class LaterSpider(RequestsSpider):
    """Asks for ``later`` after the first page, when ``step()`` has moved the clock."""

    name = "later"
    later = ""

    def found(self, response: Response):  # type: ignore[no-untyped-def]
        """Move the clock at the first page, and go on."""
        if response.url != self.later:
            self.step()
            yield self.request(self.later)


async def _visit_twice(
    monkeypatch: pytest.MonkeyPatch, shop: Authority, hours: float, then: str, **settings: object
) -> tuple[list[str], list[str]]:
    """Return what was downloaded and dropped; between the two pages pass so many hours."""
    real, skipped = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + skipped[0])

    def step(_: object) -> None:
        skipped[0] += hours * HOUR

    spider = type("Later", (LaterSpider,), {"later": shop.url(then), "step": step})
    result = await crawl(spider, settings=obey(**settings), plans=[shop.url("/first")])
    result.check()
    return result.downloaded, result.forbidden + result.unreachable


@ensureDeferred
async def test_a_copy_is_used_within_the_day(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.4: crawlers MAY cache the fetched robots.txt file's contents."""
    shop = site.authority([RULES, NOTHING])
    assert await _visit_twice(monkeypatch, shop, 20, "/open") == (
        [shop.url("/first"), shop.url("/open")],
        [],
    )
    assert len(shop.robots_hits) == 1


@ensureDeferred
async def test_a_copy_is_not_used_for_more_than_a_day(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4: crawlers SHOULD NOT use the cached version for more than 24 hours."""
    shop = site.authority([RULES, NOTHING])
    assert await _visit_twice(monkeypatch, shop, 24.1, "/open") == (
        [shop.url("/first")],
        [shop.url("/open")],
    )
    assert len(shop.robots_hits) == 2


@ensureDeferred
async def test_cache_control_is_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.4: crawlers MAY use standard cache control as defined in RFC 9111."""
    first = Reply(200, RULES, headers={"Cache-Control": "max-age=600"})
    shop = site.authority([first, NOTHING])
    assert await _visit_twice(monkeypatch, shop, 0.5, "/open") == (
        [shop.url("/first")],
        [shop.url("/open")],
    )


@ensureDeferred
async def test_a_copy_is_used_longer_while_unreachable(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4: ... unless the robots.txt file is unreachable; 2.3.1.4: continue to use a copy."""
    shop = site.authority([RULES, Reply(503)])
    assert await _visit_twice(monkeypatch, shop, 48, "/open") == (
        [shop.url("/first"), shop.url("/open")],
        [],
    )
    assert len(shop.robots_hits) == 2


@ensureDeferred
async def test_after_thirty_days_the_copy_counts_no_longer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.3.1.4: undefined for a reasonably long period (for example, 30 days): disallowed here."""
    shop = site.authority([RULES, Reply(503)])
    assert await _visit_twice(monkeypatch, shop, 31 * 24, "/open") == (
        [shop.url("/first")],
        [shop.url("/open")],
    )
