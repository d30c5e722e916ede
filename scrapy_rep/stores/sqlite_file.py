"""The SQLite file of :mod:`scrapy_rep.stores.sqlite`: whose it is, how it is opened and mended.

One connection reads and one writes. If a file of ours turns out to be damaged, it is renamed to
``NAME.corrupt``, in place of one that was renamed before, and a new one is made. If the file
was deleted or replaced, the file that now has the name is opened. Each of these is logged in one
warning. An error of the operating system (a full disk, a directory without write permission) is
raised as a :class:`StoreError`.

A file that is not ours is never touched. To open a database with SQLite leaves traces, and SQLite
takes a text of one octet for an empty database. So the first octets are read before SQLite opens
the file.

A new file is readable by its owner alone, and SQLite gives its log the same permissions. An
existing file keeps its permissions, because the operator may have chosen them. The tables and the
mark of a new file are made in one transaction before it is switched to write-ahead logging, so that
no other process finds half of them.
"""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from struct import Struct
from typing import Any, TypeVar

from scrapy_rep.stores.sqlite_rows import TABLES
from scrapy_rep.stores.stored import StoreError

logger = logging.getLogger(__name__)

T = TypeVar("T")

READ_TIMEOUT, WRITE_TIMEOUT, OPEN_TIMEOUT = 0.1, 0.5, 5.0
"""Seconds for which a connection waits for another process's lock: to read, to write, to open."""

APPLICATION, VERSION = 0x52455031, 1
"""``PRAGMA application_id`` of our files, and ``user_version``: that of the tables."""

TROUBLES = (sqlite3.Error, UnicodeDecodeError)
"""What the sqlite3 module raises: the second if a message quotes a damaged file."""

_MAGIC = b"SQLite format 3\0"
_HEADER = Struct(">16s44xI4xI")  # magic, user_version at 60, application_id at 68

# The files that this process has open. Their headers are not read again: POSIX ends all locks of a
# process on a file when the process closes any descriptor of it, and SQLite's would be among them.
_OPEN: list[tuple[int, int] | None] = []


class ForeignError(StoreError, ValueError):
    """The file is not a store, or of another version. It was not touched."""


class DamagedFileError(Exception):
    """The file that is ``found`` by its device and number is not a sound SQLite file."""

    def __init__(self, text: str, found: tuple[int, int] | None) -> None:
        super().__init__(text)
        self.found = found


def check_file(path: Path) -> None:
    """Raise ``ForeignError`` if there is a file at ``path`` that is not ours.

    One that is empty, or that this process has open, is ours. A store with a damaged header is not:
    it looks like the file of another program. Raises ``OSError`` if the file cannot be read.
    """
    if _identity_of(path) in _OPEN:
        return
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ForeignError(f"{str(path)!a} is not a file")
        with path.open("rb") as file:
            octets = file.read(_HEADER.size)
    except FileNotFoundError:
        return
    if not octets:
        return
    magic, version, application = _HEADER.unpack(octets.ljust(_HEADER.size, b"\0"))
    if (magic, version, application) != (_MAGIC, VERSION, APPLICATION):
        raise ForeignError(
            f"{str(path)!a} is not a store of scrapy_rep, and was not touched: name another file"
            " (if it was one, it is damaged, or of another version: move it away)"
        )


