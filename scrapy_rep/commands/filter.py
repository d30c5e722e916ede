"""``scrapy robots filter``: which of many URLs may my crawler fetch?

The URLs of a chunk are grouped by site, so that the rules of a site stay in the processor's cache.
This takes a fifth less time. A URL is judged as a request would have it, and written as it was
given. Quoting a URL takes longer than all the rest, so it is done only where it may change the
verdict.
"""

from __future__ import annotations

import sys
import threading
from argparse import Namespace
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from gzip import GzipFile
from importlib.util import find_spec
from itertools import filterfalse
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from scrapy_rep.access.authority import Authority, usable_authority_of
from scrapy_rep.awaiting import from_thread
from scrapy_rep.commands.archives import NewestResponses
from scrapy_rep.commands.check import ALLOWED, DISALLOWED, reason_of
from scrapy_rep.commands.crawl import Project, in_crawl, look_up_at_once
from scrapy_rep.commands.offline import Offline
from scrapy_rep.commands.output import EndingError, Status, counted, listed, note
from scrapy_rep.commands.sources import STDIN, opened, read, refuse_stdin_twice, refuse_to_overwrite
from scrapy_rep.gate.explain import Explainer, asked_for
from scrapy_rep.gate.judge import Judge
from scrapy_rep.gate.page_url import governed, requested_url
from scrapy_rep.robotstxt.printable import escaped, without_login
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
_USUAL: Final = bytes({*range(0x21, 0x7F)} - {*b"\"#'<>[\\]^`{|}"})
"""Octets that a request leaves as they are, but for a ``?`` at the end."""


_MALFORMED, _UNDECIDED = "malformed", "undecided"
_NOT_A_URL, _TOO_LONG = "not a URL", "line too long"


class Ruling(NamedTuple):
    """What a site says: ``allowed(url)``, and, if it is not, ``why(url)`` and ``counts_as(url)``.

    What is not allowed counts as disallowed, as undecided if the rules are not known, or as
    malformed. ``octets`` is the size of its robots.txt.
    """

    allowed: Callable[[str], bool]
    why: Callable[[str], str]
    counts_as: Callable[[str], str] = lambda _: DISALLOWED
    octets: int = 0


Find = Callable[[Authority], Ruling]


def _refuses(reason: str, word: str) -> Ruling:
    return Ruling(lambda _: False, lambda _: reason, lambda _: word)


def _needs_no_rules(url: str) -> bool:
    """Return True for the URL of a request that no robots.txt governs, such as ``mailto:a@b``."""
    try:
        return governed(url)[1] is None
    except ValueError:
        return False


_WITHOUT_SITE: Final = Ruling(
    _needs_no_rules,
    lambda url: _TOO_LONG if url == _TOO_LONG else _NOT_A_URL,
    lambda _: _MALFORMED,
)


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
        text = reason_of(verdict, known)
        return f"unreachable: {text}" if is_undefined(verdict) else text

    if robots is not None and judge.is_by_rules_alone(asked, known):
        return Ruling(robots.matcher(agent), reason, octets=octets)
    return Ruling(
        lambda url: judged(url).allowed,
        reason,
        lambda url: _UNDECIDED if is_undefined(judged(url)) else DISALLOWED,
        octets,
    )


class Lines(NamedTuple):
    """The lines of a chunk.

    ``given`` has a character for each octet, and ``urls`` are as requested. If a line is not a URL,
    the reason stands in place of the URL. ``by_origin`` are the URLs by what is before their path.
    """

    given: list[str]
    urls: list[str]
    by_origin: Mapping[str, list[str]]


def lines_of(chunk: bytes, sent: Callable[[str], str] = str) -> Lines:
    """Return the lines of a chunk; ``sent(url)`` is the URL of a request as it is sent."""
    octets = chunk.removesuffix(b"\r").replace(b"\r\n", b"\n")
    lines = octets.decode("latin-1").split("\n")
    unusual = octets.translate(None, _USUAL).split(b"\n")
    urls = [
        _requested(line) if changed or line[-1:] == "?" or len(line) > LONGEST else line
        for line, changed in zip(lines, unusual, strict=True)
    ]
    urls = [_as_sent(url, sent) if "%" in url else url for url in urls]
    by_origin: dict[str, list[str]] = defaultdict(list)
    for url in urls:
        end = url.find("/", 8)
        by_origin[url[:end] if end > 0 else url].append(url)
    return Lines(lines, urls, by_origin)


def _requested(line: str) -> str:
    if len(line) > LONGEST:
        return _TOO_LONG
    try:
        return requested_url(line.encode("latin-1").decode("utf-8", "surrogateescape"))
    except ValueError:
        return _NOT_A_URL


def _as_sent(url: str, sent: Callable[[str], str]) -> str:
    try:
        return sent(url)
    except ValueError:  # it is not that of a request
        return url


