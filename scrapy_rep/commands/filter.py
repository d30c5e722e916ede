"""``scrapy robots filter``: which of many URLs may my crawler fetch?

The loop runs once for each URL: one search for the end of its origin, one look-up, and one question
to the rules of its site. A URL is judged as a request would have it, and written as it was given.
Quoting a URL takes longer than all the rest, so it is done only where it may change the verdict.
"""

from __future__ import annotations

import sys
import threading
from argparse import Namespace
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from gzip import GzipFile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from scrapy_rep.access.authority import Authority, authority_of, has_scheme
from scrapy_rep.awaiting import from_thread
from scrapy_rep.commands.archives import NewestResponses
from scrapy_rep.commands.check import ALLOWED, DISALLOWED, told
from scrapy_rep.commands.crawl import Project, in_crawl, look_up_at_once
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.output import EndingError, Status, counted, listed, note
from scrapy_rep.commands.sources import STDIN, opened, read, refuse_stdin_twice, refuse_to_overwrite
from scrapy_rep.gate.explain import Explainer, asked_for
from scrapy_rep.gate.judge import Judge
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.verdict import UNREACHABLE, Verdict, is_undefined
from scrapy_rep.sites.cached_rules import CachedRules

_CHUNK: Final = 1 << 21
"""Octets that are read at once."""
LONGEST: Final = 1 << 20
"""Octets of a line. A longer one is not a URL: only its start is kept, and rejected."""
_SHOWN: Final = 200
"""Octets of such a line that are shown."""
_MOST_OCTETS: Final = 32 << 20
"""Octets of robots.txt whose rules are kept: with their indexes they take a few times as much."""
_ORIGIN_OCTETS: Final = 1_500
"""What an origin adds to that, so that 20,000 of them are kept at most."""
_KEPT_OCTETS: Final = bytes({*range(0x21, 0x7F)} - {*b"\"#'<>[\\]^`{|}"})
"""Octets that a request leaves as they are; but a ``?`` at the end is dropped."""


_MALFORMED, _UNDECIDED = "malformed", "undecided"


class Ruling(NamedTuple):
    """What a site says: ``allowed(url)``, and ``why(url)`` if it is not.

    ``rest`` is what its other lines count as: disallowed, undecided if its rules are not known, or
    malformed. ``octets`` is the size of its robots.txt.
    """

    allowed: Callable[[str], bool]
    why: Callable[[str], str]
    rest: str = DISALLOWED
    octets: int = 0


def _refuses(reason: str, rest: str = DISALLOWED) -> Ruling:
    return Ruling(lambda _: False, lambda _: reason, rest)


_NOT_A_URL: Final = _refuses("not a URL", _MALFORMED)
_TOO_LONG: Final = _refuses("line too long", _MALFORMED)
_UNGOVERNED: Final = Ruling(lambda _: True, lambda _: "")
_NOTHING_KNOWN: Final[dict[Authority, Ruling]] = {}


def _ruling_of(
    judge: Judge, authority: Authority, known: CachedRules | None, agent: tuple[str, ...]
) -> Ruling:
    """Return what a site says, as a crawl understands it; if nothing is known, nothing passes."""
    if known is None:
        return _refuses(UNREACHABLE, _UNDECIDED)
    asked = asked_for(authority.robots_uri, authority, agent)
    robots, octets = known.robots, len(known.body or b"")

    def judged(url: str) -> Verdict:
        return judge.final_verdict(asked._replace(url=url), known)[0]

    def reason(url: str) -> str:
        verdict = judged(url)
        said = told(verdict, known)
        return f"unreachable: {said}" if is_undefined(verdict) else said

    if robots is not None and judge.is_by_rules_alone(asked, known):
        return Ruling(robots.matcher(agent), reason, octets=octets)
    rest = _UNDECIDED if known.unreachable else DISALLOWED
    return Ruling(lambda url: judged(url).allowed, reason, rest, octets)


def _url_and_origin(given: bytes) -> tuple[str, str]:
    """Return the URL of a line as a request has it, and what stands before its path."""
    if given.translate(None, _KEPT_OCTETS) or given[-1:] == b"?":
        try:
            url = requested_url(given.decode("utf-8", "surrogateescape"))
        except ValueError:
            url = "not a URL"
    else:
        url = given.decode("ascii")
    end = url.find("/", 8)
    return url, url[:end] if end > 0 else url


class Sieve:
    """Sorts lines into those that may be fetched and the others, and counts them.

    ``find`` returns the ruling of an authority. Rulings are ``known`` by what stands before the
    path of a URL; when they are too many, all are forgotten, and found again.
    """

    def __init__(self, find: Callable[[Authority], Ruling], rejected: BinaryIO | None) -> None:
        self.find = find
        self._rejected = rejected
        self.known: dict[str, Ruling] = {}
        self._octets = 0
        self.counts: Counter[str] = Counter()

    def sort(self, chunk: bytes) -> bytes:
        """Return the lines of a chunk that may be fetched, each with its end."""
        known = self.known
        kept: list[bytes] = []
        for given in chunk.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n"):
            if len(given) > LONGEST:
                self._reject(given[:_SHOWN] + b"...", "", _TOO_LONG)
                continue
            url, origin = _url_and_origin(given)
            ruling = known.get(origin) or self._learn(origin)
            if ruling.allowed(url):
                kept.append(given)
            else:
                self._reject(given, url, ruling)
        self.counts[ALLOWED] += len(kept)
        if self._octets > _MOST_OCTETS:
            known.clear()
            self._octets = 0
        return b"\n".join(kept) + b"\n" if kept else b""

    def _learn(self, origin: str) -> Ruling:
        """Return the ruling of an origin that is not known yet, or is not an origin."""
        try:
            authority = authority_of(origin)
        except ValueError:
            return _NOT_A_URL
        if authority is None:
            return _UNGOVERNED if has_scheme(origin) else _NOT_A_URL
        found = self.known[origin] = self.find(authority)
        self._octets += found.octets + _ORIGIN_OCTETS
        return found

    def _reject(self, given: bytes, url: str, ruling: Ruling) -> None:
        self.counts[ruling.rest] += 1
        if self._rejected is not None:
            reason = ruling.why(url).encode("utf-8", "backslashreplace")
            self._rejected.write(given + b"\t" + reason + b"\n")