class File:
    """The file at ``path``.

    Unless ``mends`` is True, damage is an error like any other, and the file stays where it is.
    ``read`` and ``rows`` may be called from any thread; all else only from one thread at a time.
    """

    def __init__(self, path: Path, *, mends: bool = True) -> None:
        self.path = path
        self._mends = mends
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._reading = threading.RLock()
        self._obstacle = "it was closed"
        self._damage: DamagedFileError | None = None

    def open(self, timeout: float = WRITE_TIMEOUT) -> sqlite3.Connection:
        """Open the file, and make it if need be; return what writes. Raises :class:`StoreError`.

        If it was found to be damaged, it is set aside first.
        """
        with self._reading:
            for _ in range(3):
                trouble: Exception
                try:
                    self._set_aside()
                    check_file(self.path)
                    return self._connect(timeout)
                except TROUBLES as error:
                    trouble = self._trouble(error)
                except (OSError, StoreError) as error:
                    trouble = error
                self.close()
                if self._damage is None:
                    break
            reason = trouble.strerror if isinstance(trouble, OSError) else None
            self._obstacle = reason or str(trouble)
            raise trouble if isinstance(trouble, ForeignError) else self._shut()

    def _connect(self, timeout: float) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._identity = _identity_of(self.path)
        _OPEN.append(self._identity)
        self._writer = self._connection(timeout)
        if not _is_prepared(self._writer):
            _prepare(self._writer)
        _switch_to_wal(self._writer, timeout)
        self._writer.execute("PRAGMA synchronous = NORMAL")
        self._writer.execute("PRAGMA journal_size_limit = 16777216")
        self._writer.execute(f"PRAGMA busy_timeout = {int(WRITE_TIMEOUT * 1000)}")
        self._reader = self._connection(READ_TIMEOUT)
        self._reader.execute("PRAGMA query_only = 1")
        self._reader.execute("SELECT 1 FROM entries, leases, turns LIMIT 1").fetchall()
        return self._writer

    def _connection(self, timeout: float) -> sqlite3.Connection:
        # Not the URI form: it would take a "?" in the name for the start of a query.
        connection = sqlite3.connect(
            self.path, timeout=timeout, isolation_level=None, check_same_thread=False
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
            if self._identity is not None:
                _OPEN.remove(self._identity)
                self._identity = None

    def read(self, query: Callable[[sqlite3.Connection], T], timeout: float = READ_TIMEOUT) -> T:
        """Return what ``query`` finds. Raises ``StoreError`` or ``DamagedFileError``.

        Waits for ``timeout`` seconds while the file is being opened anew.
        """
        if not self._reading.acquire(timeout=timeout):
            raise StoreError(f"{str(self.path)!a} is being opened anew")
        try:
            if self._reader is None:
                raise self._shut()
            return query(self._reader)
        except TROUBLES as error:
            raise self._trouble(error) from None
        finally:
            self._reading.release()

    def rows(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a long query, over a separate connection. Raises ``StoreError``."""
        connection = self._connection(OPEN_TIMEOUT)
        try:
            yield from connection.execute(statement, values)
        except TROUBLES as error:
            raise StoreError(f"{str(self.path)!a}: {error}") from None
        finally:
            connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock: all that is done within is written, or nothing.

        The file is opened first if it is not open, if it was found to be damaged, or if another one
        has its name by now. Raises ``StoreError`` or ``DamagedFileError``.
        """
        if self._damage is not None:
            self.close()
        elif self._writer is not None and _identity_of(self.path) != self._identity:
            logger.warning("%a was deleted or replaced: opened anew", str(self.path))
            self.close()
        writer = self._writer or self.open()
        try:
            writer.execute("BEGIN IMMEDIATE")
            yield writer
            writer.execute("COMMIT")
        except TROUBLES as error:
            raise self._trouble(error) from None
        finally:
            if writer.in_transaction:
                with suppress(sqlite3.Error):
                    writer.execute("ROLLBACK")

    def _set_aside(self) -> None:
        """Rename a damaged file, unless another process has done so since the damage was found.

        Of several processes that find the damage at once, one has the lock of the empty database
        ``NAME.mending``. The others wait for it. A process that is killed no longer has it.
        """
        damage, self._damage = self._damage, None
        if damage is None:
            return
        mending = Path(f"{self.path}.mending")
        try:
            with closing(
                sqlite3.connect(mending, timeout=OPEN_TIMEOUT, isolation_level=None)
            ) as lock:
                lock.execute("BEGIN EXCLUSIVE")
                if is_there := damage.found is not None and _identity_of(self.path) == damage.found:
                    for suffix in ("-wal", "-shm", ""):
                        with suppress(FileNotFoundError):
                            Path(f"{self.path}{suffix}").replace(f"{self.path}.corrupt{suffix}")
            with suppress(OSError):
                mending.unlink()
        except (OSError, sqlite3.Error) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise StoreError(f"cannot set the damaged file aside: {why}") from None
        if is_there:
            aside = f"{self.path.name}.corrupt"
            logger.warning("%a is damaged (%s): set aside as %a", str(self.path), damage, aside)

    def _trouble(self, error: Exception) -> Exception:
        """Return what to raise for an error of sqlite3; note it if the file is damaged.

        The sqlite3 module raises ``DatabaseError`` itself, not a subclass, for a malformed file. A
        name that is missing was damaged in the schema.
        """
        kinds = (sqlite3.DatabaseError, sqlite3.IntegrityError, UnicodeDecodeError)
        is_damage = type(error) in kinds or str(error).startswith(("no such ", "malformed "))
        if is_damage and self._mends:
            self._damage = DamagedFileError(str(error), self._identity)
            return self._damage
        return StoreError(f"{str(self.path)!a}: {error}")

    def _shut(self) -> StoreError:
        return StoreError(f"{str(self.path)!a} is not open: {self._obstacle}")


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _prepare(writer: sqlite3.Connection) -> None:
    with writer:  # which commits, or rolls back
        writer.execute("BEGIN IMMEDIATE")
        if not _is_prepared(writer):  # else another process was quicker
            for statement in TABLES:
                writer.execute(statement)
            writer.execute(f"PRAGMA application_id = {APPLICATION}")
            writer.execute(f"PRAGMA user_version = {VERSION}")


def _is_prepared(writer: sqlite3.Connection) -> bool:
    return bool(writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _switch_to_wal(writer: sqlite3.Connection, timeout: float) -> None:
    """Switch to write-ahead logging; SQLite itself does not wait while others do so."""
    end = time.monotonic() + timeout
    while True:
        try:
            writer.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # noqa: PERF203 (a wait)
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0.005, 0.02))  # noqa: S311 (no secret)
