"""Entries in one SQLite file, kept over restarts and shared by the processes of one machine.

The caller reads on its own thread, which takes some 20 microseconds while the file is in the
system's cache. A busy disk may take a hundred times as long. So after a slow look-up another thread
reads, and results are Futures, until :data:`QUICK_READS` look-ups in a row were quick.

Time alone does not tell a slow disk from a busy process: a look-up may also wait for another thread
to release the interpreter. If that counted, a busy crawl would seldom return to reading on its own
thread, and each authority of a second crawl would take 0.2 ms more. So Linux is asked whether a
disk was read. There at most one of 200 look-ups holds up the event loop, whatever the disk does;
elsewhere only one that takes over 0.1 s counts as slow.

Another thread writes what was put, in batches (:mod:`scrapy_rep.stores.sqlite_writer`). A process
that is killed loses the batch it had not written, about 50 ms of puts; what was flushed is safe
(write-ahead log, ``synchronous = NORMAL``: only a power cut may take the last commits, never the
file).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.sqlite_batch import Batch
from scrapy_rep.stores.sqlite_file import START_PATIENCE, Database, check_file
from scrapy_rep.stores.sqlite_header import ForeignError
from scrapy_rep.stores.sqlite_tables import Tables
from scrapy_rep.stores.sqlite_tidying import Tidier
from scrapy_rep.stores.sqlite_transaction import DamagedError
from scrapy_rep.stores.sqlite_turns import SqliteTurns
from scrapy_rep.stores.sqlite_writer import Writer
from scrapy_rep.stores.stored import MONTH, PREFIX, Lease, StoredEntry

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

    def _blocks_read() -> int:
        """Return how many blocks this thread has read from disks."""
        return getrusage(RUSAGE_THREAD).ru_inblock

else:

    def _blocks_read() -> int:
        """Return 0: the system does not say how much a thread has read from disks."""
        return 0


SLOW_READ = 0.0005
"""Seconds after which a look-up that read from a disk counts as slow."""

VERY_SLOW_READ = 0.1
"""Seconds after which any look-up counts as slow: not all systems say what was read from a disk."""

QUICK_READS = 200
"""Quick look-ups in a row after which the caller's thread reads again."""


