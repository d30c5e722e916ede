"""``scrapy robots filter``: which of many URLs may my crawler fetch?"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from scrapy_rep.awaiting import from_thread
from scrapy_rep.commands.endings import EndingError, Status, usage_error, why
from scrapy_rep.commands.interrupts import Interrupts, in_thread
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.progress import Progress
from scrapy_rep.commands.rulings import FromArchive, FromFile, FromFolder, RulingOf, fetched_ruling
from scrapy_rep.commands.sources import STDIN, read
from scrapy_rep.commands.urls import Lines, Sorted, UrlSorter
from scrapy_rep.robotstxt.printable import escaped

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware


Write = Callable[[Sorted], None]
"""Writes the lines of a chunk: those that may be fetched, and the others."""


def needs_crawl(options: Namespace) -> bool:
    """Return True if rules have to be fetched."""
    return not (options.robots_txt or options.robots_dir or options.warc)


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Copy the URLs that may be fetched to stdout."""
    with _input(options.source) as (descriptor, octets), _rejections(options) as rejected:
        progress = Progress(octets)
        with progress:
            write = _writer(rejected, progress)
            if needs_crawl(options):
                sorter = UrlSorter(reasons=rejected is not None)
                work = _work_of_crawl(Lines(descriptor), sorter, write, options)
                # Imported late: sorting without a crawl starts faster.
                import_module("scrapy_rep.commands.crawling").run_in_crawl(command, options, work)
                return Status.CLEAN
            find = _rulings_of(command, options)
            sorter = UrlSorter(find, reasons=rejected is not None)
            return _sort_offline(Lines(descriptor), sorter, write)


def _sort_offline(lines: Lines, sorter: UrlSorter, write: Write) -> Status:
    with Interrupts() as interrupts:
        while not interrupts.seen:
            with interrupts.raised():
                chunk = lines.read()
            if chunk is None:
                return Status.CLEAN
            write(sorter.sort(chunk, lines.too_long))
    raise EndingError(Status.INTERRUPTED, "interrupted")


def _rulings_of(command: RobotsCommand, options: Namespace) -> RulingOf:
    """Return what makes the ruling of an authority without the network."""
    offline = Offline(command.project, options)
    allow = options.missing == "allow"
    if options.robots_txt:
        return FromFile(read(options.robots_txt), offline)
    if options.robots_dir:
        return FromFolder(Path(options.robots_dir), offline, missing_is_allowed=allow)
    return FromArchive(options.warc, offline, missing_is_allowed=allow)


def _work_of_crawl(
    lines: Lines, sorter: UrlSorter, write: Write, options: Namespace
) -> Callable[[RepDownloaderMiddleware], Awaitable[bool]]:
    """Return what the crawl does: fetch the rules for each chunk of URLs, then sort the chunk."""

    async def work(middleware: RepDownloaderMiddleware) -> bool:
        while True:
            chunk = await from_thread(in_thread(lines.read))
            if chunk is None:
                return True
            unknown = sorter.unknown(chunk)
            found = [
                (authority, await ruling)
                for authority, ruling in [
                    (one, fetched_ruling(middleware, one, options.agent)) for one in unknown
                ]
            ]
            sorter.learn(dict(found))
            write(sorter.sort(chunk, lines.too_long))

    return work


@contextmanager
def _input(source: str) -> Iterator[tuple[int, int | None]]:
    """Yield a file descriptor and, of a file, its size; raise ``EndingError``."""
    if source == STDIN:
        yield sys.stdin.fileno(), None
        return
    try:
        file = Path(source).open("rb", buffering=0)  # noqa: SIM115
        file.read(0)
    except (OSError, ValueError) as error:
        raise usage_error(f"cannot read {source}: {why(error)}") from None
    with file:
        yield file.fileno(), os.fstat(file.fileno()).st_size or None


@contextmanager
def _rejections(options: Namespace) -> Iterator[BinaryIO | None]:
    """Yield the file for what is rejected, if there is one; raise ``EndingError``."""
    if options.rejected is None:
        yield None
        return
    try:
        file = Path(options.rejected).open("wb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise usage_error(f"cannot write {options.rejected}: {why(error)}") from None
    with file:
        yield file


def _writer(rejected: BinaryIO | None, progress: Progress) -> Write:
    """Return what writes whole lines, and nothing that a terminal acts on."""
    out = sys.stdout.buffer
    is_terminal = sys.stdout.isatty()

    def write(found: Sorted) -> None:
        if rejected is not None and found.rejected:
            rows = [f"{url}\t{reason}\n" for url, reason in found.rejected]
            rejected.write("".join(rows).encode("utf-8", "surrogateescape"))
            rejected.flush()
        if found.allowed:
            lines = map(escaped, found.allowed) if is_terminal else found.allowed
            with progress.paused():
                text = "\n".join(lines) + "\n"
                out.write(text.encode("utf-8", "surrogateescape"))
                out.flush()
        progress.count(found)

    return write
