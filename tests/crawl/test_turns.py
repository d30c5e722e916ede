"""One crawl that takes turns from a store; what other workers do, the test does to the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.stores import Store
from scrapy_rep.stores.redis import RedisStore
from scrapy_rep.stores.sqlite import SqliteStore
from tests.crawl.faults import crawled, modules, struck
from tests.crawl.harness import visit
from tests.crawl.pacing import gaps
from tests.crawl.plugin import obey
from tests.crawl.sharing import CustomStore
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply
from tests.site import Authority, Site
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


def urls(shop: Authority, count: int) -> list[str]:
    """So many pages."""
    return [shop.url(f"/{number}") for number in range(count)]


@pytest.fixture
def shared(tmp_path: Path) -> dict[str, str]:
    """The settings of a crawl on the store of the test."""
    return {"REP_STORE": f"sqlite://{tmp_path}/robots.db"}


async def test_a_turn_of_another_worker_is_waited_for(
    site: Site, store: Store, shared: Any, mode: str
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
    started = time.monotonic()
    thread.start()
    plans = [*urls(shop, 3), *urls(other, 20)]
    result = await visit(plans, mode=mode, **shared)
    thread.join()
    assert len(result.downloaded) == 23
    assert other.page_hits[-1].received < ended[0]
    assert shop.page_hits[0].received >= ended[0] + 0.5
    assert min(gaps(shop)) >= 0.5
    assert result.stats["robotstxt/crawl_delay/hosts"] == 1
    took = time.monotonic() - started
    assert 1 <= result.stats["robotstxt/crawl_delay/waited"] <= took
    assert "robotstxt/crawl_delay/without_store" not in result.stats


@pytest.mark.slow
async def test_a_turn_is_held_for_as_long_as_a_request_takes(
    site: Site, store: Store, shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is renewed, so that it outlasts its lease; after the crawl nobody has to wait for it."""
    monkeypatch.setattr("scrapy_rep.waiting.shared_pace.LEASE", 2.0)
    monkeypatch.setattr("scrapy_rep.waiting.shared_pace.BEAT", 0.2)
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
    await visit(urls(shop, 1), **shared)
    watching.set()
    thread.join()
    assert len(waits) > 3
    assert min(waits) > 0
    assert turn_of(store, 1.0, 0.3, shop.host).wait <= 0.3


async def test_pages_from_the_http_cache_use_up_no_turn(
    site: Site, store: Store, shared: Any, tmp_path: Path
) -> None:
    """They never reach the site, so that no other worker waits for them."""
    shop, cache = paced(site, 0.1), {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    await visit(urls(shop, 10), **shared, **cache)
    shop.robots = "User-agent: *\nCrawl-delay: 30\n"
    again = await visit(urls(shop, 10), **shared, **cache)
    assert len(again.downloaded) == len(shop.page_hits) == 10
    assert turn_of(store, 1.0, 0.1, shop.host).token


async def test_a_request_that_does_not_obey_holds_up_the_other_workers(
    site: Site, store: Store, shared: Any
) -> None:
    """It waits for no turn, but its end begins the interval for all."""
    shop = paced(site, 1.5)
    plans = [shop.url("/1"), {"url": shop.url("/2"), "meta": {"dont_obey_robotstxt": True}}]
    begun = time.monotonic()
    await visit(plans, **shared)
    turn = turn_of(store, 1.0, 1.5, shop.host)
    assert turn.wait > 1.5 - (time.monotonic() - begun)


async def test_without_the_setting_each_worker_keeps_the_pace_by_itself(
    site: Site, store: Store, shared: Any
) -> None:
    """REP_SHARED_PACE = False: another worker's turn is none of its business."""
    shop = paced(site, 0.3)
    token = turn_of(store, 600.0, 0.3, shop.host).token
    await visit(urls(shop, 3), **shared, REP_SHARED_PACE=False)
    assert min(gaps(shop)) >= 0.3
    store.end_turn(shop.host, token or "", 0.3)


async def test_the_file_in_a_job_directory_grants_no_turns(site: Site, tmp_path: Path) -> None:
    """It is for one crawl at a time; how that keeps its pace from run to run is another matter."""
    shop = paced(site, 0.1)
    await visit(urls(shop, 2), JOBDIR=str(tmp_path))
    with closing(SqliteStore(tmp_path / "robots.db")) as store:
        assert len(list(store.scan())) == 1
        for table in ("turns", "turn_memory"):
            assert list(store._file.rows(f"SELECT * FROM {table}")) == []


async def test_it_is_said_once_that_a_custom_store_shares_no_pace(site: Site) -> None:
    """It has only get and put; the pace is kept all the same, by each worker."""
    CustomStore.entries.clear()
    shops = [paced(site, 0.2) for _ in range(3)]
    plans = [url for shop in shops for url in urls(shop, 3)]
    result = await visit(plans, REP_STORE="tests.crawl.sharing.CustomStore")
    said = result.lines("CustomStore grants no turns", "WARNING")
    assert len(said) == 1
    assert all(min(gaps(shop)) >= 0.2 for shop in shops)
    assert result.stats["robotstxt/crawl_delay/hosts"] == 3


class StepsSpider(RequestsSpider):
    """Calls a function after so many pages."""

    steps: dict[int, Callable[[], object]]

    def found(self, response: Any) -> Iterable[Any]:
        """A page came."""
        step = self.steps.get(len(self.endings))
        if step:
            step()
        return ()


@pytest.mark.slow
async def test_a_turn_granted_while_the_process_stood_still_is_not_used(
    site: Site, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has lapsed, and another worker has the next one: its end is waited for."""
    monkeypatch.setattr("scrapy_rep.waiting.shared_pace.LEASE", 1.0)
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
        result = await visit(urls(shop, 3), REP_STORE=server.uri)
    assert len(result.downloaded) == 3
    assert len(ended) == 2
    assert shop.page_hits[0].received >= ended[1] + 0.2
    assert min(gaps(shop)) >= 0.2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))]
)
async def test_a_fault_in_taking_turns_is_no_permission_and_no_hang(
    site: Site, store: Store, shared: Any, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """An exception at each place where something is called or awaited, an eighth at a time."""
    for name, seconds in {"LEASE": 0.5, "RETRY": 0.05, "BEAT": 0.1, "UNUSED": 0.2}.items():
        monkeypatch.setattr(f"scrapy_rep.waiting.shared_pace.{name}", seconds)

    async def visit() -> str:
        shop, other = paced(site, 0.1, Reply(200, delay=0.3)), site.authority()
        await crawled(obey(**shared), plans=[*urls(shop, 3), *urls(other, 3)])
        apart = min(gaps(shop), default=0.1)
        return "" if apart >= 0.1 else f"{apart:.3f} s apart"

    names = modules("scrapy_rep.waiting.shared_pace", "scrapy_rep.sites.outage")
    assert await struck(names, visit, lambda points: points[part::8]) == []
