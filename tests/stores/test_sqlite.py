"""Entries in a SQLite file."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.sqlite import QUICK_READS, SLOW_READ, SqliteStore, _blocks_read
from scrapy_rep.stores.sqlite_transaction import DamagedError
from scrapy_rep.stores.sqlite_writer import QUEUE_LIMIT
from tests.stores.contract import SharedStoreContract, now
from tests.stores.samples import authority, entry, listed, told
from tests.stores.turn_contract import TurnContract


class TestSqliteStore(SharedStoreContract, TurnContract):
    """The SQLite store keeps the contract."""

    def make(self, place: Any, clock: Callable[[], float] = now) -> SqliteStore:
        """A store in a file of the test's own directory."""
        return SqliteStore(place / "deep" / "robots.db", clock=clock)

    def lose_memory(self, place: Any) -> None:
        """Somebody deletes the file."""
        for path in (place / "deep").iterdir():
            path.unlink()


def test_a_slow_disk_holds_up_one_look_up_in_two_hundred(tmp_path: Path) -> None:
    """After a slow look-up a thread makes the others, until all are quick again."""
    store = SqliteStore(tmp_path / "robots.db", clock=now)
    store.put(authority(), entry())
    store.flush()
    assert store.get(authority()) == entry()
    reader = store._database._reader
    assert reader is not None
    reader.set_progress_handler(lambda: time.sleep(0.01), 1)  # as a disk does that is busy
    assert store.get(authority()) == entry()
    slow = [store.get(authority()) for _ in range(3)]
    assert all(isinstance(answer, Future) for answer in slow)
    assert [told(answer) for answer in slow] == [entry()] * 3
    reader.set_progress_handler(None, 0)
    answers = 0
    while isinstance(answer := store.get(authority()), Future):
        assert told(answer) == entry()
        answers += 1
        assert answers < 20_000  # a machine that is busy itself is slow now and then
    assert answers >= QUICK_READS
    assert answer == entry()
    store.close()


def test_a_busy_process_is_no_slow_disk(tmp_path: Path) -> None:
    """A look-up that waits for a thread that holds the interpreter is followed by no Futures."""
    store = SqliteStore(tmp_path / "robots.db", clock=now)
    store.put(authority(), entry())
    store.flush()
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            sum(range(1_000))

    thread = threading.Thread(target=work)
    thread.start()
    limit = time.monotonic() + 20
    slow = 0
    try:
        while slow < 3:
            assert time.monotonic() < limit
            start = time.perf_counter()
            assert store.get(authority()) == entry()
            slow += time.perf_counter() - start > SLOW_READ
    finally:
        over.set()
        thread.join()
    store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux drops a file from its cache")
def test_a_look_up_that_reads_from_the_disk_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it takes long; so the look-ups after it are made by a thread."""
    path = tmp_path / "robots.db"
    with closing(SqliteStore(path, clock=now)) as store:
        for number in range(2_000):
            store.put(authority(number), entry())
        store.flush()
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    before = _blocks_read()
    os.pread(descriptor, 4_096, 0)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    if _blocks_read() == before:
        pytest.skip("the folder for temporary files is in memory")
    monkeypatch.setattr("scrapy_rep.stores.sqlite.SLOW_READ", 0.0)
    with closing(SqliteStore(path, clock=now)) as store:
        answers = [store.get(authority(number)) for number in range(0, 2_000, 50)]
        assert any(isinstance(answer, Future) for answer in answers)
        assert all(told(answer) == entry() for answer in answers)


def test_a_full_queue_refuses_puts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that does not come along does not take memory without bound."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.BATCH_DELAY", 60.0)
    store = SqliteStore(tmp_path / "robots.db", clock=now)
    store.put(authority(0), entry())
    with pytest.raises(StoreError, match="wait to be written"):  # noqa: PT012 (which of them)
        for number in range(2 * QUEUE_LIMIT):
            store.put(authority(number), entry())
    store.close()


def test_a_store_is_not_carried_over_a_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that inherits a store is told to open its own, and closing it does no harm."""
    store = SqliteStore(tmp_path / "robots.db", clock=now)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(StoreError, match="another process"):
            told(store.get(authority()))
        store.close()
    store.put(authority(), entry())
    store.close()


def test_a_damage_that_stays_is_a_store_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that turns out damaged however often it is set aside does not loop for ever."""
    store = SqliteStore(tmp_path / "robots.db", clock=now)

    def damaged(*_: object) -> None:
        raise DamagedError("scripted")

    monkeypatch.setattr("scrapy_rep.stores.sqlite_batch.Batch.write_some", damaged)
    store.put(authority(), entry())
    with pytest.raises(StoreError, match="again and again"):
        store.flush()
    monkeypatch.undo()
    store.put(authority(), entry())
    store.flush()
    assert told(store.get(authority())) == entry()
    store.close()


def test_a_fault_of_ours_ends_no_thread(tmp_path: Path) -> None:
    """What cannot be written for an unforeseen reason is lost and told of; then all goes on."""
    faults = [0]

    def clock() -> float:
        if faults[0]:
            faults[0] -= 1
            raise ZeroDivisionError("scripted")
        return now()

    store = SqliteStore(tmp_path / "robots.db", clock=now, machine_clock=clock)
    faults[0] = 1
    store.put(authority(0), entry(0))
    with pytest.raises(StoreError, match="lost: ZeroDivisionError: scripted"):
        told(store.lease(authority(), 5.0))
    store.put(authority(1), entry(1))
    store.flush()
    assert listed(store) == {authority(1): entry(1)}
    assert told(store.lease(authority(), 5.0))
    store.close()
