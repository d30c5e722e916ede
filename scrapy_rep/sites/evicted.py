"""Entries that memory has no room for, kept for the rest of the crawl.

Rules in memory take more octets than their file, and several times as many once they are compiled.
When ``REP_MEMORY_LIMIT`` is reached, the least recently used ones are evicted, but their robots.txt
is still fresh: fetching it again would cost a request to the site, and the time to wait for it. So
an evicted entry is kept compressed, in a private SQLite database. SQLite keeps part of them in a
share of that memory, and writes the rest into a temporary file of at most ``REP_STORE_LIMIT``
octets, which it deletes by itself, even after a crash. Bringing an entry back awaits nothing. It
takes about 20 microseconds for a file of ordinary size, and 1 to 3 milliseconds for one of 480 KB.

If the file cannot be written, evicted entries are dropped, and fetched again when they are needed.
Then the next one that is evicted begins a new file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.codec import decode_stored, encode_stored
from scrapy_rep.stores.stored import StoredEntry, StoreError

_CRAWLER = "own"
"""The name under which the refusals to this crawl are kept. No other crawl reads them."""

_PAGE = 4096

_SMALLEST = 64 * 1024
"""Octets that the empty tables take."""

_TABLE = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, authority TEXT NOT NULL UNIQUE,"
    " octets BLOB NOT NULL)"
)
# A new row gets a higher number than all others, so the lowest number is that of the oldest row.
_PUT = "INSERT OR REPLACE INTO entries (authority, octets) VALUES (?, ?)"
_GET = "SELECT octets FROM entries WHERE authority = ?"
_FORGET = "DELETE FROM entries WHERE authority = ?"
_OLDEST = "DELETE FROM entries WHERE number = (SELECT min(number) FROM entries)"


class Evicted:
    """Entries by authority, in about ``disk_limit`` octets, ``memory_limit`` of them in memory.

    The oldest are dropped first. ``failed(error)`` is called when the file cannot be used.
    """

    def __init__(self, memory_limit: int, disk_limit: int, *, failed: Callable[[Exception], None]):
        self._memory_limit = memory_limit
        self._disk_limit = disk_limit
        self._failed = failed
        self._database: sqlite3.Connection | None = None
        self._closed = False

    def get(self, authority: Authority) -> Entry | None:
        """Return the entry of ``authority``, ``None`` if it is not kept."""
        if self._database is None:  # as in most crawls
            return None
        try:
            row = self._database.execute(_GET, (str(authority),)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        stored = decode_stored(authority, row[0]) if row else None
        return None if stored is None else stored.seen_by(_CRAWLER)

    def put(self, authority: Authority, entry: Entry) -> None:
        """Keep ``entry`` in place of what was kept of ``authority``."""
        if self._closed:
            return
        refusals = {} if entry.refusal is None else {_CRAWLER: entry.refusal}
        stored = StoredEntry(authority, replace(entry, refusal=None), refusals)
        octets = b""
        try:
            octets = encode_stored(stored)
        except StoreError as error:  # larger than any robots.txt that is read
            self._failed(error)
        if len(octets) > self._disk_limit - _SMALLEST:
            octets = b""  # it would push out all others, and still have no room
        try:
            database = self._database = self._database or self._open()
            if octets:
                _write(database, str(authority), octets)
            else:
                database.execute(_FORGET, (str(authority),))
        except sqlite3.Error as error:
            self._give_up(error)

    def close(self) -> None:
        """Drop everything, and keep nothing any more."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _open(self) -> sqlite3.Connection:
        # A crawl may end in another thread than it began in, and has to close it there.
        database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in (
            "journal_mode = MEMORY",
            "synchronous = OFF",
            f"page_size = {_PAGE}",
            f"cache_size = -{self._memory_limit // 1024}",
            f"max_page_count = {self._disk_limit // _PAGE}",
        ):
            database.execute(f"PRAGMA {pragma}")
        database.execute(_TABLE)
        return database

    def _give_up(self, error: sqlite3.Error) -> None:
        self._drop()
        self._failed(StoreError(f"evicted entries cannot be kept in a temporary file: {error}"))


def _write(database: sqlite3.Connection, authority: str, octets: bytes) -> None:
    """Write an entry; drop the oldest ones until there is room for it."""
    while True:
        try:
            database.execute(_PUT, (authority, octets))
            return
        except sqlite3.OperationalError as error:  # noqa: PERF203 (rare)
            if "full" not in str(error) or not database.execute(_OLDEST).rowcount:
                raise
