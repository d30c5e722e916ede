"""How a subcommand ends: its exit status and, unless that is 0, one line that says why."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The exit statuses of ``scrapy robots``."""

    CLEAN = 0
    """All is allowed, or nothing was found."""
    FOUND = 1
    """Something is disallowed, or was found."""
    USAGE = 2
    """The command line or the input is not right."""
    UNKNOWN = 3
    """The rules could not be fetched or read."""
    CHANGED = 4
    """Rules that were approved have changed."""
    INTERRUPTED = 130
    """Ended by SIGINT."""


class EndingError(Exception):
    """Ends the command with a status and a reason, one line for stderr."""

    def __init__(self, status: Status, reason: str):
        super().__init__(reason)
        self.status = status
        self.reason = reason


def usage_error(reason: str) -> EndingError:
    """Return the error that ends the command because of its options or its input."""
    return EndingError(Status.USAGE, reason)


def described(error: BaseException) -> str:
    """Return the kind of an error, and what it says."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def why(error: OSError | ValueError) -> str:
    """Return what went wrong with a file, without its name and the number of the error.

    ``ValueError`` is what Python raises for a name that no file can have.
    """
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "not a file name"
