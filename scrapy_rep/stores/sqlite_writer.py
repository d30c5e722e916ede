"""The thread that writes into the SQLite file.

All that waits is done in one transaction, up to :data:`AT_ONCE` changes of entries, in the order in
which it came. So another worker sees what the holder of a lease has put before it sees the lease
end.

If another process holds the write lock, or the disk is full, callers do not wait. Changes of
entries stay in memory, up to :data:`QUEUE_LIMIT` or :data:`QUEUE_OCTETS`, and are tried again with
the next call, after :data:`RETRY_DELAY` seconds, and when the store is closed. Another change
causes no attempt, which takes as long on a full disk as a success. A lease or a turn that is asked
for fails with the attempt. The end of one is kept like a change, unless many wait already.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import partial
from typing import Any

from scrapy_rep.stores.sqlite_file import TROUBLES, DamagedFileError, File
from scrapy_rep.stores.stored import StoreError
from scrapy_rep.stores.thread import StoreThread

logger = logging.getLogger(__name__)

AT_ONCE = 256
"""Changes of one transaction, so that no process holds the lock for long."""

QUEUE_LIMIT = 10_000
"""Changes that may wait to be written."""

QUEUE_OCTETS = 128 << 20
"""Octets of rules that may wait to be written: more than an import puts before it flushes."""

RETRY_DELAY = 1.0
"""Seconds between two attempts to write."""

FLUSH_TIMEOUT = 60.0
"""Seconds for which ``flush`` waits for the thread."""

Call = Callable[[sqlite3.Connection], Any]


class Unawaited(partial[None]):
    """A call whose answer nobody waits for. It raises errors of the file alone."""


class Writer(StoreThread):
    """Changes entries of ``file``, and runs calls; each transaction ends with ``make_room``.

    A call is a function of the connection. All methods may be called from any thread.
    """

    together = AT_ONCE

    def __init__(self, file: File, make_room: Callable[[sqlite3.Connection], None]) -> None:
        super().__init__()
        self._file = file
        self._make_room = make_room
        self._unwritten: list[tuple[Call, int]] = []
        """The changes that wait, with their octets."""
        self._octets = 0

    def put(self, change: Call, octets: int) -> None:
        """Queue a change, which is kept until it is written, and raises errors of the file alone.

        It keeps so many ``octets`` in memory. Raises ``StoreError`` if too many wait.
        """
        with self._change:
            if len(self._unwritten) >= QUEUE_LIMIT or self._octets >= QUEUE_OCTETS:
                raise StoreError(f"too many changes wait to be written: {len(self._unwritten)}")
            self._unwritten.append((change, octets))
            self._octets += octets
        if self.again is None:  # else the thread tries again by itself
            self.ask(_nothing)

    def flush(self) -> None:
        """Return once all that was queued is written. Raises ``StoreError`` if it is not."""
        if self._unwritten or not self.wait_until_idle(0):  # else there is no lock to wait for
            try:
                self.ask(_nothing).result(FLUSH_TIMEOUT)
            except FutureTimeoutError:
                raise StoreError("the writer did not finish in time") from None

    def close(self, timeout: float) -> None:
        """Write the changes once more, if that ends in time, and end the thread."""
        if self._unwritten:
            with suppress(StoreError):
                self.ask(_nothing)
        super().close(timeout)
        if lost := len(self._unwritten):
            logger.warning("%a: changes that could not be written: %d", str(self._file.path), lost)

    def answer(self, calls: list[Call]) -> list[Any]:
        """Write the changes, and run the calls with the last ones."""
        answers = self._attempt(calls)
        self.again = None  # a change that comes before this is seen below; a later one asks
        if self._unwritten:
            self.again = RETRY_DELAY
        return answers

    def _attempt(self, calls: list[Call]) -> list[Any]:
        damage: DamagedFileError | None = None
        for _ in range(3):
            try:
                return self._write(calls)
            except DamagedFileError as error:  # noqa: PERF203 (rare; the file is replaced)
                damage = error
            except Exception as error:  # noqa: BLE001
                if len(self._unwritten) < AT_ONCE:
                    self._unwritten += [(call, 0) for call in calls if isinstance(call, Unawaited)]
                return [error] * len(calls)
        return [StoreError(f"the file is damaged again and again: {damage}")] * len(calls)

    def _write(self, calls: list[Call]) -> list[Any]:
        while True:
            changes = self._unwritten[:AT_ONCE]
            is_last = len(changes) < AT_ONCE
            with self._file.transaction() as db:
                for change, _ in changes:
                    change(db)
                answers = [result_of(call, db) for call in calls] if is_last else []
                self._make_room(db)
            with self._change:
                del self._unwritten[: len(changes)]
                self._octets -= sum(octets for _, octets in changes)
            if is_last:
                return answers


def result_of(call: Call, db: sqlite3.Connection) -> Any:
    """Return what ``call`` returns, or the error that concerns it alone; raise one of the file."""
    try:
        return call(db)
    except TROUBLES:
        raise
    except StoreError as error:
        return error
    except Exception as error:  # noqa: BLE001  # it would be tried for ever, with all beside it
        return StoreError(f"what was put is lost: {type(error).__name__}: {error}")


def _nothing(db: sqlite3.Connection) -> None:
    pass
