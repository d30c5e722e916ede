"""A Redis server that is down, slow or wrong: nothing wrong is read, and nobody waits for long."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from scrapy_rep.stores.redis import RedisStore
from scrapy_rep.stores.stored import StoreError
from tests.stores.asking import Asker, nap
from tests.stores.contract import now
from tests.stores.faults import FAULTS, faulty, stored, wait
from tests.stores.lateness import Lateness
from tests.stores.samples import authority, entry, keep, listed
from tests.stores.servers import DistantServer, ScriptedServer, commands, free_port, running_server
from tests.timed import waits

pytestmark = waits

LONGEST = RedisStore.answer_timeout + 0.05
"""Seconds that a look-up may take, whatever the server does."""


@pytest.fixture
def late() -> Iterator[Lateness]:
    """A bound on time holds for a machine that has any to spare."""
    with Lateness() as late:
        yield late


def closes_soon(store: RedisStore, late: Lateness) -> None:
    """Nothing that hangs holds up the end of a crawl."""
    start = time.monotonic()
    store.close()
    assert time.monotonic() - start < 2.5 + late.slack


async def until_answered(crawl: Asker, seconds: float) -> None:
    """An entry is found within that time."""
    end = time.monotonic() + seconds
    while (await crawl.get())[0] is None:
        assert time.monotonic() < end
        await nap(0.05)


@pytest.mark.parametrize("fault", FAULTS)
async def test_lookups_of_a_faulty_server_are_right_and_short(fault: str, late: Lateness) -> None:
    """One after another: each is right or a miss, each is short, and three at most are slow."""
    with faulty(fault) as uri:
        store = RedisStore(uri, clock=now)
        crawl = Asker(store)
        start = time.monotonic()
        answers = [await crawl.get() for _ in range(50)]
        took = time.monotonic() - start
        closes_soon(store, late)
    assert max(seconds for _, seconds in answers) <= LONGEST + late.slack
    assert took < 4 * LONGEST + 10 * late.slack
    right = [brought for brought, _ in answers if brought is not None]
    assert set(right) <= {entry()}
    # The server may hang up between our look whether it has and our sending.
    assert len(right) >= 25 if fault == "idle close" else not right


@pytest.mark.parametrize("fault", ["refuse", "hang", "half a line", "LOADING", "idle close"])
async def test_fifty_lookups_at_once_are_short_too(fault: str, late: Lateness) -> None:
    """Asked all at once, each of them has ended in time; puts in between do no harm."""
    with faulty(fault) as uri, closing(RedisStore(uri, clock=now)) as store:
        crawl = Asker(store)
        start = time.monotonic()
        answers = []
        for _ in range(50):
            with suppress(StoreError):
                store.put(authority(1), entry(1))
            answers.append(crawl.get())
        assert {(await answer)[0] for answer in answers} <= {None, entry()}
        assert time.monotonic() - start <= LONGEST + late.slack


@pytest.mark.parametrize("fault", ["refuse", "hang", "5 s slow"])
async def test_a_lease_of_a_faulty_server_is_no_lease(fault: str, late: Lateness) -> None:
    """Whoever asks for a lease knows in time that it has to do without."""
    with faulty(fault) as uri, closing(RedisStore(uri, clock=now)) as store:
        token, seconds = await Asker(store).lease()
        assert token is None
        assert seconds <= LONGEST + late.slack


@pytest.mark.parametrize("seconds", [0.05, 0.2])
async def test_a_server_far_away_loses_no_lookup(seconds: float) -> None:
    """Round trips of 50 to 200 ms: connected in time, with a password and a database, and again.

    All connections are cut twice, once while nothing is under way and once in the middle of it.
    """
    with (
        running_server("--requirepass", "s3cret") as server,
        DistantServer(server.port, seconds) as distant,
    ):
        store = RedisStore(distant.uri.replace("//", "//:s3cret@")[:-1] + "2", clock=now)
        keep(store, entry())
        crawl = Asker(store)
        assert [(await crawl.get())[0] for _ in range(5)] == [entry()] * 5
        assert (await crawl.get())[1] < 2 * seconds
        before = distant.connections
        distant.cut()
        assert [(await crawl.get())[0] for _ in range(3)] == [entry()] * 3
        for _ in range(2):  # fifty look-ups are under way at the second one
            many = [store.get(authority(number)) for number in range(50)]
            await nap(seconds / 2)
            distant.cut()
            assert [answer.exception(10) for answer in many] == [None] * 50
        assert before < distant.connections <= before + 20
        store.close()


async def test_a_reconnect_goes_on_when_nobody_waits_for_it() -> None:
    """Look-ups fail while a connection takes longer than they may, and then no more."""

    def far(sock: socket.socket) -> None:
        slow = [True]

        def answer(words: list[bytes]) -> bytes:
            if slow.pop() if slow else False:
                time.sleep(1.8 * RedisStore.answer_timeout)
            return stored(words)

        commands(sock, answer)

    with ScriptedServer(far) as server, closing(RedisStore(server.uri, clock=now)) as store:
        await until_answered(Asker(store), 5)
        assert server.connections == 1


async def test_a_connection_that_dribbles_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """An octet now and then keeps each read from timing out: the whole exchange has an end."""
    monkeypatch.setattr("scrapy_rep.stores.thread.CUT_AFTER", 0.5)
    dribbling: list[socket.socket] = []

    def handle(sock: socket.socket) -> None:
        def answer(words: list[bytes]) -> bytes:
            if words[0] == b"HGETALL" and len(dribbling) < 2:  # the first attempt and its retry
                dribbling.append(sock)
                sock.sendall(b"$1000\r\n")
                for _ in range(1000):
                    sock.sendall(b"x")
                    time.sleep(0.05)
            return stored(words)

        commands(sock, answer)

    with ScriptedServer(handle) as server:
        store = RedisStore(server.uri, clock=now)
        await until_answered(Asker(store), 10)
        assert len(dribbling) == 2
        store.close()


@pytest.mark.parametrize("kind", ["sentinel", "cluster"])
@pytest.mark.parametrize("fault", ["refuse", "hang", "MOVED"])
async def test_lookups_by_faulty_sentinels_and_nodes_are_short_too(
    kind: str, fault: str, late: Lateness
) -> None:
    """Who is in charge is found out in the threads; nobody waits for that, nor does a close."""
    with faulty(fault) as first, faulty(fault) as second:
        places = ",".join(uri.split("/")[2] for uri in (first, second))
        path = "/robots/0" if kind == "sentinel" else ""
        store = RedisStore(f"redis+{kind}://{places}{path}", clock=now)
        crawl = Asker(store)
        answers = [await crawl.get() for _ in range(50)]
        closes_soon(store, late)
        assert [brought for brought, _ in answers if brought] == []
        assert max(seconds for _, seconds in answers) <= LONGEST + late.slack
        await nap(0.1)


def test_iteration_and_flush_of_a_dead_server_are_store_errors() -> None:
    """Listing says that there is no server; a flush says that a put did not get there."""
    store = RedisStore(f"redis://127.0.0.1:{free_port()}/0", clock=now)
    with pytest.raises(StoreError, match="ConnectionError"):
        listed(store)
    store.put(authority(), entry())
    with pytest.raises(StoreError, match="ConnectionError"):
        store.flush()
    store.close()


def test_a_queue_that_a_server_does_not_take_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the server hangs, calls wait up to a number, and further ones are refused."""
    monkeypatch.setattr("scrapy_rep.stores.thread.QUEUE_LIMIT", 5)
    with ScriptedServer(wait) as server:
        store = RedisStore(server.uri, clock=now)
        store.lease(authority(), 10.0)
        with pytest.raises(StoreError, match="5 calls wait"):  # noqa: PT012 (which of them)
            for number in range(40):
                store.put(authority(number), entry(number))
        store.close()
