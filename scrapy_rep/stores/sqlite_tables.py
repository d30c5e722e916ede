"""The tables of the SQLite file, and every statement that reads or changes their rows.

``parts`` has a row for each part of an entry. Its key is an index separate from the rows, so that a
page of the index has about 80 keys. A look-up among a million reads seven pages, five of which are
nearly always in memory. scrapy_rep 0.1 kept the octets in the index itself, with four rows on a
page: a look-up read ten pages, most of them from the disk.

A ``put`` reads, merges and writes under the write lock of one transaction. So it is one step for
every other process, and :func:`scrapy_rep.access.entry.merge` is the only code that merges.

The table ``entries`` belongs to scrapy_rep 0.1, which may still use the same file. It is read where
``parts`` has nothing. Rows are deleted from it, and none are added.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.access.entry import Entry, merge
from scrapy_rep.stores.codec import (
    ANSWER,
    FAILURE,
    decode_all,
    decode_parts,
    decode_v1,
    encode_parts,
    refusal_of,
)
from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.sqlite_transaction import Transaction
from scrapy_rep.stores.stored import (
    KEEP_CONCLUSIONS,
    PREFIX,
    Lease,
    StoredEntry,
    beginnings,
    useful_until,
)

LONGEST_LEASE = 3_600.0
"""Seconds for which a lease may be granted at most; a row with a longer one is void."""

CLOCK_STEP = 1.0
"""Seconds by which the clock may be set back without ending the leases that are held."""

TIDY_STEP = 64
"""Rows that are deleted in one transaction, in 1 ms from a cache, 15 ms from a disk."""

_READ = (
    "SELECT part, octets FROM parts"
    " WHERE prefix = ? AND authority = ? AND part IN ('answer', 'failure', ?)"
)
_READ_V1 = "SELECT octets FROM entries WHERE authority = ?"
_SCAN = (
    "SELECT authority, part, octets FROM parts"
    " WHERE prefix = ? AND authority >= ? AND authority <= ? ORDER BY authority"
)
_SCAN_V1 = (
    "SELECT authority, octets FROM entries WHERE authority >= ? AND authority <= ?"
    " AND authority NOT IN (SELECT authority FROM parts WHERE prefix = ?)"
)
_COUNT = (
    "SELECT COUNT(DISTINCT authority) FROM parts"
    " WHERE prefix = ? AND authority >= ? AND authority <= ?"
)
_COUNT_V1 = _SCAN_V1.replace("authority, octets", "COUNT(*)", 1)
_LAST = "\U0010ffff"
"""Sorts behind every character of an authority."""
_PUT = (
    "INSERT INTO parts VALUES (?, ?, ?, ?, ?) ON CONFLICT (prefix, authority, part)"
    " DO UPDATE SET until = excluded.until, octets = excluded.octets"
)
_DROP = "DELETE FROM parts WHERE prefix = ? AND authority = ? AND part = ?"
_FORGET = "DELETE FROM parts WHERE prefix = ? AND authority = ?"
_FORGET_V1 = "DELETE FROM entries WHERE authority = ?"

# A lease from the future is void: the clock was set back, or the row is wrong.
_END_LEASES = "DELETE FROM fetch_leases WHERE NOT (since <= ? AND until > ? AND until <= since + ?)"
_LEASE = "INSERT INTO fetch_leases VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_RENEW = (
    "UPDATE fetch_leases SET since = ?, until = ? WHERE prefix = ? AND authority = ? AND token = ?"
)
_LEASES = (
    "SELECT authority, token, until - ? FROM fetch_leases"
    " WHERE prefix = ? AND since <= ? AND until > ? AND until <= since + ?"
)
_BREAK = "DELETE FROM fetch_leases WHERE prefix = ? AND authority = ?"
_RELEASE = "DELETE FROM fetch_leases WHERE prefix = ? AND authority = ? AND token = ?"

_EXPIRE = (
    "DELETE FROM parts WHERE rowid IN"
    " (SELECT rowid FROM parts WHERE until < ? ORDER BY until LIMIT ?)"
)
_EXPIRE_V1 = (
    "DELETE FROM entries WHERE authority IN"
    " (SELECT authority FROM entries WHERE dated < ? ORDER BY dated LIMIT ?)"
)

Ask = Callable[..., "Iterable[tuple[Any, ...]]"]
"""Takes a statement and its values, and returns the rows that it finds."""


class Tables:
    """The rows whose keys begin with ``prefix``; a good copy is useful for ``keep`` seconds."""

    def __init__(self, prefix: str, keep: float) -> None:
        self._prefix = prefix
        self._keep = max(keep, KEEP_CONCLUSIONS)
        self._inherits = prefix == PREFIX  # 0.1 had no other prefix

    def read(self, ask: Ask, authority: Authority, crawler: str) -> tuple[Entry | None, bool]:
        """Return what is kept of ``authority``, and whether that is only in the table of 0.1.

        If a part is damaged nothing is returned: without a refusal, the rest could be permission.
        """
        found = self._parts(ask, authority, crawler)
        entry = self._entry(ask, authority, crawler, found)
        if entry is None or not found:
            return entry, entry is not None
        parts = (entry.answer, entry.refusal, entry.failure)
        readable = sum(part is not None for part in parts)
        return (entry if readable == len(found) else None), False

    def scan(self, ask: Ask, start: str) -> Iterator[StoredEntry]:
        """Yield what is kept of the authorities that ``start`` selects, with all refusals."""
        for first in beginnings(start):
            yield from self.between(ask, first, first + _LAST)

    def between(self, ask: Ask, first: str, last: str) -> Iterator[StoredEntry]:
        """Yield what is kept of the authorities from ``first`` to ``last``, in that order."""
        for name, rows in groupby(ask(_SCAN, self._prefix, first, last), lambda row: row[0]):
            authority = _authority(name)
            if authority is not None:
                found = {_text(part): octets for _, part, octets in rows if _is_bytes(octets)}
                stored = decode_all(authority, found)
                if stored is not None:
                    yield stored
        for name, octets in ask(_SCAN_V1, first, last, self._prefix) if self._inherits else ():
            authority = _authority(name)
            entry = decode_v1(authority, octets) if authority and _is_bytes(octets) else None
            if authority is not None and entry is not None:
                yield StoredEntry(authority, entry)

    def count(self, ask: Ask, start: str) -> int:
        """Return how many authorities ``start`` selects, without reading their rows."""
        found = 0
        for first in beginnings(start):
            last = first + _LAST
            found += sum(number for (number,) in ask(_COUNT, self._prefix, first, last))
            if self._inherits:
                found += sum(number for (number,) in ask(_COUNT_V1, first, last, self._prefix))
        return found

    def put(
        self, write: Transaction, authority: Authority, entry: Entry, crawler: str, now: float
    ) -> StoreError | None:
        """Merge ``entry`` into what is kept; return why not, if it cannot be encoded."""
        found = self._parts(write.ask, authority, crawler)
        kept = self._entry(write.ask, authority, crawler, found)
        merged = merge(kept, entry, now)
        refusal = refusal_of(crawler)
        parts = {ANSWER: merged.answer, FAILURE: merged.failure, refusal: merged.refusal}
        try:
            encoded = encode_parts(authority, merged, crawler)
        except StoreError as error:
            return error
        for name, octets in encoded.items():
            part = parts[name]
            if octets == found.get(name, b""):
                continue
            if part is None:
                write.run(_DROP, self._prefix, str(authority), name)
            else:
                # A date in the future does not keep a row for longer than any other.
                until = min(useful_until(part, self._keep), now + self._keep)
                write.run(_PUT, self._prefix, str(authority), name, until, octets)
        return None

    def forget(self, write: Transaction, authority: Authority) -> None:
        """Drop what is kept of ``authority``."""
        write.run(_FORGET, self._prefix, str(authority))
        if self._inherits:
            write.run(_FORGET_V1, str(authority))

    def end_leases(self, write: Transaction, now: float) -> None:
        """Delete the leases that have ended or are void, by the machine's clock."""
        write.run(_END_LEASES, now + CLOCK_STEP, now, LONGEST_LEASE)

    def lease(
        self, write: Transaction, authority: Authority, seconds: float, now: float
    ) -> str | None:
        """Return a token, or ``None`` if another one holds the lease."""
        token = secrets.token_hex(8)
        until = now + min(seconds, LONGEST_LEASE)
        granted = write.run(_LEASE, self._prefix, str(authority), token, now, until)
        return token if granted else None

    def renew(
        self, write: Transaction, authority: Authority, token: str, seconds: float, now: float
    ) -> None:
        """Extend a lease to ``seconds`` from now, if ``token`` still holds it."""
        until = now + min(seconds, LONGEST_LEASE)
        write.run(_RENEW, now, until, self._prefix, str(authority), token)

    def release(self, write: Transaction, authority: Authority, token: str) -> None:
        """End a lease, if ``token`` still holds it."""
        write.run(_RELEASE, self._prefix, str(authority), token)

    def leases(self, ask: Ask, start: str, now: float) -> Iterator[Lease]:
        """Yield the leases that are held, of the authorities that ``start`` selects."""
        valid = (now + CLOCK_STEP, now, LONGEST_LEASE)
        for name, token, seconds in ask(_LEASES, now, self._prefix, *valid):
            authority = _authority(name)
            if authority is not None and str(authority).startswith(beginnings(start)):
                yield Lease(authority, _text(token), float(seconds))

    def break_lease(self, write: Transaction, authority: Authority) -> None:
        """End the lease on ``authority``, even if another worker holds it."""
        write.run(_BREAK, self._prefix, str(authority))

    def expire(self, write: Transaction, now: float) -> int:
        """Delete up to :data:`TIDY_STEP` rows that are no longer useful; return how many."""
        gone = write.run(_EXPIRE, now, TIDY_STEP)
        return gone or write.run(_EXPIRE_V1, now - self._keep, TIDY_STEP)

    def evict(self, write: Transaction) -> int:
        """Delete the :data:`TIDY_STEP` rows that will be useful for the shortest time.

        Those of 0.1 go first. Returns how many were deleted.
        """
        gone = write.run(_EXPIRE_V1, float("inf"), TIDY_STEP)
        return gone or write.run(_EXPIRE, float("inf"), TIDY_STEP)

    def _parts(self, ask: Ask, authority: Authority, crawler: str) -> dict[str, bytes]:
        rows = ask(_READ, self._prefix, str(authority), refusal_of(crawler))
        return {_text(part): octets for part, octets in rows if _is_bytes(octets)}

    def _entry(
        self, ask: Ask, authority: Authority, crawler: str, found: dict[str, bytes]
    ) -> Entry | None:
        if found or not self._inherits:
            return decode_parts(authority, found, crawler)
        for (octets,) in ask(_READ_V1, str(authority)):
            return decode_v1(authority, octets) if _is_bytes(octets) else None
        return None


# A damaged row may hold values of any type.


def _is_bytes(value: object) -> bool:
    return isinstance(value, bytes)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _authority(name: object) -> Authority | None:
    try:
        return authority_of(_text(name))
    except ValueError:
        return None
