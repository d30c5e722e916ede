"""RFC 9309 section 2.4, by crawls whose clock goes as the test says."""

from __future__ import annotations

import time

import pytest
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


async def _is_allowed(monkeypatch: pytest.MonkeyPatch, shop: Authority, hours: float) -> bool:
    """Return whether a page is fetched so many hours after another one was."""
    real, skipped = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + skipped[0])

    def step(_: object) -> None:
        skipped[0] += hours * HOUR

    first, later = shop.url("/first"), shop.url("/open")
    spider = type("Later", (LaterSpider,), {"later": later, "step": step})
    result = (await crawl(spider, settings=obey(), plans=[first])).check()
    dropped = result.forbidden + result.unreachable
    assert (result.downloaded, dropped) in (([first, later], []), ([first], [later]))
    return not dropped


async def test_a_copy_is_used_within_the_day(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.4: crawlers MAY cache the fetched robots.txt file's contents."""
    shop = site.authority([RULES, NOTHING])
    assert await _is_allowed(monkeypatch, shop, 20)
    assert len(shop.robots_hits) == 1


async def test_a_copy_is_not_used_for_more_than_a_day(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4: crawlers SHOULD NOT use the cached version for more than 24 hours."""
    shop = site.authority([RULES, NOTHING])
    assert not await _is_allowed(monkeypatch, shop, 24.1)
    assert len(shop.robots_hits) == 2


async def test_cache_control_is_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.4: crawlers MAY use standard cache control as defined in RFC 9111."""
    first = Reply(200, RULES, headers={"Cache-Control": "max-age=600"})
    shop = site.authority([first, NOTHING])
    assert not await _is_allowed(monkeypatch, shop, 0.5)


async def test_a_copy_is_used_longer_while_unreachable(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4: ... unless the robots.txt file is unreachable; 2.3.1.4: continue to use a copy."""
    shop = site.authority([RULES, Reply(503)])
    assert await _is_allowed(monkeypatch, shop, 48)
    assert len(shop.robots_hits) == 2


async def test_after_thirty_days_the_copy_counts_no_longer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.3.1.4: undefined for a reasonably long period (for example, 30 days): disallowed here."""
    shop = site.authority([RULES, Reply(503)])
    assert not await _is_allowed(monkeypatch, shop, 31 * 24)
