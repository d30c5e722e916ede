"""The file of a decision log, to which several processes may append."""

from __future__ import annotations

import os

_END = b"\n"


class LogFile:
    """Appends lines to a file, each in one write; raises ``OSError`` if it cannot be opened.

    The write is synchronous, as that of Scrapy's own log: on a local disk it takes some three
    microseconds, and a process that is killed loses nothing. In append mode the lines of several
    processes do not mix on a local file system.
    """

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        self._last_is_cut = not self._ends_with_a_line()

    def append(self, line: bytes) -> None:
        """Write a line, which has its end; raise ``OSError`` if not all of it could be written.

        What follows a line that was cut, by a full disk or by the end of a process, begins on a
        line of its own.
        """
        octets = _END + line if self._last_is_cut else line
        written = os.write(self._file, octets)
        if written == len(octets):
            self._last_is_cut = False
        else:
            self._last_is_cut = written > 0
            raise OSError(f"only {written:,} of {len(octets):,} octets could be written")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _ends_with_a_line(self) -> bool:
        """Return whether the file is empty, or its last line is whole; a device has no end."""
        try:
            size = os.lseek(self._file, 0, os.SEEK_END)
            return size == 0 or os.pread(self._file, 1, size - 1) == _END
        except OSError:
            return True
