"""The rows of the SQLite file, and every statement that reads or changes entries and leases.

An entry is one row, with the refusals of all crawlers, so that none of its parts can be dropped
without the others. The key of a row is the prefix of the store, a colon and the authority. It is an
index separate from the rows, so that a page of the index has about 80 keys. A look-up among a
million reads seven pages, five of which are nearly always in memory.

**Space.** A row that is deleted seldom empties a page of the file, because the rows that are of use
for the shortest time are scattered over it. So the space in use is counted by row (``size``, summed
up by triggers), and not by page. A new row takes the number of one that was deleted (``holes``),
and with it the space on its page; otherwise it would go to the end of the file.

**Age.** Rows that are of no more use are deleted by the clock of the machine, but only as far as
the file has seen that clock go (``seen``). A machine that starts with its clock 40 days ahead would
delete everything otherwise. If the clock is more than :data:`LONGEST_PAUSE` ahead, the time that
the file has seen follows slowly. Then rows stay for longer than they are of use, which does no
harm.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scrapy_rep.access.authority import Authority
from scrapy_rep.stores.base import Change
from scrapy_rep.stores.codec import decode_stored, encode_stored
from scrapy_rep.stores.stored import StoredEntry, authority_in_key

TABLES = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    " until REAL NOT NULL, size INTEGER NOT NULL, octets BLOB NOT NULL)",
    "CREATE INDEX entries_until ON entries (until)",
    "CREATE TABLE holes (number INTEGER PRIMARY KEY)",
    "CREATE TABLE totals (size INTEGER NOT NULL, seen REAL)",
    "INSERT INTO totals VALUES (0, NULL)",
    "CREATE TRIGGER added AFTER INSERT ON entries BEGIN"
    " UPDATE totals SET size = size + new.size; DELETE FROM holes WHERE number = new.number; END",
    "CREATE TRIGGER changed AFTER UPDATE OF size ON entries WHEN new.size <> old.size BEGIN"
    " UPDATE totals SET size = size + new.size - old.size; END",
    "CREATE TRIGGER removed AFTER DELETE ON entries BEGIN"
    " UPDATE totals SET size = size - old.size; INSERT INTO holes VALUES (old.number); END",
    "CREATE TABLE leases (key TEXT PRIMARY KEY, token TEXT NOT NULL, until REAL NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE turns (key TEXT PRIMARY KEY, token TEXT NOT NULL, since REAL NOT NULL,"
    " interval REAL NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
    "CREATE INDEX turns_until ON turns (until)",
    "CREATE TABLE turn_memory (key TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID",
)

LONGEST_LEASE = 3_600.0
"""Seconds for which a lease may be granted at most; a row with a longer one is void."""

TIDY_STEP = 64
"""Rows that are deleted in one transaction, in 1 ms from a cache, 15 ms from a disk."""

LONGEST_PAUSE, FOLLOWED = 20 * 86_400.0, 3_600.0
"""Seconds that the clock may have gone since the file was last tidied, and those by which the time
that the file has seen follows a clock that is further ahead, each time it is tidied."""

_PAGE = 4096
_LAST = "\U0010ffff"
"""Sorts behind every character of an authority."""

_READ = "SELECT octets FROM entries WHERE key = ?"
_SCAN = "SELECT key, octets FROM entries WHERE key >= ? AND key <= ? ORDER BY key"
# The old row stays for as long as it was to: a writer whose clock is behind must not shorten that.
_PUT = (
    "INSERT INTO entries VALUES ((SELECT number FROM holes LIMIT 1), ?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET until = max(until, excluded.until), size = excluded.size,"
    " octets = excluded.octets"
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
_EXPIRED = "SELECT number, size FROM entries WHERE until < ? ORDER BY until LIMIT ?"
_NEXT = "SELECT number, size FROM entries ORDER BY until LIMIT ?"


def forgetting(_: StoredEntry | None) -> None:
    """Drop what is kept: the change that :meth:`Store.forget` makes."""


def read(db: sqlite3.Connection, key: str, authority: Authority) -> StoredEntry | None:
    """Return what is kept under ``key``; ``None`` if it is damaged."""
    found = db.execute(_READ, (key,)).fetchone()
    # A damaged row may hold values of any type.
    return decode_stored(authority, found[0]) if found and isinstance(found[0], bytes) else None


def write(
    db: sqlite3.Connection, key: str, authority: Authority, change: Change, most: float, keep: float
) -> None:
    """Change what is kept under ``key``, until ``most`` at the latest. Raises ``StoreError``."""
    before = read(db, key, authority)
    after = change(before)
    if after is None:
        db.execute(_FORGET, (key,))
    elif after != before:
        octets = encode_stored(after)
        until = min(after.useful_until(keep), most)
        db.execute(_PUT, (key, until, _space(len(key), len(octets)), octets))


def scan(
    rows: Callable[..., Iterable[tuple[Any, ...]]], prefix: str, first: str, last: str = _LAST
) -> Iterator[StoredEntry]:
    """Yield what is kept of the authorities that begin with ``first``; ``rows`` runs a query."""
    start = f"{prefix}{first}"
    for key, octets in rows(_SCAN, start, start + last):
        if isinstance(key, bytes) and isinstance(octets, bytes):
            authority = authority_in_key(key.decode("utf-8", "replace")[len(prefix) :])
            stored = decode_stored(authority, octets) if authority is not None else None
            if stored is not None:
                yield stored


def lease(db: sqlite3.Connection, key: str, seconds: float, now: float) -> str | None:
    """Return a token, or ``None`` if another one holds the lease."""
    token, seconds = secrets.token_hex(8), min(seconds, LONGEST_LEASE)
    granted = db.execute(_LEASE, (key, token, now, seconds, LONGEST_LEASE)).rowcount
    return token if granted > 0 else None


def renew(db: sqlite3.Connection, key: str, token: str, until: float) -> None:
    """Have a lease end at ``until``, if ``token`` still holds it."""
    db.execute(_RENEW, (until, key, token))


def release(db: sqlite3.Connection, key: str, token: str) -> None:
    """End a lease, if ``token`` still holds it."""
    db.execute(_RELEASE, (key, token))


def tidy(db: sqlite3.Connection, now: float, limit: int) -> tuple[int, bool]:
    """Drop a few rows that are of no more use; else, if there are too many, those that are so next.

    Return how many were dropped for the limit, and whether there is more to do.
    """
    expired = db.execute(_EXPIRED, (_seen(db, now), TIDY_STEP)).fetchall()
    if expired:
        _delete(db, expired)
        return 0, True
    return make_room(db, limit, TIDY_STEP)


def make_room(db: sqlite3.Connection, limit: int, most: int) -> tuple[int, bool]:
    """Drop no more rows than it takes to stay within ``limit``, and no more than ``most``.

    Returns what :func:`tidy` does.
    """
    excess = db.execute("SELECT size FROM totals").fetchone()[0] - limit
    if excess <= 0:
        return 0, False
    dropped = []
    for number, size in db.execute(_NEXT, (most,)).fetchall():
        if excess <= 0:
            break
        dropped.append((number, size))
        excess -= size
    _delete(db, dropped)
    return len(dropped), bool(dropped) and excess > 0


def _delete(db: sqlite3.Connection, rows: list[tuple[int, int]]) -> None:
    db.executemany("DELETE FROM entries WHERE number = ?", [(number,) for number, _ in rows])


def _seen(db: sqlite3.Connection, now: float) -> float:
    """Return up to when the file has seen the clock go; ``now`` is what the clock says."""
    (seen,) = db.execute("SELECT seen FROM totals").fetchone()
    if isinstance(seen, float) and now > seen + LONGEST_PAUSE:
        now = seen + FOLLOWED
    if now != seen:
        db.execute("UPDATE totals SET seen = ?", (now,))
    return now


def _space(key: int, octets: int) -> int:
    """Return the space that a row takes in the file, its part of the indexes included.

    A page holds several small rows. A large one has pages of its own.
    """
    row = octets + key + 24
    if row > _PAGE:
        row = -(-row // _PAGE) * _PAGE
    elif row > _PAGE // 8:
        row = _PAGE // (_PAGE // row)
    return row + int(1.4 * key) + 48
