"""Many URLs, chunk by chunk: read as octets, sorted by what their sites allow, order kept.

This is the part of ``scrapy robots filter`` that runs once for each URL: one search for the end of
its origin, one look-up, and one call of the matcher of its site. A URL is judged as a request would
have it, and written as it was given. Quoting a URL takes twice as long as all the rest, so it is
done only where it may change the verdict.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from scrapy_rep.access.authority import Authority, authority_of, has_scheme
from scrapy_rep.commands.rulings import Ruling, RulingOf, all_allowed, none_allowed
from scrapy_rep.gate.page_url import requested_url

_CHUNK: Final = 1 << 21
"""Octets that are read at once."""
LONGEST: Final = 1 << 20
"""Octets of a line. A longer one is not a URL, and must not fill the memory."""
_MOST_SITES: Final = 20_000
"""Sites whose rules are kept, by the spelling of their origin; then all are asked for again."""
_MOST_OCTETS: Final = 32 << 20
"""Octets of robots.txt whose rules are kept: with their indexes they take a few times as much."""
_KEPT_OCTETS: Final = bytes({*range(0x21, 0x7F)} - {*b"\"#'<>[\\]^`{|}"}) + b"\n"
"""Octets that a request leaves as they are, and the end of a line. A ``?`` before ``#`` is not."""

_NO_URL: Final = "not a URL"
NOT_A_URL: Final = Ruling(none_allowed, _NO_URL)
_EMPTY: Final = Ruling(none_allowed, "empty line")
_TOO_LONG: Final = "line too long"
_UNGOVERNED: Final = Ruling(all_allowed, "")


class Sorted(NamedTuple):
    """The lines of a chunk: those that may be fetched, and the others with the reason."""

    allowed: list[str]
    rejected: list[tuple[str, str]]
    """Empty if reasons are not wanted."""
    number: int
    """How many lines the chunk had."""
    octets: int


class Lines:
    """Reads whole lines from a file descriptor, without a byte order mark before the first."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self._skipping = False
        self._is_begun = False
        self.too_long = 0
        """Lines of the last chunk that were cut, as they are longer than any URL."""

    def read(self) -> bytes | None:
        """Return some whole lines, without the last line end; None at the end of the file."""
        self.too_long = 0
        while True:
            read = os.read(self._descriptor, _CHUNK)
            if not read:
                rest, self._rest = self._rest, b""
                return rest or None
            if not self._is_begun:
                self._is_begun = True
                read = read.removeprefix(BOM_UTF8)
            if self._skipping:
                _, end, read = read.partition(b"\n")
                self._skipping = not end
            cut = read.rfind(b"\n")
            if cut >= 0:
                whole, self._rest = self._rest + read[:cut], read[cut + 1 :]
                return whole
            self._rest += read
            if len(self._rest) > LONGEST:
                self._rest, self._skipping = b"", True
                self.too_long = 1
                return b""


class UrlSorter:
    """Tells the URLs that may be fetched from the others.

    A chunk is sorted site by site: a matcher that was used a moment ago takes three quarters of the
    time, because its data are in the caches of the processor.

    ``find`` returns the ruling of an authority. Without it, :meth:`unknown` names the authorities
    whose rulings :meth:`learn` has to bring. ``reasons``: whether to say why a URL is rejected.
    """

    def __init__(self, find: RulingOf | None = None, *, reasons: bool) -> None:
        self._find = find
        self._reasons = reasons
        self._rulings: dict[str, Ruling] = {}
        self._learnt: dict[Authority, Ruling] = {}
        self._octets = 0

    def sort(self, chunk: bytes, too_long: int = 0) -> Sorted:
        """Return the lines of a chunk, allowed and rejected, each in order."""
        if too_long:
            return Sorted([], [("", _TOO_LONG)] if self._reasons else [], 1, 0)
        lines, urls = _lines_of(chunk)
        sites = _by_origin(urls)
        rulings = {origin: self._rulings.get(origin) or self._ruling_of(origin) for origin in sites}
        rejected: dict[str, str] = {}
        for origin, several in sites.items():
            ruling = rulings[origin]
            for url in ruling.rejects(several):
                rejected[url] = ruling.why(url) if self._reasons else ""
        if not rejected:
            return Sorted(lines, [], len(lines), len(chunk))
        pairs = [*zip(lines, urls, strict=True)]
        allowed = [line for line, url in pairs if url not in rejected]
        told = []
        if self._reasons:
            told = [(line, rejected[url]) for line, url in pairs if url in rejected]
        return Sorted(allowed, told, len(lines), len(chunk))

    def unknown(self, chunk: bytes) -> list[Authority]:
        """Return the authorities of a chunk whose rulings have to be learnt."""
        sites = _by_origin(_lines_of(chunk).urls)
        origins = (origin for origin in sites if origin not in self._rulings)
        found = map(_authority, origins)
        return [*dict.fromkeys(one for one in found if isinstance(one, Authority))]

    def learn(self, rulings: Mapping[Authority, Ruling]) -> None:
        """Keep the rulings of some authorities for the next chunk to be sorted."""
        self._learnt = {**rulings}

    def forget(self) -> None:
        """Have all rulings learnt again."""
        self._rulings.clear()
        self._octets = 0

    def _ruling_of(self, origin: str) -> Ruling:
        """Return the ruling of an origin that is not known yet, or is not an origin."""
        authority = _authority(origin)
        if not isinstance(authority, Authority):
            return authority
        ruling = self._learnt.get(authority)
        if ruling is None and self._find is not None:
            ruling = self._find(authority)
        if ruling is None:
            return NOT_A_URL
        if len(self._rulings) >= _MOST_SITES or self._octets > _MOST_OCTETS:
            self.forget()
        self._rulings[origin] = ruling
        self._octets += ruling.octets + len(origin)
        return ruling


def _by_origin(urls: list[str]) -> dict[str, list[str]]:
    """Return URLs by what stands before their path; a URL without a path by the whole URL."""
    found: dict[str, list[str]] = defaultdict(list)
    for url in urls:
        end = url.find("/", 8)
        found[url[:end] if end > 0 else url].append(url)
    return found


class _Chunk(NamedTuple):
    """The lines of a chunk without their ends, and their URLs as requests would have them."""

    given: list[str]
    urls: list[str]
    """What no request can be made for is :data:`_NO_URL`."""


def _lines_of(chunk: bytes) -> _Chunk:
    """Return the lines of a chunk; octets that are not UTF-8 survive."""
    if b"\r" in chunk:
        chunk = chunk.replace(b"\r\n", b"\n").removesuffix(b"\r")
    text = chunk.decode("ascii") if chunk.isascii() else chunk.decode("utf-8", "surrogateescape")
    given = text.split("\n")
    if _is_kept(chunk) and b"?\n" not in chunk:
        return _Chunk(given, given)
    lines = zip(given, chunk.split(b"\n"), strict=True)
    return _Chunk(given, [line if _is_kept(octets) else _asked(line) for line, octets in lines])


def _is_kept(line: bytes) -> bool:
    """Return True if a request for a URL has the same origin, path and query."""
    return not line.translate(None, _KEPT_OCTETS) and line[-1:] != b"?"


def _asked(line: str) -> str:
    try:
        return requested_url(line)
    except ValueError:
        return _NO_URL


def _authority(origin: str) -> Authority | Ruling:
    """Return the authority of a URL or of what stands before its path, or why it has none."""
    if not origin:
        return _EMPTY
    try:
        authority = authority_of(origin)
    except ValueError:
        return NOT_A_URL
    if authority is None:
        return _UNGOVERNED if has_scheme(origin) else NOT_A_URL
    return authority
