"""Where the text of a robots.txt comes from: a file, standard input, or a URL that is fetched."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.commands.output import usage_error, why
from scrapy_rep.gate.page_url import requested_url

STDIN = "-"
_STDOUT = 1
_MOST_OCTETS = 64 * 1024 * 1024
"""Octets of a file that are read; only the first 500 KiB can hold rules."""


def is_url(source: str) -> bool:
    """Return True if a source is to be fetched."""
    return source.lower().startswith(("http://", "https://"))


def read(source: str) -> bytes:
    """Return the octets of a file or of standard input; raise ``EndingError``."""
    with opened(source) as stream:
        return stream.read(_MOST_OCTETS)


@contextmanager
def opened(source: str) -> Iterator[BinaryIO]:
    """Open a file or standard input, and read what gzip has compressed; raise ``EndingError``."""
    with ExitStack() as stack:
        try:
            stream: Any
            if source == STDIN:
                # Neither sys.stdin nor closed: a thread that waits for it would keep Python from
                # ending.
                stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
            else:
                stream = stack.enter_context(Path(source).open("rb"))
            if stream.peek(2)[:2] == b"\x1f\x8b":
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
        except (OSError, ValueError) as error:
            raise usage_error(f"cannot read {source}: {why(error)}") from None
        try:
            yield stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise usage_error(f"{source} is damaged: {error}") from None


def refuse_stdin_twice(*sources: str | None) -> None:
    """Raise ``EndingError`` if several sources are standard input, which is read only once."""
    if sources.count(STDIN) > 1:
        raise usage_error("only one source can be standard input")


def refuse_to_overwrite(output: str | None, *inputs: object) -> None:
    """Raise ``EndingError`` if what a subcommand writes would replace what it reads.

    Standard output counts too: a shell may have opened an input to append to it.
    """
    for name in inputs:
        if not isinstance(name, str) or name == STDIN:
            continue
        if output not in (None, STDIN) and _is_same(name, str(output)):
            raise usage_error(f"{output} is read, and would be overwritten")
        if Path(name).is_file() and _is_same(name, _STDOUT):
            raise usage_error(f"{name} is read, and is standard output as well")


def _is_same(name: str, other: str | int) -> bool:
    """Return True if a name and a name or a descriptor are those of one file."""
    try:
        return name == other or os.path.samefile(name, other)  # noqa: PTH121  # of a descriptor
    except (OSError, ValueError):
        return False


def authority_named(url: str) -> Authority:
    """Return the authority of an http or https URL; raise ``EndingError`` for other text."""
    try:
        authority = authority_of(requested_url(url))
    except ValueError as error:
        raise usage_error(f"{url}: {error}") from None
    if authority is None:
        raise usage_error(f"{url} is not an http or https URL")
    return authority
