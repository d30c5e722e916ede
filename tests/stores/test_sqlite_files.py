"""Which files are ours: others are never touched, and ours are private."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.stores import open_store
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.sqlite_file import APPLICATION, check_file
from scrapy_rep.stores.stored import StoreError
from tests.stores.contract import now
from tests.stores.samples import authority, entry, keep, listed, make_damaged, make_file, told


def database(path: Path, *statements: str, journal: str = "DELETE") -> sqlite3.Connection:
    """A SQLite file made by those statements, still open."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("BEGIN")
    for statement in statements:
        connection.execute(statement)
    connection.execute("COMMIT")
    return connection


def killed(make: Callable[[Path], sqlite3.Connection], path: Path) -> None:
    """A file and its log as they are if the process that made it is killed."""
    source = path.with_name("source")
    connection = make(source)
    for suffix in ("", "-wal"):
        shutil.copy(f"{source}{suffix}", f"{path}{suffix}")
    connection.close()
    source.unlink()


BILLS = "CREATE TABLE entries (sum REAL)"
STRANGERS: dict[str, Callable[[Path], object]] = {
    "a text": lambda path: path.write_text("Dear diary,\n" * 50),
    "a short text": lambda path: path.write_text("x"),
    "a database": lambda path: database(path, BILLS).close(),
    "a database with a log": lambda path: database(path, BILLS, journal="WAL").close(),
    "a database of a killed process": lambda path: killed(
        lambda source: database(source, BILLS, journal="WAL"), path
    ),
    "a database of another application": lambda path: database(
        path, "PRAGMA application_id = 1196444487", BILLS
    ).close(),
    "another version": lambda path: database(
        path, f"PRAGMA application_id = {APPLICATION}", "PRAGMA user_version = 2", BILLS
    ).close(),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "a directory": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
    "a socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
}


def surroundings(directory: Path) -> dict[str, Any]:
    """All there is in a directory, and when it was last changed."""
    found: dict[str, Any] = {}
    for file in sorted(directory.iterdir()):
        status = file.lstat()
        octets = file.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[file.name] = octets, status.st_mode, status.st_mtime_ns, status.st_ino
    return found


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("stranger", STRANGERS)
def test_what_is_not_ours_is_an_error_at_the_start_and_never_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stranger: str
) -> None:
    """A file named by mistake keeps its name, its octets and its neighbours, however often."""
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    STRANGERS[stranger](Path("robots.db"))
    before = surroundings(tmp_path)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"robots\.db' is not"):
            SqliteStore(tmp_path / "robots.db", clock=now)
        with pytest.raises(ValueError, match=r"robots\.db' is not"):
            open_store("sqlite:", directory=tmp_path)
    assert surroundings(tmp_path) == before


def test_a_stranger_that_takes_the_place_of_the_file_is_not_touched(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    """What lies there in mid-crawl is not ours: the store fails, and the crawl goes on."""
    keep(store, entry())
    (tmp_path / "diary").write_text("Dear diary,\n" * 50)
    (tmp_path / "diary").rename(path)
    store.put(authority(1), entry(1))
    with pytest.raises(StoreError, match="not a store of scrapy_rep"):
        store.flush()
    with pytest.raises(StoreError, match="not a store of scrapy_rep"):
        told(store.get(authority()))
    assert path.read_text() == "Dear diary,\n" * 50


def test_an_empty_file_is_taken(path: Path) -> None:
    """An empty file is used, and keeps its permissions."""
    path.touch(mode=0o640)
    store = SqliteStore(path, clock=now)
    store.put(authority(), entry())
    store.close()
    check_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_is_marked_as_ours_from_its_first_octet(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    """The mark is in the file itself, not in its log: a crash leaves a file that we know."""
    store.flush()
    shutil.copy(path, tmp_path / "copy.db")
    check_file(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_size > 0


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    """The file, its log and its index are 0600, whatever the umask."""
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "robots.db", clock=now)
        keep(store, entry())
        modes = {f.name: stat.S_IMODE(f.stat().st_mode) for f in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["robots.db", "robots.db-wal", "robots.db-shm"], 0o600)


def test_a_link_stays_whatever_becomes_of_the_file_behind_it(tmp_path: Path) -> None:
    """It is made there, for its owner alone, and if it is damaged set aside there."""
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "robots.db", tmp_path / "robots.db"
    link.symlink_to(file)
    make_file(link)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    damaged = make_damaged(file)
    store = SqliteStore(link, clock=now)
    keep(store, entry())
    assert told(store.get(authority())) == entry()
    store.close()
    assert link.is_symlink()
    assert file.with_name("robots.db.corrupt").read_bytes() == damaged


PUT = (
    "import sys; from scrapy_rep.stores.sqlite import SqliteStore;"
    "from tests.stores.samples import *; sys.stdin.readline();"
    "store = SqliteStore(sys.argv[1], clock=lambda: NOW);"
    "n = int(sys.argv[2]); store.put(authority(n), entry(n)); store.close()"
)


def in_other_processes(path: Path, *numbers: int) -> str:
    """Other processes open the store at once, put an entry each, and close it; what they say."""
    several = [
        subprocess.Popen(
            [sys.executable, "-c", PUT, str(path), str(number)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in numbers
    ]
    return "".join(process.communicate("go\n", timeout=60)[1] for process in several)


def test_a_file_that_was_made_meanwhile_is_not_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes begin one file: the log of the first is never read as that of the second."""
    real, made = os.open, []

    def slow(*arguments: Any, **options: Any) -> int:
        if not made:
            made.append(1)
            in_other_processes(path, 1)
        return real(*arguments, **options)

    monkeypatch.setattr(os, "open", slow)
    store = SqliteStore(path, clock=now)
    store.flush()
    assert made
    assert told(store.get(authority(1))) == entry(1)
    store.close()


def test_a_second_store_here_ends_no_lock_of_the_first(store: SqliteStore, path: Path) -> None:
    """Otherwise another process that closes the file deletes the log that this one writes."""
    keep(store, entry(1), 1)
    make_file(path)
    in_other_processes(path, 2)
    assert told(store.get(authority(2))) == entry(2)
    keep(store, entry(3), 3)
    in_other_processes(path, 4)
    assert set(listed(store)) == {authority(number) for number in (1, 2, 3, 4)}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM entries").fetchall() == [(4,)]


@pytest.mark.slow
def test_several_processes_set_a_damaged_file_aside_once(path: Path) -> None:
    """Those that come later find the new file of the first one, and leave it."""
    for number in range(5):
        damaged = make_damaged(path, bytes([number]))
        said = in_other_processes(path, *range(4))
        assert said.count("set aside") == 1
        assert path.with_name("robots.db.corrupt").read_bytes() == damaged
        with closing(SqliteStore(path, clock=now)) as store:
            assert set(listed(store)) == {authority(n) for n in range(4)}
        assert not path.with_name("robots.db.mending").exists()
        path.unlink()


def test_a_process_that_was_killed_as_it_set_a_file_aside_holds_up_none(path: Path) -> None:
    """What it leaves behind is removed."""
    make_damaged(path)
    path.with_name("robots.db.mending").touch()
    store = SqliteStore(path, clock=now)
    keep(store, entry())
    store.close()
    files = sorted(file.name for file in path.parent.iterdir())
    assert files == ["robots.db", "robots.db.corrupt"]
