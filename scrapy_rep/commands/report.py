"""``scrapy robots report``: what do decision logs say?"""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from scrapy_rep.commands.endings import EndingError, Status, usage_error, why
from scrapy_rep.commands.sources import STDIN
from scrapy_rep.commands.terminal import say
from scrapy_rep.reporting.summary import NotALogError, Summary
from scrapy_rep.reporting.text import plural
from scrapy_rep.robotstxt.printable import escaped

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand

STDOUT = "-"


def needs_crawl(options: Namespace) -> bool:
    """Return False: everything is in the logs."""
    if options.logs.count(STDIN) > 1:
        raise usage_error("standard input can be read once only")
    for name in options.logs:
        if STDIN != name != options.output and _is_same(name, options.output):
            raise usage_error(f"{options.output} is a log that the report would overwrite")
        if name == options.output != STDOUT:
            raise usage_error(f"{options.output} is a log that the report would overwrite")
    return False


def _is_same(name: str, other: str) -> bool:
    try:
        return other != STDOUT and Path(name).samefile(other)
    except (OSError, ValueError):
        return False


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Write the page; print a line about what was read."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from scrapy_rep.reporting.page import page
    except ImportError as error:
        needed = f"reports need jinja2 and matplotlib ({error})"
        raise usage_error(f"{needed}: pip install 'scrapy_rep[report]'") from None
    _check_folder(options.output)
    summary = Summary()
    for name in options.logs:
        _read(summary, name)
    summary.end()
    _write(options.output, page(summary).encode("utf-8"))
    if options.output != STDOUT:
        read = (
            f"{plural(summary.total.decisions, 'decision')} of {plural(len(summary.runs), 'run')}"
        )
        unread = f"; {plural(summary.unread, 'line')} could not be read" if summary.unread else ""
        say(f"{escaped(options.output)}: {read}{unread}")
    return Status.CLEAN


def _read(summary: Summary, name: str) -> None:
    """Add a log; raise ``EndingError`` if it cannot be read, or is not a decision log."""
    try:
        if name == STDIN:
            summary.read("standard input", sys.stdin.buffer)
        else:
            with Path(name).open("rb") as stream:
                summary.read(name, stream)
    except NotALogError as error:
        raise usage_error(f"{name}: {error}") from None
    except (OSError, ValueError) as error:
        raise _failed("read", name, error) from None


def _check_folder(name: str) -> None:
    """Raise ``EndingError`` if there is no folder for the report, before a long log is read."""
    if name == STDOUT:
        return
    try:
        target = Path(name).resolve()
        if target.is_dir():
            raise usage_error(f"cannot write {name}: Is a directory")
        if not target.parent.is_dir():
            raise usage_error(f"cannot write {name}: there is no folder {target.parent}")
    except RuntimeError:  # what Python before 3.13 raises
        raise usage_error(f"cannot write {name}: a loop of symbolic links") from None
    except (OSError, ValueError) as error:
        raise _failed("write", name, error) from None


def _write(name: str, octets: bytes) -> None:
    """Write a report as a whole, or not at all; only its owner can read it, as the log."""
    if name == STDOUT:
        sys.stdout.buffer.write(octets)
        return
    target = Path(name).resolve()
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_bytes(octets)
            return
        with NamedTemporaryFile(dir=target.parent, prefix=".report-", delete=False) as file:
            try:
                file.write(octets)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(target)
            except BaseException:
                with suppress(OSError):
                    Path(file.name).unlink()
                raise
    except OSError as error:
        raise _failed("write", name, error) from None


def _failed(what: str, name: str, error: OSError | ValueError) -> EndingError:
    return usage_error(f"cannot {what} {name}: {why(error)}")