class SqliteStore(SqliteTurns, Store):
    """The entries in the file ``path``, of about ``limit`` octets at most.

    Keys begin with ``prefix``; ``keep`` is how many seconds a good copy is of use. Entries are
    dated by ``clock``, leases by ``machine_clock`` and turns by ``turn_clock``, which the processes
    of a machine share.

    Raises ``ValueError`` if the file is not ours (:mod:`scrapy_rep.stores.sqlite_header`). The
    first call opens the file and starts the thread, so that a crawl that does not start leaves
    neither. A file that cannot be opened makes each call raise ``StoreError``, and is tried again
    with each batch. Several threads may use a store, several processes a file.
    """

    merges = True

    def __init__(
        self,
        path: str | Path,
        *,
        limit: int = 1 << 30,
        keep: float = MONTH,
        prefix: str = PREFIX,
        clock: Callable[[], float] = time.time,
        machine_clock: Callable[[], float] = time.time,
        turn_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._turn_clock = turn_clock
        self._prefix = prefix
        self._machine_clock = machine_clock
        self._keep = keep
        # The log and damaged files are stored beside the file itself, not beside a link to it.
        self._database = Database(Path(os.path.realpath(path)))
        self._tables = Tables(prefix, keep)
        self._process = os.getpid()
        self._closed = self._is_begun = False
        self._beginning = Lock()
        self._quick = QUICK_READS
        try:
            check_file(self._database.path)
        except ForeignError as error:
            raise ValueError(str(error)) from None
        except OSError:
            pass  # each call will raise it
        self._tidier = Tidier(self._database, self._tables, limit, clock)
        self._writer = Writer(self._database, self._tables, self._tidier, clock, machine_clock)
        self._reader = ThreadPoolExecutor(1, "robots.txt reader")

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._database.path)!a})"

    @property
    def evicted(self) -> int:
        """How many parts of entries were dropped because the file was at its limit."""
        return self._tidier.evicted

    def get(self, authority: Authority, crawler: str = "") -> Entry | Future[Entry | None] | None:
        """Return what is queued and what is in the file, merged, or a Future of that.

        Raises ``StoreError``, or the Future does.
        """
        self._check()
        # Before the file is read, because the writer may empty the queue at any moment.
        waiting = self._writer.waiting(authority)
        if self._quick >= QUICK_READS and not self._database.is_being_mended:
            return self._look_up(authority, crawler, waiting)
        try:
            return self._reader.submit(self._look_up, authority, crawler, waiting)
        except RuntimeError as error:  # closed meanwhile, or the process ends
            raise StoreError(f"the store is closed: {error}") from None

    def _look_up(self, authority: Authority, crawler: str, waiting: list[Batch]) -> Entry | None:
        start, read = time.perf_counter(), _blocks_read()
        try:
            entry, inherited = self._tables.read(self._database.ask, authority, crawler)
        except DamagedError as damage:  # a miss; the writer mends the file
            entry, inherited = None, False
            self._writer.damaged(damage)
        taken = time.perf_counter() - start
        quick = taken < (VERY_SLOW_READ if _blocks_read() == read else SLOW_READ)
        self._quick = self._quick + 1 if quick else 0
        if entry is not None and inherited and not any(waiting):
            self._writer.rewrite(authority, entry)  # so that the table of 0.1 is read only once
        for batch in waiting:
            entry = batch.over(entry, authority, crawler, self._clock())
        return entry

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Queue ``entry``. Raises ``StoreError`` if too many wait, or an earlier one was lost."""
        self._check()
        self._writer.put(authority, entry, crawler)

    def forget(self, authority: Authority) -> None:
        """Drop the entry of ``authority``. Raises ``StoreError``."""
        self._check()
        self._writer.forget(authority)

    def lease(self, authority: Authority, seconds: float) -> Future[str | None]:
        """Return a Future of a token, or of ``None`` while another process holds the lease.

        Raises ``StoreError`` at once while nothing can be written.
        """
        self._check()
        return self._writer.lease(authority, seconds)

    def renew(self, authority: Authority, token: str, seconds: float) -> None:
        """Extend a lease to ``seconds`` from now, if ``token`` still holds it."""
        self._check()
        self._writer.renew(authority, token, seconds)

    def release(self, authority: Authority, token: str) -> None:
        """End the lease that ``token`` stands for, if it still does."""
        self._check()
        self._writer.release(authority, token)

    def scan(self, start: str = "") -> Iterator[StoredEntry]:
        """Flush, and yield what is in the file. Raises ``StoreError``."""
        self.flush()
        return self._tables.scan(self._database.rows, start)

    def count(self, start: str = "") -> int:
        """Flush, and count what is in the file. Raises ``StoreError``."""
        self.flush()
        return self._tables.count(self._database.rows, start)

    def find(self, authority: Authority) -> StoredEntry | None:
        """Flush, and return all that the file holds of ``authority``. Raises ``StoreError``."""
        self.flush()
        return next(self._tables.between(self._database.rows, str(authority), str(authority)), None)

    def leases(self, start: str = "") -> Iterator[Lease]:
        """Flush, and yield the leases in the file. Raises ``StoreError``."""
        self.flush()
        return self._tables.leases(self._database.rows, start, self._machine_clock())

    def break_lease(self, authority: Authority) -> None:
        """End the lease on ``authority``, even another worker's. Raises ``StoreError``."""
        self._check()
        self._writer.break_lease(authority)

    def flush(self) -> None:
        """Return once the file holds all that was put. Raises ``StoreError`` if it does not."""
        self._check()
        self._writer.flush()

    def close(self) -> None:
        """Write what is queued, and close the file; within seconds, and quietly."""
        if self._closed or self._process != os.getpid():
            return
        with self._beginning:
            self._closed = True
        if self._is_begun:
            self._writer.close()
            self._reader.shutdown(wait=False)
            self._database.close()

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")
        if self._process != os.getpid():
            raise StoreError("the store was opened by another process")
        if not self._is_begun:
            self._begin()

    def _begin(self) -> None:
        with self._beginning:
            if self._is_begun or self._closed:
                return
            with suppress(StoreError):  # each call will raise it
                self._database.open(START_PATIENCE)
            self._writer.start()
            self._is_begun = True
