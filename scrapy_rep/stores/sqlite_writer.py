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

Between batches the writer has the file tidied.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from scrapy_rep.stores.base import Change
from scrapy_rep.stores.sqlite_file import DamagedError, File
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

TIDY_INTERVAL, TIDY_PAUSE = 60.0, 0.02
"""Seconds between two searches for rows that are of no more use, and between two of their steps."""

FLUSH_PATIENCE, CLOSE_PATIENCE = 60.0, 10.0
"""Seconds for which ``flush`` and ``close`` wait for the thread."""

Run = Callable[[sqlite3.Connection], Any]
Step = Callable[[sqlite3.Connection], "tuple[int, bool]"]
"""Deletes a few rows; returns how many of them for the limit, and whether there is more to do."""


@dataclass(eq=False, slots=True)
class Operation:
    """What is to be done in a transaction.

    ``undo`` makes an operation of the result that nothing waits for any more. ``key`` and
    ``change`` are those of an entry that it changes, ``octets`` those that it keeps in memory.
    Operations are numbered in the order in which they came.
    """

    run: Run
    future: Future[Any] | None = None
    undo: Callable[[Any], Run | None] | None = None
    key: str = ""
    change: Change | None = None
    octets: int = 0
    number: int = 0


class Writer:
    """Does operations on ``file``.

    ``tidy`` is a step that is taken between batches, ``make_room`` one that follows each batch. All
    methods may be called from any thread.
    """

    def __init__(self, file: File, tidy: Step, make_room: Step) -> None:
        self._file = file
        self._tidy = tidy
        self._make_room = make_room
        self._queue: deque[Operation] = deque()
        self._changes: dict[str, deque[Change]] = {}
        self._octets = self._added = 0
        self._hurry = self._closed = False
        self._failures = 0
        self._retry_at = 0.0
        self._damage: DamagedError | None = None
        self._fault: StoreError | None = None  # why an entry was lost; the next put raises it
        self._trouble: StoreError | None = None  # what kept the last batch from being written
        self._tidy_at = 0.0
        self.evicted = 0
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="robots.txt writer", daemon=True)

    def start(self) -> None:
        """Start the thread, once."""
        self._thread.start()

    def waiting(self, key: str) -> list[Change]:
        """Return the changes that are queued for the entry under ``key``, the oldest first."""
        if key not in self._changes:  # as nearly always
            return []
        with self._wake:
            return list(self._changes.get(key, ()))

    def change(self, key: str, change: Change, run: Run, octets: int) -> None:
        """Queue a change of an entry. Raises ``StoreError`` if the queue is full.

        It also raises why an earlier change was lost.
        """
        with self._wake:
            if len(self._queue) >= QUEUE_LIMIT or self._octets >= QUEUE_OCTETS:
                why = f": {self._trouble}" if self._trouble else ""
                raise StoreError(f"too many entries wait to be written{why}")
            self._add(Operation(run, key=key, change=change, octets=octets))
            self._changes.setdefault(key, deque()).append(change)
            self._octets += octets
            self._raise_fault()

    def tell(self, run: Run, *, hurry: bool = False) -> None:
        """Queue what nothing waits for. With ``hurry``, raises ``StoreError`` in an outage."""
        with self._wake:
            if hurry and self._trouble is not None:
                raise StoreError(str(self._trouble))
            self._add(Operation(run), hurry=hurry)

    def ask(self, run: Run, undo: Callable[[Any], Run | None]) -> Future[Any]:
        """Return a Future of what ``run`` returns; it raises ``StoreError``."""
        with self._wake:
            self._retry_at = 0.0
            future: Future[Any] = Future()
            self._add(Operation(run, future, undo), hurry=True)
            return future

    def damaged(self, damage: DamagedError) -> None:
        """Have the file set aside."""
        with self._wake:
            self._damage = damage
            self._wake.notify_all()

    def flush(self) -> None:
        """Return once the file holds all that was put. Raises ``StoreError`` if it does not."""
        with self._wake:
            goal, failures = self._added, self._failures
            self._hurry, self._retry_at = True, 0.0
            self._wake.notify_all()
            over = lambda: self._is_done(goal) or self._failures > failures  # noqa: E731
            if not self._wake.wait_for(over, FLUSH_PATIENCE):
                raise StoreError("the writer did not finish in time")
            if not self._is_done(goal):
                raise StoreError(str(self._trouble))
            self._raise_fault()

    def close(self) -> None:
        """Write the queue once more, and end the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._thread.join(CLOSE_PATIENCE)
        path = str(self._file.path)
        if self._changes:
            logger.warning("%a: entries that could not be written: %d", path, len(self._changes))
        if self._fault is not None:  # no put comes that could be told
            logger.warning("%a: %s", path, self._fault)

    def _add(self, operation: Operation, *, hurry: bool = False) -> None:
        """Queue an operation, and wake the writer if it sleeps."""
        is_first = not self._queue
        self._added += 1
        operation.number = self._added
        self._queue.append(operation)
        if hurry or is_first:
            self._hurry = self._hurry or hurry
            self._wake.notify_all()

    def _is_done(self, number: int) -> bool:
        return not self._queue or self._queue[0].number > number

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    # The thread

    def _run(self) -> None:
        while True:
            with self._wake:
                due = self._tidy_at if self._trouble is None else self._retry_at
                has_work = self._wake.wait_for(self._has_work, max(0.0, due - time.monotonic()))
                if self._closed:
                    # A lease that is granted now would never be released.
                    self._fail_asked(StoreError("the store is closed"), len(self._queue))
                    if not self._queue:
                        return
                if self._queue:
                    self._wake.wait_for(self._is_urgent, BATCH_DELAY)
                batch = list(islice(self._queue, AT_ONCE))
                self._hurry = len(self._queue) > AT_ONCE
                damage, self._damage = self._damage, None
            if not has_work and not batch:
                self._tidy_up()
                continue
            # Without a batch, this finds out whether the file can be written again.
            error, results = self._attempt(batch, damage)
            with self._wake:
                self._settle(batch, results, error)
                if self._closed and error is not None:
                    return
                self._wake.notify_all()

    def _has_work(self) -> bool:
        if self._closed:
            return True
        if self._trouble is not None:
            return time.monotonic() >= self._retry_at
        return bool(self._queue) or self._damage is not None

    def _is_urgent(self) -> bool:
        return self._hurry or self._closed or self._damage is not None

    def _attempt(
        self, batch: list[Operation], damage: DamagedError | None
    ) -> tuple[StoreError | None, list[Any]]:
        """Do the operations, mending the file if need be; return their results.

        Returns why they could not be done, if so. An operation that fails by itself has its error
        as a result.
        """
        for _ in range(3):
            try:
                if damage is not None:
                    self._file.set_aside(damage)
                    damage = None
                with self._file.transaction() as db:
                    results = [_result(operation, db) for operation in batch]
                    evicted, _ = self._make_room(db)
            except DamagedError as error:  # noqa: PERF203 (rare)
                damage = error
            except StoreError as error:
                return error, []
            else:
                self.evicted += evicted
                return None, results
        return StoreError(f"the file is damaged again and again: {damage}"), []

    def _tidy_up(self) -> None:
        try:
            with self._file.transaction() as db:
                evicted, more = self._tidy(db)
            self.evicted += evicted
            pause = TIDY_PAUSE if more else TIDY_INTERVAL
        except DamagedError as damage:
            self.damaged(damage)
            pause = TIDY_INTERVAL
        except StoreError:  # another process is writing
            pause = RETRY_DELAY
        self._tidy_at = time.monotonic() + pause

    def _settle(self, batch: list[Operation], results: list[Any], error: StoreError | None) -> None:
        """Hand out the results, or keep what could not be written."""
        if error is None:
            for operation, result in zip(batch, results, strict=True):
                self._queue.popleft()
                self._forget(operation)
                self._answer(operation, result)
            self._trouble, self._retry_at = None, 0.0
            return
        self._trouble = error
        self._failures += 1
        self._fail_asked(error, len(batch))
        is_asked = any(operation.future is not None for operation in self._queue)
        self._retry_at = 0.0 if is_asked else time.monotonic() + RETRY_DELAY

    def _forget(self, operation: Operation) -> None:
        """Note that an operation no longer waits."""
        self._octets -= operation.octets
        if operation.change is not None:
            changes = self._changes[operation.key]
            changes.popleft()
            if not changes:
                del self._changes[operation.key]

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
                self._forget(operation)
                with suppress(InvalidStateError):
                    operation.future.set_exception(error)
        self._queue = deque([*kept, *islice(self._queue, count, None)])


def _result(operation: Operation, db: sqlite3.Connection) -> Any:
    """Return the result of an operation, or the error that concerns it alone."""
    try:
        return operation.run(db)
    except sqlite3.Error:
        raise
    except StoreError as error:
        return error
    except UnicodeDecodeError:
        raise
    except Exception as error:  # noqa: BLE001  # the thread must neither end nor try for ever
        return StoreError(f"what was put is lost: {type(error).__name__}: {error}")
