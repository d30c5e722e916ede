"""The thread that writes into the SQLite file, and the queue in front of it.

The queue holds operations, which are done in the order in which they came. So another worker sees
what the holder of a lease has put before it sees the lease end. An operation has what it runs in a
transaction, and a Future for its result, if anything waits for that. Many operations share a
transaction.

If another process holds the write lock, or the disk is full, callers do not wait. Operations that
are only to be written stay in memory, up to :data:`QUEUE_LIMIT` of them. Those that something waits
for, a lease or a turn, fail with that attempt. The writer tries again after :data:`RETRY_DELAY`
seconds, or when something asks.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from itertools import islice
from typing import Any

from scrapy_rep.stores.sqlite_file import TROUBLES, DamagedFileError, File
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
    """What is to be done in a transaction."""

    run: Run
    future: Future[Any] | None = None
    octets: int = 0
    """Those that it keeps in memory."""


class Writer:
    """Does operations on ``file``.

    Each batch ends with ``make_room``. All methods may be called from any thread.
    """

    def __init__(self, file: File, make_room: Callable[[sqlite3.Connection], None]) -> None:
        self._file = file
        self._make_room = make_room
        self._queue: deque[Operation] = deque()
        self._hurry = self._closed = False
        self._octets = 0
        self._fault: StoreError | None = None  # why an entry was lost; the next put raises it
        self._trouble: StoreError | None = None  # what kept the last batch from being written
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="robots.txt writer", daemon=True)

    def start(self) -> None:
        """Start the thread, once."""
        self._thread.start()

    def put(self, run: Run, octets: int) -> None:
        """Queue a change of an entry, which keeps so many ``octets`` in memory.

        Raises ``StoreError`` if the queue is full, and if an earlier change was lost.
        """
        with self._wake:
            if len(self._queue) >= QUEUE_LIMIT or self._octets >= QUEUE_OCTETS:
                raise StoreError(f"too many changes wait to be written: {len(self._queue)}")
            self._add(Operation(run, octets=octets))
            self._octets += octets
            self._raise_fault()

    def tell(self, run: Run, *, hurry: bool = False) -> None:
        """Queue what nothing waits for. With ``hurry``, raises ``StoreError`` in an outage."""
        with self._wake:
            if hurry and self._trouble is not None:  # it would lapse before it is written
                raise StoreError(str(self._trouble))
            self._add(Operation(run), hurry=hurry)

    def ask(self, run: Run) -> Future[Any]:
        """Return a Future of what ``run`` returns; it raises ``StoreError``."""
        with self._wake:
            future: Future[Any] = Future()
            future.set_running_or_notify_cancel()  # so that nothing can cancel it
            self._add(Operation(run, future), hurry=True)
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
        if lost := len(self._queue):
            logger.warning("%a: changes that could not be written: %d", str(self._file.path), lost)

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
                self._wake.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    # A lease that is granted now would never be released.
                    self._fail_asked(StoreError("the store is closed"), len(self._queue))
                    if not self._queue:
                        return
                self._wait(BATCH_DELAY)
                known = len(self._queue)
                batch = list(islice(self._queue, AT_ONCE))
                self._hurry = False
            error, results = self._attempt(batch)
            with self._wake:
                self._trouble = error
                if error is None:
                    self._settle(batch, results)
                    self._hurry = self._hurry or known > AT_ONCE
                else:
                    self._fail_asked(error, known)
                    if self._closed:
                        return
                    self._wait(RETRY_DELAY)

    def _wait(self, seconds: float) -> None:
        """Wait for so long, or until something asks."""
        self._wake.wait_for(lambda: self._hurry or self._closed, seconds)

    def _attempt(self, batch: list[Operation]) -> tuple[StoreError | None, list[Any]]:
        """Do the operations; return their results, or why they could not be done.

        An operation that fails by itself has its error as a result.
        """
        damage: DamagedFileError | None = None
        for _ in range(3):
            try:
                with self._file.transaction() as db:
                    results = [_result(operation, db) for operation in batch]
                    self._make_room(db)
            except DamagedFileError as error:  # noqa: PERF203 (rare; the file is replaced)
                damage = error
            except StoreError as error:
                return error, []
            else:
                return None, results
        return StoreError(f"the file is damaged again and again: {damage}"), []

    def _settle(self, batch: list[Operation], results: list[Any]) -> None:
        """Hand out the results of what was written."""
        for operation, result in zip(batch, results, strict=True):
            self._queue.popleft()
            self._octets -= operation.octets
            if isinstance(result, StoreError):
                if operation.future is None:
                    self._fault = result
                else:
                    operation.future.set_exception(result)
            elif operation.future is not None:
                operation.future.set_result(result)

    def _fail_asked(self, error: StoreError, count: int) -> None:
        """Fail those of the first ``count`` operations that something waits for."""
        kept = []
        for operation in islice(self._queue, count):
            if operation.future is None:
                kept.append(operation)
            else:
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
