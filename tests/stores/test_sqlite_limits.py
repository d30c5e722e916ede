"""The size of a SQLite file: what is of no use goes, its limit holds, and it shrinks."""

from __future__ import annotations

import logging
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.sqlite_file import SPARE_PAGES
from scrapy_rep.stores.stored import MONTH
from tests.stores.contract import now
from tests.stores.samples import NOW, authority, entry, failure, gone, listed, told
from tests.stores.test_codec import V1_GONE
from tests.stores.test_sqlite_files import version_1

DAY = 86_400.0


def until(condition: Callable[[], bool]) -> None:
    """What happens in the background happens within half a minute."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def large(number: int, *, at: float = NOW) -> Entry:
    """An entry that deflate makes no smaller."""
    return entry(number, at=at, body=random.Random(number).randbytes(3_000))


def test_what_is_of_no_use_any_more_goes_and_the_file_shrinks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 9309 section 2.4: copies go after a month, missing ones after a week, failures a day."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_tidying.TIDY_INTERVAL", 0.05)
    path, moment = tmp_path / "robots.db", [NOW]
    store = SqliteStore(path, clock=lambda: moment[0], machine_clock=now)
    for number in range(800):
        store.put(authority(number), large(number))
    store.put(authority(800), Entry(entry(800).answer, failure=failure(at=NOW + 1).failure))
    store.put(authority(801), gone())
    store.close()
    assert path.stat().st_size > 2_000_000
    store = SqliteStore(path, clock=lambda: moment[0], machine_clock=now)
    moment[0] = NOW + 2 * DAY
    until(lambda: told(store.get(authority(800))) == entry(800))
    assert told(store.get(authority(801))) == gone()
    moment[0] = NOW + 8 * DAY
    until(lambda: told(store.get(authority(801))) is None)
    assert len(listed(store)) == 801
    store.put(authority(802), entry(802, at=moment[0]))
    moment[0] = NOW + MONTH + 1
    until(lambda: len(listed(store)) == 1)
    until(lambda: store._database._number("freelist_count") <= SPARE_PAGES)
    assert store.evicted == 0
    store.close()
    assert path.stat().st_size < 1_200_000


def test_a_good_copy_is_kept_for_as_long_as_it_may_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 9309 section 2.3.1.4: where a copy is used for a year it is kept for a year."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_tidying.TIDY_INTERVAL", 0.05)
    moment = [NOW]
    store = SqliteStore(
        tmp_path / "robots.db", keep=365 * DAY, clock=lambda: moment[0], machine_clock=now
    )
    store.put(authority(0), entry(0))
    store.put(authority(1), entry(1, at=NOW + 1e9))  # a date ahead is worth no more
    store.flush()
    moment[0] = NOW + 364 * DAY
    time.sleep(0.5)
    assert told(store.get(authority(0))) == entry(0)
    moment[0] = NOW + 366 * DAY
    until(lambda: listed(store) == {})
    store.close()


def test_at_its_limit_the_file_keeps_what_is_of_use_for_longest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file of 200 KB that is offered ten times as much holds the newest entries, and says so."""
    path = tmp_path / "robots.db"
    store = SqliteStore(path, limit=200_000, clock=now)
    for number in range(3_000):
        store.put(authority(number), entry(number, at=NOW - 3_000 + number))
        if number % 500 == 499:
            store.flush()
    until(lambda: store.evicted > 2_000 and store._database.size <= 200_000)
    kept = set(listed(store))
    assert store.evicted == 3_000 - len(kept)
    store.close()
    assert 200 < len(kept) < 1_500
    assert kept == {authority(n) for n in range(3_000 - len(kept), 3_000)}
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "robots.db' is at its limit of 200000 octets" in record.getMessage()


def test_the_limit_holds_while_much_is_put(tmp_path: Path) -> None:
    """A writer that is never idle prunes as fast as it writes."""
    path = tmp_path / "robots.db"
    store = SqliteStore(path, limit=2_000_000, clock=now)
    largest = 0
    for number in range(4_000):
        store.put(authority(number), large(number, at=NOW - 4_000 + number))
        if number % 100 == 99:
            time.sleep(0.01)
            largest = max(largest, path.stat().st_size)
    store.flush()
    store.close()
    assert 2_000_000 < largest < 3_500_000


def test_other_processes_write_while_a_file_is_pruned(tmp_path: Path) -> None:
    """Pruning goes in small steps: no lease of another process fails meanwhile."""
    path = tmp_path / "robots.db"
    filler = SqliteStore(path, clock=now)
    for number in range(6_000):
        filler.put(authority(number), entry(number))
    filler.close()
    pruning = SqliteStore(path, limit=200_000, clock=now)
    pruning.flush()
    other = SqliteStore(path, clock=now)
    leases = 0
    while pruning.evicted < 4_000:
        assert told(other.lease(authority(leases), 30.0))
        leases += 1
    assert leases >= 30
    other.close()
    pruning.close()


def test_pruning_goes_on_soon_after_another_process_held_the_lock(tmp_path: Path) -> None:
    """One conflict over the write lock does not leave a file over its limit for a minute."""
    path = tmp_path / "robots.db"
    filler = SqliteStore(path, clock=now)
    for number in range(3_000):
        filler.put(authority(number), entry(number))
    filler.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(path, limit=200_000, clock=now)
    store.flush()
    time.sleep(1.0)  # longer than a writer waits for the lock
    other.execute("COMMIT")
    other.close()
    until(lambda: store.evicted > 0)
    store.close()


def test_a_file_of_version_1_is_pruned_and_uses_its_pages_again(tmp_path: Path) -> None:
    """It cannot shrink without being copied whole, but it does not grow; what is old goes first."""
    path = tmp_path / "robots.db"
    connection = version_1(path)
    rows = [(f"https://old-{n}.example", NOW - n, V1_GONE * 9) for n in range(5_000)]
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")
    connection.close()
    before = path.stat().st_size
    assert before > 2_000_000
    store = SqliteStore(path, limit=1_000_000, clock=now)
    store.put(authority(5), entry(5))
    until(lambda: store._database.size <= 1_000_000)
    assert store.evicted > 1_000
    for number in range(10, 1_000):
        store.put(authority(number), entry(number))
    store.flush()
    assert told(store.get(authority(5))) == entry(5)
    store.close()
    assert path.stat().st_size <= before + 65_536  # the new tables
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    connection.close()
