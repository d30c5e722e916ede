"""Work that is queued for the SQLite file, and how it is written."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry, merge
from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.sqlite_tables import Tables
from scrapy_rep.stores.sqlite_transaction import Transaction
from scrapy_rep.stores.sqlite_turns import TurnQueue

PUTS_AT_ONCE = 256
"""Authorities that are written in one transaction, so that no process holds the lock for long."""


@dataclass
class Batch:
    """The writer's next work: forget, put, renew, release and break leases, then grant leases.

    In this order, another worker sees what the holder of a lease has put before it sees the lease
    end. ``entries`` maps authorities to the entry of each crawler; further puts are merged with it.
    """

    forgotten: set[Authority] = field(default_factory=set)
    entries: dict[Authority, dict[str, Entry]] = field(default_factory=dict)
    renewed: list[tuple[Authority, str, float]] = field(default_factory=list)
    released: list[tuple[Authority, str]] = field(default_factory=list)
    broken: set[Authority] = field(default_factory=set)
    leases: list[tuple[Authority, float, Future[str | None]]] = field(default_factory=list)
    turns: TurnQueue = field(default_factory=TurnQueue)
    octets: int = 0

    def __bool__(self) -> bool:
        return bool(
            self.forgotten
            or self.entries
            or self.renewed
            or self.released
            or self.broken
            or self.leases
            or self.turns
        )

    def put(self, authority: Authority, entry: Entry, crawler: str, now: float) -> None:
        """Merge ``entry`` with what is already queued."""
        if not crawler:
            entry = replace(entry, refusal=None)
        senders = self.entries.setdefault(authority, {})
        before = senders.get(crawler)
        senders[crawler] = after = merge(before, entry, now)
        self.octets += _size_of(after) - (_size_of(before) if before else 0)

    def forget(self, authority: Authority) -> None:
        """Drop ``authority``, and the puts that are queued for it."""
        for entry in self.entries.pop(authority, {}).values():
            self.octets -= _size_of(entry)
        self.forgotten.add(authority)

    def drop(self) -> None:
        """Drop everything that was to be put or forgotten."""
        self.forgotten.clear()
        self.entries.clear()
        self.octets = 0

    def over(
        self, kept: Entry | None, authority: Authority, crawler: str, now: float
    ) -> Entry | None:
        """Return what ``crawler`` will read once this batch is written over ``kept``."""
        if authority in self.forgotten:
            kept = None
        for sender, entry in self.entries.get(authority, {}).items():
            if sender == crawler:
                kept = merge(kept, entry, now)
            else:
                refusal = kept.refusal if kept else None
                kept = merge(kept, replace(entry, refusal=None), now)
                kept = replace(kept, refusal=refusal)
        return kept if kept != Entry() else None

    def add(self, newer: Batch, now: float) -> None:
        """Add a batch that was queued later."""
        for authority in newer.forgotten:
            self.forget(authority)
        for authority, senders in newer.entries.items():
            for crawler, entry in senders.items():
                self.put(authority, entry, crawler, now)
        self.renewed += newer.renewed
        self.released += newer.released
        self.broken |= newer.broken
        self.leases += newer.leases
        self.turns.add(newer.turns)

    def copy_of(self, authority: Authority) -> Batch:
        """Return what is queued for ``authority``, as a copy that writing does not change."""
        senders = self.entries.get(authority)
        return Batch(
            forgotten={authority} if authority in self.forgotten else set(),
            entries={authority: dict(senders)} if senders else {},
        )

    def write_some(
        self, transaction: Transaction, tables: Tables, now: float, clock: float
    ) -> StoreError | None:
        """Write up to :data:`PUTS_AT_ONCE` authorities, answer the leases, and drop what is done.

        ``now`` is for the entries, ``clock`` the machine's for the leases. Returns why an entry was
        left out, if one was. Raises ``StoreError`` or ``DamagedError``; then nothing is written and
        no lease answered.
        """
        fault = None
        chunk = list(islice(self.entries, PUTS_AT_ONCE))
        last = len(chunk) == len(self.entries)
        with transaction:
            for authority in self.forgotten:
                tables.forget(transaction, authority)
            for authority in chunk:
                for crawler, entry in self.entries[authority].items():
                    fault = tables.put(transaction, authority, entry, crawler, now) or fault
            if last:
                for authority, token, seconds in self.renewed:
                    tables.renew(transaction, authority, token, seconds, clock)
                for authority, token in self.released:
                    tables.release(transaction, authority, token)
                for authority in self.broken:
                    tables.break_lease(transaction, authority)
            tokens = self._lease(transaction, tables, clock)
            turns = self.turns.write(transaction)
        self._written(chunk, tokens, last)
        self.turns.answer(turns)
        return fault

    def _lease(self, transaction: Transaction, tables: Tables, clock: float) -> list[str | None]:
        if self.leases:
            tables.end_leases(transaction, clock)
        return [tables.lease(transaction, a, seconds, clock) for a, seconds, _ in self.leases]

    def _written(self, chunk: list[Authority], tokens: list[str | None], last: bool) -> None:
        self.forgotten.clear()
        for authority in chunk:
            for entry in self.entries.pop(authority).values():
                self.octets -= _size_of(entry)
        if last:
            self.renewed.clear()
            self.released.clear()
            self.broken.clear()
        for (authority, _, future), token in zip(self.leases, tokens, strict=True):
            try:
                future.set_result(token)
            except InvalidStateError:  # noqa: PERF203  # cancelled: nothing else gives it back
                if token is not None:
                    self.released.append((authority, token))
        self.leases.clear()

    def give_up_leases(self, error: StoreError) -> None:
        """Fail the leases and turns with ``error``, because a crawl does not wait for a lock."""
        self.turns.give_up(error)
        self.renewed.clear()  # written later, they would extend leases that have ended
        for _, _, future in self.leases:
            with suppress(InvalidStateError):
                future.set_exception(error)
        self.leases.clear()


def _size_of(entry: Entry) -> int:
    answers = (entry.answer, entry.refusal)
    return sum(len(answer.body) for answer in answers if answer is not None and answer.body)
