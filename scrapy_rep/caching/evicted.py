"""Entries that memory has no room for, kept for the rest of the crawl.

Rules in memory are parsed, and take several times the octets of their file. When
``REP_MEMORY_LIMIT`` is reached, the least recently used ones are evicted, but their robots.txt is
still fresh: fetching it again would cost a request to the site, and the time to wait for it. So an
evicted entry is kept compressed, first in a share of that memory, then in a temporary file of at
most ``REP_STORE_LIMIT`` octets. Bringing one back awaits nothing. It takes about 20 microseconds
for a file of ordinary size, and 1 to 3 milliseconds for one of 480 KB.

The temporary file is a private SQLite database. SQLite deletes it by itself, even after a crash.
If it cannot be written, evicted entries are dropped, and fetched again when they are needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.codec import decode_parts
from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.memory import OVERHEAD, MemoryStore

_CRAWLER = "own"
"""The name under which the refusals to this crawl are kept. No other crawl reads them."""

_PAGES = 256
"""KiB of the temporary file that SQLite may hold in memory."""

_TABLE = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, authority TEXT UNIQUE, size INTEGER);
CREATE TABLE parts (number INTEGER, part TEXT, octets BLOB, PRIMARY KEY (number, part))
    WITHOUT ROWID;
"""


class Evicted:
    """Entries by authority, in ``memory_limit`` octets of memory and ``disk_limit`` of a file.

    The oldest are dropped first. ``failed(error)`` is called when the file cannot be used.
    """

    def __init__(
        self,
        memory_limit: int,
        disk_limit: int,
        *,
        clock: Callable[[], float],
        failed: Callable[[Exception], None],
    ):
        self._memory = MemoryStore(memory_limit, clock=clock, spill=self._spill)
        self._file = TemporaryFile(disk_limit)
        self._failed = failed
        self._is_used = False

    def get(self, authority: Authority) -> Entry | None:
        """Return the entry of ``authority``, ``None`` if it is not here."""
        if not self._is_used:  # as in most crawls
            return None
        entry = self._memory.get(authority, _CRAWLER)
        if entry is not None:
            return entry
        try:
            parts = self._file.get(str(authority))
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        return decode_parts(authority, parts, _CRAWLER) if parts else None

    def __contains__(self, authority: Authority) -> bool:
        """Return whether there is an entry of ``authority``, without reading it."""
        try:
            return authority in self._memory or str(authority) in self._file
        except sqlite3.Error as error:
            self._give_up(error)
            return False

    def put(self, authority: Authority, entry: Entry) -> None:
        """Keep ``entry`` in the place of what was kept of ``authority``."""
        self._is_used = True
        try:
            self._memory.forget(authority)
            self._file.forget(str(authority))
            self._memory.put(authority, entry, _CRAWLER)
        except sqlite3.Error as error:
            self._give_up(error)
        except StoreError as error:  # larger than any robots.txt that is read
            self._failed(error)

    def close(self) -> None:
        """Drop everything."""
        self._file.close()

    def _spill(self, authority: Authority, parts: dict[str, bytes]) -> None:
        try:
            self._file.put(str(authority), parts)
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        self._file.close()
        self._failed(StoreError(f"evicted entries cannot be kept in a temporary file: {error}"))


class TemporaryFile:
    """Octets by key and part, in a file of about ``limit`` octets; the oldest are dropped first.

    The file is made by the first ``put``. Each method may raise ``sqlite3.Error``; after
    :meth:`close` nothing is kept.
    """

    def __init__(self, limit: int):
        self._limit = limit
        self._size = 0
        self._database: sqlite3.Connection | None = None
        self._closed = False

    def get(self, key: str) -> dict[str, bytes]:
        """Return the parts that are kept under ``key``."""
        if self._database is None:
            return {}
        found = self._database.execute(
            "SELECT part, octets FROM parts JOIN entries USING (number) WHERE authority = ?",
            (key,),
        )
        return dict(found.fetchall())

    def __contains__(self, key: str) -> bool:
        """Return whether anything is kept under ``key``."""
        if self._database is None:
            return False
        query = "SELECT 1 FROM entries WHERE authority = ?"
        return self._database.execute(query, (key,)).fetchone() is not None

    def put(self, key: str, parts: dict[str, bytes]) -> None:
        """Keep ``parts`` under ``key``, of which nothing is kept."""
        size = OVERHEAD + sum(map(len, parts.values()))
        if self._closed or size > self._limit:
            return
        database = self._database = self._database or _new_database()
        while self._size + size > self._limit:
            self._drop(database, "ORDER BY number LIMIT 1")
        statement = "INSERT INTO entries (authority, size) VALUES (?, ?)"
        number = database.execute(statement, (key, size)).lastrowid
        database.executemany(
            "INSERT INTO parts VALUES (?, ?, ?)",
            [(number, part, octets) for part, octets in parts.items()],
        )
        self._size += size

    def forget(self, key: str) -> None:
        """Drop what is kept under ``key``."""
        if self._database is not None:
            self._drop(self._database, "WHERE authority = ?", key)

    def close(self) -> None:
        """Delete the file."""
        self._closed = True
        if self._database is not None:
            self._database.close()
            self._database = None

    def _drop(self, database: sqlite3.Connection, which: str, *arguments: str) -> None:
        query = f"SELECT number, size FROM entries {which}"  # noqa: S608 (constants)
        for number, size in database.execute(query, arguments).fetchall():
            database.execute("DELETE FROM parts WHERE number = ?", (number,))
            database.execute("DELETE FROM entries WHERE number = ?", (number,))
            self._size -= size


def _new_database() -> sqlite3.Connection:
    """Return an empty database in a temporary file that nothing else can open."""
    # A crawl may end in another thread than it began in, and has to close it there.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_PAGES}"):
        database.execute(f"PRAGMA {pragma}")
    database.executescript(_TABLE)
    return database
