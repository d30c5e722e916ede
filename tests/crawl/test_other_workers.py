"""One crawl on a store that has other workers; what they do, the test does to the store.

They take turns, and one of them makes the attempts to fetch a robots.txt for all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from scrapy import signals

from scrapy_rep import RobotsUnreachable
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.awaiting import sleep
from scrapy_rep.stores import Store, StoreError
from scrapy_rep.stores.redis import RedisStore
from scrapy_rep.stores.sqlite import SqliteStore
from tests.crawl.faults import crawled, modules, struck
from tests.crawl.harness import RULED, open_and_private, visit
from tests.crawl.middlewares import middleware
from tests.crawl.pacing import gaps, pages
from tests.crawl.plugin import RULES, obey
from tests.crawl.result import Result
from tests.crawl.sharing import OURS, CustomStore, SharedStore, key_of, shared_store_of
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.rows import first
from tests.site import Authority, Hit, Site
from tests.stores.samples import told
from tests.stores.servers import RedisServer
from tests.stores.turn_contract import granted, used_store
from tests.stores.turn_contract import taken as turn_of

ALONE = "The robots.txt store fails .* keeps the pace of a site by itself"
TOGETHER = "The robots.txt store answers again"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """What another worker sees of the crawl's store; it has been in use for a while."""
    with used_store(tmp_path / "robots.db", 0.6) as store:
        yield store


def paced(site: Site, interval: float, pages: Any = None) -> Authority:
    """A host that asks for a pace."""
    return site.authority(f"User-agent: *\nCrawl-delay: {interval:g}\n", pages)


async def test_a_turn_of_another_worker_is_waited_for(
    site: Site, store: Store, stored: Any, mode: str
) -> None:
    """All pages of another host are fetched meanwhile; then the turn ends."""
    shop, other = paced(site, 0.5), site.authority()
    token = turn_of(store, 60.0, 0.5, shop.host).token
    assert token
    ended: list[float] = []

    def end() -> None:
        limit = time.monotonic() + 60
        while len(other.page_hits) < 20 and time.monotonic() < limit:
            time.sleep(0.02)
        ended.append(time.monotonic())
        store.end_turn(shop.host, token, 0.5)

    thread = threading.Thread(target=end)
    thread.start()
    plans = [*pages(shop, 3), *pages(other, 20)]
    result = await visit(plans, mode=mode, **stored)
    thread.join()
    assert len(result.downloaded) == 23
    assert other.page_hits[-1].received < ended[0]
    assert shop.page_hits[0].received >= ended[0] + 0.5
    assert min(gaps(shop)) >= 0.5
    assert result.stats["robotstxt/crawl_delay/hosts"] == 1
    assert "robotstxt/crawl_delay/without_store" not in result.stats


@pytest.mark.slow
async def test_a_turn_is_held_for_as_long_as_a_request_takes(
    site: Site, store: Store, stored: Any, constants: Any
) -> None:
    """It is renewed, so that it outlasts its lease; after the crawl nobody has to wait for it."""
    constants("frontier.shared_pace", TURN_TERM=2.0, BEAT=0.2)
    shop = paced(site, 0.3, Reply(200, delay=3.0))
    waits: list[float] = []
    watching = threading.Event()

    def watch() -> None:
        while not watching.wait(0.1):
            if shop.page_hits and shop.page_hits[0].finished is None:
                turn = turn_of(store, 0.1, 0.3, shop.host)
                waits.append(turn.wait)

    thread = threading.Thread(target=watch)
    thread.start()
    await visit(pages(shop, 1), **stored)
    watching.set()
    thread.join()
    assert len(waits) > 3
    assert min(waits) > 0
    assert turn_of(store, 1.0, 0.3, shop.host).wait <= 0.3


