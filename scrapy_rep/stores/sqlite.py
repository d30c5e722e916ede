"""Entries in one SQLite file, kept over restarts and shared by the processes of one machine.

The caller reads on its own thread, which takes some 20 microseconds while the file is in the
system's cache. A busy disk may take a thousand times as long. So after a slow look-up another
thread makes the next ones, and their results are Futures.

Another thread writes what was put (:mod:`scrapy_rep.stores.sqlite_writer`). A process that is
killed loses what it had not written; what was flushed is safe (write-ahead log, ``synchronous =
NORMAL``: only a power cut may take the last commits, never the file).
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores import sqlite_rows as rows
from scrapy_rep.stores import sqlite_turns as turns
from scrapy_rep.stores.base import Change, Store, Turn, merging
from scrapy_rep.stores.sqlite_file import (
    OPEN_TIMEOUT,
    READ_TIMEOUT,
    WRITE_TIMEOUT,
    DamagedFileError,
    File,
    check_file,
)
from scrapy_rep.stores.sqlite_writer import AT_ONCE, Call, Unawaited, Writer, result_of
from scrapy_rep.stores.stored import MONTH, PREFIX, StoredEntry, StoreError
from scrapy_rep.stores.thread import StoreThread
from scrapy_rep.stores.uri import DISK_LIMIT, UriOptions, path_of

logger = logging.getLogger(__name__)

SLOW_READ = 0.0005
"""Seconds after which a look-up counts as slow. In a file of a million entries, 99 of 100 look-ups
then hold the caller for less than that, wherever the file is; with 0.002, for up to 0.0007 s."""

SLOW_READS = 200
"""Look-ups that another thread makes after a slow one."""

ROOM = AT_ONCE + 64
"""The most rows that a transaction drops: more than it adds, so that the file can shrink."""

CLOSE_TIMEOUT = 10.0
"""Seconds for which ``close`` waits for the thread."""


class SqliteStore(Store):
    """The entries in the file ``path``, of about ``limit`` octets at most.

    Keys begin with ``prefix``; ``keep`` is for how many seconds a good copy is of use. Entries are
    merged by ``clock``. Leases and turns go by ``turn_clock``, which the processes of a machine
    share. A damaged file is set aside if ``mends`` is True, and otherwise a ``StoreError``.

    Raises ``ValueError`` for the file of another program (:mod:`scrapy_rep.stores.sqlite_file`).
    The first call opens the file, so that a crawl that does not start leaves none. A file that
    cannot be opened makes each call raise ``StoreError``, and is tried again with each transaction.
    Several threads may use a store, several processes a file. A child process must not use the
    store of its parent.
    """

    keeps_pace = True

    def __init__(
        self,
        path: str | Path,
        *,
        limit: int = DISK_LIMIT,
        keep: float = MONTH,
        prefix: str = PREFIX,
        clock: Callable[[], float] = time.time,
        turn_clock: Callable[[], float] = time.monotonic,
        mends: bool = True,
    ) -> None:
        self._clock = clock
        self._turn_clock = turn_clock
        self._prefix = f"{prefix}:"
        self._limit = limit
        self._keep = keep
        # The log and damaged files are stored beside the file itself, not beside a link to it.
        self._file = File(Path(os.path.realpath(path)), mends=mends)
        self._closed = self._is_begun = False
        self._beginning = Lock()
        self._is_full = False
        self._slow_reads = 0
        with suppress(OSError):  # each call will raise it
            check_file(self._file.path)
        self._writer = Writer(self._file, self._make_room)
        self._reader = StoreThread()

    @classmethod
    def open_uri(cls, uri: str, options: UriOptions) -> SqliteStore:
        """Return the store that ``uri`` names.

        Raises ``ValueError`` if ``uri`` names no file, or a file that is not ours.
        """
        path = path_of(uri, options.directory)
        if not options.create and not path.exists():
            raise ValueError(f"{str(path)!a} does not exist")
        return cls(
            path,
            limit=options.disk_limit,
            keep=options.keep,
            prefix=options.prefix,
            mends=options.create,
        )

    def get(self, authority: Authority, crawler: str = "") -> Entry | Future[Entry | None] | None:
        """Return what is in the file, or a Future of that. What was put may still be queued.

        Raises ``StoreError``, or the Future does.
        """
        self._check()
        if not self._slow_reads:
            return self._look_up(authority, crawler, READ_TIMEOUT)
        self._slow_reads = max(0, self._slow_reads - 1)
        return self._reader.ask(partial(self._look_up, authority, crawler, WRITE_TIMEOUT))

    def _look_up(self, authority: Authority, crawler: str, timeout: float) -> Entry | None:
        start, key = time.perf_counter(), self._key(authority)
        try:
            stored = self._file.read(partial(rows.read, key=key, authority=authority), timeout)
        except DamagedFileError:  # a miss; the next transaction begins with a new file
            return None
        finally:
            if time.perf_counter() - start > SLOW_READ:
                self._slow_reads = SLOW_READS
        return None if stored is None else stored.seen_by(crawler)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Queue ``entry``. Raises ``StoreError`` if too many wait, or an earlier one was lost."""
        bodies = [part.body or b"" for part in (entry.answer, entry.refusal) if part is not None]
        change = merging(authority, entry, crawler, self._clock())
        self._change(authority, change, sum(map(len, bodies)))

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``. Raises ``StoreError``."""
        self._change(authority, lambda kept: None)

    def _change(self, authority: Authority, change: Change, octets: int = 0) -> None:
        self._check()
        key, keep = self._key(authority), self._keep
        write = partial(self._noting, lambda db: rows.write(db, key, authority, change, keep))
        self._writer.put(write, octets)
        self._raise_fault()

    def _noting(self, call: Call, db: sqlite3.Connection) -> None:
        """Run a change; note an error that concerns it alone, for the next put to raise."""
        error = result_of(call, db)
        if isinstance(error, StoreError):
            self._fault = error

    def lease(self, authority: Authority, seconds: float) -> Future[str | None]:
        """Return a Future of a token, or of ``None`` while another process holds the lease."""
        key = self._key(authority)
        return self._ask(lambda db: rows.lease(db, key, seconds, self._turn_clock()))

    def renew(self, authority: Authority, token: str, seconds: float) -> None:
        """Extend a lease to ``seconds`` from now, if ``token`` still holds it."""
        until = self._turn_clock() + min(seconds, rows.LONGEST_LEASE)
        self._tell(partial(rows.renew, key=self._key(authority), token=token, until=until))

    def release(self, authority: Authority, token: str) -> None:
        """End the lease that ``token`` stands for, if it still does."""
        self._tell(partial(rows.release, key=self._key(authority), token=token))

    def take_turn(self, host: str, seconds: float, interval: float, token: str) -> Future[Turn]:
        """Return a Future of a turn, or of how long to wait. Raises ``StoreError``."""
        return self._ask(
            lambda db: turns.take(
                db, self._prefix, host, token, seconds, interval, self._turn_clock()
            )
        )

    def renew_turn(self, host: str, token: str, seconds: float) -> None:
        """Extend a turn to ``seconds`` from now, unless another worker holds one by now."""
        self._tell_turn(turns.renew, host, token, seconds)

    def end_turn(self, host: str, token: str, interval: float) -> None:
        """End a turn whose request has ended: the interval begins."""
        self._tell_turn(turns.end, host, token, interval)

    def cancel_turn(self, host: str, token: str) -> None:
        """Give back a turn for which no request was made."""
        self._tell_turn(turns.cancel, host, token)

    def scan(self) -> Iterator[StoredEntry]:
        """Flush, and yield what is in the file. Raises ``StoreError``."""
        self.flush()
        yield from rows.scan(self._file.rows, self._prefix)

    def find(self, authority: Authority) -> StoredEntry | None:
        """Flush, and return all that the file holds of ``authority``. Raises ``StoreError``."""
        self.flush()
        return next(rows.scan(self._file.rows, self._prefix, str(authority)), None)

    def flush(self) -> None:
        """Return once the file holds all that was put. Raises ``StoreError`` if it does not."""
        self._check()
        self._writer.flush()
        self._raise_fault()

    def close(self) -> None:
        """Write what is queued, and close the file; within seconds, and quietly."""
        if self._closed:
            return
        with self._beginning:
            self._closed = True
        self._writer.close(CLOSE_TIMEOUT)
        self._reader.close(0)
        self._file.close()

    def _make_room(self, db: sqlite3.Connection) -> None:
        if rows.make_room(db, self._limit, ROOM) and not self._is_full:
            self._is_full = True
            path, limit = str(self._file.path), self._limit
            logger.warning("%a is at its limit of %d bytes: entries are dropped", path, limit)

    def _ask(self, call: Call) -> Future[Any]:
        """Queue a call; return a Future of its answer. Raises ``StoreError``."""
        self._check()
        return self._writer.ask(call)

    def _tell(self, call: Call) -> None:
        """Queue a call whose answer nobody waits for. Raises ``StoreError``."""
        self._ask(Unawaited(self._noting, call))

    def _tell_turn(self, change: Callable[..., None], host: str, *args: object) -> None:
        """Queue a change of a turn, dated now. Raises ``StoreError``."""
        key, now = self._prefix + host, self._turn_clock()
        self._tell(lambda db: change(db, key, *args, now))

    def _key(self, authority: Authority) -> str:
        return f"{self._prefix}{authority}"

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")
        if not self._is_begun:
            self._begin()

    def _begin(self) -> None:
        with self._beginning:
            if self._is_begun or self._closed:
                return
            with suppress(StoreError):  # each call will raise it
                self._file.open(OPEN_TIMEOUT)
            self._is_begun = True
