"""The file of a decision log, to which several processes may append."""

from __future__ import annotations

import os
from pathlib import Path

_END = b"\n"
_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)


class LogFile:
    """Appends lines to a file, each in one write; raises ``OSError`` if it cannot be opened.

    The write is synchronous, as that of Scrapy's own log: on a local disk it takes some five
    microseconds, and a process that is killed loses nothing. In append mode the lines of several
    processes do not mix on a local file system. The file is made with its first line.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            os.close(os.open(path, _FLAGS))
        except FileNotFoundError:
            folder = Path(path).parent
            if not os.access(folder, os.W_OK | os.X_OK):
                raise OSError(f"no file can be made in {folder}") from None
        self._file: int | None = None

    def append(self, line: bytes) -> None:
        """Write a line, which has its end; raise ``OSError`` if not all of it could be written.

        What follows a line that was cut, by a full disk or by the end of a process, begins on a
        line of its own. It may be the line of another process, so the end is looked at each time.
        """
        if self._file is None:
            self._file = os.open(self._path, _FLAGS | os.O_CREAT, 0o600)
        octets = line if _ends_with_a_line(self._file) else _END + line
        written = os.write(self._file, octets)
        if written < len(octets):
            raise OSError(f"only {written:,} of {len(octets):,} bytes could be written")

    def close(self) -> None:
        """Close the file. A line that follows opens it again."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


def _ends_with_a_line(file: int) -> bool:
    """Return False if the last line of a file is cut. An empty file has none, nor has a device."""
    try:
        os.lseek(file, -1, os.SEEK_END)
        return os.read(file, 1) in (b"", _END)
    except OSError:
        return True
