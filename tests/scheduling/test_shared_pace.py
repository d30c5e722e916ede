"""The turns of a host, taken from a real store without a crawl."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.test import get_crawler

from scrapy_rep.awaiting import from_thread, sleep
from scrapy_rep.caching.shared_turns import StoreTurns
from scrapy_rep.protocol.authority import authority_of
from scrapy_rep.protocol.requested_pace import RequestedPace
from scrapy_rep.protocol.robotstxt import RobotsTxt
from scrapy_rep.scheduling import shared_pace
from scrapy_rep.scheduling.hosts import Hosts, PacedHost
from scrapy_rep.scheduling.shared_pace import SharedPace
from scrapy_rep.stats import RepStats
from scrapy_rep.stores import Store
from scrapy_rep.stores.sqlite import SqliteStore
from tests.crawl.harness import within
from tests.stores.turn_contract import HOST, granted, taken

AGENT = ("examplebot",)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that has been in use for a while."""
    store = SqliteStore(tmp_path / "robots.db")
    granted(store, interval=0.1, host="in-use.example")
    yield store
    store.close()


def asking(hosts: Hosts) -> PacedHost:
    """A host that asks for a tenth of a second from now on."""
    authority = authority_of(f"http://{HOST}/")
    assert authority is not None
    robots = RobotsTxt.parse("User-agent: *\nCrawl-delay: 0.1\n")
    host = hosts.add(HOST, 0.0, lambda _: True)
    host.ask((authority, AGENT), RequestedPace.read(robots, AGENT), idle=True)
    return host


@ensureDeferred
async def test_a_turn_stays_in_use_if_its_host_asks_anew_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The robots.txt stops asking for a delay, and asks for one again, while a turn is asked for.

    The host is forgotten in between, and another object takes its place.
    """
    monkeypatch.setattr(shared_pace, "UNUSED", 0.2)
    await within(20, deferred_from_coro(_use_a_turn(store)))


async def _use_a_turn(store: Store) -> None:
    pace = SharedPace(StoreTurns(store, from_thread), RepStats(get_crawler().stats))
    hosts = Hosts(60.0, time.time, pace)
    faults: list[Exception] = []
    pace.attach(lambda _: None, lambda _: True, faults.append)
    before = asking(hosts)
    assert not before.has_turn(time.monotonic())
    hosts.remove(before)
    host = asking(hosts)
    limit = time.monotonic() + 10
    while not host.has_turn(time.monotonic()):
        assert time.monotonic() < limit
        await sleep(0.01)
    request = Request(f"http://{HOST}/")
    host.busy.add(request)
    await sleep(0.3)
    pace.settle(time.monotonic())
    await sleep(0.1)
    assert taken(store).token is None  # the request is still under way
    host.end(request)
    assert granted(store)
    pace.close()
    assert faults == []
