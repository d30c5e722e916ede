"""What keeps a file from being written."""

from __future__ import annotations

import os
import resource
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_file_beyond(octets: int) -> Iterator[None]:
    """The operating system refuses to let a file grow further: a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only_directory() -> Iterator[Path]:
    """A directory that this process may read but not write, even if it is root's."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65_534)
        try:
            yield Path(name)
        finally:
            os.seteuid(user)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another connection holds the write lock of a file."""
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
