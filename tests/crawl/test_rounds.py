"""One worker makes a round of attempts, the others read what came of it (RFC 9309 2.3.1.4, 2.4)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from threading import Timer
from typing import Any

import pytest
from scrapy import signals

from scrapy_rep import RobotsUnreachable
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.awaiting import sleep
from scrapy_rep.stores import Store, StoreError
from scrapy_rep.stores.redis import RedisStore
from tests.crawl.harness import RULED, open_and_private, visit
from tests.crawl.plugin import RULES
from tests.crawl.result import Result
from tests.crawl.sharing import OURS, SharedStore, key_of, shared_store_of
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Authority, Hit, Site
from tests.stores.samples import told
from tests.stores.servers import RedisServer

TERM = 20.0
"""Seconds for which the other worker of these tests holds its lease; it does not renew it."""


@pytest.fixture(params=first(1, OURS))
def shared(request: pytest.FixtureRequest) -> Iterator[SharedStore]:
    """A store of each kind that is shared, by default a file."""
    with shared_store_of(request.param) as shared:
        yield shared


async def visit_while_another_fetches(
    shop: Authority, shared: SharedStore, then: Callable[[Store], None]
) -> Result:
    """A crawl that comes while another worker holds the lease, which ends its round with `then`."""
    other = shared.open()
    token = told(other.lease(key_of(shop), TERM))
    assert token

    def end() -> None:
        then(other)
        with suppress(StoreError):  # the store may be gone
            other.release(key_of(shop), token)
            other.flush()

    timer = Timer(0.5, end)
    try:
        on = {signals.engine_started: timer.start}
        return await open_and_private(shop, on=on, REP_STORE=shared.uri)
    finally:
        timer.join()
        other.close()


@pytest.mark.parametrize("wrong", first(1, [-3_600, 0, -120, 50]))
async def test_the_failure_of_another_worker_is_the_outcome(
    site: Site, shared: SharedStore, wrong: float
) -> None:
    """It is not tried again at once, though the other worker's clock may be wrong."""
    shop = site.authority(RULES)

    def fail(store: Store) -> None:
        at = time.time() + wrong
        store.put(key_of(shop), Entry(failure=Failure(at, at, cause="status 503")))

    result = await visit_while_another_fetches(shop, shared, fail)
    assert len(result.unreachable) == 2
    assert shop.hits == []


async def test_the_failure_of_another_worker_leaves_the_copy(
    site: Site, shared: SharedStore
) -> None:
    """RFC 9309 section 2.3.1.4: the last good copy is followed without a fetch."""
    shop = site.authority(RULES)
    robots = key_of(shop).robots_uri
    shared.keep(shop, Entry(Answer(200, RULES.encode(), robots, fetched_at=time.time() - 90_000)))

    def fail(store: Store) -> None:
        store.put(key_of(shop), Entry(failure=Failure(time.time(), time.time(), cause="timeout")))

    result = await visit_while_another_fetches(shop, shared, fail)
    assert result.kinds == RULED
    assert shop.robots_hits == []


@pytest.mark.parametrize("failed_before", [True, False])
async def test_a_round_without_an_outcome_is_followed_by_another(
    site: Site, shared: SharedStore, failed_before: bool
) -> None:
    """A worker that failed by its own fault puts nothing, and what was due before is no outcome."""
    shop = site.authority(RULES)
    if failed_before:
        long_ago = time.time() - 4_000
        shared.keep(shop, Entry(failure=Failure(long_ago, long_ago, cause="status 503")))
    result = await visit_while_another_fetches(shop, shared, lambda _: None)
    assert result.kinds == RULED
    assert len(shop.robots_hits) == 1


