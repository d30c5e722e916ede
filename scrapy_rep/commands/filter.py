"""``scrapy robots filter``: which of many URLs may my crawler fetch?

The loop runs once for each URL: one search for the end of its origin, one look-up, and one question
to the rules of its site. A URL is judged as a request would have it, and written as it was given.
Quoting a URL takes longer than all the rest, so it is done only where it may change the verdict.
"""

from __future__ import annotations

import os
import sys
import threading
from argparse import Namespace
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple
from urllib.parse import unquote

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_rep.access.authority import Authority, authority_of, has_scheme
from scrapy_rep.awaiting import from_thread
from scrapy_rep.commands.archives import NewestResponses, Undecided
from scrapy_rep.commands.crawl import in_crawl
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.output import Status, counted, note, usage_error, why
from scrapy_rep.commands.project import effective_settings
from scrapy_rep.commands.sources import STDIN, opened, read, refuse_to_overwrite
from scrapy_rep.commands.verdicts import told
from scrapy_rep.gate.explain import asked_for
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.robotstxt.printable import escaped

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.gate.judge import Judge
    from scrapy_rep.robotstxt.verdict import Verdict

_CHUNK: Final = 1 << 21
"""Octets that are read at once."""
LONGEST: Final = 1 << 20
"""Octets of a line. A longer one is not a URL, and must not fill the memory."""
_MOST_SITES: Final = 20_000
"""Sites whose rules are kept, by the spelling of their origin; then all are asked for again."""
_MOST_OCTETS: Final = 32 << 20
"""Octets of robots.txt whose rules are kept: with their indexes they take a few times as much."""
_KEPT_OCTETS: Final = bytes({*range(0x21, 0x7F)} - {*b"\"#'<>[\\]^`{|}"})
"""Octets that a request leaves as they are; but a ``?`` at the end is dropped."""


class Ruling(NamedTuple):
    """What a site says: ``allowed(url)``, and ``why(url)`` if it is not.

    ``undecided`` says that its rules are not known. ``octets`` is the size of its robots.txt.
    """

    allowed: Callable[[str], bool]
    why: Callable[[str], str]
    undecided: bool = False
    octets: int = 0


def _none(reason: str, *, undecided: bool = False) -> Ruling:
    return Ruling(lambda _: False, lambda _: reason, undecided)


_NOT_A_URL: Final = _none("not a URL")
_UNGOVERNED: Final = Ruling(lambda _: True, lambda _: "")


def _ruling_of(
    judge: Judge, authority: Authority, known: CachedRules, agent: tuple[str, ...]
) -> Ruling:
    """Return what a site says after an answer, as a crawl understands it."""
    asked = asked_for(authority.robots_uri, authority, agent)
    robots, octets = known.robots, len(known.body or b"")

    def judged(url: str) -> Verdict:
        return judge.final_verdict(asked._replace(url=url), known)[0]

    def reason(url: str) -> str:
        said = escaped(told(judged(url), known))
        return f"unreachable: {said}" if known.unreachable and said == known.cause else said

    if robots is not None and judge.is_by_rules_alone(asked, known):
        return Ruling(partial(robots.allowed, agent=agent), reason, octets=octets)
    return Ruling(lambda url: judged(url).allowed, reason, known.unreachable, octets)


class Rulings:
    """The rulings of sites, by what stands before the path of their URLs.

    ``find`` returns the ruling of an authority. Those that are ``known`` are kept up to a limit.
    """

    def __init__(self, find: Callable[[Authority], Ruling]) -> None:
        self._find = find
        self.known: dict[str, Ruling] = {}
        self._octets = 0
        self.undecided: set[Authority] = set()

    def learn(self, origin: str) -> Ruling:
        """Return the ruling of an origin that is not known yet, or is not an origin."""
        try:
            authority = authority_of(origin)
        except ValueError:
            return _NOT_A_URL
        if authority is None:
            return _UNGOVERNED if has_scheme(origin) else _NOT_A_URL
        found = self._find(authority)
        if found.undecided:
            self.undecided.add(authority)
        self.known[origin] = found
        self._octets += found.octets + len(origin)
        return found

    def forget_some(self) -> None:
        """Have all rulings found again, if they are too many."""
        if len(self.known) >= _MOST_SITES or self._octets > _MOST_OCTETS:
            self.known.clear()
            self._octets = 0


