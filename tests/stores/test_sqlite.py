"""Entries in a SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.stores.sqlite import SLOW_READS, SqliteStore
from scrapy_rep.stores.stored import PREFIX, StoreError
from tests.stores.contract import SharedStoreContract, now
from tests.stores.samples import authority, entry, keep, listed, told
from tests.stores.turn_contract import TurnContract


class TestSqliteStore(SharedStoreContract, TurnContract):
    """The SQLite store keeps the contract."""

    def make(
        self, place: Any, clock: Callable[[], float] = now, prefix: str = PREFIX
    ) -> SqliteStore:
        """A store in a file of the test's own directory."""
        return SqliteStore(place / "deep" / "robots.db", clock=clock, prefix=prefix)

    def lose_memory(self, place: Any) -> None:
        """Somebody deletes the file."""
        for path in (place / "deep").iterdir():
            path.unlink()


def test_after_a_slow_look_up_another_thread_makes_the_next_ones(store: SqliteStore) -> None:
    """A busy disk holds up the event loop for one look-up in two hundred at most."""
    keep(store, entry())
    assert store.get(authority()) == entry()
    reader = store._file._reader
    store._slow_reads = 0  # a machine that is busy itself is slow now and then
    reader.set_progress_handler(lambda: time.sleep(0.01), 1)  # as a disk does that is busy
    assert store.get(authority()) == entry()
    reader.set_progress_handler(None, 0)
    answers = [store.get(authority()) for _ in range(SLOW_READS)]
    assert all(isinstance(answer, Future) for answer in answers)
    assert [told(answer) for answer in answers] == [entry()] * SLOW_READS
    store._slow_reads = 0
    assert store.get(authority()) == entry()


def test_a_damage_that_stays_is_a_store_error(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that turns out damaged however often it is set aside does not loop for ever."""

    def damaged(*_: object, **__: object) -> None:
        raise sqlite3.DatabaseError("scripted")

    monkeypatch.setattr("scrapy_rep.stores.sqlite_rows.write", damaged)
    store.put(authority(), entry())
    with pytest.raises(StoreError, match="again and again"):
        store.flush()
    monkeypatch.undo()
    keep(store, entry())
    assert told(store.get(authority())) == entry()


def test_a_call_that_fails_by_itself_fails_alone(store: SqliteStore) -> None:
    """Those that were made in one transaction with it have their answers."""
    store.flush()
    before = store._writer.ask(lambda db: time.sleep(0.1))
    others = [store._writer.ask(lambda db: 1 // 0), store._writer.ask(lambda db: 7)]
    with pytest.raises(StoreError, match="ZeroDivisionError"):
        told(others[0])
    assert (told(before), told(others[1])) == (None, 7)


def test_a_fault_of_ours_ends_no_thread(path: Path) -> None:
    """What cannot be written for an unforeseen reason is lost and told of; then all goes on."""
    faults = [0]

    def clock() -> float:
        if faults[0]:
            faults[0] -= 1
            raise ZeroDivisionError("scripted")
        return time.monotonic()

    store = SqliteStore(path, clock=now, turn_clock=clock)
    faults[0] = 1
    store.put(authority(0), entry(0))
    with pytest.raises(StoreError, match="lost: ZeroDivisionError: scripted"):
        told(store.lease(authority(), 5.0))
    keep(store, entry(1), 1)
    assert listed(store) == {authority(0): entry(0), authority(1): entry(1)}
    assert told(store.lease(authority(), 5.0))
    store.close()


@pytest.mark.slow
def test_a_close_in_the_middle_of_a_batch_loses_nothing(tmp_path: Path) -> None:
    """What is being written is written, what waits as well; a lease that waits is refused."""
    for number in range(20):
        path = tmp_path / f"{number}.db"
        store = SqliteStore(path, clock=now)
        answers = []
        for n in range(30):
            store.put(authority(n), entry(n))
            answers.append(store.lease(authority(n), 30.0))
        time.sleep(0.001 * number)
        store.close()
        assert all(answer.done() for answer in answers)
        again = SqliteStore(path, clock=now)
        assert set(listed(again)) == {authority(n) for n in range(30)}
        again.close()
