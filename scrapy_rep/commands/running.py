"""A subcommand from its options to its exit status; no exception leaves this module."""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrapy_rep.commands.arguments import parse
from scrapy_rep.commands.endings import EndingError, Status, described, why
from scrapy_rep.commands.terminal import note

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand

logger = logging.getLogger("scrapy_rep")


def prepare(command: RobotsCommand, args: list[str], opts: Namespace) -> None:
    """Parse what Scrapy has left over, and set Scrapy up for a crawl if one is needed."""
    opts.robots = parse(args, wants_help=opts.help)
    try:
        module = _module(opts.robots)
        if module.needs_crawl(opts.robots):
            setup = import_module("scrapy_rep.commands.crawling")
            setup.configure(command.project, opts.robots, quiet=_is_quiet(opts))
    except EndingError as error:
        note(opts.robots.subcommand, error.reason)
        sys.exit(error.status)


def _is_quiet(opts: Namespace) -> bool:
    """Return True unless the user asked for a log."""
    return not (opts.loglevel or opts.logfile)


def _module(options: Namespace) -> Any:
    return import_module(f"scrapy_rep.commands.{options.subcommand}")


def run(command: RobotsCommand, opts: Namespace) -> int:
    """Return the exit status of a subcommand, after a line on stderr unless that is 0."""
    options = opts.robots
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # whatever the locale, no text raises an error
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _module(options).run(command, options)
        sys.stdout.flush()
    except EndingError as error:
        _flush()
        note(options.subcommand, error.reason)
        status = error.status
    except BrokenPipeError:  # the reader has closed the pipe
        _silence()
        status = Status.CLEAN
    except KeyboardInterrupt:
        _flush()
        note(options.subcommand, "interrupted")
        status = Status.INTERRUPTED
    except OSError as error:
        _flush()
        name = f"{error.filename}: " if error.filename else ""
        note(options.subcommand, f"{name}{why(error)}")
        status = Status.USAGE
    except Exception as error:  # users get a line, and a log if they ask for one
        logger.debug("A fault of scrapy_rep", exc_info=True)
        note(options.subcommand, f"a fault of scrapy_rep: {described(error)}")
        status = Status.USAGE
    return int(status)


def _flush() -> None:
    """Write what was said before the end."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence()


def _silence() -> None:
    """Have Python flush stdout into nothing when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
