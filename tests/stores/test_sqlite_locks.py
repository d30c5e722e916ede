"""A write lock that another process holds, and leases that cannot have been granted."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.sqlite_rows import LONGEST_LEASE
from scrapy_rep.stores.stored import PREFIX, StoreError
from tests.polling import until
from tests.stores.asking import Asker
from tests.stores.contract import now
from tests.stores.obstacles import locked
from tests.stores.samples import NOW, authority, entry, failure, keep, listed, told
from tests.timed import waits


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a file may be; the writer is not patient."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.RETRY_DELAY", 0.5)
    monkeypatch.setattr("scrapy_rep.stores.sqlite_file.WRITE_TIMEOUT", 0.2)
    return tmp_path / "robots.db"


@waits
def test_a_get_does_not_wait_for_a_writer(store: SqliteStore, path: Path) -> None:
    """While another process holds the write lock, reading takes no time."""
    keep(store, entry(1), 1)
    with locked(path):
        store.put(authority(2), entry(2))
        time.sleep(0.2)
        start = time.monotonic()
        assert told(store.get(authority(1))) == entry(1)
        assert time.monotonic() - start < 0.05


def test_an_operator_looks_while_another_process_writes(path: Path) -> None:
    """To list what is there takes no write lock."""
    with closing(SqliteStore(path, clock=now)) as store:
        store.put(authority(1), entry(1))
    with locked(path), closing(SqliteStore(path, clock=now)) as store:
        assert listed(store) == {authority(1): entry(1)}
        assert store.find(authority(2)) is None


@waits
async def test_leases_do_not_wait_for_a_lock(store: SqliteStore, path: Path) -> None:
    """Three wait a while each; from then on they fail at once, but for one after a pause."""
    store.flush()
    crawl = Asker(store)
    with locked(path):
        start = time.monotonic()
        for _ in range(500):
            assert (await crawl.lease())[0] is None
        assert 0.4 < time.monotonic() - start < 4.0
        store.close()


def test_a_lock_is_over_when_it_is_over(store: SqliteStore, path: Path) -> None:
    """The writer finds out by itself, whether anything waits or not."""
    store.flush()
    with locked(path), pytest.raises(StoreError, match="locked"):
        told(store.lease(authority(), 15.0))
    until(lambda: told(store.lease(authority(), 15.0)))


def test_what_cannot_be_written_waits_and_is_written_later(store: SqliteStore, path: Path) -> None:
    """RFC 9309 section 2.3.1.4: nothing that is learnt under a lock is lost."""
    keep(store, entry(0, at=NOW - 500), 0)
    with locked(path):
        for number in range(100):
            store.put(authority(number), entry(number, at=NOW - 100))
        with pytest.raises(StoreError, match=r"robots\.db': database is locked"):
            store.flush()
        store.put(authority(0), failure(at=NOW))
        store.put(authority(1), entry(2, at=NOW))
        store.put(authority(1), entry(3, at=NOW - 300))
    both = Entry(entry(0, at=NOW - 100).answer, failure=failure(at=NOW).failure)
    until(lambda: store.flush() is None)
    later = {authority(number): entry(number, at=NOW - 100) for number in range(2, 100)}
    with closing(SqliteStore(path, clock=now)) as again:
        assert listed(again) == {authority(0): both, authority(1): entry(2, at=NOW), **later}


def test_what_waits_is_bounded(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the limit all is kept; the rest is an error."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.QUEUE_LIMIT", 50)
    store.flush()
    with locked(path):
        for number in range(50):
            store.put(authority(number), entry(number))
        with pytest.raises(StoreError, match="too many changes wait to be written: 50"):
            store.put(authority(50), entry(50))
    until(lambda: store.flush() is None)
    assert len(listed(store)) == 50


def test_the_octets_that_wait_are_bounded(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand of the largest files would take 5 GB. What is written makes room again."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.QUEUE_OCTETS", 100_000)
    store.flush()
    for _ in range(2):
        with locked(path):
            for number in range(10):
                store.put(authority(number), entry(number, body=bytes(10_000)))
            with pytest.raises(StoreError, match="too many changes wait to be written: 10"):
                store.put(authority(10), entry(10))
        until(lambda: store.flush() is None)
    assert len(listed(store)) == 10


def test_in_an_outage_no_end_of_a_turn_takes_the_room_of_an_entry(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn lapses by itself; what is learnt of sites is kept."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.AT_ONCE", 2)
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.QUEUE_LIMIT", 4)
    store.flush()
    with locked(path):
        store.put(authority(1), entry(1))
        for _ in range(10):
            store.end_turn("e.org", "token", 1.0)
            with pytest.raises(StoreError, match="locked"):
                told(store.lease(authority(), 15.0))
        store.put(authority(2), entry(2))
    until(lambda: store.flush() is None)
    assert {*listed(store)} == {authority(1), authority(2)}


@waits
def test_a_flush_and_a_close_are_bounded_in_time(
    store: SqliteStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Under another process's lock both end within seconds; the log says what was lost."""
    with locked(path):
        store.put(authority(), entry())
        start = time.monotonic()
        with pytest.raises(StoreError, match="locked"):
            store.flush()
        store.close()
        assert time.monotonic() - start < 3
    assert caplog.records[-1].getMessage().endswith("changes that could not be written: 1")


@pytest.mark.parametrize(
    "until",
    [5_000.0 + 2 * LONGEST_LEASE, 1e12, 1e300, float("inf"), float("-inf"), 4_999.0, "later", b""],
)
def test_a_lease_that_cannot_have_been_granted_is_void(path: Path, until: object) -> None:
    """A row of an earlier start of the machine, or a damaged one, shuts no site."""
    store = SqliteStore(path, turn_clock=lambda: 5_000.0)
    store.flush()
    row = (f"{PREFIX}:{authority()}", "token", until)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO leases VALUES (?, ?, ?)", row)
    assert told(store.lease(authority(), 15.0))
    assert told(store.lease(authority(), 15.0)) is None
    store.close()


def test_a_lease_expires_by_the_clock_of_the_machine(tmp_path: Path) -> None:
    """A worker that died delays the others by no more than its lease, and an hour at most."""
    moment = [5_000.0]
    store = SqliteStore(tmp_path / "robots.db", clock=now, turn_clock=lambda: moment[0])
    for asked, granted in ((15.0, 15.0), (1e9, LONGEST_LEASE)):
        assert told(store.lease(authority(), asked))
        moment[0] += granted - 1.0
        assert told(store.lease(authority(), asked)) is None
        moment[0] += 1.1
    store.close()
