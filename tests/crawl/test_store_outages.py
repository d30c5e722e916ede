"""What the log says of a store that fails: a line when it begins, and a line when it ends."""

from __future__ import annotations

import random
import secrets
import signal
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from scrapy_rep.frontier.shared_pace import RETRY
from scrapy_rep.stores import StoreError, Turn
from tests.crawl.harness import visit
from tests.crawl.pacing import gaps, pages
from tests.crawl.sharing import CustomStore
from tests.crawl.spiders import TickingSpider
from tests.crawl.test_other_workers import ALONE, TOGETHER, paced
from tests.crawl.test_workers import PacedEstate, at_work
from tests.replies import Reply
from tests.rows import deep, first
from tests.site import Site
from tests.stores.servers import RedisServer, running_server

NOTICED = RETRY + 1.0
"""Seconds for which a server that fails again and again has to answer: each worker asks it then.

Two faults with less between them are one to a worker that did not ask meanwhile. If both together
are longer than a lease, it goes on by itself, although another one may just have got a turn.
"""


def lock(path: Path, seconds: float) -> None:
    """Another process holds the write lock of the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        other.execute("ROLLBACK")


def down(server: RedisServer, seconds: float) -> None:
    """It is gone, and what it held with it."""
    server.stop()
    time.sleep(seconds)
    server.start()


def flap(server: RedisServer, seconds: float) -> None:
    """The server answers for a second and a half, and then not for five, again and again."""
    with redis.Redis(port=server.port) as client:
        for _ in range(3):
            client.execute_command("CLIENT", "PAUSE", int(seconds * 1_000), "WRITE")
            time.sleep(seconds + 1.5)


@pytest.mark.slow
@pytest.mark.parametrize(("outage", "seconds"), [(lock, 8.0), (down, 8.5), (flap, 5.5)])
async def test_an_outage_is_over_when_it_is_over(
    site: Site, server: RedisServer, tmp_path: Path, outage: Any, seconds: float
) -> None:
    """If it is shorter than a lease, no request is made without a turn, however often it comes.

    The store is asked again and again, whether it is left alone for other questions or not.
    """
    path = tmp_path / "robots.db"
    shops, interval = [paced(site, 1.0) for _ in range(6)], 1.0

    def break_down() -> None:
        while not all(len(shop.page_hits) > 2 for shop in shops):
            time.sleep(0.02)
        outage(path if outage is lock else server, seconds)

    breaking = threading.Thread(target=break_down)
    breaking.start()
    uri = f"sqlite://{path}" if outage is lock else server.uri
    try:
        plans = [shop.url(f"/{n}") for n in range(12) for shop in shops]
        result = await visit(plans, timeout=90, REP_STORE=uri)
    finally:
        breaking.join()
    assert len(result.downloaded) == len(plans)
    assert min(min(gaps(shop)) for shop in shops) >= interval
    assert "robotstxt/crawl_delay/without_store" not in result.stats
    if outage is not flap:
        assert seconds - 1.0 < max(gaps(shops[0])) < seconds + 20.0


def frozen(server: RedisServer, seconds: float) -> None:
    """It accepts connections, and answers nothing."""
    server.signal(signal.SIGSTOP)
    time.sleep(seconds)
    server.signal(signal.SIGCONT)


def full(server: RedisServer, seconds: float) -> None:
    """It refuses to write."""
    with redis.Redis(port=server.port) as client:
        client.config_set("maxmemory", "1")
        time.sleep(seconds)
        client.config_set("maxmemory", "0")


def cut(server: RedisServer, seconds: float) -> None:
    """All connections break, a few times."""
    with redis.Redis(port=server.port) as client:
        for _ in range(3):
            client.execute_command("CLIENT", "KILL", "TYPE", "normal")
            time.sleep(seconds / 3)


def emptied(server: RedisServer, seconds: float) -> None:
    """It loses its memory, and goes on."""
    with redis.Redis(port=server.port) as client:
        client.flushall()
    time.sleep(seconds)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seconds", [deep(25.0, 300.0)])
def test_a_cluster_outlives_whatever_its_server_does(
    site: Site, server: RedisServer, tmp_path: Path, seconds: float
) -> None:
    """Three workers whose clocks are weeks wrong, and a server with one fault after another.

    Each fault is shorter than a lease, and between two of them the server answers for long enough
    to be noticed. No page comes too early, none is lost, none is forbidden.
    """
    estate = PacedEstate(site, 2.0)
    urls = estate.urls(int(seconds / 3.5), 6)
    private = [shop.url("/private/x") for shop in estate.others]
    seed = secrets.randbits(32)
    print(f"seed {seed}")  # noqa: T201
    rng = random.Random(seed)
    with running_server() as queue:
        own = {"REP_STORE": server.uri, "CLOCK": 40.0, "REP_MEMORY_LIMIT": 1 << 20}
        workers = at_work(queue, tmp_path, 3, [*urls, *private], **own)
        end, faults = time.monotonic() + 2 * seconds, Counter[str]()
        while len(workers.all_ends()) < len(urls) + len(private) and time.monotonic() < end:
            fault = rng.choice((down, frozen, full, cut, emptied))
            faults[fault.__name__] += 1
            fault(server, rng.uniform(0.1, 8.0))
            time.sleep(rng.uniform(NOTICED, 10.0))
        workers.finish()
    print(faults, [workers.stats(number) for number in range(3)])  # noqa: T201
    assert estate.early() == []
    expected = [*((url, "downloaded") for url in urls), *((url, "forbidden") for url in private)]
    assert Counter(workers.all_ends()) == Counter(expected)
    asked = {hit.target for shop in estate.others for hit in shop.page_hits}
    assert not any(target.startswith("/private") for target in asked)


class PartlyDeadStore(CustomStore):
    """Grants every turn, but fails for one host, as a cluster of which one server is down."""

    keeps_pace = True
    dead = ""
    given_back = 0

    def take_turn(self, host: str, seconds: float, interval: float, token: str) -> Turn:
        """A turn."""
        if host == self.dead:
            raise StoreError("this server is down")
        return Turn(token)

    def cancel_turn(self, host: str, token: str) -> None:
        """One more."""
        PartlyDeadStore.given_back += 1


@pytest.mark.slow
async def test_a_store_that_fails_for_one_host_holds_it_up_no_longer_than_one_that_is_down(
    site: Site, monkeypatch: pytest.MonkeyPatch, constants: Any
) -> None:
    """The answers for other hosts do not count, and those are not held up either."""
    lease, interval = 2.0, 0.1
    constants("frontier.shared_pace", TURN_TERM=lease, RETRY=0.1)
    dead, well = paced(site, interval), paced(site, interval)
    monkeypatch.setattr(PartlyDeadStore, "dead", dead.host)
    monkeypatch.setattr(PartlyDeadStore, "given_back", 0)
    PartlyDeadStore.entries.clear()
    plans = [*pages(dead, 4), *pages(well, 50)]
    result = await visit(plans, REP_STORE=f"{__name__}.PartlyDeadStore")
    assert len(result.downloaded) == 54
    assert dead.page_hits[0].received - dead.robots_hits[0].received >= lease
    assert dead.page_hits[-1].received < well.page_hits[-1].received
    assert min(gaps(dead)) >= interval
    assert result.stats["robotstxt/crawl_delay/without_store"] == 4
    assert PartlyDeadStore.given_back <= 2  # a turn may come when the last request has gone
    assert len(result.lines(ALONE)) == 1
    assert not result.lines(TOGETHER)


class ReturningStore(CustomStore):
    """Fails for some hosts until it is back, and then grants every turn."""

    keeps_pace = True
    down: set[str] = set()  # noqa: RUF012
    back: dict[str, float] = {}  # noqa: RUF012
    works = False

    def take_turn(self, host: str, seconds: float, interval: float, token: str) -> Turn:
        """A turn, in the end."""
        if host in self.down:
            if not self.works:
                raise StoreError("down")
            self.back.setdefault(host, time.monotonic())
        return Turn(token)


@pytest.mark.parametrize("fails", first(1, ["for all hosts", "for one host"]))
async def test_a_store_that_is_back_is_not_believed_for_an_interval(
    site: Site, monkeypatch: pytest.MonkeyPatch, constants: Any, fails: str
) -> None:
    """It does not know which requests workers made meanwhile that could not tell it.

    They may have made some to a host that this one has met only since.
    """
    interval = 0.5
    constants("frontier.shared_pace", TURN_TERM=0.4, RETRY=0.1, SETTLED=0.1)
    shops = [paced(site, interval), paced(site, interval, Reply(200, delay=0.15))]
    robots = f"User-agent: *\nCrawl-delay: {interval:g}\n"
    late = site.authority(Reply(200, robots, delay=0.5))
    failing = [*shops, late] if fails == "for all hosts" else shops[:1]
    monkeypatch.setattr(ReturningStore, "down", {shop.host for shop in failing})
    monkeypatch.setattr(ReturningStore, "back", {})
    monkeypatch.setattr(ReturningStore, "works", False)
    ReturningStore.entries.clear()
    plans = [shop.url(f"/{n}/{number}") for n in range(5) for number, shop in enumerate(shops)]

    def tick(ended: int) -> None:
        if ended == 5:
            monkeypatch.setattr(ReturningStore, "works", True)

    how = {"tick": tick, "onward": {"/3/0": [late.url("/")]}}
    result = await visit(plans, TickingSpider, **how, REP_STORE=f"{__name__}.ReturningStore")
    assert len(result.downloaded) == len(plans) + 1
    assert result.stats["robotstxt/crawl_delay/without_store"] >= 2
    back = min(ReturningStore.back.values())
    for shop in failing:
        asked = ReturningStore.back[shop.host]
        times = [hit.received for hit in shop.page_hits if hit.received > asked]
        assert min(times) >= back + interval
