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

from scrapy.settings import BaseSettings

from scrapy_rep.commands.crawl import Project
from scrapy_rep.commands.options import parsers
from scrapy_rep.commands.output import Status, ending, note, silence


def prepare(args: Sequence[str], opts: Namespace) -> None:
    """Parse what Scrapy has left over; without a subcommand, print the help."""
    parser, by_name = parsers()
    if opts.help or not args:  # Scrapy's parser has taken the option
        args = [*args, "--help"]
    # The parser of the subcommand reports the mistake, so that its own help is named.
    options, rest = parser.parse_known_args(args)
    if rest:
        by_name[options.subcommand].error(f"unrecognized arguments: {' '.join(rest)}")
    opts.robots = options


def run(settings: BaseSettings, opts: Namespace) -> int:
    """Return the exit status of a subcommand; unless it is 0, a line on stderr says why."""
    options, is_quiet = opts.robots, not (opts.loglevel or opts.logfile)
    if is_quiet:
        # Otherwise Python writes warnings to stderr.
        logging.getLogger("scrapy_rep").addHandler(logging.NullHandler())
    for name in ("stdin", "stdout", "stderr"):  # one of them may be closed
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # whatever the locale, no text raises an error
            stream.reconfigure(errors="backslashreplace")
    status = Status.CLEAN
    try:
        project = Project(settings, options, is_quiet)
        status = import_module(f"scrapy_rep.commands.{options.subcommand}").run(project, options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe
        silence(sys.stdout)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # users get a line
        _flush()
        ended = ending(error)
        note(options.subcommand, str(ended))
        status = ended.status
    return int(status)


def _flush() -> None:
    """Write what was said before the end."""
    try:
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)
