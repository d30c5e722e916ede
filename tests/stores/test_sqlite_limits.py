"""The size of a SQLite file: what is of no use goes, its limit holds, and it shrinks."""

from __future__ import annotations

import logging
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.stored import MONTH
from tests.stores.contract import now
from tests.stores.samples import NOW, authority, entry, failure, gone, listed, refused, told

DAY = 86_400.0


def until(condition: Callable[[], bool]) -> None:
    """What happens in the background happens in the end, however busy the machine."""
    end = time.monotonic() + 200
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def seen(path: Path, moment: float) -> bool:
    """Whether the file has seen the clock go so far."""
    with closing(sqlite3.connect(path)) as db:
        return bool(db.execute("SELECT seen = ? FROM totals", (moment,)).fetchone()[0])


def large(number: int, *, at: float = NOW) -> Entry:
    """An entry that deflate makes no smaller."""
    return entry(number, at=at, body=random.Random(number).randbytes(3_000))


def test_what_is_of_no_use_any_more_goes_and_its_space_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 9309 section 2.4: copies go after a month, missing ones after a week, failures a day."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.TIDY_INTERVAL", 0.05)
    path, moment = tmp_path / "robots.db", [NOW]
    store = SqliteStore(path, clock=lambda: moment[0])
    for number in range(800):
        store.put(authority(number), large(number))
    store.put(authority(801), gone())
    store.put(authority(802), failure(count=1))
    store.flush()
    moment[0] = NOW + 2 * DAY
    until(lambda: told(store.get(authority(802))) is None)
    assert told(store.get(authority(801))) == gone()
    moment[0] = NOW + 8 * DAY
    until(lambda: told(store.get(authority(801))) is None)
    assert len(listed(store)) == 800
    moment[0] = NOW + 20 * DAY
    until(lambda: seen(path, NOW + 20 * DAY))
    moment[0] = NOW + MONTH + 1
    until(lambda: len(listed(store)) == 0)
    assert store.evicted == 0
    store.flush()
    before = path.stat().st_size
    for number in range(1_000, 1_800):
        store.put(authority(number), large(number, at=moment[0]))
    store.flush()
    store.close()
    assert path.stat().st_size < 1.1 * before


def test_a_clock_far_ahead_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may start with any time of day. What it finds in the file was right before."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.TIDY_INTERVAL", 0.05)
    path, ahead = tmp_path / "robots.db", NOW + 40 * DAY
    with closing(SqliteStore(path, clock=now)) as store:
        for number in range(100):
            store.put(authority(number), entry(number))
        store.flush()
        time.sleep(0.2)
    for number in (200, 201):  # twice: what it puts itself proves nothing
        with closing(SqliteStore(path, clock=lambda: ahead)) as store:
            store.put(authority(number), entry(number, at=ahead))
            store.flush()
            time.sleep(0.5)
    with closing(SqliteStore(path, clock=now)) as store:
        assert set(listed(store)) >= {authority(number) for number in range(100)}


def test_a_clock_far_behind_shortens_the_life_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker 40 days behind puts a failure beside a good copy: the copy stays."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.TIDY_INTERVAL", 0.05)
    path, behind = tmp_path / "robots.db", NOW - 40 * DAY
    with closing(SqliteStore(path, clock=now)) as store:
        store.put(authority(), entry())
        store.flush()
    with closing(SqliteStore(path, clock=lambda: behind)) as store:
        store.put(authority(), failure(at=behind, count=1))
        store.flush()
    with closing(SqliteStore(path, clock=now)) as store:
        store.flush()
        time.sleep(0.3)
        found = told(store.get(authority()))
    assert found is not None
    assert found.answer == entry().answer


def test_no_more_is_dropped_than_it_takes(tmp_path: Path) -> None:
    """The rows that are of use for the shortest time are scattered over the file.

    Of 3,000 entries, 2 % are too many: twice as many may go. Those that have expired go first.
    """
    path, count = tmp_path / "robots.db", 3_000
    ages = list(range(count))
    random.Random(1).shuffle(ages)
    with closing(SqliteStore(path, clock=now)) as store:
        for number, age in enumerate(ages):
            store.put(authority(number), entry(number, at=NOW - 100 * age))
        store.flush()
        used = store._file.read(lambda db: db.execute("SELECT size FROM totals").fetchone()[0])
    limit = int(0.98 * used)
    with closing(SqliteStore(path, limit=limit, clock=now)) as store:
        store.flush()
        until(lambda: store.evicted >= 0.015 * count)
        time.sleep(0.4)
        assert store.evicted <= 0.04 * count
        kept = {stored.authority for stored in store.scan()}
        for number, age in enumerate(ages):
            assert (authority(number) in kept) is (age < count - store.evicted)


def test_what_has_expired_goes_before_any_good_copy(tmp_path: Path) -> None:
    """At the limit, as otherwise."""
    path = tmp_path / "robots.db"
    with closing(SqliteStore(path, clock=now)) as store:
        for number in range(1_000):
            store.put(authority(number), entry(number, at=NOW - number))
            store.put(authority(1_000 + number), gone(at=NOW - 8 * DAY))
        store.flush()
    with closing(SqliteStore(path, limit=100_000, clock=lambda: NOW + 1)) as store:
        store.flush()
        until(lambda: store.evicted > 0)
        assert not [one for one in listed(store) if int(one.host[5:-8]) >= 1_000]


def test_an_authority_goes_whole(tmp_path: Path) -> None:
    """RFC 9309 section 2.3.1.3: without the refusal of a crawler, the rest is permission to it."""
    path = tmp_path / "robots.db"
    with closing(SqliteStore(path, clock=now)) as store:
        for number in range(500):
            store.put(authority(number), refused(at=NOW - number), "mine")
            store.put(authority(number), entry(number, at=NOW - 1 - number), "other")
        store.flush()
    with closing(SqliteStore(path, limit=100_000, clock=now)) as store:
        store.flush()
        until(lambda: store.evicted > 100)
        found = [told(store.get(authority(number), "mine")) for number in range(500)]
    assert any(found)
    assert not all(found)
    assert all(each is None or (each.answer and each.refusal) for each in found)


def test_a_good_copy_is_kept_for_as_long_as_it_may_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 9309 section 2.3.1.4: where a copy is used for a year it is kept for a year."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.TIDY_INTERVAL", 0.05)
    moment = [NOW]
    path = tmp_path / "robots.db"
    store = SqliteStore(path, keep=365 * DAY, clock=lambda: moment[0])
    store.put(authority(0), entry(0))
    store.put(authority(1), entry(1, at=NOW + 1e9))  # a date ahead is worth no more
    store.flush()
    for day in range(0, 365, 14):
        moment[0] = NOW + day * DAY
        until(lambda: seen(path, moment[0]))
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
    until(lambda: store.evicted > 2_000)
    kept = set(listed(store))
    assert store.evicted == 3_000 - len(kept)
    store.close()
    assert 200 < len(kept) < 1_500
    assert kept == {authority(n) for n in range(3_000 - len(kept), 3_000)}
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "robots.db' is at its limit of 200000 bytes" in record.getMessage()


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
    for number in range(3_000):
        filler.put(authority(number), entry(number))
    filler.close()
    pruning = SqliteStore(path, limit=200_000, clock=now)
    pruning.flush()
    other = SqliteStore(path, clock=now)
    leases = 0
    while pruning.evicted < 2_000:
        assert told(other.lease(authority(leases), 30.0))
        leases += 1
    assert leases >= 10
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
