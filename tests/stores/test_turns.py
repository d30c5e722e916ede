"""What is particular to the turns of one kind of store."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from scrapy_rep.stores import StoreError, sqlite_turns
from scrapy_rep.stores.base import LONGEST_INTERVAL
from scrapy_rep.stores.redis import RedisStore
from scrapy_rep.stores.redis_turns import PARTS
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.sqlite_rows import TABLES
from tests.crawl.sharing import CustomStore
from tests.polling import until
from tests.rows import rows
from tests.stores.obstacles import locked
from tests.stores.samples import told
from tests.stores.servers import RedisServer
from tests.stores.turn_contract import HOST, granted, refused_for, renew_often, taken


@pytest.fixture(autouse=True)
def _renewed_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test has to wait for two seconds until a new store grants turns."""
    renew_often(monkeypatch)


def test_other_stores_keep_no_pace() -> None:
    """A custom store without turns is not asked for any."""
    store = CustomStore()
    assert not store.keeps_pace
    with pytest.raises(StoreError, match="grants no turns"):
        store.take_turn(HOST, 10.0, 1.0, "token")
    store.renew_turn(HOST, "", 10.0)
    store.end_turn(HOST, "", 1.0)
    store.cancel_turn(HOST, "")


def test_a_restarted_machine_does_not_hold_a_host_up(path: Path) -> None:
    """The monotonic clock begins anew: what is dated in the future says nothing.

    A turn was held when the machine went down.
    """
    clock = [0.0]
    for clock[0] in (5_000.0, 50.0):
        store = SqliteStore(path, turn_clock=lambda: clock[0])
        assert taken(store, seconds=10.0, interval=2.0).token is None
        clock[0] += 2.0
        assert taken(store, seconds=10.0, interval=2.0).token
        store.close()


def test_damaged_rows_do_not_hold_a_host_up(store: SqliteStore, path: Path) -> None:
    """Values of any type may stand in a damaged row."""
    granted(store, interval=0.1)
    store.flush()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE turns SET since = x'00', interval = 'long'")
        connection.execute("UPDATE turn_memory SET since = 'yesterday'")
    connection.close()
    assert granted(store, interval=0.1, limit=5)


def test_old_turns_do_not_stay_in_the_file(path: Path) -> None:
    """A row goes a while after its interval is over."""
    clock = [1_000.0]
    store = SqliteStore(path, turn_clock=lambda: clock[0])
    taken(store, seconds=10.0, interval=1.0)
    for number in range(50):
        clock[0] += 2.0
        assert taken(store, seconds=10.0, interval=1.0, host=f"{number}.example").token
    store.flush()
    rows = store._file.read(lambda db: db.execute("SELECT count(*) FROM turns").fetchall())
    assert rows[0][0] <= 36  # those of 70 seconds
    store.close()


def test_turns_fail_while_another_process_holds_the_lock(store: SqliteStore, path: Path) -> None:
    """A crawl does not wait for a lock; what was to be ended meanwhile is ended later."""
    token = granted(store, interval=0.2)
    with locked(path):
        store.end_turn(HOST, token, 0.2)
        with pytest.raises(StoreError):
            told(store.take_turn(HOST, 10.0, 0.2, "lost"))
    with closing(SqliteStore(path)) as other:
        assert granted(other, interval=0.2, limit=9)


