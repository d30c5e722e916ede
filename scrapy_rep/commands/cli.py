"""``scrapy robots``: how a subcommand is found and run, and how it ends.

Scrapy's parser reads its global options and hands over the rest, so that what is left over here is
a mistake of the user's: argparse ends the command with status 2. No exception leaves :func:`run`.
"""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_rep.commands.crawl import Project
from scrapy_rep.commands.options import parsers
from scrapy_rep.commands.output import EndingError, Status, described, note, silence, why

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger("scrapy_rep")

_EXTRAS = {"jinja2": "report", "msgspec": "evidence", "warcio": "evidence"}
"""Libraries that some subcommands need, and the extras that install them."""


def prepare(args: Sequence[str], opts: Namespace) -> None:
    """Parse what Scrapy has left over; without a subcommand, print the help."""
    parser, several = parsers()
    words = [word for word in args if not word.startswith("-")]
    if opts.help or not args:
        named = (several.get(" ".join(words[:count])) for count in (2, 1))
        next(filter(None, named), parser).print_help()
        sys.exit(Status.CLEAN)
    # A mistake in the options of a subcommand is told with the help of that.
    options, rest = parser.parse_known_args(args)
    if rest:
        several[options.subcommand].error(f"unrecognized arguments: {' '.join(rest)}")
    options.quiet = not (opts.loglevel or opts.logfile)
    opts.robots = options


def run(settings: BaseSettings, opts: Namespace) -> int:
    """Return the exit status of a subcommand, after a line on stderr unless that is 0."""
    options = opts.robots
    if options.quiet:
        logger.addHandler(logging.NullHandler())  # or Python writes warnings to stderr
    for name in ("stdin", "stdout", "stderr"):  # one of them may be closed
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # whatever the locale, no text raises an error
            stream.reconfigure(errors="backslashreplace")
    try:
        project = Project(settings, getattr(options, "spider", None))
        status = import_module(f"scrapy_rep.commands.{options.subcommand}").run(project, options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe
        silence(sys.stdout)
        return int(Status.CLEAN)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # users get a line
        _flush()
        status, said = _ending(error)
        note(options.subcommand, said)
    return int(status)


def _ending(error: BaseException) -> tuple[Status, str]:
    """Return the status after an error, and what users are told; a log has more, if asked for."""
    if isinstance(error, EndingError):
        return error.status, error.reason
    if isinstance(error, KeyboardInterrupt):
        return Status.INTERRUPTED, "interrupted"
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS:
        said = f"this needs {error.name}: pip install 'scrapy_rep[{_EXTRAS[error.name]}]'"
        return Status.USAGE, said
    if isinstance(error, OSError):
        return Status.USAGE, f"{error.filename}: {why(error)}" if error.filename else why(error)
    logger.debug("A fault of scrapy_rep", exc_info=error)
    return Status.USAGE, f"a fault of scrapy_rep: {described(error)}"


def _flush() -> None:
    """Write what was said before the end."""
    try:
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)
