"""The size of a SQLite file: its limit holds, and what is of least use goes, whole."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_rep.stores.sqlite import SqliteStore
from tests.stores.contract import now
from tests.stores.samples import NOW, authority, entry, gone, keep, listed, refused, told

DAY = 86_400.0


def fill(path: Path, count: int, at: Callable[[int], float] = lambda _: NOW) -> int:
    """A file of so many entries, each of its date; the octets in use."""
    with closing(SqliteStore(path, clock=now)) as store:
        for number in range(count):
            store.put(authority(number), entry(number, at=at(number)))
    return path.stat().st_size


def kept(path: Path) -> set[int]:
    """The numbers of the entries in a file."""
    with closing(SqliteStore(path, clock=now)) as store:
        return {int(site.host[5:-8]) for site in listed(store)}


def make_room(store: SqliteStore, batches: int = 20) -> None:
    """Whatever is written, there is room made after it."""
    for _ in range(batches):
        told(store.lease(authority(), 0.0))


def cut_to(path: Path, limit: int) -> None:
    """A store with that limit makes room in a file."""
    with closing(SqliteStore(path, limit=limit, clock=now)) as store:
        make_room(store)


@pytest.mark.parametrize("days", [-400, 400])
def test_whatever_the_clock_says_nothing_goes_for_its_age(path: Path, days: int) -> None:
    """A machine may start with any time of day. What it finds in the file was right before."""
    fill(path, 100)
    with closing(SqliteStore(path, clock=lambda: NOW + days * DAY)) as store:
        store.put(authority(200), entry(200, at=NOW + days * DAY))
    assert kept(path) == {*range(100), 200}


@pytest.mark.slow
def test_no_more_is_dropped_than_it_takes(path: Path) -> None:
    """Of 3,000 entries, in no order, 2 % are too many: twice as many may go, the oldest."""
    count = 3_000
    ages = list(range(count))
    random.Random(1).shuffle(ages)
    size = fill(path, count, lambda number: NOW - 100 * ages[number])
    cut_to(path, int(0.98 * size))
    evicted = count - len(kept(path))
    assert 0.015 * count <= evicted <= 0.04 * count
    assert kept(path) == {number for number, age in enumerate(ages) if age < count - evicted}


def test_no_entry_takes_the_place_of_another(store: SqliteStore) -> None:
    """Of rows that are of use until the same moment, one is numbered as the next minute begins."""
    for number, at in enumerate((NOW - 1e-6, NOW - 60, NOW - 60)):
        store.put(authority(number), entry(number, at=at))
    assert len(listed(store)) == 3


def test_a_date_that_no_clock_shows_is_stored(store: SqliteStore) -> None:
    """A custom store, from which entries are imported, may hold any number."""
    store.put(authority(), entry(at=1e300))
    keep(store, entry(at=-1e300), 1)


@pytest.mark.parametrize(
    ("keep", "good", "without_rules"),
    [
        pytest.param(30 * DAY, lambda n: NOW - n, NOW - 8 * DAY, id="what has expired"),
        pytest.param(365 * DAY, lambda n: NOW - 300 * DAY, NOW, id="a copy used for a year"),
    ],
)
def test_a_good_copy_goes_after_what_is_of_less_use(
    path: Path, keep: float, good: Callable[[int], float], without_rules: float
) -> None:
    """RFC 9309 section 2.3.1.4. An answer without rules is of use for a week."""
    with closing(SqliteStore(path, keep=keep, clock=now)) as store:
        for number in range(500):
            store.put(authority(number), entry(number, at=good(number)))
            store.put(authority(500 + number), gone(at=without_rules))
    cut_to(path, int(0.8 * path.stat().st_size))
    assert {*range(500)} < kept(path)
    assert 500 < len(kept(path)) < 800


def test_what_was_fetched_again_goes_last(path: Path) -> None:
    """An entry that is brought up to date is as good as new."""
    fill(path, 1_000)
    with closing(SqliteStore(path, limit=100_000, clock=lambda: NOW + 60)) as store:
        for number in range(50):
            store.put(authority(number), entry(number, at=NOW + 60))
        make_room(store)
    assert kept(path) > {*range(50)}
    assert len(kept(path)) < 500


def test_an_authority_goes_whole(path: Path) -> None:
    """RFC 9309 section 2.3.1.3: without the refusal of a crawler, the rest is permission to it."""
    with closing(SqliteStore(path, clock=now)) as store:
        for number in range(500):
            store.put(authority(number), refused(at=NOW - number), "mine")
            store.put(authority(number), entry(number, at=NOW - 1 - number), "other")
    with closing(SqliteStore(path, limit=100_000, clock=now)) as store:
        make_room(store, 1)
        found = [told(store.get(authority(number), "mine")) for number in range(500)]
    assert any(found)
    assert not all(found)
    assert all(each is None or (each.answer and each.refusal) for each in found)


def test_at_its_limit_the_file_keeps_what_is_newest(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file of 200 KB that is offered ten times as much holds the newest entries, and says so."""
    with closing(SqliteStore(path, limit=200_000, clock=now)) as store:
        for number in range(3_000):
            store.put(authority(number), entry(number, at=NOW - 3_000 + number))
            if number % 500 == 499:
                store.flush()
    evicted = 3_000 - len(kept(path))
    assert evicted > 1_500
    assert kept(path) == set(range(evicted, 3_000))
    assert path.stat().st_size < 400_000
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "robots.db' is at its limit of 200000 bytes" in record.getMessage()


@pytest.mark.slow
def test_other_processes_write_while_a_file_is_pruned(path: Path) -> None:
    """Pruning goes in small steps: no lease of another process fails meanwhile."""
    fill(path, 3_000)
    pruning = SqliteStore(path, limit=200_000, clock=now)
    other = SqliteStore(path, clock=now)
    steps = 0
    while len(listed(other)) > 1_500:
        keep(pruning, entry(at=NOW + steps))
        assert told(other.lease(authority(steps), 30.0))
        steps += 1
    assert steps >= 4
    other.close()
    pruning.close()