@pytest.mark.parametrize("token", ["late", ""])
def test_an_end_that_is_written_late_takes_back_no_later_one(token: str) -> None:
    """It waited for another process's lock; the turn lapsed, and another worker had one since."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.text_factory = bytes
        for statement in TABLES:
            db.execute(statement)
        assert sqlite_turns.take(db, "p:", HOST, "late", 10.0, 1.0, 0.0).token is None
        assert sqlite_turns.take(db, "p:", HOST, "late", 10.0, 1.0, 5.0).token
        assert sqlite_turns.take(db, "p:", HOST, "other", 10.0, 1.0, 20.0).token
        sqlite_turns.end(db, f"p:{HOST}", "other", 1.0, 21.0)
        sqlite_turns.end(db, f"p:{HOST}", token, 1.0, 11.0)
        assert sqlite_turns.take(db, "p:", HOST, "late", 10.0, 1.0, 21.5).wait == 0.5


def test_a_turn_is_ended_though_the_store_closes_at_once(store: SqliteStore, path: Path) -> None:
    """The others do not have to wait until it lapses."""
    store.end_turn(HOST, granted(store, interval=0.2), 0.2)
    store.close()
    with closing(SqliteStore(path)) as again:
        assert granted(again, interval=0.2, limit=5)


@pytest.fixture
def redis_store(server: RedisServer) -> Iterator[RedisStore]:
    """A store on a server."""
    with closing(RedisStore(server.uri)) as store:
        yield store


@pytest.fixture
def client(server: RedisServer) -> Iterator[Any]:
    """Another client of that server."""
    with redis.Redis(port=server.port) as client:
        yield client


@pytest.mark.parametrize("persistent", [False, True])
def test_a_restarted_redis_server_has_all_wait(
    server: RedisServer, redis_store: RedisStore, client: Any, persistent: bool
) -> None:
    """Without a dump it knows nothing; with one, what it knows is older than the last turns."""
    redis_store.cancel_turn(HOST, granted(redis_store, interval=0.1))
    redis_store.flush()  # or the dump has the turn, for half a minute
    if persistent:
        client.save()
    redis_store.end_turn(HOST, granted(redis_store, interval=0.1), 0.5)
    redis_store.flush()
    server.stop()
    begun = time.monotonic()
    server.start()
    until(lambda: taken(redis_store, interval=0.5).token)
    assert time.monotonic() - begun >= 0.5


def test_a_turn_that_a_dump_does_not_know_of_is_renewed(
    server: RedisServer, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host was free when the dump was made; then the turn was granted, and the server died."""
    store = RedisStore(server.uri)
    store.end_turn(HOST, granted(store, interval=0.1), 0.1)
    store.flush()
    client.save()
    token = granted(store, interval=0.1)
    store.close()
    server.stop()
    server.start()
    renew_often(monkeypatch, 0.6)
    store, other = RedisStore(server.uri), RedisStore(server.uri)
    assert taken(other, interval=0.1).token is None
    store.renew_turn(HOST, token, 30.0)
    taken(store, 1.0, 0.1, "another.example")
    time.sleep(0.7)
    assert taken(other, interval=0.1).token is None
    store.end_turn(HOST, token, 0.1)
    granted(other, interval=0.1, limit=5)
    store.close()
    other.close()


@pytest.fixture
def may_not(server: RedisServer, client: Any) -> Iterator[RedisStore]:
    """A store whose user may not ask for INFO: ``-@dangerous`` is a usual restriction."""
    if client.info("server")["redis_version"] < "6":
        pytest.skip("no access control lists before Redis 6")
    allowed = {"categories": ["+@all", "-@dangerous"], "keys": ["*"]}
    client.acl_setuser("bot", enabled=True, passwords=["+pw"], **allowed)
    with closing(RedisStore(f"redis://bot:pw@127.0.0.1:{server.port}/0")) as store:
        yield store


def test_a_user_who_may_not_ask_for_info_is_granted_turns(may_not: RedisStore) -> None:
    """INFO belongs to that category."""
    token = granted(may_not, interval=0.2)
    assert taken(may_not, interval=0.2).token is None
    may_not.end_turn(HOST, token, 0.2)
    granted(may_not, interval=0.2, limit=5)


def test_who_may_and_may_not_ask_hold_up_no_other(
    redis_store: RedisStore, may_not: RedisStore
) -> None:
    """The one finds out that the server has lost its memory, and the other does not."""
    granted(redis_store, host="0.example")
    granted(may_not, host="1.example")
    for number in range(2, 6):
        assert taken(redis_store, interval=0.1, host=f"{number}.example").token is not None
        assert taken(may_not, interval=0.1, host=f"x{number}.example").token is not None


