"""The rows of the SQLite file, and every statement that reads or changes entries and leases.

An entry is one row, with the refusals of all crawlers, so that none of its parts can be dropped
without the others. The key of a row is the prefix of the store, a colon and the authority. It is an
index separate from the rows, so that a page of the index has about 80 keys. A look-up among a
million reads seven pages, five of which are nearly always in memory.

**Space.** At the limit, the rows that are of use for the shortest time are dropped. To free whole
pages of the file, which are used again, these rows have to lie side by side. So a row is numbered
by the microsecond until which it is of use, and written anew when it changes. Nothing is dropped
for its age, as the clock of the machine may be wrong.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scrapy_rep.access.authority import Authority, authority_in
from scrapy_rep.stores.base import Change
from scrapy_rep.stores.codec import decode_stored, encode_stored
from scrapy_rep.stores.stored import StoredEntry

TABLES = (
    "CREATE TABLE entries (until INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    " octets BLOB NOT NULL)",
    "CREATE TABLE leases (key TEXT PRIMARY KEY, token TEXT NOT NULL, until REAL NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE turns (key TEXT PRIMARY KEY, token TEXT NOT NULL, since REAL NOT NULL,"
    " interval REAL NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
    "CREATE INDEX turns_until ON turns (until)",
    "CREATE TABLE turn_memory (key TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID",
)

LONGEST_LEASE = 3_600.0
"""Seconds for which a lease may be granted at most; a row with a longer one is void."""

DROPPED_TOGETHER = 8
"""Rows that are dropped before the space in use is looked at again."""

_MICROSECONDS, _LATEST = 1e6, float(1 << 62)
"""Microseconds in a second, and the latest time, in microseconds, that a row is numbered by."""

_LAST = "\U0010ffff"
"""Sorts after every character of an authority."""

_READ = "SELECT octets FROM entries WHERE key = ?"
_SCAN = "SELECT key, octets FROM entries WHERE key >= ? AND key <= ? ORDER BY key"
# A row is numbered by the microsecond until which it is of use. If another row has that number, it
# gets the number after the last one of the following minute. Only then: if all rows were numbered
# one after another, the numbers would reach the end of that minute, and the row that has the first
# number after it would be replaced.
_PUT = (
    "INSERT OR REPLACE INTO entries VALUES (CASE"
    " WHEN NOT EXISTS (SELECT 1 FROM entries WHERE until = ?1) THEN ?1 ELSE (SELECT max(until) + 1"
    " FROM entries WHERE until >= ?1 AND until < ?1 + 60000000) END, ?2, ?3)"
)
_FORGET = "DELETE FROM entries WHERE key = ?"
# A lease that ends too far ahead is void: it is of an earlier start of the machine, or damaged.
_LEASE = (
    "INSERT INTO leases VALUES (?1, ?2, ?3 + ?4) ON CONFLICT (key) DO UPDATE"
    " SET token = ?2, until = ?3 + ?4"
    " WHERE NOT (typeof(until) = 'real' AND until > ?3 AND until <= ?3 + ?5)"
)
_RENEW = "UPDATE leases SET until = ? WHERE key = ? AND token = ?"
_RELEASE = "DELETE FROM leases WHERE key = ? AND token = ?"
_DROP = "DELETE FROM entries WHERE until IN (SELECT until FROM entries ORDER BY until LIMIT ?)"


def read(db: sqlite3.Connection, key: str, authority: Authority) -> StoredEntry | None:
    """Return what is kept under ``key``; ``None`` if it is damaged."""
    found = db.execute(_READ, (key,)).fetchone()
    # A damaged row may hold values of any type.
    return decode_stored(authority, found[0]) if found and isinstance(found[0], bytes) else None


def write(
    db: sqlite3.Connection, key: str, authority: Authority, change: Change, keep: float
) -> None:
    """Change what is kept under ``key``. Raises ``StoreError``.

    ``keep`` is for how many seconds a good copy is of use.
    """
    before = read(db, key, authority)
    after = change(before)
    if after is None:
        db.execute(_FORGET, (key,))
    elif after != before:
        until = min(max(0.0, after.useful_until(keep) * _MICROSECONDS), _LATEST)
        db.execute(_PUT, (int(until), key, encode_stored(after)))


def scan(
    rows: Callable[..., Iterable[tuple[Any, ...]]], prefix: str, name: str = ""
) -> Iterator[StoredEntry]:
    """Yield all that is kept, or what is of the authority ``name``; ``rows`` runs a query."""
    for key, octets in rows(_SCAN, prefix + name, prefix + (name or _LAST)):
        if isinstance(key, bytes) and isinstance(octets, bytes):
            authority = authority_in(key.decode("utf-8", "replace")[len(prefix) :])
            stored = decode_stored(authority, octets) if authority is not None else None
            if stored is not None:
                yield stored


def lease(db: sqlite3.Connection, key: str, seconds: float, now: float) -> str | None:
    """Return a token, or ``None`` if another one holds the lease."""
    token, seconds = secrets.token_hex(8), min(seconds, LONGEST_LEASE)
    granted = db.execute(_LEASE, (key, token, now, seconds, LONGEST_LEASE)).rowcount
    return token if granted > 0 else None


def renew(db: sqlite3.Connection, key: str, token: str, until: float) -> None:
    """Make a lease end at ``until``, if ``token`` still holds it."""
    db.execute(_RENEW, (until, key, token))


def release(db: sqlite3.Connection, key: str, token: str) -> None:
    """End a lease, if ``token`` still holds it."""
    db.execute(_RELEASE, (key, token))


def make_room(db: sqlite3.Connection, limit: int, most: int) -> int:
    """Drop the rows of least use, about as many as it takes to stay within ``limit`` octets.

    Drops no more than ``most``. Returns how many it dropped.
    """
    dropped = 0
    while dropped < most and _in_use(db) > limit:
        gone = db.execute(_DROP, (DROPPED_TOGETHER,)).rowcount
        if not gone:
            break
        dropped += gone
    return dropped


def _in_use(db: sqlite3.Connection) -> int:
    """Return the octets of all pages that are not free."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
