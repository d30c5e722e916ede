"""The SQLite file of :mod:`scrapy_rep.stores.sqlite`: its tables, its damages, its end.

Two connections, one that reads and one that writes. A file that turns out to be damaged is set
aside as ``NAME.corrupt`` and begun anew; one that was deleted or replaced under us is opened
anew; either is said in one warning. What the operating system refuses (a full disk, a directory
that may not be written) is a :class:`StoreError`. A file that holds something else than our
tables is never touched.
"""

from __future__ import annotations

import logging
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scrapy_rep.stores.base import StoreError
from scrapy_rep.stores.transaction import TROUBLES, DamagedError, Transaction, number, trouble_of

logger = logging.getLogger(__name__)

APPLICATION = 0x52455031
"""Marks a SQLite file as ours (``PRAGMA application_id``)."""

VERSION = 1
"""Version of the tables (``PRAGMA user_version``); older ones are dropped, newer ones refused."""

READ_PATIENCE, WRITE_PATIENCE = 0.1, 10.0
"""Seconds for which a connection waits for another process's lock."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS entries (authority TEXT PRIMARY KEY, dated REAL NOT NULL,"
    " octets BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS entries_dated ON entries (dated)",
    "CREATE TABLE IF NOT EXISTS leases (authority TEXT PRIMARY KEY, token TEXT NOT NULL,"
    " until REAL NOT NULL) WITHOUT ROWID",
)


class Database:
    """The file at ``path``. Not to be carried across a fork.

    ``read`` may be called from any thread; all else only from one thread at a time.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self._limit = limit
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._reading = threading.RLock()
        self._obstacle = "it was closed"

    def open(self) -> None:
        """Open the file, and make it if need be. Raises :class:`StoreError`."""
        for attempt in ("as it is", "anew"):
            try:
                return self._connect()
            except (*TROUBLES, OSError, StoreError) as error:  # noqa: PERF203 (runs twice)
                self.close()
                trouble = trouble_of(error) if isinstance(error, TROUBLES) else error
                if attempt == "anew" or not isinstance(trouble, DamagedError):
                    self._obstacle = str(trouble)
                    raise self._shut() from None
                self._rename(trouble)
        return None

    def _connect(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = self._connection(WRITE_PATIENCE)
        self._prepare(self._writer)
        self._reader = self._connection(READ_PATIENCE)
        self._reader.execute("PRAGMA query_only = 1")
        self._reader.execute("SELECT 1 FROM entries, leases LIMIT 1").fetchall()
        self._identity = self._found()

    def _connection(self, patience: float) -> sqlite3.Connection:
        # The URI form would read a "?" in the name as its own.
        connection = sqlite3.connect(
            self.path, timeout=patience, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = bytes  # a damaged text need not be UTF-8
        return connection

    def _prepare(self, writer: sqlite3.Connection) -> None:
        self._refuse_strangers(writer)
        _switch_to_wal(writer)
        writer.execute("PRAGMA synchronous = NORMAL")
        writer.execute("PRAGMA journal_size_limit = 16777216")
        writer.execute("BEGIN IMMEDIATE")
        if number(writer, "user_version") < VERSION:
            writer.execute("DROP TABLE IF EXISTS entries")
            writer.execute("DROP TABLE IF EXISTS leases")
            writer.execute(f"PRAGMA application_id = {APPLICATION}")
            writer.execute(f"PRAGMA user_version = {VERSION}")
        for table in _TABLES:
            writer.execute(table)
        writer.execute("COMMIT")

    def _refuse_strangers(self, writer: sqlite3.Connection) -> None:
        used = writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if used and number(writer, "application_id") != APPLICATION:
            raise StoreError("the file belongs to another application")
        if number(writer, "user_version") > VERSION:
            raise StoreError("the file was written by a newer version")

    def close(self) -> None:
        """Close both connections, whatever state they are in."""
        with self._reading:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    with suppress(sqlite3.Error):
                        connection.close()
            self._reader = self._writer = None

    def _shut(self) -> StoreError:
        return StoreError(f"{str(self.path)!a} is not open: {self._obstacle}")

    @property
    def is_open(self) -> bool:
        """Whether the connections are there."""
        return self._writer is not None

    @property
    def replaced(self) -> bool:
        """Whether the file was deleted, or another one put in its place."""
        return self._found() != self._identity

    def _found(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def reopen(self) -> None:
        """Begin anew where the file was. Raises :class:`StoreError`."""
        logger.warning("%a was deleted or replaced: opened anew", str(self.path))
        with self._reading:  # who reads meanwhile waits: it takes a few milliseconds
            self.close()
            self.open()

    def set_aside(self, damage: object) -> None:
        """Rename the damaged file and begin a new one. Raises :class:`StoreError`."""
        with self._reading:
            ours = not self.replaced  # else another process was quicker
            self.close()
            if ours:
                self._rename(damage)
            self.open()

    def _rename(self, damage: object) -> None:
        aside = self.path.with_name(self.path.name + ".corrupt")
        try:
            for suffix in ("", "-wal", "-shm"):
                source = Path(f"{self.path}{suffix}")
                if source.exists():
                    source.replace(f"{aside}{suffix}")
        except OSError as error:
            raise StoreError(f"cannot set {str(self.path)!a} aside: {error.strerror}") from None
        logger.warning("%a is damaged (%s): set aside as %a", str(self.path), damage, aside.name)

    def read(self, authority: str) -> bytes | None:
        """Return the octets kept under ``authority``. Raises ``StoreError`` or ``DamagedError``."""
        if not self._reading.acquire(timeout=READ_PATIENCE):
            raise StoreError(f"{str(self.path)!a} is being opened anew")
        try:
            if self._reader is None:
                raise self._shut()
            row = self._reader.execute(
                "SELECT octets FROM entries WHERE authority = ?", (authority,)
            ).fetchone()
        except TROUBLES as error:
            raise trouble_of(error) from None
        finally:
            self._reading.release()
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """Yield authority and octets of each entry, over a connection of its own."""
        connection = self._connection(WRITE_PATIENCE)
        try:
            for key, octets in connection.execute("SELECT authority, octets FROM entries"):
                if isinstance(key, bytes) and isinstance(octets, bytes):
                    yield key.decode("utf-8", "replace"), octets
        except TROUBLES as error:
            raise StoreError(f"SQLite: {error}") from None
        finally:
            connection.close()

    def transaction(self) -> Transaction:
        """Begin to write. Raises ``StoreError``."""
        if self._writer is None:
            raise self._shut()
        return Transaction(self._writer, self._limit)


def _switch_to_wal(writer: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait for others who do so by itself."""
    end = time.monotonic() + WRITE_PATIENCE
    while True:
        try:
            writer.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # noqa: PERF203 (a wait)
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0.005, 0.02))  # noqa: S311 (no secret)