def test_a_server_whose_clock_was_set_back_does_not_hold_a_host_up(
    redis_store: RedisStore, client: Any
) -> None:
    """What is dated in the future counts as made now, and only once."""
    granted(redis_store, interval=0.3)
    hour = 3_600 * 1_000_000
    for key in (f"scrapy_rep:turn:{HOST}", "scrapy_rep:turns"):
        client.hincrby(key, "since", hour)
    assert granted(redis_store, interval=0.3, limit=3)


def test_the_keys_of_a_redis_server_expire(server: RedisServer, client: Any) -> None:
    """Hosts that are no longer visited take no memory."""
    with closing(RedisStore(server.uri, prefix="shop")) as store:
        token = granted(store, seconds=10.0, interval=0.1)
        assert {key.decode() for key in client.scan_iter()} == {f"shop:turn:{HOST}", "shop:turns"}
        assert 60_000 < client.pttl(f"shop:turn:{HOST}") <= 70_000
        store.end_turn(HOST, token, 0.1)
        store.flush()
        assert 50_000 < client.pttl(f"shop:turn:{HOST}") <= 60_000
        assert 0 < client.pttl("shop:turns") <= 31 * 86_400_000


def test_the_hosts_of_a_cluster_are_spread_over_its_nodes() -> None:
    """The two keys of each script lie on one node."""
    store = RedisStore("redis+cluster://127.0.0.1:1")
    keys = [store._turn_keys(f"{number}.example") for number in range(300)]
    assert all(key_slot(one.encode()) == key_slot(other.encode()) for one, other in keys)
    assert PARTS - 10 < len({key_slot(one.encode()) for one, _ in keys}) <= PARTS
    store.close()


def test_a_turn_that_is_granted_late_is_found_with_the_same_token(
    server: RedisServer, redis_store: RedisStore
) -> None:
    """The answer comes after a second, when its worker has given up; the connection is well."""
    redis_store.end_turn(HOST, granted(redis_store, interval=0.1), 0.1)
    redis_store.flush()
    time.sleep(0.2)
    server.signal(signal.SIGSTOP)
    with pytest.raises(StoreError):
        told(redis_store.take_turn(HOST, 10.0, 0.1, "lost"))
    asked = redis_store.take_turn(HOST, 10.0, 0.1, "lost")
    time.sleep(0.2)
    server.signal(signal.SIGCONT)
    assert told(asked).token == "lost"
    with closing(RedisStore(server.uri)) as other:
        refused_for(other, 0.3, interval=0.1)


@rows("interval", ["inf", "1e300", "1e15", "nan", "-5", "soon"])
def test_an_interval_that_nobody_meant_is_bounded(
    redis_store: RedisStore, client: Any, interval: str
) -> None:
    """Who can write to the server may write anything: a wait is never negative, nor for years."""
    host = f"{interval}.example"
    redis_store.end_turn(host, granted(redis_store, host=host), 0.1)
    redis_store.flush()
    client.hset(f"scrapy_rep:turn:{host}", "interval", interval)
    turn = taken(redis_store, host=host)
    assert 0.0 <= turn.wait <= LONGEST_INTERVAL
    if interval in ("inf", "1e300", "1e15"):
        assert turn.wait > LONGEST_INTERVAL - 5


def test_a_server_whose_memory_is_full_refuses_turns_at_once(
    redis_store: RedisStore, client: Any
) -> None:
    """A turn that it granted could not be ended: each request would wait until it lapses."""
    redis_store.end_turn(HOST, granted(redis_store, interval=0.1), 0.1)
    redis_store.flush()
    time.sleep(0.2)
    client.config_set("maxmemory", "1")
    with pytest.raises(StoreError, match=r"OutOfMemory|OOM"):  # its own word, not our timeout
        taken(redis_store, interval=0.1)
    client.config_set("maxmemory", "0")
    assert granted(redis_store, interval=0.1)
