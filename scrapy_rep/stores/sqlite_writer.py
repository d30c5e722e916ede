"""The thread that writes into the SQLite file, and the queue in front of it.

The queue holds operations, which are done in the order in which they came. So another worker sees
what the holder of a lease has put before it sees the lease end. An operation has what it runs in a
transaction, a Future for its result, if anything waits for that, and what undoes it if nothing
waits for the result any more. Many operations share a transaction. One that changes an entry also
has its key and the change, so that a look-up sees what is still queued.

If another process holds the write lock, or the disk is full, callers do not wait. Operations that
are only to be written stay in memory, up to :data:`QUEUE_LIMIT` of them or :data:`QUEUE_OCTETS`.
Those that something waits for, a lease or a turn, fail with that attempt. The writer tries again
every :data:`RETRY_DELAY` seconds, and when something asks.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from scrapy_rep.stores.base import Change
from scrapy_rep.stores.sqlite_file import TROUBLES, DamagedError, File
from scrapy_rep.stores.stored import StoreError

logger = logging.getLogger(__name__)

AT_ONCE = 256
"""Operations of one transaction, so that no process holds the lock for long."""

BATCH_DELAY = 0.05
"""Seconds for which the writer collects operations that nothing waits for."""

QUEUE_LIMIT = 10_000
"""Operations that may wait to be written."""

QUEUE_OCTETS = 64 * 1024 * 1024
"""Octets of rules that may wait to be written."""

RETRY_DELAY = 1.0
"""Seconds between two attempts to write."""

FLUSH_PATIENCE, CLOSE_PATIENCE = 60.0, 10.0
"""Seconds for which ``flush`` and ``close`` wait for the thread."""

Run = Callable[[sqlite3.Connection], Any]


@dataclass(eq=False, slots=True)
class Operation:
    """What is to be done in a transaction.

    ``undo`` makes an operation of the result that nothing waits for any more. ``key`` and
    ``change`` are those of an entry that it changes, ``octets`` those that it keeps in memory.
    """

    run: Run
    future: Future[Any] | None = None
    undo: Callable[[Any], Run | None] | None = None
    key: str = ""
    change: Change | None = None
    octets: int = 0


class Writer:
    """Does operations on ``file``.

    Each batch ends with ``make_room``, which returns how many entries it dropped. All methods may
    be called from any thread.
    """

    def __init__(self, file: File, make_room: Callable[[sqlite3.Connection], int]) -> None:
        self._file = file
        self._make_room = make_room
        self._queue: deque[Operation] = deque()
        self._octets = 0
        self._hurry = self._closed = False
        self._retry_at = 0.0
        self._fault: StoreError | None = None  # why an entry was lost; the next put raises it
        self._trouble: StoreError | None = None  # what kept the last batch from being written
        self.evicted = 0
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="robots.txt writer", daemon=True)

    def start(self) -> None:
        """Start the thread, once."""
        self._thread.start()

    def waiting(self, key: str) -> list[Change]:
        """Return the changes that are queued for the entry under ``key``, the oldest first."""
        if not self._queue:  # as nearly always
            return []
        with self._wake:
            queued = [operation.change for operation in self._queue if operation.key == key]
        return [change for change in queued if change is not None]

    def change(self, key: str, change: Change, run: Run, octets: int) -> None:
        """Queue a change of an entry. Raises ``StoreError`` if the queue is full.

        It also raises why an earlier change was lost.
        """
        with self._wake:
            if len(self._queue) >= QUEUE_LIMIT or self._octets >= QUEUE_OCTETS:
                why = f": {self._trouble}" if self._trouble else ""
                raise StoreError(f"too many entries wait to be written{why}")
            self._add(Operation(run, key=key, change=change, octets=octets))
            self._octets += octets
            self._raise_fault()

    def tell(self, run: Run, *, hurry: bool = False) -> None:
        """Queue what nothing waits for. With ``hurry``, raises ``StoreError`` in an outage."""
        with self._wake:
            if hurry and self._trouble is not None:
                raise StoreError(str(self._trouble))
            self._add(Operation(run), hurry=hurry)

    def ask(self, run: Run, undo: Callable[[Any], Run | None] | None = None) -> Future[Any]:
        """Return a Future of what ``run`` returns; it raises ``StoreError``."""
        with self._wake:
            self._retry_at = 0.0
            future: Future[Any] = Future()
            self._add(Operation(run, future, undo), hurry=True)
            return future

    def flush(self) -> None:
        """Return once the file holds all that was put. Raises ``StoreError`` if it does not."""
        if self._queue:  # else there is nothing for which to wait for a lock
            try:
                self.ask(lambda db: None).result(FLUSH_PATIENCE)
            except FutureTimeoutError:
                raise StoreError("the writer did not finish in time") from None
        with self._wake:
            self._raise_fault()

    def close(self) -> None:
        """Write the queue once more, and end the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._thread.join(CLOSE_PATIENCE)
        path = str(self._file.path)
        with self._wake:
            lost = {operation.key for operation in self._queue if operation.change is not None}
        if lost:
            logger.warning("%a: entries that could not be written: %d", path, len(lost))
        if self._fault is not None:  # no put comes that could be told
            logger.warning("%a: %s", path, self._fault)

    def _add(self, operation: Operation, *, hurry: bool = False) -> None:
        """Queue an operation, and wake the writer if it sleeps."""
        is_first = not self._queue
        self._queue.append(operation)
        if hurry or is_first:
            self._hurry = self._hurry or hurry
            self._wake.notify_all()

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    # The thread

    def _run(self) -> None:
        while True:
            with self._wake:
                due = None if self._trouble is None else max(0.0, self._retry_at - time.monotonic())
                self._wake.wait_for(self._has_work, due)
                if self._closed:
                    # A lease that is granted now would never be released.
                    self._fail_asked(StoreError("the store is closed"), len(self._queue))
                    if not self._queue:
                        return
                if self._queue:
                    self._wake.wait_for(lambda: self._hurry or self._closed, BATCH_DELAY)
                known = len(self._queue)
                batch = list(islice(self._queue, AT_ONCE))
                self._hurry = known > AT_ONCE
            # Without a batch, this finds out whether the file can be written again.
            error, results = self._attempt(batch)
            with self._wake:
                if error is None:
                    self._settle(batch, results)
                else:
                    self._put_off(error, known)
                    if self._closed:
                        return

    def _has_work(self) -> bool:
        if self._closed or self._trouble is None:
            return self._closed or bool(self._queue)
        return time.monotonic() >= self._retry_at

    def _attempt(self, batch: list[Operation]) -> tuple[StoreError | None, list[Any]]:
        """Do the operations; return their results, or why they could not be done.

        An operation that fails by itself has its error as a result.
        """
        damage: DamagedError | None = None
        for _ in range(3):
            try:
                with self._file.transaction() as db:
                    results = [_result(operation, db) for operation in batch]
                    evicted = self._make_room(db)
            except DamagedError as error:  # noqa: PERF203 (rare; the file is replaced)
                damage = error
            except StoreError as error:
                return error, []
            else:
                self.evicted += evicted
                return None, results
        return StoreError(f"the file is damaged again and again: {damage}"), []

    def _settle(self, batch: list[Operation], results: list[Any]) -> None:
        """Hand out the results of what was written."""
        for operation, result in zip(batch, results, strict=True):
            self._queue.popleft()
            self._octets -= operation.octets
            self._answer(operation, result)
        self._trouble = None

    def _put_off(self, error: StoreError, known: int) -> None:
        """Keep what could not be written; fail what was asked before the attempt."""
        self._trouble = error
        self._fail_asked(error, known)
        is_asked = any(operation.future is not None for operation in self._queue)
        self._retry_at = 0.0 if is_asked else time.monotonic() + RETRY_DELAY

    def _answer(self, operation: Operation, result: Any) -> None:
        error = result if isinstance(result, StoreError) else None
        if operation.future is None:
            if error is not None:
                self._fault = error
            return
        try:
            if error is not None:
                operation.future.set_exception(error)
            else:
                operation.future.set_result(result)
        except InvalidStateError:  # it was cancelled
            undo = None if error or operation.undo is None else operation.undo(result)
            if undo is not None:
                self._add(Operation(undo), hurry=True)

    def _fail_asked(self, error: StoreError, count: int) -> None:
        """Fail those of the first ``count`` operations that something waits for."""
        kept = []
        for operation in islice(self._queue, count):
            if operation.future is None:
                kept.append(operation)
            else:
                with suppress(InvalidStateError):
                    operation.future.set_exception(error)
        self._queue = deque([*kept, *islice(self._queue, count, None)])


def _result(operation: Operation, db: sqlite3.Connection) -> Any:
    """Return the result of an operation, or the error that concerns it alone."""
    try:
        return operation.run(db)
    except TROUBLES:
        raise
    except StoreError as error:
        return error
    except Exception as error:  # noqa: BLE001  # the thread must neither end nor try for ever
        return StoreError(f"what was put is lost: {type(error).__name__}: {error}")
