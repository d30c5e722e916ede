"""Entries in one SQLite file, kept over restarts and shared by the processes of one machine.

The caller reads on its own thread, which costs microseconds, and never writes: puts queue up and
a thread writes them in batches. A process that is killed loses the batch it had not written,
about :data:`BATCH_DELAY` of puts; what was flushed is safe (write-ahead log, ``synchronous =
NORMAL``: only a power cut may take the last commits, never the file).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from scrapy_rep.protocol.authority import Authority, authority_of
from scrapy_rep.protocol.entry import Entry, supersedes
from scrapy_rep.stores.base import Store, StoreError
from scrapy_rep.stores.batch import Batch
from scrapy_rep.stores.database import Database
from scrapy_rep.stores.transaction import DamagedError
from scrapy_rep.stores.whole import dated, decode

BATCH_DELAY = 0.05
"""Seconds for which the writer collects puts."""

QUEUE_LIMIT = 10_000
"""Puts that may wait for the writer."""

REOPEN_DELAY = 30.0
"""Seconds after which a file that could not be opened is tried again."""

FLUSH_PATIENCE, CLOSE_PATIENCE = 60.0, 10.0
"""Seconds for which ``flush`` and ``close`` wait for the writer."""


class SqliteStore(Store):
    """The entries in the file ``path``, of about ``limit`` octets at most, the oldest out first.

    A file that cannot be opened makes each call raise ``StoreError``, and is tried again every
    :data:`REOPEN_DELAY` seconds. Several threads may use a store, several processes a file.
    """

    def __init__(
        self, path: str | Path, *, limit: int = 1 << 30, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._database = Database(Path(path), limit)
        self._process = os.getpid()
        self._queue, self._writing = Batch(), Batch()
        self._queued = self._written = 0
        self._hurry = self._closed = False
        self._damage: DamagedError | None = None
        self._fault: StoreError | None = None
        self._reopen_at = 0.0
        self._wake = threading.Condition()
        self._reopen()
        self._writer = threading.Thread(target=self._run, name="robots.txt writer", daemon=True)
        self._writer.start()

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._database.path)!a})"

    def get(self, authority: Authority, crawler: str = "") -> Entry | None:
        """Return the newest of what is queued and what is in the file. Raises ``StoreError``."""
        self._check()
        with self._wake:
            candidates = [b.entries.get(authority) for b in (self._writing, self._queue)]
            if authority in self._queue.forgotten:
                return candidates[1]
            forgotten = authority in self._writing.forgotten
        if not forgotten:
            candidates.insert(0, self._read(authority))
        found = [entry for entry in candidates if entry is not None]
        if len(found) < 2:
            return found[0] if found else None
        now, newest = self._clock(), found[0]
        for entry in found[1:]:
            if supersedes(dated(entry), dated(newest), now):
                newest = entry
        return newest

    def _read(self, authority: Authority) -> Entry | None:
        try:
            octets = self._database.read(str(authority))
        except DamagedError as damage:  # a miss; the writer mends the file
            with self._wake:
                self._damage = damage
                self._wake.notify_all()
            return None
        return None if octets is None else decode(authority, octets)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Queue ``entry``. Raises ``StoreError`` if the queue is full or an earlier put failed."""
        self._check()
        with self._wake:
            if len(self._queue.entries) >= QUEUE_LIMIT:
                raise StoreError(f"{QUEUE_LIMIT} entries wait to be written")
            queued = self._queue.entries.get(authority)
            if queued is None or supersedes(dated(entry), dated(queued), self._clock()):
                self._note()
                self._queue.entries[authority] = entry
            self._raise_fault()

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``. Raises ``StoreError``."""
        self._check()
        with self._wake:
            self._note()
            self._queue.entries.pop(authority, None)
            self._queue.forgotten.add(authority)

    def lease(self, authority: Authority, seconds: float) -> Future[str | None]:
        """Return a Future of a token, or of ``None`` while another process holds the lease."""
        self._check()
        future: Future[str | None] = Future()
        with self._wake:
            self._note(hurry=True)
            self._queue.leases.append((authority, seconds, future))
        return future

    def release(self, authority: Authority, token: str) -> None:
        """End the lease that ``token`` stands for, if it still does."""
        self._check()
        with self._wake:
            self._note()
            self._queue.released.append((authority, token))

    def __iter__(self) -> Iterator[tuple[Authority, Entry]]:
        """Flush, and yield what is in the file. Raises ``StoreError``."""
        self.flush()
        for key, octets in self._database.rows():
            with suppress(ValueError):
                authority = authority_of(key)
                entry = None if authority is None else decode(authority, octets)
                if authority is not None and entry is not None:
                    yield authority, entry

    def flush(self) -> None:
        """Return once the file holds all that was put. Raises ``StoreError`` if it does not."""
        self._check()
        with self._wake:
            goal, self._hurry = self._queued, True
            self._wake.notify_all()
            if not self._wake.wait_for(lambda: self._written >= goal, FLUSH_PATIENCE):
                raise StoreError("the writer does not come to an end")
            self._raise_fault()

    def close(self) -> None:
        """Write what is queued, and close the file; within seconds, and quietly."""
        if self._closed or self._process != os.getpid():
            return
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._writer.join(CLOSE_PATIENCE)
        self._database.close()

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")
        if self._process != os.getpid():
            raise StoreError("the store was opened by another process")

    def _note(self, *, hurry: bool = False) -> None:
        """Count what is about to be queued, and wake the writer only if it sleeps."""
        self._queued += 1
        if hurry or not self._queue:
            self._hurry = self._hurry or hurry
            self._wake.notify_all()

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _run(self) -> None:
        """Write until closed, one batch after another: the writer's thread."""
        while True:
            with self._wake:
                self._wake.wait_for(self._has_work)
                if not self._queue and self._closed:
                    return
                self._wake.wait_for(lambda: self._hurry or self._closed, BATCH_DELAY)
                batch, self._queue = self._queue, Batch()
                self._writing, goal, self._hurry = batch, self._queued, False
                damage, self._damage = self._damage, None
            fault = self._write(batch, damage)
            with self._wake:
                self._writing, self._written = Batch(), goal
                self._fault = fault or self._fault
                self._wake.notify_all()

    def _write(self, batch: Batch, damage: DamagedError | None) -> StoreError | None:
        """Write ``batch``, mending the file if need be; return what kept it from being written."""
        try:
            for _ in range(3):
                try:
                    self._mend(damage)
                    return batch.write(self._database.transaction(), self._clock())
                except DamagedError as again:  # noqa: PERF203 (rare)
                    damage = again
            raise StoreError(f"the file is damaged again and again: {damage}")
        except StoreError as error:
            batch.fail(error)
            return error

    def _has_work(self) -> bool:
        return bool(self._queue or self._damage or self._closed)

    def _mend(self, damage: DamagedError | None) -> None:
        if damage is not None and self._database.is_open:
            self._database.set_aside(damage)
        elif self._database.is_open and self._database.replaced:
            self._database.reopen()
        elif not self._database.is_open:
            self._reopen()

    def _reopen(self) -> None:
        """Open the file, at most every :data:`REOPEN_DELAY` seconds; the error shows on use."""
        if time.monotonic() >= self._reopen_at:
            self._reopen_at = time.monotonic() + REOPEN_DELAY
            with suppress(StoreError):
                self._database.open()
