"""The SQLite file of :mod:`scrapy_rep.stores.sqlite`: how it is opened, mended and kept small.

One connection reads and one writes. If a file of ours turns out to be damaged, it is renamed to
``NAME.corrupt``, or ``NAME.corrupt-2`` and so on, and a new one is made. If the file was deleted or
replaced, the file that now has the name is opened. Each of these is logged in one warning. An error
of the operating system (a full disk, a directory without write permission) is raised as a
:class:`StoreError`. A file that is not ours is never touched
(:mod:`scrapy_rep.stores.sqlite_header`).

A new file is readable by its owner alone, and SQLite gives its log the same permissions. An
existing file keeps its permissions, because the operator may have chosen them.
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from scrapy_rep.stores.error import LoggedError, StoreError
from scrapy_rep.stores.sqlite_header import APPLICATION, VERSION, ForeignError, check_owner
from scrapy_rep.stores.sqlite_schema import TABLES
from scrapy_rep.stores.sqlite_transaction import TROUBLES, DamagedError, Transaction, trouble_of

logger = logging.getLogger(__name__)

READ_PATIENCE, WRITE_PATIENCE, START_PATIENCE = 0.1, 0.5, 5.0
"""Seconds for which a connection waits for another process's lock: to read, to write, to open."""

SET_ASIDE = 10
"""Damaged files that are kept. One more means a faulty disk, and the store is not opened."""

SPARE_PAGES = 256
"""Unused pages that a file may hold, so that it does not shrink and grow all the time."""

VACUUM_STEP = 64
"""Unused pages that are given back at a time, in a few milliseconds at most."""

# The files that this process has open. Their headers are not read again: POSIX ends all locks of a
# process on a file when the process closes any descriptor of it, and SQLite's would be among them.
_OPEN: list[tuple[int, int] | None] = []


