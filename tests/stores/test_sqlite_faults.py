"""A SQLite file that is damaged, deleted, or may not be written: no wrong entry, no crash."""

from __future__ import annotations

import logging
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.access.policy import Entry
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.stored import StoreError
from tests.polling import until
from tests.rows import deep, first
from tests.stores.contract import now
from tests.stores.obstacles import no_file_beyond, read_only_directory
from tests.stores.samples import authority, entry, full_entry, gone, held, keep, listed, rules, told

ENTRIES: dict[int, Entry] = {
    **{number: entry(number) for number in range(40)},
    40: full_entry(),
    41: gone(),
    42: entry(42, body=b"".join(rules(n) for n in range(60))),
}


@pytest.fixture(scope="module")
def sound() -> bytes:
    """The octets of a sound file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "robots.db")
        store = SqliteStore(path, clock=now)
        for number, kept in ENTRIES.items():
            store.put(authority(number), kept)
        store.close()
        return path.read_bytes()


def survey(path: Path) -> int:
    """How many entries come back; a wrong one fails the test.

    Then the store takes an entry and gives it back, unless the file cannot be opened at all.
    """
    try:
        store = SqliteStore(path, clock=now)
    except ValueError:  # the first page no longer says that it is ours
        return 0
    try:
        brought = {number: told(store.get(authority(number))) for number in ENTRIES}
        listed(store)
    except StoreError:
        return 0
    else:
        assert [n for n, found in brought.items() if not is_part_of(found, ENTRIES[n])] == []
        keep(store, entry(99), 99)
        assert told(store.get(authority(99))) == entry(99)
        return sum(found is not None for found in brought.values())
    finally:
        store.close()


def is_part_of(found: Entry | None, whole: Entry) -> bool:
    """What came back is right, or a part of it is missed."""
    return found is None or (
        found.answer in (None, whole.answer) and found.failure in (None, whole.failure)
    )


def test_a_sound_file_brings_all_entries(sound: bytes, path: Path) -> None:
    """Without damage nothing is missed: the survey is worth something."""
    path.write_bytes(sound)
    assert survey(path) == len(ENTRIES)


@pytest.mark.parametrize(
    ("times", "cut"), first(1, [(20, True), (60, False), (deep(200, 20_000), False)])
)
def test_a_damaged_file_never_gives_a_wrong_entry(
    sound: bytes, path: Path, times: int, cut: bool
) -> None:
    """One octet is wrong, or the file ends early: what comes back is right or a miss."""
    rng = random.Random(f"{times} {cut}")
    hits = 0
    for _ in range(times):
        octets = bytearray(sound)
        place = rng.randrange(len(octets))
        if cut:
            del octets[place:]
        else:
            octets[place] ^= rng.randint(1, 255)
        for file in path.parent.iterdir():
            file.unlink()
        path.write_bytes(octets)
        hits += survey(path)
    assert cut or hits > 0.5 * times * len(ENTRIES)


def test_a_corrupt_file_is_set_aside_with_one_warning(
    path: Path, sound: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A store of ours that SQLite cannot read is renamed, said once, and a new one is begun.

    It takes the place of the one before: a faulty disk does not fill up with copies.
    """
    for number in range(3):
        damaged = sound[:100] + bytes([number]) * 50_000
        path.write_bytes(damaged)
        caplog.clear()
        store = SqliteStore(path, clock=now)
        assert told(store.get(authority())) is None
        store.put(authority(), entry(number))
        store.close()
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert "robots.db' is damaged (" in record.getMessage()
        assert "set aside as 'robots.db.corrupt'" in record.getMessage()
        assert [file.read_bytes() for file in path.parent.glob("*corrupt*")] == [damaged]
        assert held(path, 0) == [entry(number)]


