"""A failed fetch never costs the copy that a store keeps (RFC 9309 section 2.3.1.4)."""

from __future__ import annotations

import time
from concurrent.futures import Future
from threading import Timer
from typing import Any

import pytest

from scrapy_rep.access import authority as protocol
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores import StoreError
from scrapy_rep.stores.codec import encode_stored
from scrapy_rep.stores.stored import StoredEntry
from tests.crawl.clock import take_over
from tests.crawl.harness import visit
from tests.crawl.plugin import RULES
from tests.crawl.sharing import (
    CustomStore,
    OctetsStore,
    SharedStore,
    key_of,
    shift,
)
from tests.replies import Reply
from tests.rows import first
from tests.site import Authority, Site

DAY = 86_400.0


def copy_of(shop: Authority, age: float) -> Entry:
    """Rules that were fetched so many seconds ago."""
    robots = key_of(shop).robots_uri
    return Entry(Answer(200, RULES.encode(), robots, fetched_at=time.time() - age))


async def judges_by_the_copy(shop: Authority, uri: str, **settings: Any) -> None:
    """A crawl of a site follows the rules, although robots.txt cannot be fetched."""
    plans = [shop.url("/open"), shop.url("/private")]
    chosen = {"REP_STORE": uri, "REP_RETRY_DELAYS": [], **settings}
    result = await visit(plans, **chosen)
    assert (result.downloaded, result.forbidden) == (plans[:1], plans[1:])


@pytest.mark.parametrize("age", first(1, [DAY + 30, 30.0]))
@pytest.mark.parametrize("wrong", first(3, [3_600, -40 * DAY, 40 * DAY, -3_600, -120, 0, 120]))
async def test_a_wrong_clock_costs_no_copy(
    site: Site, shared: SharedStore, monkeypatch: pytest.MonkeyPatch, wrong: float, age: float
) -> None:
    """A crawl whose clock is wrong fails to fetch: it costs no other crawl its copy.

    Where the clock is wrong by hours, that crawl follows the copy itself.
    """
    shop, other = site.authority(Reply(503)), site.authority(RULES)
    shared.keep(shop, copy_of(shop, age))
    plans = [shop.url("/open"), shop.url("/private"), other.url("/open")]
    for _ in range(2):
        with monkeypatch.context() as patch:
            shift(patch, take_over(patch), wrong)
            result = await visit(plans, REP_STORE=shared.uri)
        assert abs(wrong) > DAY or result.forbidden == plans[1:2]
    kept = shared.kept(shop)
    assert kept
    assert kept.answer
    assert kept.answer.body == RULES.encode()
    await judges_by_the_copy(shop, shared.uri)


class HangingStore(CustomStore):
    """Its first look-up fails after a while."""

    hangs = True

    def get(self, authority: protocol.Authority, crawler: str = "") -> Any:
        """Nothing, the first time."""
        answer: Future[Entry | None] = Future()
        if self.hangs:
            self.hangs = False
            error = StoreError("no answer in time")
            Timer(0.6, answer.set_exception, [error]).start()
        else:
            answer.set_result(self.entries.get(authority))
        return answer


@pytest.mark.parametrize("age", [30.0, DAY + 30])
async def test_a_custom_store_that_hangs_costs_no_copy(site: Site, age: float) -> None:
    """The first look-up fails, the site answers 503: the store is asked once more."""
    shop = site.authority(Reply(503))
    CustomStore.entries.clear()
    CustomStore.entries[key_of(shop)] = copy_of(shop, age)
    await judges_by_the_copy(shop, f"{__name__}.HangingStore")
    kept = CustomStore.entries[key_of(shop)]
    assert kept.answer
    assert kept.answer.body == RULES.encode()


class UnreadableStore(OctetsStore):
    """It cannot be read, and takes what is written."""

    def read(self, key: str) -> bytes | None:
        """It fails."""
        raise StoreError("cannot be read")


@pytest.mark.parametrize("robots", [Reply(503), RULES])
async def test_nothing_is_written_over_what_could_not_be_read(site: Site, robots: Any) -> None:
    """It may be a good copy, and what is put is merged with it."""
    shop = site.authority(robots)
    OctetsStore.entries.clear()
    before = encode_stored(StoredEntry(key_of(shop), copy_of(shop, 30.0)))
    OctetsStore.entries[str(key_of(shop))] = before
    result = await visit([shop.url("/open")], REP_STORE=f"{__name__}.UnreadableStore")
    assert result.kind(shop.url("/open")) == ("downloaded" if robots == RULES else "unreachable")
    assert OctetsStore.entries == {str(key_of(shop)): before}
