"""Whether a file is a store of scrapy_rep, judged by its first octets.

Opening a database with SQLite leaves traces: it may create a log and an index beside the file, or
change its header. So the octets are read before SQLite opens the file, and a file of another
program is not touched.
"""

from __future__ import annotations

import stat
from pathlib import Path
from struct import Struct

from scrapy_rep.stores.error import StoreError

APPLICATION = 0x52455031
"""``PRAGMA application_id`` of the files of scrapy_rep."""

VERSION = 1
"""The newest known version of the tables (``PRAGMA user_version``).

It is the same as in scrapy_rep 0.1, which may use the same file and would refuse a higher one. New
tables were added beside the old one.
"""

_MAGIC = b"SQLite format 3\0"
_HEADER = Struct(">16s44xI4xI")  # magic, user_version at 60, application_id at 68
_LOG_START = 32 + 24
"""Where the first page in a write-ahead log begins."""


class ForeignError(StoreError):
    """The file is not a store, or of an unknown version. It was not touched."""


def check_owner(path: Path) -> None:
    """Check that ``path`` is a store of scrapy_rep or an empty file, or does not exist.

    Raises :class:`ForeignError` if it is anything else. A store with a damaged header is refused,
    too, because it looks like the file of another program. Raises ``OSError`` if the file cannot be
    read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ForeignError(f"{str(path)!a} is not a file")
        if status.st_size == 0:
            return
        magic, version, application = _read(path, 0)
    except FileNotFoundError:
        return
    if magic == _MAGIC and not application:
        # scrapy_rep 0.1 wrote its mark into the log first. If it was killed, it may be only there.
        magic, version, application = _marked_in_log(path)
    if magic != _MAGIC or application != APPLICATION:
        raise ForeignError(
            f"{str(path)!a} is not a store of scrapy_rep, and was not touched: name another"
            " file (if it was a store, its header is damaged: move it away)"
        )
    if version > VERSION:
        raise ForeignError(f"{str(path)!a} was written by a newer version of scrapy_rep")


def _marked_in_log(path: Path) -> tuple[bytes, int, int]:
    try:
        return _read(Path(f"{path}-wal"), _LOG_START)
    except OSError:
        return b"", 0, 0


def _read(path: Path, start: int) -> tuple[bytes, int, int]:
    """Return magic, version and application of the page at ``start``; zeros if there is none."""
    with path.open("rb") as file:
        file.seek(start)
        octets = file.read(_HEADER.size)
    if len(octets) < _HEADER.size:
        return b"", 0, 0
    magic, version, application = _HEADER.unpack(octets)
    return magic, version, application
