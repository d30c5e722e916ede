"""Appends lines to a file from a thread of its own, so that no disk holds up the event loop."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

_PAUSE = 0.2
"""Seconds for which lines are collected before they are written together."""

_MOST_PENDING = 100_000
"""Lines that wait for a slow disk; what comes after that is lost, and counted."""

_END = b"\n"


class LineFile:
    """A file of lines that several processes append to.

    A batch is one write in append mode: on a local file system the lines of several processes do
    not mix. Whatever fails, or is cut short by a full disk, is reported to ``lost(lines, error)``;
    the next batch begins on a line of its own. If ``keeps`` is true, nothing is lost: what could
    not be written is written with the next batch. ``encode`` makes octets of what was added, in the
    thread. Raises ``OSError`` if the file cannot be opened.
    """

    def __init__(
        self,
        path: str,
        encode: Callable[[Any], bytes],
        lost: Callable[[int, Exception], None],
        *,
        keeps: bool = False,
    ):
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        self._encode = encode
        self._lost = lost
        self._keeps = keeps
        self._added = self._done = 0
        self._pending: deque[Any] = deque()
        self._waiting: list[Future[None]] = []
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._hurry = threading.Event()
        self._is_closed = False
        self._begins_anew = not self._ends_with_a_line()
        self._thread: threading.Thread | None = None

    def add(self, value: Any) -> None:
        """Have a value written, in the order of these calls."""
        if len(self._pending) >= _MOST_PENDING:
            self._lost(1, BlockingIOError("the disk is too slow"))
            return
        self._pending.append(value)
        self._added += 1
        if not self._awake.is_set():
            self._wake()

    @property
    def is_written(self) -> bool:
        """Whether all that was added is written or lost."""
        return self._added == self._done

    def confirmed(self) -> Future[None]:
        """Return a future that is done when all that was added is written, or has the error."""
        future: Future[None] = Future()
        if self._is_closed:
            future.set_exception(ValueError("the file is closed"))
            return future
        with self._lock:
            self._waiting.append(future)
        self._hurry.set()
        self._wake()
        return future

    def close(self) -> None:
        """Write what is pending, and close the file."""
        self._is_closed = True
        self._hurry.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join()
        elif self._pending:
            self._write()
        os.close(self._file)

    def _ends_with_a_line(self) -> bool:
        """Return whether the file is empty, or its last line is whole; a device has no end."""
        try:
            size = os.lseek(self._file, 0, os.SEEK_END)
            return size == 0 or os.pread(self._file, 1, size - 1) == _END
        except OSError:
            return True

    def _wake(self) -> None:
        self._awake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="decision log", daemon=True)
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
        error = self._write_lines([self._pending.popleft() for _ in range(len(self._pending))])
        for future in waiting:
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    def _write_lines(self, values: Sequence[Any]) -> Exception | None:
        """Write some lines at once; return what went wrong."""
        if not values:
            return None
        whole = 0
        error: Exception | None = None
        try:
            octets = b"".join([self._encode(value) + _END for value in values])
            begun = _END if self._begins_anew else b""
            written = os.write(self._file, begun + octets) - len(begun)
            # A line of which only the end is missing is whole: the next batch begins with that.
            whole = octets[: max(written + 1, 0)].count(_END)
            # The rest of half a line would not join it: another process may have appended.
            self._begins_anew = written != 0 and octets[written - 1 : written] != _END
            if whole < len(values):
                error = OSError(f"only {written:,} of {len(octets):,} octets could be written")
        except Exception as caught:  # noqa: BLE001  # whatever it is, the lines are not there
            error = caught
        self._done += whole
        if error is not None and self._keeps:
            self._pending.extendleft(reversed(values[whole:]))
            self._lost(0, error)
        elif error is not None:
            self._done += len(values) - whole
            self._lost(len(values) - whole, error)
        return error
