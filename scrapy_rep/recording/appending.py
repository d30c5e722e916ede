"""Appends lines to a file that several processes may share, from a thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from errno import EACCES
from pathlib import Path
from typing import Any

from scrapy_rep.recording.background import BackgroundWriter, Written

_MOST_PENDING = 100_000
"""Lines that wait for a slow disk; what comes after that is lost, and counted."""

_END = b"\n"
_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class LineFile:
    """A file of lines that several processes append to.

    A batch is one write in append mode: on a local file system the lines of several processes do
    not mix. Whatever fails, or is cut short by a full disk, is reported to ``lost(lines, error)``;
    the next batch begins on a line of its own. If ``keeps`` is true, what could
    not be written is written with the next batch. ``encode`` makes octets of what was added, in the
    thread. Raises ``OSError`` if the file cannot be opened. It is opened, and made, when the first
    lines are written.
    """

    def __init__(
        self,
        path: str,
        encode: Callable[[Any], bytes],
        lost: Callable[[int, Exception], None],
        *,
        keeps: bool = False,
    ):
        _check(path)
        self._path = path
        self._file: int | None = None
        self._encode = encode
        self._last_is_cut = False
        self._writer = BackgroundWriter(
            "decision log", self._write, lost, most=_MOST_PENDING, keeps=keeps
        )
        self.add = self._writer.add
        """Has a value written, in the order of these calls."""

    @property
    def is_written(self) -> bool:
        """Whether all that was added is written or lost."""
        return self._writer.is_written

    def confirmed(self) -> Future[None]:
        """Return a future that is done when all that was added is written, or has the error."""
        return self._writer.confirmed()

    def close(self) -> None:
        """Write what is pending, and close the file."""
        self._writer.close()
        if self._file is not None:
            os.close(self._file)

    def _opened(self) -> int:
        if self._file is None:
            self._file = os.open(self._path, _FLAGS | os.O_CREAT, 0o600)
            self._last_is_cut = not _ends_with_a_line(self._file)
        return self._file

    def _write(self, values: Sequence[Any]) -> Written:
        """Write some lines at once."""
        file = self._opened()
        octets = b"".join([self._encode(value) + _END for value in values])
        first = _END if self._last_is_cut else b""
        written = os.write(file, first + octets) - len(first)
        # A line that lacks only its end counts as whole: the next batch begins with an end.
        whole = octets[: max(written + 1, 0)].count(_END)
        # The rest of a cut line is not appended: another process may have appended before it.
        self._last_is_cut = written != 0 and octets[written - 1 : written] != _END
        if whole == len(values):
            return Written(whole)
        error = OSError(f"only {written:,} of {len(octets):,} octets could be written")
        return Written(whole, error)


def _check(path: str) -> None:
    """Raise ``OSError`` if the file cannot be opened; make none."""
    try:
        os.close(os.open(path, _FLAGS))
    except FileNotFoundError:
        folder = Path(path).parent
        folder.stat()
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(EACCES, os.strerror(EACCES)) from None


def _ends_with_a_line(file: int) -> bool:
    """Return whether a file is empty, or its last line is whole; a device has no end."""
    try:
        size = os.lseek(file, 0, os.SEEK_END)
        return size == 0 or os.pread(file, 1, size - 1) == _END
    except OSError:
        return True
