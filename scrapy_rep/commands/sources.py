"""What subcommands read: files and standard input, compressed or not; and which names are URLs."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from stat import S_ISREG
from typing import Any

from scrapy_rep.access.authority import Authority
from scrapy_rep.commands.output import EndingError
from scrapy_rep.gate.page_url import governed, requested_url
from scrapy_rep.sites.redirects import RefusedError, resolved

STDIN = "-"
_STDIN, _STDOUT = 0, 1
_DATABASE = b"SQLite format 3\0"
_MOST_OCTETS = 64 * 1024 * 1024
"""Octets of a robots.txt that are read from a file; a larger one is cut."""


class DamagedError(EndingError):
    """What is read is damaged from some place on."""

    def __init__(self, source: str, reason: object):
        super().__init__(f"{source} is damaged: {reason}")


def is_url(source: str) -> bool:
    """Return True if a source is to be fetched."""
    return source.lower().startswith(("http://", "https://"))


def read(source: str) -> bytes:
    """Return the octets of a file or of standard input; raise ``OSError`` or ``EndingError``."""
    with opened(source) as stream:
        return bytes(stream.read(_MOST_OCTETS))


@contextmanager
def opened(source: str) -> Iterator[Any]:
    """Open a file or standard input, and read what gzip has compressed.

    Raises ``OSError``, and :class:`DamagedError` where what was compressed is damaged.
    """
    with ExitStack() as stack:
        stream: Any
        if source == STDIN:
            # Neither sys.stdin nor closed: a thread that waits for it would keep Python from
            # ending.
            stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
        else:
            stream = stack.enter_context(Path(source).open("rb"))
        if stream.peek(2)[:2] == b"\x1f\x8b":
            stream = stack.enter_context(GzipFile(fileobj=stream))
        try:
            yield stream
        except (EOFError, BadGzipFile, zlib.error) as error:
            raise DamagedError(source, error) from None


def refuse_stdin_twice(*sources: str | None) -> None:
    """Raise ``EndingError`` if several sources are standard input, which is read only once."""
    if sources.count(STDIN) > 1:
        raise EndingError("only one source can be standard input")


def refuse_to_overwrite(output: str | None, *inputs: object) -> None:
    """Raise ``EndingError`` if what a subcommand writes would replace what it reads, or a database.

    A SQLite store is such a database, however it is named. Standard output counts too: a shell may
    have opened an input to append to it.
    """
    if output == STDIN:
        output = None
    if output is not None and Path(output).is_file():
        with Path(output).open("rb") as file:
            if file.read(len(_DATABASE)) == _DATABASE:
                raise EndingError(f"{output} is a database, and would be overwritten")
    for name in inputs:
        if not isinstance(name, str):
            continue
        source = _STDIN if name == STDIN else name
        if output is not None and _is_same(source, output):
            raise EndingError(f"{output} is read, and would be overwritten")
        if _is_same(source, _STDOUT):
            raise EndingError(f"{name} is read, and is standard output as well")


def _is_same(one: str | int, other: str | int) -> bool:
    """Return True if two names or descriptors are those of one regular file."""
    try:
        # PTH: descriptors have no path
        return os.path.samefile(one, other) and S_ISREG(os.stat(one).st_mode)  # noqa: PTH116, PTH121
    except OSError:
        return False


def absolute(base: str, reference: str) -> str:
    """Return a URL as a request has it, "" if it is not that of an http or https resource."""
    try:
        return requested_url(resolved(base, reference))
    except (RefusedError, ValueError):
        return ""


def governing(url: str) -> Authority | None:
    """Return the authority that governs a URL, None if its scheme has no robots.txt.

    Raises ``EndingError`` for text that is not an absolute URL, and for an http or https URL
    without a usable host.
    """
    try:
        return governed(url)[1]
    except ValueError as error:
        # Which part of a broken URL is a password is not certain.
        before, _, rest = url.rpartition("@")
        raise EndingError(f"{'...@' if before else ''}{rest}: {error}") from None