async def test_pages_from_the_http_cache_use_up_no_turn(
    site: Site, store: Store, stored: Any, tmp_path: Path
) -> None:
    """They never reach the site, so that no other worker waits for them."""
    shop, cache = paced(site, 0.1), {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    await visit(pages(shop, 10), **stored, **cache)
    shop.robots = "User-agent: *\nCrawl-delay: 30\n"
    again = await visit(pages(shop, 10), **stored, **cache)
    assert len(again.downloaded) == len(shop.page_hits) == 10
    assert turn_of(store, 1.0, 0.1, shop.host).token


async def test_without_the_setting_each_worker_keeps_the_pace_by_itself(
    site: Site, store: Store, stored: Any
) -> None:
    """REP_SHARED_PACE = False: another worker's turn is none of its business."""
    shop = paced(site, 0.3)
    token = turn_of(store, 600.0, 0.3, shop.host).token
    await visit(pages(shop, 3), **stored, REP_SHARED_PACE=False)
    assert min(gaps(shop)) >= 0.3
    store.end_turn(shop.host, token or "", 0.3)


async def test_the_file_in_a_job_directory_grants_no_turns(site: Site, tmp_path: Path) -> None:
    """It is for one crawl at a time; how that keeps its pace from run to run is another matter."""
    shop = paced(site, 0.1)
    await visit(pages(shop, 2), JOBDIR=str(tmp_path))
    with closing(SqliteStore(tmp_path / "robots.db")) as store:
        assert len(list(store.scan())) == 1
        for table in ("turns", "turn_memory"):
            assert list(store._file.rows(f"SELECT * FROM {table}")) == []


async def test_it_is_said_once_that_a_custom_store_shares_no_pace(site: Site) -> None:
    """It has only get and put; the pace is kept all the same, by each worker."""
    CustomStore.entries.clear()
    shops = [paced(site, 0.2) for _ in range(3)]
    plans = [url for shop in shops for url in pages(shop, 3)]
    result = await visit(plans, REP_STORE="tests.crawl.sharing.CustomStore")
    said = result.lines("CustomStore grants no turns", "WARNING")
    assert len(said) == 1
    assert all(min(gaps(shop)) >= 0.2 for shop in shops)
    assert result.stats["robotstxt/crawl_delay/hosts"] == 3


@pytest.mark.slow
async def test_a_turn_granted_while_the_process_stood_still_is_not_used(
    site: Site, server: RedisServer, monkeypatch: pytest.MonkeyPatch, constants: Any
) -> None:
    """It has lapsed, and another worker has the next one: its end is waited for."""
    constants("frontier.shared_pace", TURN_TERM=1.0)
    shop = paced(site, 0.2)
    ended: list[float] = []
    with closing(RedisStore(server.uri)) as store:
        granted(store, interval=0.2, host="in-use.example")
        take_turn = RedisStore.take_turn

        def end(token: str) -> None:
            ended.append(time.monotonic())
            store.end_turn(shop.host, token, 0.2)

        def stop(self: RedisStore, *args: Any) -> Any:
            answer = take_turn(self, *args)
            if answer.result(5).token and self is not store and not ended:
                ended.append(time.monotonic())
                time.sleep(1.5)  # the process stands still
                token = turn_of(store, 30.0, 0.2, shop.host).token
                threading.Timer(1.0, end, [token]).start()
            return answer

        monkeypatch.setattr(RedisStore, "take_turn", stop)
        result = await visit(pages(shop, 3), REP_STORE=server.uri)
    assert len(result.downloaded) == 3
    assert len(ended) == 2
    assert shop.page_hits[0].received >= ended[1] + 0.2
    assert min(gaps(shop)) >= 0.2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("part", range(8))
async def test_a_fault_in_taking_turns_is_no_permission_and_no_hang(
    site: Site, store: Store, stored: Any, constants: Any, part: int
) -> None:
    """An exception at each place where something is called or awaited, an eighth at a time."""
    constants("frontier.shared_pace", TURN_TERM=0.5, RETRY=0.05, BEAT=0.1, UNUSED=0.2)

    async def visit() -> str:
        shop, other = paced(site, 0.1, Reply(200, delay=0.3)), site.authority()
        await crawled(obey(**stored), plans=[*pages(shop, 3), *pages(other, 3)])
        apart = min(gaps(shop), default=0.1)
        return "" if apart >= 0.1 else f"{apart:.3f} s apart"

    names = modules("scrapy_rep.frontier.shared_pace", "scrapy_rep.sites.outage")
    assert await struck(names, visit, lambda points: points[part::8]) == []


# --- rounds of attempts (RFC 9309 2.3.1.4, 2.4): what came of another worker's is read

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

    timer = threading.Timer(0.5, end)
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


async def test_a_failure_of_another_worker_leaves_the_copy(site: Site, shared: SharedStore) -> None:
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
async def test_a_failure_of_ours_is_not_stored(site: Site, shared: SharedStore, order: Any) -> None:
    """Our proxy refuses: nothing is known of the site, for another worker or the next run.

    The request for the robots.txt says which proxy it took.
    """
    shop, proxy = site.authority(RULES), site.refusing().url("")

    late = middleware(process_request=lambda request: request.meta.update(proxy=proxy))
    plan = {"url": shop.url("/open"), "meta": {} if order else {"proxy": proxy}}
    result = await visit([plan], REP_STORE=shared.uri, DOWNLOADER_MIDDLEWARES={late: order})
    assert result.unreachable == [shop.url("/open")]
    assert shared.kept(shop) is None
    assert (await open_and_private(shop, REP_STORE=shared.uri)).kinds == RULED


async def test_a_crawl_that_ends_meanwhile_leaves_no_lease(site: Site, shared: SharedStore) -> None:
    """The next worker need not wait for the term of a lease whose crawl is over."""
    shop = site.authority(Reply(503, delay=0.3), pages=Reply(200, delay=0.2))
    ageing = time.time() - 82_000
    shared.keep(shop, Entry(Answer(200, RULES.encode(), fetched_at=ageing)))
    result = await visit([shop.url("/open")], REP_STORE=shared.uri)
    assert result.downloaded == [shop.url("/open")]
    assert len(shop.robots_hits) == 1  # the refresh, which nothing waits for
    with closing(shared.open()) as store:
        assert told(store.lease(key_of(shop), TERM))


async def test_a_store_may_go_away_during_a_round(site: Site, server: RedisServer) -> None:
    """The server is gone at the first attempt: the others are made all the same."""

    def gone(_: Hit) -> Reply:
        server.stop()
        return Reply(503)

    shop = site.authority([gone, Reply(503), RULES])
    result = await open_and_private(shop, REP_STORE=server.uri, REP_RETRY_DELAYS=[0.1, 0.1])
    assert result.kinds == RULED
    assert len(shop.robots_hits) == 3


async def test_a_store_may_go_away_while_a_worker_waits(site: Site, server: RedisServer) -> None:
    """The server is gone while another worker holds the lease: this one fetches for itself."""
    shop = site.authority(RULES)
    with_store = SharedStore("Redis", server.uri, lambda: RedisStore(server.uri))
    result = await visit_while_another_fetches(shop, with_store, lambda _: server.stop())
    assert result.kinds == RULED
    assert len(shop.robots_hits) == 1


async def test_a_lease_that_does_not_end_shuts_no_site(
    site: Site, shared: SharedStore, constants: Any
) -> None:
    """After the term of a lease and the time of a round a worker fetches for itself."""
    constants("sites.refresh", LEASE_TERM=0.3)
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
