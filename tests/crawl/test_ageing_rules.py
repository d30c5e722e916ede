"""Rules that expire, or are about to, while requests wait (RFC 9309 section 2.4)."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores import Store
from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

LATE = Reply(200, RULES, delay=0.2)


@ensureDeferred
@pytest.mark.parametrize("status", first(1, ["ageing", "expired"]))
async def test_rules_that_expire_while_requests_wait_hold_up_none(
    site: Site, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    """Most of a day goes by while 30 requests wait for their turn: all are made."""
    real, skipped = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + skipped[0])
    shop = site.authority(LATE)
    hours = {"ageing": 22.8, "expired": 25.0}[status]

    def leap(hit: Any) -> Reply:
        skipped[0] = hours * 3600
        return Reply(200, "page")

    shop.pages = leap
    plans = [shop.url(f"/{n}") for n in range(30)]
    settings = obey(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
    assert 2 <= len(shop.robots_hits) <= 3


class SlowStore(Store):
    """Answers later, and knows of any authority rules that are about to expire."""

    def get(self, authority: Any, crawler: str = "") -> Future[Entry | None]:
        """An entry in the last tenth of its life."""
        now = time.time()
        answer: Future[Entry | None] = Future()
        body = RULES.encode()
        answer.set_result(
            Entry(Answer(status=200, body=body, fetched_at=now - 82_000, lifetime=86_400.0))
        )
        return answer

    def put(self, authority: Any, entry: Entry, crawler: str = "") -> None:
        """Nothing is kept."""


@ensureDeferred
async def test_ageing_rules_from_a_store_are_used(site: Site) -> None:
    """The store's copy counts while it is refreshed in the background."""
    shop = site.authority(RULES)
    plans = [shop.url(f"/{n}") for n in range(20)]
    settings = obey(REP_STORE="tests.crawl.test_ageing_rules.SlowStore")
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
