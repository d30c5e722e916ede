"""Writing to a SQLite file, all or nothing, and what its errors mean."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any

from scrapy_rep.stores.error import StoreError

# The texts of errors that say nothing about the file's content; Python 3.10 has no codes.
_CIRCUMSTANCES = (
    "locked",
    "busy",
    "is full",
    "readonly",
    "unable to open",
    "i/o error",
    "out of memory",
    "interrupted",
    "permission",
    "authoriz",
)


TROUBLES = (sqlite3.Error, UnicodeDecodeError)
"""What the sqlite3 module raises: the second if a message quotes a damaged file."""


class DamagedError(Exception):
    """The file is not a sound SQLite file."""


def trouble_of(error: Exception) -> Exception:
    """Return ``DamagedError`` for a SQLite error, ``StoreError`` if the file is not to blame."""
    text = str(error).lower()
    if isinstance(error, sqlite3.ProgrammingError) or any(c in text for c in _CIRCUMSTANCES):
        return StoreError(f"SQLite: {error}")
    return DamagedError(str(error))


class Transaction:
    """A context in which either all writes are kept, or none.

    It holds the write lock from its start, so that what it reads cannot change before it writes.
    Raises ``StoreError`` or ``DamagedError``.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Transaction:
        self.run("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.run("COMMIT")
        finally:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def run(self, statement: str, *values: object) -> int:
        """Return how many rows the statement changed."""
        try:
            return self._connection.execute(statement, values).rowcount
        except TROUBLES as error:
            raise trouble_of(error) from None

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that the statement finds."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except TROUBLES as error:
            raise trouble_of(error) from None