class Sieve:
    """Sorts lines into those that may be fetched and the others, and counts them.

    ``rulings`` are kept by what stands before the path of a URL. When there are too many, all are
    forgotten, and found again.
    """

    def __init__(self, rejected: BinaryIO | None) -> None:
        self._rejected = rejected
        self.rulings: dict[str, Ruling] = {}
        self._octets = 0
        self.counts: Counter[str] = Counter()

    def sort(self, lines: Lines, find: Find) -> bytes:
        """Return the lines that may be fetched, each with its end.

        ``find`` returns the ruling of an authority.
        """
        refused: dict[str, Ruling] = {}
        for origin, several in lines.by_origin.items():
            ruling = self.rulings.get(origin) or self._learn(origin, find)
            refused.update(dict.fromkeys(filterfalse(ruling.allowed, several), ruling))
        kept: list[str] = []
        for line, url in zip(lines.given, lines.urls, strict=True):
            if url in refused:
                self._reject(line, url, refused[url])
            else:
                kept.append(line)
        self.counts[ALLOWED] += len(kept)
        if self._octets > _MOST_OCTETS:
            self.rulings.clear()
            self._octets = 0
        return "".join([f"{line}\n" for line in kept]).encode("latin-1")

    def _learn(self, origin: str, find: Find) -> Ruling:
        """Return the ruling of an origin that is not known yet, or is not an origin."""
        authority = usable_authority_of(origin)
        if authority is None:
            return _WITHOUT_SITE
        found = self.rulings[origin] = find(authority)
        self._octets += found.octets + _ORIGIN_OCTETS
        return found

    def _reject(self, line: str, url: str, ruling: Ruling) -> None:
        self.counts[ruling.counts_as(url)] += 1
        if self._rejected is not None:
            reason = ruling.why(url).encode("utf-8", "backslashreplace")
            shown = line if len(line) <= LONGEST else line[:_SHOWN] + "..."
            self._rejected.write(shown.encode("latin-1") + b"\t" + reason + b"\n")


def run(project: Project, options: Namespace) -> Status:
    """Copy the URLs that may be fetched to stdout; sum up on stderr."""
    if options.missing and not options.warc:
        raise EndingError("--missing is about archives: it needs --warc")
    if options.robots_txt and options.warc:
        raise EndingError("--robots-txt and --warc: give one of them")
    if options.rejected == STDIN:
        raise EndingError("--rejected needs a file: standard output has the URLs that pass")
    refuse_stdin_twice(options.source, options.robots_txt)
    inputs = (options.source, options.robots_txt, options.warc, project.rep_settings.overrides)
    refuse_to_overwrite(options.rejected, *inputs)
    # The rules are read before any output is opened.
    offline = Offline(project, options.agent) if options.robots_txt or options.warc else None
    find = None if offline is None else _offline(offline, options)
    with (
        opened(options.source) as source,
        Path(options.rejected).open("wb") if options.rejected else nullcontext() as rejected,
        _progress(options.source, source) as advance,
    ):
        sieve = Sieve(rejected)
        chunks = chunks_of(source, advance)
        if offline is None or find is None:
            _sort_in_crawl(project, sieve, chunks)
        else:
            for chunk in chunks:
                _write(sieve.sort(lines_of(chunk, offline.sent), find))
    summary = listed(sieve.counts, (ALLOWED, DISALLOWED, _MALFORMED, _UNDECIDED))
    note("filter", f"{counted(sieve.counts.total(), 'line')}: {summary or 'none'}")
    return Status.UNKNOWN if sieve.counts[_UNDECIDED] else Status.CLEAN


def _offline(offline: Offline, options: Namespace) -> Find:
    """Return what finds the ruling of an authority without the network."""
    body, archive = b"", None
    if options.robots_txt:
        body = read(options.robots_txt)
    else:
        archive = NewestResponses(options.warc, offline.rep_settings.max_redirects)

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


def _sort_in_crawl(project: Project, sieve: Sieve, chunks: Iterator[bytes]) -> None:
    """Sort chunk by chunk, after the rules of all new sites of a chunk are fetched at once."""

    async def work(explainer: Explainer) -> None:
        while (chunk := await from_thread(_next_of(chunks))) is not None:
            lines = lines_of(chunk, explainer.sent)
            unknown = map(usable_authority_of, lines.by_origin.keys() - sieve.rulings.keys())
            authorities = [*{one for one in unknown if one is not None}]
            urls = [one.robots_uri for one in authorities]
            found = await look_up_at_once(explainer, urls, project.options.agent)
            found_for = {
                authority: _ruling_of(explainer.judge, authority, one.known, one.agent)
                for authority, one in zip(authorities, found, strict=True)
            }
            _write(sieve.sort(lines, found_for.__getitem__))

    in_crawl(project, work)


def chunks_of(source: BinaryIO, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Yield whole lines as they come, without the last line end and a byte order mark.

    A line longer than :data:`LONGEST` is cut, but stays longer than that. ``advance`` is told the
    octets that are done with.
    """
    stream: Any = source
    rest, mark = b"", BOM_UTF8
    while octets := stream.read1(_CHUNK):
        whole, end, tail = octets.rpartition(b"\n")
        if end:
            yield (rest + whole).removeprefix(mark)
            rest = mark = b""
        advance(len(octets))
        rest = (rest + tail)[: LONGEST + 2]  # the last octet may be of a line end
    if last := rest.removeprefix(mark):
        yield last


def _write(lines: bytes) -> None:
    """Write whole lines; to a terminal, without passwords and with control characters escaped."""
    if sys.stdout.isatty():
        shown = lines.decode("utf-8", "surrogateescape").split("\n")
        shown = [escaped(without_login(line)) for line in shown]
        lines = "\n".join(shown).encode("utf-8", "surrogateescape")
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


def _next_of(chunks: Iterator[bytes]) -> Future[bytes | None]:
    """Read the next chunk in a thread, which does not keep the process from ending."""
    future: Future[bytes | None] = Future()

    def run() -> None:
        try:
            future.set_result(next(chunks, None))
        except BaseException as error:  # noqa: BLE001  # it is handed on
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