class Sieve:
    """Sorts lines into those that may be fetched and the others, and counts them."""

    def __init__(self, rulings: Rulings, rejected: BinaryIO | None) -> None:
        self._rulings = rulings
        self._rejected = rejected
        self.allowed = self.disallowed = self.undecided = self.others = 0

    def sort(self, chunk: bytes) -> bytes:
        """Return the lines of a chunk that may be fetched, each with its end."""
        known, learn = self._rulings.known, self._rulings.learn
        kept: list[bytes] = []
        for line in chunk.split(b"\n"):
            given = line[:-1] if line[-1:] == b"\r" else line
            if given.translate(None, _KEPT_OCTETS) or given[-1:] == b"?":
                try:
                    url = requested_url(given.decode("utf-8", "surrogateescape"))
                except ValueError:
                    url = "not a URL"
            else:
                url = given.decode("ascii")
            end = url.find("/", 8)
            origin = url[:end] if end > 0 else url
            ruling = known.get(origin) or learn(origin)
            if ruling.allowed(url):
                kept.append(given)
            else:
                self._reject(given, url, ruling)
        self.allowed += len(kept)
        return b"\n".join(kept) + b"\n" if kept else b""

    def reject_long(self, start: bytes) -> None:
        """Count a line that is longer than any URL, of which this is the start."""
        self.others += 1
        if self._rejected is not None:
            self._rejected.write(start.replace(b"\r", b"") + b"...\tline too long\n")

    def _reject(self, given: bytes, url: str, ruling: Ruling) -> None:
        if ruling is _NOT_A_URL:
            self.others += 1
        elif ruling.undecided:
            self.undecided += 1
        else:
            self.disallowed += 1
        if self._rejected is not None:
            reason = "empty line" if not given else ruling.why(url)
            self._rejected.write(given + b"\t" + reason.encode("utf-8", "backslashreplace") + b"\n")

    def summary(self) -> str:
        """Return the counts in one line."""
        total = self.allowed + self.disallowed + self.undecided + self.others
        said = [f"{counted(total, 'line')}: {self.allowed:,} allowed"]
        for count, what in ((self.disallowed, "disallowed"), (self.others, "not URLs")):
            if count:
                said.append(f"{count:,} {what}")
        if self.undecided:
            sites = counted(len(self._rulings.undecided), "site")
            said.append(f"{self.undecided:,} undecided, of {sites}")
        return ", ".join(said)


def run(settings: BaseSettings, options: Namespace) -> Status:
    """Copy the URLs that may be fetched to stdout; sum up on stderr."""
    if options.missing and not options.warc:
        raise usage_error("--missing is about archives: it needs --warc")
    chosen = effective_settings(settings, options)
    store = (chosen.store or "").removeprefix("sqlite://")
    inputs = (options.source, options.robots_txt, options.warc, chosen.overrides, unquote(store))
    refuse_to_overwrite(options.rejected, *inputs)
    fetches = not (options.robots_txt or options.warc)
    # The rules are read before any output is opened.
    fetched: dict[Authority, Ruling] = {}
    rulings = Rulings(fetched.__getitem__ if fetches else _offline(settings, options))
    with ExitStack() as stack:
        source = stack.enter_context(opened(options.source))
        rejected = stack.enter_context(_rejections(options.rejected))
        advance = stack.enter_context(_progress(options.source))
        sieve = Sieve(rulings, rejected)
        lines = chunks(source, sieve.reject_long)

        def sort(chunk: bytes) -> None:
            _write(sieve.sort(chunk))
            advance(len(chunk) + 1)

        if fetches:
            _sort_in_crawl(settings, options, lines, sort, rulings, fetched)
        else:
            for chunk in lines:
                rulings.forget_some()
                sort(chunk)
    note("filter", sieve.summary())
    return Status.UNKNOWN if rulings.undecided else Status.CLEAN


