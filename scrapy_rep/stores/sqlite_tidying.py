"""Keeps the SQLite file small, in short transactions, so that other processes can write.

First, rows that are no longer useful are deleted. If the file is larger than its limit, the rows
that will be useful for the shortest time follow. Then unused pages are freed, so that the file
shrinks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.sqlite_file import Database
from scrapy_rep.stores.sqlite_tables import TIDY_STEP, Tables

logger = logging.getLogger(__name__)

TIDY_INTERVAL, TIDY_RETRY, TIDY_PAUSE = 60.0, 1.0, 0.02
"""Seconds between two searches for rows that are no longer useful, before another attempt while
another process holds the write lock, and between two steps of one search."""


class Tidier:
    """Keeps ``database`` within about ``limit`` octets. Only the writer's thread may use it.

    ``evicted`` counts the rows that were dropped because the file was at its limit.
    """

    def __init__(
        self, database: Database, tables: Tables, limit: int, clock: Callable[[], float]
    ) -> None:
        self._database = database
        self._tables = tables
        self._limit = limit
        self._clock = clock
        self._due_at = 0.0
        self.evicted = 0

    @property
    def pause(self) -> float:
        """The seconds until there is something to do."""
        return max(0.0, self._due_at - time.monotonic())

    def make_room(self, written: int) -> None:
        """Delete as much as was written, if the file is too large. Raises ``DamagedError``."""
        try:
            if self._database.size > self._limit:
                self.tidy(1 + written // TIDY_STEP)
        except StoreError:
            pass  # later, then

    def tidy(self, steps: int = 1) -> None:
        """Take up to ``steps`` steps; what is left is done later. Raises ``DamagedError``."""
        self._due_at = time.monotonic() + TIDY_INTERVAL
        try:
            for _ in range(steps):
                if not self._database.is_open or not self._step():
                    return
        except StoreError:  # another process is writing
            self._due_at = time.monotonic() + TIDY_RETRY
            return
        self._due_at = time.monotonic() + TIDY_PAUSE

    def _step(self) -> bool:
        """Return whether there is more to do."""
        full = self._database.size > self._limit
        with self._database.transaction() as write:
            gone = self._tables.expire(write, self._clock())
            evicted = 0 if gone or not full else self._tables.evict(write)
        if evicted and not self.evicted:
            path, limit = str(self._database.path), self._limit
            logger.warning("%a is at its limit of %d octets: entries are dropped", path, limit)
        self.evicted += evicted
        return self._database.shrink() or bool(gone or evicted)
