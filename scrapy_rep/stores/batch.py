"""What waits to be written into the SQLite file, and the writing of it in one transaction."""

from __future__ import annotations

import secrets
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.entry import CLOCK_TOLERANCE, Entry
from scrapy_rep.stores.base import StoreError
from scrapy_rep.stores.transaction import Transaction
from scrapy_rep.stores.whole import dated, encode

_FORGET = "DELETE FROM entries WHERE authority = ?"
_PUT = (
    "INSERT INTO entries VALUES (?, ?, ?) ON CONFLICT (authority) DO UPDATE"
    " SET dated = excluded.dated, octets = excluded.octets"
    " WHERE excluded.dated >= entries.dated OR entries.dated > ?"
)
_RELEASE = "DELETE FROM leases WHERE authority = ? AND token = ?"
_EXPIRE = "DELETE FROM leases WHERE until < ?"
_LEASE = "INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT (authority) DO NOTHING"


@dataclass
class Batch:
    """What the writer is to do: forget, then put, then release, then lease.

    In that order a lease is seen to end only after what its holder put is seen.
    """

    forgotten: set[Authority] = field(default_factory=set)
    entries: dict[Authority, Entry] = field(default_factory=dict)
    released: list[tuple[Authority, str]] = field(default_factory=list)
    leases: list[tuple[Authority, float, Future[str | None]]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.forgotten or self.entries or self.released or self.leases)

    def write(self, transaction: Transaction, now: float) -> StoreError | None:
        """Write all of it, and answer the leases; return why an entry was left out, if one was.

        Raises ``StoreError`` or ``DamagedError``; then nothing is written and no lease answered.
        """
        rows, fault = self._rows(now)
        with transaction:
            for authority in self.forgotten:
                transaction.run(_FORGET, str(authority))
            for row in rows:
                transaction.run(_PUT, *row)
            for authority, token in self.released:
                transaction.run(_RELEASE, str(authority), token)
            tokens = self._lease(transaction, now)
        for (_, _, future), token_or_none in zip(self.leases, tokens, strict=True):
            with suppress(InvalidStateError):  # cancelled meanwhile
                future.set_result(token_or_none)
        return fault

    def _rows(self, now: float) -> tuple[list[tuple[object, ...]], StoreError | None]:
        rows: list[tuple[object, ...]] = []
        fault = None
        for authority, entry in self.entries.items():
            try:
                octets = encode(authority, entry)
            except StoreError as error:  # noqa: PERF203 (a bad one harms no other)
                fault = error
            else:
                rows.append((str(authority), dated(entry), octets, now + CLOCK_TOLERANCE))
        return rows, fault

    def _lease(self, transaction: Transaction, now: float) -> list[str | None]:
        if self.leases:
            transaction.run(_EXPIRE, now)
        tokens: list[str | None] = []
        for authority, seconds, _ in self.leases:
            token = secrets.token_hex(8)
            granted = transaction.run(_LEASE, str(authority), token, now + seconds)
            tokens.append(token if granted else None)
        return tokens

    def fail(self, error: StoreError) -> None:
        """Answer the leases with ``error``."""
        for _, _, future in self.leases:
            with suppress(InvalidStateError):
                future.set_exception(error)
