"""The thread that writes into the SQLite file, and the queue in front of it.

If another process holds the write lock, or the disk is full, callers do not wait. Puts stay in
memory, merged, up to :data:`QUEUE_LIMIT` authorities or :data:`QUEUE_OCTETS`, and leases fail at
once. After :data:`FAILURES` failed attempts in a row the writer pauses, and tries again every
:data:`RETRY_DELAY` seconds. The log says when that begins and when it ends.

Between batches the writer has the file tidied (:mod:`scrapy_rep.stores.sqlite_tidying`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.circuit_breaker import CircuitBreaker
from scrapy_rep.stores.error import ALONE, LoggedError, StoreError
from scrapy_rep.stores.sqlite_batch import Batch
from scrapy_rep.stores.sqlite_file import Database
from scrapy_rep.stores.sqlite_tables import Tables
from scrapy_rep.stores.sqlite_tidying import Tidier
from scrapy_rep.stores.sqlite_transaction import DamagedError
from scrapy_rep.stores.sqlite_turns import TurnStep

logger = logging.getLogger(__name__)

BATCH_DELAY = 0.05
"""Seconds for which the writer collects puts."""

QUEUE_LIMIT = 10_000
"""Authorities that may wait to be written."""

QUEUE_OCTETS = 64 * 1024 * 1024
"""Octets of rules that may wait to be written."""

FAILURES, RETRY_DELAY = 2, 5.0
"""Failed attempts after which the writer pauses, and for how many seconds."""

FLUSH_PATIENCE, CLOSE_PATIENCE = 60.0, 10.0
"""Seconds for which ``flush`` and ``close`` wait for the thread."""


class Writer:
    """Writes the queue into ``database`` by means of ``tables``; ``tidier`` keeps the file small.

    Entries are dated by ``clock``, leases by ``machine_clock``. All methods may be called from any
    thread.
    """

    def __init__(
        self,
        database: Database,
        tables: Tables,
        tidier: Tidier,
        clock: Callable[[], float],
        machine_clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._tables = tables
        self._tidier = tidier
        self._clock = clock
        self._machine_clock = machine_clock
        self._queue, self._writing = Batch(), Batch()
        self._queued = self._tried = 0
        self._hurry = self._closed = False
        self._damage: DamagedError | None = None
        self._fault: StoreError | None = None  # why an entry was lost; the next put raises it
        self._trouble: StoreError | None = None  # what kept the last batch from being written
        self._breaker = CircuitBreaker(FAILURES, RETRY_DELAY)
        self._given_up_at: float | None = None
        self._dropped = self._lost_by_faults = 0
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="robots.txt writer", daemon=True)

    def start(self) -> None:
        """Start the thread, once."""
        self._thread.start()

    def waiting(self, authority: Authority) -> list[Batch]:
        """Return what is queued for ``authority``, the oldest first."""
        with self._wake:
            return [batch.copy_of(authority) for batch in (self._writing, self._queue)]

    def put(self, authority: Authority, entry: Entry, crawler: str) -> None:
        """Queue ``entry``. Raises ``StoreError`` if the queue is full or an earlier put failed."""
        with self._wake:
            if not self._has_room(authority):
                self._dropped += 1
                why = f": {self._trouble}" if self._trouble else ""
                text = f"too many entries wait to be written{why}"
                raise StoreError(text) if self._given_up_at is None else LoggedError(text)
            self._note()
            self._queue.put(authority, entry, crawler, self._clock())
            self._raise_fault()

    def rewrite(self, authority: Authority, entry: Entry) -> None:
        """Queue an entry that the file has in the form of 0.1, if there is room for it.

        This raises nothing: nothing is lost here, and a look-up is not told what was lost before.
        """
        with self._wake:
            if self._has_room(authority):
                self._note()
                self._queue.put(authority, entry, "", self._clock())

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``. Raises ``StoreError``."""
        with self._wake:
            self._note()
            self._queue.forget(authority)

    def lease(self, authority: Authority, seconds: float) -> Future[str | None]:
        """Return a Future of a token, or of ``None`` while another process holds the lease.

        Raises ``StoreError`` at once while nothing can be written.
        """
        future: Future[str | None] = Future()
        with self._wake:
            if self._breaker.open:
                raise LoggedError(str(self._trouble))
            self._note(hurry=True)
            self._queue.leases.append((authority, seconds, future))
        return future

    def renew(self, authority: Authority, token: str, seconds: float) -> None:
        """Extend a lease to ``seconds`` from now, if ``token`` still holds it."""
        with self._wake:
            self._note()
            self._queue.renewed.append((authority, token, seconds))

    def release(self, authority: Authority, token: str) -> None:
        """End the lease that ``token`` stands for, if it still does."""
        with self._wake:
            self._note()
            self._queue.released.append((authority, token))

    def turn(self, step: TurnStep) -> None:
        """Take, renew or end a turn, soon. Raises ``StoreError`` while nothing can be written."""
        with self._wake:
            if self._breaker.open:
                raise LoggedError(str(self._trouble))
            self._note(hurry=True)
            self._queue.turns.append(step)

    def break_lease(self, authority: Authority) -> None:
        """End the lease on ``authority``, even if another worker holds it."""
        with self._wake:
            self._note()
            self._queue.broken.add(authority)

    def damaged(self, damage: DamagedError) -> None:
        """Have the writer mend the file."""
        with self._wake:
            self._damage = damage
            self._wake.notify_all()

    def flush(self) -> None:
        """Return once the file holds all that was put. Raises ``StoreError`` if it does not."""
        with self._wake:
            goal, self._hurry = self._queued, True
            self._wake.notify_all()
            done = lambda: self._tried >= goal or self._breaker.open  # noqa: E731
            if not self._wake.wait_for(done, FLUSH_PATIENCE):
                raise StoreError("the writer did not finish in time")
            if self._trouble is not None:
                raise StoreError(str(self._trouble))
            self._raise_fault()

    def close(self) -> None:
        """Write the queue once more, and end the thread."""
        with self._wake:
            self._closed = True
            # A lease that is granted now would never be released.
            self._queue.give_up_leases(StoreError("the store is closed"))
            self._wake.notify_all()
        self._thread.join(CLOSE_PATIENCE)
        path = str(self._database.path)
        lost = self._lost_by_faults + len(self._queue.entries) + len(self._writing.entries)
        if lost:
            logger.warning("%a: entries that could not be written: %d", path, lost)
        if self._fault is not None:  # no put comes that could be told
            logger.warning("%a: %s", path, self._fault)

    def _has_room(self, authority: Authority) -> bool:
        """Return whether an entry may be queued."""
        full = len(self._queue.entries) >= QUEUE_LIMIT or self._queue.octets >= QUEUE_OCTETS
        return not full or authority in self._queue.entries

    def _note(self, *, hurry: bool = False) -> None:
        """Count what is about to be queued, and wake the writer if it sleeps."""
        self._queued += 1
        if hurry or not self._queue:
            self._hurry = self._hurry or hurry
            self._wake.notify_all()

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _run(self) -> None:
        """Write until closed, one batch after another, and tidy in between: the writer's thread."""
        while True:
            with self._wake:
                idle = not self._wake.wait_for(self._has_work, self._pause())
                if self._closed and not self._queue:
                    return
                if not idle:
                    self._wake.wait_for(lambda: self._hurry or self._closed, BATCH_DELAY)
                    self._breaker.admits()  # refuses leases until this attempt has ended
                    self._writing, self._queue = self._queue, Batch()
                    goal, self._hurry = self._queued, False
                    damage, self._damage = self._damage, None
            if idle:
                self._tidy()
                continue
            error = self._write(self._writing, damage)
            with self._wake:
                self._settle(error)
                self._tried = goal
                self._wake.notify_all()
                if error is not None and self._closed:
                    return

    def _pause(self) -> float:
        """Return for how many seconds to wait for work."""
        if self._breaker.open:
            return RETRY_DELAY / 4
        return self._tidier.pause

    def _has_work(self) -> bool:
        waiting = bool(self._queue or self._damage) and not self._breaker.open
        return waiting or self._closed

    def _write(self, batch: Batch, damage: DamagedError | None) -> StoreError | None:
        """Write ``batch``, mending the file if need be; return what kept it from being written."""
        try:
            for _ in range(3):
                try:
                    self._mend(damage)
                    while batch:
                        self._write_some(batch)
                except DamagedError as again:  # noqa: PERF203 (rare)
                    damage = again
                else:
                    return None
            return StoreError(f"the file is damaged again and again: {damage}")
        except StoreError as error:
            return error
        except Exception as error:  # noqa: BLE001  # the thread must neither end nor try for ever
            self._lost_by_faults += len(batch.entries)
            batch.drop()
            return StoreError(f"what was put is lost: {type(error).__name__}: {error}")

    def _write_some(self, batch: Batch) -> None:
        before = len(batch.entries)
        now, machine = self._clock(), self._machine_clock()
        fault = batch.write_some(self._database.transaction(), self._tables, now, machine)
        self._fault = fault or self._fault
        self._tidier.make_room(before - len(batch.entries))

    def _tidy(self) -> None:
        if not self._breaker.open and not self._tidier.pause:
            try:
                self._tidier.tidy()
            except DamagedError as damage:
                self.damaged(damage)

    def _mend(self, damage: DamagedError | None) -> None:
        if not self._database.is_open:
            self._database.open()
        elif damage is not None:
            self._database.set_aside(damage)
        elif self._database.replaced:
            self._database.reopen()

    def _settle(self, error: StoreError | None) -> None:
        """Keep what could not be written; log when that begins and when it ends."""
        batch, self._writing = self._writing, Batch()
        self._trouble = error
        path = str(self._database.path)
        if error is None:
            self._breaker.succeeded()
            if self._given_up_at is not None:
                seconds = time.monotonic() - self._given_up_at
                logger.warning(
                    "%a is written again after %.0f s; %d entries were dropped meanwhile",
                    path,
                    seconds,
                    self._dropped,
                )
                self._given_up_at, self._dropped = None, 0
            return
        batch.give_up_leases(LoggedError(str(error)))
        batch.add(self._queue, self._clock())
        self._queue = batch
        if self._breaker.failed():
            self._given_up_at = time.monotonic()
            logger.warning(
                "%a is not written for now: up to %d entries wait in memory; %s (%s)",
                path,
                QUEUE_LIMIT,
                ALONE,
                error,
            )