@pytest.mark.parametrize("order", [None, 50, 500], ids=["meta", "before the gate", "behind it"])
async def test_a_failure_of_ours_is_not_stored(
    site: Site, shared: SharedStore, order: int | None
) -> None:
    """Our proxy refuses: nothing is known of the site, for another worker or the next run.

    The request for the robots.txt says which proxy it took.
    """
    shop, proxy = site.authority(RULES), site.refusing().url("")

    class LateProxy:
        def process_request(self, request: Any) -> None:
            request.meta["proxy"] = proxy

    plan = {"url": shop.url("/open"), "meta": {} if order else {"proxy": proxy}}
    middlewares = {"DOWNLOADER_MIDDLEWARES": {LateProxy: order}}
    result = await visit([plan], REP_STORE=shared.uri, **middlewares)
    assert result.unreachable == [shop.url("/open")]
    assert shared.kept(shop) is None
    assert (await open_and_private(shop, REP_STORE=shared.uri)).kinds == RULED


async def test_a_crawl_that_ends_in_mid_refresh_leaves_no_lease(
    site: Site, shared: SharedStore
) -> None:
    """The next worker need not wait for the term of a lease whose crawl is over."""
    shop = site.authority(Reply(503, delay=0.3), pages=Reply(200, delay=0.2))
    ageing = time.time() - 82_000
    shared.keep(shop, Entry(Answer(200, RULES.encode(), fetched_at=ageing)))
    result = await visit([shop.url("/open")], REP_STORE=shared.uri)
    assert result.downloaded == [shop.url("/open")]
    assert len(shop.robots_hits) == 1  # the refresh, which nothing waits for
    with closing(shared.open()) as store:
        assert told(store.lease(key_of(shop), TERM))


async def test_a_worker_whose_store_goes_away_in_mid_round_goes_on(
    site: Site, server: RedisServer
) -> None:
    """The server is gone at the first attempt: the others are made all the same."""

    def gone(_: Hit) -> Reply:
        server.stop()
        return Reply(503)

    shop = site.authority([gone, Reply(503), RULES])
    result = await open_and_private(shop, REP_STORE=server.uri, REP_RETRY_DELAYS=[0.1, 0.1])
    assert result.kinds == RULED
    assert len(shop.robots_hits) == 3


async def test_a_worker_whose_store_goes_away_while_it_waits_goes_on(
    site: Site, server: RedisServer
) -> None:
    """The server is gone while another worker holds the lease: this one fetches for itself."""
    shop = site.authority(RULES)
    with_store = SharedStore("Redis", server.uri, lambda: RedisStore(server.uri))
    result = await visit_while_another_fetches(shop, with_store, lambda _: server.stop())
    assert result.kinds == RULED
    assert len(shop.robots_hits) == 1


async def test_a_lease_that_does_not_end_shuts_no_site(
    site: Site, shared: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the term of a lease and the time of a round a worker fetches for itself."""
    monkeypatch.setattr("scrapy_rep.sites.refresh.LEASE_TERM", 0.3)
    shop = site.authority(RULES)
    with closing(shared.open()) as other:
        assert told(other.lease(key_of(shop), 600.0))
        result = await open_and_private(shop, REP_STORE=shared.uri, REP_TIMEOUT=0.3)
    assert result.kinds == RULED
    assert len(shop.robots_hits) == 1


class ReturningSpider(RequestsSpider):
    """Makes its second request at the time that the end of the first one names."""

    async def start(self) -> AsyncIterator[Any]:
        """The first, and the second one when the robots.txt may be asked for again."""
        yield self.request(**self.plans[0])
        while not self.endings:
            await sleep(0.01)
        [ending] = self.endings
        error: Any = ending.problem and ending.problem.exception
        assert isinstance(error, RobotsUnreachable)
        assert error.retry_at is not None
        await sleep(error.retry_at - time.time())
        yield self.request(**self.plans[1])


async def test_a_dead_proxy_does_not_cost_a_site_its_back_off(site: Site) -> None:
    """The site has not failed: it is asked a second later, by the way of the next request."""
    shop = site.authority(RULES)
    plans = [{"url": shop.url("/a"), "meta": {"proxy": site.refusing().url("")}}]
    plans.append({"url": shop.url("/b"), "meta": {}})
    result = await visit(plans, ReturningSpider)
    assert (result.unreachable, result.downloaded) == ([shop.url("/a")], [shop.url("/b")])
    assert result.lines("next attempt in 1 s", "WARNING")