def _offline(settings: BaseSettings, options: Namespace) -> Callable[[Authority], Ruling]:
    """Return what finds the ruling of an authority without the network."""
    offline = Offline(settings, options)
    if options.robots_txt:
        body = read(options.robots_txt)
        robots = offline.parse(body)

        def by_file(authority: Authority) -> Ruling:
            known = offline.known(authority, body, robots=robots)
            return _ruling_of(offline.judge, authority, known, offline.agent)

        return by_file
    limits = offline.settings
    archive = NewestResponses(options.warc, limits.max_size, limits.max_redirects)

    def by_archive(authority: Authority) -> Ruling:
        found = archive.find(authority)
        if isinstance(found, Undecided):
            if not (found.is_missing and options.missing):
                return _none(escaped(found.why), undecided=True)
            if options.missing == "reject":
                return _none(escaped(found.why))
            found = 404, b""
        status, body = found
        known = offline.known(authority, body, status)
        return _ruling_of(offline.judge, authority, known, offline.agent)

    return by_archive


def _sort_in_crawl(
    settings: BaseSettings,
    options: Namespace,
    lines: Iterator[bytes],
    sort: Callable[[bytes], None],
    rulings: Rulings,
    fetched: dict[Authority, Ruling],
) -> None:
    """Sort chunk by chunk, after the rules of all new sites of a chunk are fetched at once."""

    async def work(middleware: RepDownloaderMiddleware) -> bool:
        judge = middleware.explainer.judge
        while True:
            chunk = await from_thread(_in_thread(partial(next, lines, None)))
            if chunk is None:
                return True
            rulings.forget_some()
            fetched.clear()
            pending = [
                (one, deferred_from_coro(middleware.look_up(one.robots_uri, options.agent)))
                for one in _unknown(chunk, rulings.known)
            ]
            for authority, deferred in pending:
                one = await maybe_deferred_to_future(deferred)
                if one.known is None:  # the fetch took too long
                    fetched[authority] = _none(one.verdict.reason, undecided=True)
                else:
                    fetched[authority] = _ruling_of(judge, authority, one.known, one.agent)
            sort(chunk)

    in_crawl(settings, options, work)


def _unknown(chunk: bytes, known: Mapping[str, Ruling]) -> set[Authority]:
    """Return the authorities of a chunk whose rulings are not known."""
    origins = {
        line[:end] if (end := line.find(b"/", 8)) > 0 else line for line in chunk.split(b"\n")
    }
    found: set[Authority] = set()
    for origin in origins:
        text = origin.decode("utf-8", "surrogateescape")
        with suppress(ValueError):
            authority = None if text in known else authority_of(requested_url(text))
            found |= set() if authority is None else {authority}
    return found


def chunks(source: BinaryIO, too_long: Callable[[bytes], None]) -> Iterator[bytes]:
    """Yield whole lines as they come, without the last line end and a byte order mark.

    ``too_long`` is called with the start of a line that is longer than :data:`LONGEST`.
    """
    stream: Any = source
    rest, is_first, is_skipping = b"", True, False
    while octets := stream.read1(_CHUNK):
        if is_first:
            octets, is_first = octets.removeprefix(BOM_UTF8), False
        if is_skipping:
            _, end, octets = octets.partition(b"\n")
            is_skipping = not end
        whole, end, tail = octets.rpartition(b"\n")
        if end:
            yield rest + whole
            rest = tail
        else:
            rest += tail
        if len(rest) > LONGEST:
            too_long(rest[:200])
            rest, is_skipping = b"", True
    if rest:
        yield rest


def _write(lines: bytes) -> None:
    """Write whole lines, and nothing that a terminal acts on."""
    if sys.stdout.isatty():
        shown = lines.decode("utf-8", "surrogateescape").split("\n")
        lines = "\n".join(map(escaped, shown)).encode("utf-8", "surrogateescape")
    sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()


@contextmanager
def _rejections(name: str | None) -> Iterator[BinaryIO | None]:
    """Yield the file for what is rejected, if there is one; raise ``EndingError``."""
    if name is None:
        yield None
        return
    try:
        file = Path(name).open("wb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise usage_error(f"cannot write {name}: {why(error)}") from None
    with file:
        yield file


@contextmanager
def _progress(source: str) -> Iterator[Callable[[int], None]]:
    """Show on stderr how far a file is read, if that is a terminal and stdout is not."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield lambda _: None
        return
    if source == STDIN or not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda _: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=os.stat(source).st_size or None)  # noqa: PTH116
        yield lambda octets: bar.advance(task, octets)


def _in_thread(work: Callable[[], bytes | None]) -> Future[bytes | None]:
    """Return what ``work`` will return in a thread that does not hold up the end of the process."""
    future: Future[bytes | None] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is handed on
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, daemon=True).start()
    return future