def test_a_file_that_is_damaged_in_use_is_set_aside(
    sound: bytes, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A damage that shows at a look-up is a miss; then the file is set aside and filled anew."""
    path.write_bytes(sound)
    store = SqliteStore(path, clock=now)
    assert told(store.get(authority(1))) == entry(1)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xee" * (len(sound) - 4096))
    store._file._reader.execute("PRAGMA shrink_memory")  # type: ignore[union-attr]
    found = [told(store.get(authority(number))) for number in ENTRIES]
    assert all(got in (None, ENTRIES[number]) for number, got in enumerate(found))
    keep(store, entry(1), 1)
    assert told(store.get(authority(1))) == entry(1)
    store.close()
    assert len(caplog.records) == 1
    assert path.with_name("robots.db.corrupt").exists()


def test_a_deleted_file_is_begun_anew_with_one_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Deleted under us, with its log or without, the file is made again, and two stores go on."""
    stores = [SqliteStore(path, clock=now) for _ in range(2)]
    stores[0].put(authority(1), entry(1))
    stores[1].flush()
    stores[0].flush()
    path.unlink()
    for number, store in enumerate(stores, 2):
        keep(store, entry(number), number)
    assert [told(store.get(authority(2))) for store in stores] == [entry(2)] * 2
    assert [told(store.get(authority(3))) for store in stores] == [entry(3)] * 2
    for store in stores:
        store.close()
    assert len(caplog.records) == 2  # one of each store
    assert held(path, 2) == [entry(2)]


def test_two_stores_on_a_damaged_file_end_up_on_one_new_file(path: Path) -> None:
    """Whichever finds the damage first sets the file aside; the other follows, and both share."""
    stores = [SqliteStore(path, clock=now) for _ in range(2)]
    keep(stores[0], entry(0), 0)
    for suffix in ("", "-wal"):
        with Path(f"{path}{suffix}").open("r+b") as file:
            file.write(b"\xee" * 8192)
    for number, store in enumerate(stores, 1):
        told(store.get(authority(number)))
        keep(store, entry(number), number)
    for store in stores:
        keep(store, entry(5), 5)
    for store in stores:
        store.close()
    assert held(path, 2, 5) == [entry(2), entry(5)]


def test_a_full_disk_is_a_store_error_and_reading_goes_on(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Puts that cannot be written wait, and a flush says so; what was written is read.

    Once there is space, all of them are written.
    """
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.RETRY_DELAY", 0.1)
    keep(store, entry(0), 0)
    with no_file_beyond(100_000):
        for number in range(1, 1_000):
            store.put(authority(number), entry(number))
        with pytest.raises(StoreError, match=r"robots\.db': "):
            store.flush()
        assert told(store.get(authority(0))) == entry(0)
    until(lambda: store.flush() is None)
    assert held(path, *range(1_000)) == [*map(entry, range(1_000))]


def test_on_a_full_disk_no_change_costs_an_attempt(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt makes and compresses up to 256 rows, as fast as a site is learnt of."""
    monkeypatch.setattr("scrapy_rep.stores.sqlite_writer.RETRY_DELAY", 60.0)
    store.flush()
    attempts = 0
    make_room = store._writer._make_room

    def count(db: Any) -> None:
        nonlocal attempts
        attempts += 1
        make_room(db)

    monkeypatch.setattr(store._writer, "_make_room", count)
    with no_file_beyond(1):
        for number in range(20):
            store.put(authority(number), entry(number, body=rules(number)))
            store._writer.wait_until_idle(5.0)
    assert attempts == 1
    store.flush()
    assert held(path, *range(20)) == [entry(n, body=rules(n)) for n in range(20)]


def test_a_full_database_is_a_store_error(store: SqliteStore, path: Path) -> None:
    """SQLite's own word for a full disk is not taken for a damage."""
    store.flush()
    writer = store._file._writer
    writer.execute("PRAGMA max_page_count = 10")
    store.put(authority(1), entry(1, body=random.Random(1).randbytes(100_000)))
    with pytest.raises(StoreError, match="full"):
        store.flush()
    assert not path.with_name("robots.db.corrupt").exists()


def test_a_read_only_directory_is_an_error_at_each_call(caplog: pytest.LogCaptureFixture) -> None:
    """A file that cannot be made raises nothing at the start, and StoreError on use."""
    with read_only_directory() as directory:
        store = SqliteStore(directory / "robots.db", clock=now)
        for _ in range(3):
            with pytest.raises(StoreError, match="not open: Permission denied"):
                told(store.get(authority()))
        store.put(authority(), entry())
        with pytest.raises(StoreError, match="not open"):
            store.flush()
        with pytest.raises(StoreError, match="not open"):
            told(store.lease(authority(), 1.0))
        store.close()
    (said,) = caplog.messages
    assert said.endswith("changes that could not be written: 1")


def test_a_file_that_can_be_opened_later_is(tmp_path: Path) -> None:
    """What kept the file from being opened may pass; then it is opened at the next put."""
    (tmp_path / "file").write_text("")
    store = SqliteStore(tmp_path / "file" / "robots.db", clock=now)
    with pytest.raises(StoreError, match="not open"):
        told(store.get(authority()))
    (tmp_path / "file").unlink()
    keep(store, entry())
    assert told(store.get(authority())) == entry()
    store.close()