class Database:
    """The file at ``path``. A child process must not use its parent's.

    ``ask`` and ``rows`` may be called from any thread; all else only from one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._is_counted = False
        self._reading = threading.RLock()
        self._obstacle = "it was closed"
        self.is_being_mended = False  # while it is, reads have to wait

    def open(self, patience: float = WRITE_PATIENCE) -> None:
        """Open the file, and make it if need be. Raises :class:`StoreError`."""
        for attempt in ("as it is", "anew"):
            try:
                check_file(self.path)
                return self._connect(patience)
            except (*TROUBLES, OSError, StoreError, DamagedError) as error:  # noqa: PERF203
                self.close()
                trouble = trouble_of(error) if isinstance(error, TROUBLES) else error
                if attempt == "as it is" and isinstance(trouble, DamagedError):
                    self._rename(trouble)
                    continue
                said = trouble.strerror if isinstance(trouble, OSError) else None
                self._obstacle = said or str(trouble)
                if isinstance(trouble, ForeignError):
                    raise trouble from None
                raise self._shut() from None
        return None

    def _connect(self, patience: float) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            self._make()
        self._writer = self._connection(patience)
        if not _is_prepared(self._writer):  # scrapy_rep 0.1 made it, or it was empty
            self._writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
            _prepare(self._writer)
        _switch_to_wal(self._writer, patience)
        self._writer.execute("PRAGMA synchronous = NORMAL")
        self._writer.execute("PRAGMA journal_size_limit = 16777216")
        self._writer.execute(f"PRAGMA busy_timeout = {int(WRITE_PATIENCE * 1000)}")
        self._reader = self._connection(READ_PATIENCE)
        self._reader.execute("PRAGMA query_only = 1")
        self._reader.execute("SELECT 1 FROM parts, fetch_leases, entries LIMIT 1").fetchall()
        self._identity = self._found()
        _OPEN.append(self._identity)
        self._is_counted = True

    def _make(self) -> None:
        """Make the file under another name first, so that no process finds half of one.

        It never takes the place of a file that another process has made meanwhile: the log of that
        file would be taken for the log of this one, which damages both.
        """
        new = self.path.with_name(f"{self.path.name}.new-{secrets.token_hex(4)}")
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with closing(sqlite3.connect(new, isolation_level=None)) as connection:
                # This works for new files only. A file made without it, as by scrapy_rep 0.1,
                # reuses its free pages, but would have to be copied to shrink.
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                _prepare(connection)
            _give_name(new, self.path)
        finally:
            new.unlink(missing_ok=True)

    def _connection(self, patience: float) -> sqlite3.Connection:
        # Not the URI form: it would take a "?" in the name for the start of a query.
        connection = sqlite3.connect(
            self.path, timeout=patience, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = bytes  # a damaged text need not be UTF-8
        return connection

    def close(self) -> None:
        """Close both connections, whatever state they are in."""
        with self._reading:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    with suppress(sqlite3.Error):
                        connection.close()
            self._reader = self._writer = None
            if self._is_counted:
                self._is_counted = False
                _OPEN.remove(self._identity)

    def _shut(self) -> StoreError:
        return LoggedError(f"{str(self.path)!a} is not open: {self._obstacle}")  # by the writer

    @property
    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._writer is not None

    @property
    def replaced(self) -> bool:
        """Whether the file was deleted, or another one put in its place."""
        return self._found() != self._identity

    def _found(self) -> tuple[int, int] | None:
        return _identity_of(self.path)

    def reopen(self) -> None:
        """Open the file that now has the name, or make it. Raises :class:`StoreError`."""
        logger.warning("%a was deleted or replaced: opened anew", str(self.path))
        with self._mending():
            self.close()
            self.open()

    def set_aside(self, damage: object) -> None:
        """Rename the damaged file and begin a new one. Raises :class:`StoreError`."""
        with self._mending():
            ours = not self.replaced  # otherwise another process has renamed it
            self.close()
            if ours:
                self._rename(damage)
            self.open()

    @contextmanager
    def _mending(self) -> Iterator[None]:
        self.is_being_mended = True
        try:
            with self._reading:
                yield
        finally:
            self.is_being_mended = False

    def _rename(self, damage: object) -> None:
        try:
            aside = self._free_name()
            for suffix in ("", "-wal", "-shm"):
                source = Path(f"{self.path}{suffix}")
                if source.exists():
                    source.replace(f"{aside}{suffix}")
        except OSError as error:
            self._obstacle = f"cannot set the damaged file aside: {error.strerror}"
            raise self._shut() from None
        logger.warning("%a is damaged (%s): set aside as %a", str(self.path), damage, aside.name)

    def _free_name(self) -> Path:
        """Return an unused name, reserved so that no other process uses it."""
        for number in range(1, SET_ASIDE + 1):
            name = f"{self.path.name}.corrupt" + (f"-{number}" if number > 1 else "")
            aside = self.path.with_name(name)
            with suppress(FileExistsError):
                os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                return aside
        self._obstacle = f"it is damaged, and {SET_ASIDE} damaged files lie beside it already"
        raise self._shut()

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds. Raises ``StoreError`` or ``DamagedError``."""
        if not self._reading.acquire(timeout=READ_PATIENCE):
            raise StoreError(f"{str(self.path)!a} is being opened anew")
        try:
            if self._reader is None:
                raise self._shut()
            return self._reader.execute(statement, values).fetchall()
        except TROUBLES as error:
            raise trouble_of(error) from None
        finally:
            self._reading.release()

    def rows(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a long query, over a separate connection. Raises ``StoreError``."""
        connection = self._connection(START_PATIENCE)
        try:
            yield from connection.execute(statement, values)
        except TROUBLES as error:
            raise StoreError(f"SQLite: {error}") from None
        finally:
            connection.close()

    def transaction(self) -> Transaction:
        """Begin to write. Raises ``StoreError``."""
        return Transaction(self._connected)

    @property
    def size(self) -> int:
        """The octets of the pages in use. Raises ``StoreError`` or ``DamagedError``."""
        used = self._number("page_count") - self._number("freelist_count")
        return used * self._number("page_size")

    def shrink(self) -> bool:
        """Free a few unused pages; return whether there are more of them."""
        spare = self._number("freelist_count") - SPARE_PAGES
        if spare <= 0 or not self._number("auto_vacuum"):
            return False
        # ``execute`` would take only the first step of this pragma, which frees one page.
        try:
            self._connected.executescript(f"PRAGMA incremental_vacuum({min(spare, VACUUM_STEP)})")
        except TROUBLES as error:
            raise trouble_of(error) from None
        return spare > VACUUM_STEP

    def _number(self, pragma: str) -> int:
        try:
            return int(self._connected.execute(f"PRAGMA {pragma}").fetchone()[0])
        except TROUBLES as error:
            raise trouble_of(error) from None

    @property
    def _connected(self) -> sqlite3.Connection:
        if self._writer is None:
            raise self._shut()
        return self._writer


def check_file(path: Path) -> None:
    """Raise ``ForeignError`` if there is a file at ``path`` that is not ours.

    One that this process has open is ours. Raises ``OSError`` if the file cannot be read.
    """
    if _identity_of(path) not in _OPEN:
        check_owner(path)


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _give_name(new: Path, path: Path) -> None:
    """Give a file the further name ``path``, unless another process has made that file."""
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        new.replace(path)


def _prepare(connection: sqlite3.Connection) -> None:
    with Transaction(connection) as write:
        write.run(f"PRAGMA application_id = {APPLICATION}")
        write.run(f"PRAGMA user_version = {VERSION}")
        for table in TABLES:
            write.run(table)


def _is_prepared(writer: sqlite3.Connection) -> bool:
    names = {name for (name,) in writer.execute("SELECT name FROM sqlite_master")}
    ours = {b"parts", b"parts_until", b"fetch_leases", b"entries", b"entries_dated"}
    return ours | {b"host_turns", b"host_turns_until", b"turn_memory"} <= names


def _switch_to_wal(writer: sqlite3.Connection, patience: float) -> None:
    """Switch to write-ahead logging; SQLite itself does not wait while others do so."""
    end = time.monotonic() + patience
    while True:
        try:
            writer.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # noqa: PERF203 (a wait)
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0.005, 0.02))  # noqa: S311 (no secret)
