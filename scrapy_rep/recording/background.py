"""Hands values to a thread that writes them, so that no disk holds up the event loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

_PAUSE = 0.2
"""Seconds for which values are collected before they are written together."""


_TOO_SLOW = "the disk is too slow"


class Written(NamedTuple):
    """How many values of a batch are on the disk, from its start, and what kept out the rest."""

    values: int
    error: Exception | None = None


class BackgroundWriter:
    """A queue of values, and a thread that calls ``write`` with batches of them, in order.

    Whatever fails is reported to ``lost(values, error)``. If ``keeps`` is true, what could not be
    written is handed over with the next batch. At most ``most`` values wait for a slow disk; a
    value with a weight counts as that many. What comes after that is lost in any case.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[list[Any]], Written],
        lost: Callable[[int, Exception], None],
        *,
        most: int,
        keeps: bool = False,
    ):
        self._name = name
        self._write_values = write
        self._lost = lost
        self._most = most
        self._keeps = keeps
        self._added = self._done = 0
        self._weight_added = self._weight_taken = 0
        self._pending: deque[tuple[Any, int]] = deque()
        self._waiting: list[Future[None]] = []
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._hurry = threading.Event()
        self._is_closed = self._is_full = False
        self._thread: threading.Thread | None = None

    def add(self, value: Any, weight: int = 1) -> None:
        """Have a value written, in the order of these calls."""
        # Each sum is changed by one thread alone, so that no lock is needed.
        self._is_full = self._weight_added - self._weight_taken >= self._most
        if self._is_full:
            self._lost(1, BlockingIOError(_TOO_SLOW))
            return
        self._weight_added += weight
        self._pending.append((value, weight))
        self._added += 1
        if not self._awake.is_set():
            self._wake()

    @property
    def is_written(self) -> bool:
        """Whether all that was added is written or lost."""
        return self._added == self._done

    def confirmed(self) -> Future[None]:
        """Return a future that is done when all that was added is written, or has the error.

        If the last value was lost because too many wait, that is an error at once.
        """
        future: Future[None] = Future()
        if self._is_closed:
            future.set_exception(ValueError("the file is closed"))
            return future
        if self._is_full:
            future.set_exception(BlockingIOError(_TOO_SLOW))
            return future
        with self._lock:
            self._waiting.append(future)
        self._hurry.set()
        self._wake()
        return future

    def close(self) -> None:
        """Write what is pending, and end the thread."""
        self._is_closed = True
        self._hurry.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join()
        elif self._pending:
            self._write()

    def _wake(self) -> None:
        self._awake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._is_closed:
            self._awake.wait()
            self._hurry.wait(_PAUSE)
            # In this order: what is added from now on wakes the thread up again.
            self._awake.clear()
            self._hurry.clear()
            self._write()
        self._write()

    def _write(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        error = self._write_batch([self._pending.popleft() for _ in range(len(self._pending))])
        for future in waiting:
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    def _write_batch(self, batch: list[tuple[Any, int]]) -> Exception | None:
        """Have some values written; return what went wrong."""
        if not batch:
            return None
        try:
            count, error = self._write_values([value for value, _ in batch])
        except Exception as caught:  # noqa: BLE001  # whatever it is, the values are not there
            count, error = 0, caught
        self._done += count
        self._weight_taken += sum(weight for _, weight in batch[:count])
        rest = batch[count:]
        if error is not None and self._keeps:
            self._pending.extendleft(reversed(rest))
            self._lost(0, error)
        elif error is not None:
            self._done += len(rest)
            self._weight_taken += sum(weight for _, weight in rest)
            self._lost(len(rest), error)
        return error
