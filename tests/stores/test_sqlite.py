"""Entries in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.stores.base import StoreError
from scrapy_rep.stores.sqlite import QUEUE_LIMIT, SqliteStore
from scrapy_rep.stores.transaction import DamagedError
from tests.stores.contract import SharedStoreContract, now
from tests.stores.samples import NOW, authority, entry, told
from tests.timed import timed


class TestSqliteStore(SharedStoreContract):
    """The SQLite store keeps the contract."""

    def make(self, place: Any) -> SqliteStore:
        """A store in a file of the test's own directory."""
        return SqliteStore(place / "deep" / "robots.db", clock=now)


def test_a_lease_expires_by_the_stores_clock(tmp_path: Path) -> None:
    """A worker that died delays the others by no more than its lease."""
    moment = [NOW]
    store = SqliteStore(tmp_path / "robots.db", clock=lambda: moment[0])
    assert told(store.lease(authority(), 15.0))
    moment[0] = NOW + 14.0
    assert told(store.lease(authority(), 15.0)) is None
    moment[0] = NOW + 15.1
    assert told(store.lease(authority(), 15.0))
    store.close()


def test_the_oldest_go_first_and_the_file_stays_within_its_bound(tmp_path: Path) -> None:
    """A file of 200 KB that is offered ten times as much holds the newest entries."""
    path = tmp_path / "robots.db"
    store = SqliteStore(path, limit=200_000, clock=now)
    for number in range(3_000):
        store.put(authority(number), entry(number, at=NOW - 3_000 + number))
        if number % 500 == 499:
            store.flush()
    kept = {a for a, _ in store}
    store.close()
    assert 200 < len(kept) < 1_500
    assert kept == {authority(n) for n in range(3_000 - len(kept), 3_000)}
    assert path.stat().st_size <= 200_000 + 500 * 700  # one batch on top


def test_a_full_queue_refuses_puts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that does not come along does not take memory without bound."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite.BATCH_DELAY", 60.0)
    store = SqliteStore(tmp_path / "robots.db", clock=now)
    store.put(authority(0), entry())
    with pytest.raises(StoreError, match="wait to be written"):  # noqa: PT012 (which of them)
        for number in range(2 * QUEUE_LIMIT):
            store.put(authority(number), entry())
    store.close()


def test_a_file_of_another_application_is_left_alone(tmp_path: Path) -> None:
    """A sound SQLite file that is not ours is neither written nor set aside."""
    path = tmp_path / "bills.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE entries (sum REAL)")
    connection.close()
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(StoreError, match="another application"):
        store.get(authority())
    store.close()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["bills.db"]


@pytest.mark.parametrize(("version", "survives"), [(0, False), (2, True)])
def test_older_tables_are_dropped_and_newer_ones_refused(
    tmp_path: Path, version: int, survives: bool
) -> None:
    """An older version's file starts anew, a newer version's is left alone."""
    path = tmp_path / "robots.db"
    store = SqliteStore(path, clock=now)
    store.put(authority(), entry())
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    store = SqliteStore(path, clock=now)
    if survives:
        with pytest.raises(StoreError, match="newer version"):
            store.get(authority())
    else:
        assert store.get(authority()) is None
    store.close()


def test_a_store_is_not_carried_over_a_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that inherits a store is told to open its own, and closing harms nobody."""
    store = SqliteStore(tmp_path / "robots.db", clock=now)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(StoreError, match="another process"):
            store.get(authority())
        store.close()
    store.put(authority(), entry())
    store.close()


@timed
def test_a_get_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """While another process holds the write lock, reading takes no time."""
    path = tmp_path / "robots.db"
    store = SqliteStore(path, clock=now)
    store.put(authority(1), entry(1))
    store.flush()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    store.put(authority(2), entry(2))
    time.sleep(0.2)
    start = time.monotonic()
    assert store.get(authority(1)) == entry(1)
    assert store.get(authority(2)) == entry(2)
    assert time.monotonic() - start < 0.05
    blocker.execute("ROLLBACK")
    blocker.close()
    store.flush()
    store.close()


@timed
def test_a_flush_that_another_process_holds_up_is_a_store_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flush and a close are bounded in time, whoever holds the lock."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite.FLUSH_PATIENCE", 0.2)
    monkeypatch.setattr("scrapy_rep.stores.sqlite.CLOSE_PATIENCE", 0.2)
    monkeypatch.setattr("scrapy_rep.stores.database.WRITE_PATIENCE", 0.5)
    path = tmp_path / "robots.db"
    store = SqliteStore(path, clock=now)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    store.put(authority(), entry())
    with pytest.raises(StoreError, match="does not come to an end"):
        store.flush()
    with pytest.raises(StoreError, match="locked"):
        store.lease(authority(), 5.0).result(10)
    start = time.monotonic()
    store.close()
    assert time.monotonic() - start < 2
    blocker.execute("ROLLBACK")
    blocker.close()


def test_a_damage_that_stays_is_a_store_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that turns out damaged however often it is set aside does not loop for ever."""
    store = SqliteStore(tmp_path / "robots.db", clock=now)

    def damaged(*_: object) -> None:
        raise DamagedError("scripted")

    monkeypatch.setattr("scrapy_rep.stores.batch.Batch.write", damaged)
    store.put(authority(), entry())
    with pytest.raises(StoreError, match="again and again"):
        store.flush()
    monkeypatch.undo()
    store.put(authority(), entry())
    store.flush()
    assert store.get(authority()) == entry()
    store.close()
