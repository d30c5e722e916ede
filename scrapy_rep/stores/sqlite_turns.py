"""Turns in the SQLite file: one pace for a host, kept by all processes of a machine.

A row of ``turns`` says who holds a turn, and ``since``: when the last request to the host
ended or, while a turn is held, when that turn ends unless it is renewed. Either way the next turn
is granted an interval after ``since``. A process that dies needs no special case.

``interval`` is the longest that any worker has asked for since that turn was taken, even if it was
refused. Otherwise a worker that knows a shorter interval, and asks more often, would take all
turns.

``turn_memory`` says since when the file has kept turns. A new file, or one that was replaced, does
not know what was requested before, so the first turns in it wait for an interval, or for
:data:`RENEWED` if that is longer. The workers renew the turns that are in use within that time. To
renew a turn of which the file knows nothing is to take it again. A turn that was given back stays
in the file for a while, so that it is not taken again.

All times are of the system's monotonic clock, which the processes of a machine share, so setting
the time of day does not change an interval. This clock begins at zero when the machine starts. A
time in the future comes from an earlier start, and is ignored.
"""

from __future__ import annotations

import sqlite3
from math import isfinite

from scrapy_rep.stores.base import KEPT, LONGEST_INTERVAL, LONGEST_TURN, RENEWED, Turn

_EXPIRE = "DELETE FROM turns WHERE until < ?"
_READ = "SELECT token, since, interval FROM turns WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?)"
_WISH = "UPDATE turns SET interval = ?1, until = max(until, since + max(?1, ?2)) WHERE key = ?3"
_RENEW = (
    "INSERT INTO turns VALUES (?1, ?2, ?3, 0.0, ?3 + ?4) ON CONFLICT (key)"
    " DO UPDATE SET token = ?2, since = ?3, until = ?3 + max(interval, ?4)"
    " WHERE token = ?2 OR (token <> '' AND since <= ?5)"
)
_CANCEL = "UPDATE turns SET token = '', since = -9e999, until = ? WHERE key = ? AND token = ?"


def take(
    db: sqlite3.Connection,
    prefix: str,
    host: str,
    token: str,
    seconds: float,
    interval: float,
    now: float,
) -> Turn:
    """Take a turn with ``token``, which may hold it already, or say how long to wait."""
    key = prefix + host
    db.execute(_EXPIRE, (now,))
    holder, since, longest = _last(db, key, now, interval)
    if holder != token:
        wait = max(_began(db, prefix, now) + max(longest, RENEWED), since + longest) - now
        if wait > 0:
            if interval >= longest:
                db.execute(_WISH, (interval, KEPT, key))
            # A held turn may end at once, and the next can begin an interval after that.
            return Turn(None, min(wait, longest) if holder else wait)
    _write(db, key, token, now + seconds, interval)
    return Turn(token)


def renew(db: sqlite3.Connection, key: str, token: str, seconds: float, now: float) -> None:
    """Extend a turn to ``seconds`` from ``now``, unless another worker holds one by now."""
    db.execute(_RENEW, (key, token, now + seconds, KEPT, now))


def end(db: sqlite3.Connection, key: str, token: str, interval: float, now: float) -> None:
    """End a turn whose request ended at ``now``: the interval begins.

    This may be written late, after a lock. Another request may have ended since then. A turn that
    has lapsed is nobody's.
    """
    for holder, since, kept in db.execute(_READ, (key,)).fetchall():
        is_held = holder and isinstance(since, float) and since > now
        if is_held and holder != token.encode():
            return
        if not holder and isinstance(since, float):
            now = max(now, since)
        interval = max(interval, _interval(kept))
    _write(db, key, "", now, interval)


def cancel(db: sqlite3.Connection, key: str, token: str, now: float) -> None:
    """Give back a turn for which no request was made."""
    db.execute(_CANCEL, (now + KEPT, key, token))


def _last(
    db: sqlite3.Connection, key: str, now: float, interval: float
) -> tuple[str, float, float]:
    """Return who holds a turn, when the last one ends, and the interval after it."""
    for token, since, kept in db.execute(_READ, (key,)).fetchall():
        if isinstance(token, bytes) and isinstance(since, float):
            longest = max(_interval(kept), interval)
            if since > now + LONGEST_TURN:
                _write(db, key, "", now, longest)
                return "", now, longest
            return token.decode("utf-8", "replace"), since, longest
    return "", float("-inf"), interval


def _began(db: sqlite3.Connection, prefix: str, now: float) -> float:
    """Return since when the file has kept turns."""
    for (since,) in db.execute("SELECT since FROM turn_memory WHERE key = ?", (prefix,)):
        if isinstance(since, float) and since <= now:
            return since
    db.execute("INSERT OR REPLACE INTO turn_memory VALUES (?, ?)", (prefix, now))
    return now


def _interval(kept: object) -> float:
    """Return the interval of a row, which may be damaged, within bounds."""
    if not isinstance(kept, float) or not isfinite(kept):
        return 0.0
    return min(max(kept, 0.0), LONGEST_INTERVAL)


def _write(db: sqlite3.Connection, key: str, token: str, since: float, interval: float) -> None:
    db.execute(_WRITE, (key, token, since, interval, since + max(interval, KEPT)))