def run(project: Project, options: Namespace) -> Status:
    """Copy the URLs that may be fetched to stdout; sum up on stderr."""
    if options.missing and not options.warc:
        raise EndingError("--missing is about archives: it needs --warc")
    if options.robots_txt and options.warc:
        raise EndingError("--robots-txt and --warc: give one of them")
    refuse_stdin_twice(options.source, options.robots_txt)
    chosen = project.chosen
    inputs = (options.source, options.robots_txt, options.warc, chosen.overrides)
    refuse_to_overwrite(options.rejected, *inputs)
    fetches = not (options.robots_txt or options.warc)
    # The rules are read before any output is opened.
    find = _NOTHING_KNOWN.__getitem__ if fetches else _offline(project, options)
    with (
        opened(options.source) as source,
        Path(options.rejected).open("wb") if options.rejected else nullcontext() as rejected,
        _progress(options.source, source) as advance,
    ):
        sieve = Sieve(find, rejected)
        lines = chunks(source)

        def sort(chunk: bytes) -> None:
            _write(sieve.sort(chunk))
            advance(len(chunk) + 1)

        if fetches:
            _sort_in_crawl(project, sieve, lines, sort)
        else:
            for chunk in lines:
                sort(chunk)
    said = listed(sieve.counts, (ALLOWED, DISALLOWED, _MALFORMED, _UNDECIDED))
    note("filter", f"{counted(sieve.counts.total(), 'line')}: {said or 'none'}")
    return Status.UNKNOWN if sieve.counts[_UNDECIDED] else Status.CLEAN


def _offline(project: Project, options: Namespace) -> Callable[[Authority], Ruling]:
    """Return what finds the ruling of an authority without the network."""
    offline = Offline(project, options.agent)
    body, archive = b"", None
    if options.robots_txt:
        body = read(options.robots_txt)
    else:
        archive = NewestResponses(options.warc, offline.settings.max_redirects)

    def find(authority: Authority) -> Ruling:
        answer = body, 200
        if archive is not None:
            found = archive.find(authority)
            if found is not None and found.damage:
                return _refuses(escaped(found.damage), _UNDECIDED)
            if found is None and options.missing != "allow":
                return _refuses("not in the archive", DISALLOWED if options.missing else _UNDECIDED)
            answer = (b"", 404) if found is None else (found.body, found.status)
        known = offline.known(authority, *answer)
        return _ruling_of(offline.judge, authority, known, offline.agent)

    return find


def _sort_in_crawl(
    project: Project, sieve: Sieve, lines: Iterator[bytes], sort: Callable[[bytes], None]
) -> None:
    """Sort chunk by chunk, after the rules of all new sites of a chunk are fetched at once."""

    async def work(explainer: Explainer) -> bool:
        while (chunk := await from_thread(_in_thread(partial(next, lines, None)))) is not None:
            authorities = [*_unknown(chunk, sieve.known)]
            urls = [one.robots_uri for one in authorities]
            found = await look_up_at_once(explainer, urls, project.options.agent)
            sieve.find = {
                authority: _ruling_of(explainer.judge, authority, one.known, one.agent)
                for authority, one in zip(authorities, found, strict=True)
            }.__getitem__
            sort(chunk)
        return True

    in_crawl(project, work)


def _unknown(chunk: bytes, known: Mapping[str, Ruling]) -> set[Authority]:
    """Return the authorities of a chunk whose rulings are not known."""
    origins = {origin for _, origin in map(_url_and_origin, chunk.split(b"\n"))}
    found: set[Authority] = set()
    for origin in origins - known.keys():
        with suppress(ValueError):
            authority = authority_of(origin)
            found |= set() if authority is None else {authority}
    return found


def chunks(source: BinaryIO) -> Iterator[bytes]:
    """Yield whole lines as they come, without the last line end and a byte order mark.

    Of a line that is longer than :data:`LONGEST`, its start is yielded, which is longer, too.
    """
    stream: Any = source
    if stream.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
        stream.read(len(BOM_UTF8))
    rest = b""
    while octets := stream.read1(_CHUNK):
        whole, end, tail = octets.rpartition(b"\n")
        if end:
            yield rest + whole
            rest = b""
        rest = (rest + tail)[: LONGEST + 1]
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
def _progress(name: str, source: BinaryIO) -> Iterator[Callable[[int], None]]:
    """Show on stderr how far a file is read, if that is a terminal and stdout is not."""
    is_shown = name != STDIN and sys.stderr.isatty() and not sys.stdout.isatty()
    if not is_shown or find_spec("rich") is None:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # How long a compressed file will be is not known.
    total = None if isinstance(source, GzipFile) else Path(name).stat().st_size or None
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda octets: bar.advance(task, octets)


def _in_thread(work: Callable[[], bytes | None]) -> Future[bytes | None]:
    """Return what ``work`` will return in a thread that does not hold up the end of the process."""
    future: Future[bytes | None] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001  # it is handed on
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
