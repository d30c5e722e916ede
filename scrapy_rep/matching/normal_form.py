"""URIs and patterns are put in one normal form, so that they can be compared as text.

RFC 9309 sections 2.2.2 and 2.2.3. Two texts that the standard treats as equal have the same normal
form. The path and query of a URI in normal form are its *match path*. Of the two ways to write an
octet, the normal form is the shorter one, so an ordinary URI is in normal form already and costs
nothing.

- A percent-encoded octet is decoded, unless it is ``%`` itself or a reserved character whose
  encoded form means something else: ``/ ? # ! & ' ( ) + , ; =``. Those stay, in upper-case hex.
- ``: @ [ ] * $`` equal their encoded forms, and inside the query so do ``/ ?`` (figure 4, row 2).
- A ``%`` without two hex digits is ``%25``.

Octets that may not stand in a URI are compared as they are. Where lengths are compared, they count
as the three octets of their encoded form.

Two more comparisons are rare, and only a URI that needs them pays for them:

- A URI with escapes is also compared as it is written with the rules that may match within an
  escape (:mod:`scrapy_rep.matching.escapes`).
- A URI with dot segments has a second *reading*, without them (:func:`without_dot_segments`):
  ``/a/../b`` and ``/b`` are the same resource, so both must be allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

ROBOTS_TXT: Final = "/robots.txt"

_HEX: Final = "0123456789ABCDEFabcdef"
NOT_ASCII: Final = re.compile("[\x80-\xff]")
NOT_OF_A_URI: Final = re.compile("[^!#-;=?-Z\\[\\]_a-z~]|%(?![0-9A-Fa-f]{2})")
UNRESERVED_ESCAPES: Final = re.compile(
    "%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
)
_DOT: Final = re.compile("%2[Ee]")
_ENCODED: Final = {octet: f"%{octet:02X}" for octet in range(0x80, 0x100)}
_SCHEME: Final = "://"
_ORIGIN: Final = re.compile("https?://[^/?;#%\x00- \x7f-\U0010ffff]+/")
_PATH_STARTS: Final = re.compile("[/?;]")


@dataclass(frozen=True)
class NormalForm:
    """A normal form: what ``%XX`` becomes in a path and in a query, and how octets count."""

    in_path: dict[str, str]
    """The pairs of hex digits, and what ``%`` with each becomes."""
    in_query: dict[str, str]
    stray_percent: str
    encodes: bool
    """Octets outside ASCII are encoded in patterns, and URIs are taken as they are."""
    with_query: bool
    removes_dots: bool
    """A URI with dot segments has two readings, with them and without."""
    longer: re.Pattern[str]
    """What counts as two more octets than are written, because it becomes an escape."""
    shorter: re.Pattern[str] | None
    """What counts as two octets fewer than are written, because it is decoded."""
    patterns_are_normal: bool = False
    """All patterns are in this form already."""

    def path_text(self, text: str) -> str:
        """Return octets of a path, before any ``?``, in normal form."""
        return self._translated(text, self.in_path)

    def query_text(self, text: str) -> str:
        """Return octets after the first ``?`` in normal form."""
        return self._translated(text, self.in_query)

    def _translated(self, text: str, escapes: dict[str, str]) -> str:
        if "%" in text:
            parts = text.split("%")
            for at in range(1, len(parts)):
                part = parts[at]
                pair = part[:2]
                if pair in escapes:
                    parts[at] = escapes[pair] + part[2:]
                else:
                    parts[at] = self.stray_percent + part
            text = "".join(parts)
        if self.encodes and not text.isascii():
            text = text.translate(_ENCODED)
        return text

    def may_change(self, text: str) -> bool:
        """Return True if a text of a pattern may not be in normal form."""
        if self.patterns_are_normal:
            return False
        return "%" in text or (self.encodes and not text.isascii())

    def not_normal(self, texts: Iterable[str]) -> list[str]:
        """Return those texts of patterns that may not be in normal form."""
        if self.patterns_are_normal:
            return []
        if self.encodes:
            return [text for text in texts if "%" in text or not text.isascii()]
        return [text for text in texts if "%" in text]

    def normal_start(self, text: str) -> str:
        """Return the start of a text, up to the first octet that the normal form may change."""
        if self.patterns_are_normal:
            return text
        if self.encodes and not text.isascii():
            text = NOT_ASCII.split(text, maxsplit=1)[0]
        return text.partition("%")[0]

    def octets(self, pattern: str) -> int:
        """Return the octets of a pattern, by which RFC 9309 section 2.2.2 compares rules.

        An octet that must be encoded counts as the three octets of its escape, and an escape of an
        unreserved character as that character. Everything else counts as written: ``$`` and
        ``%24`` mean the same and differ in length.
        """
        octets = len(pattern) + 2 * len(self.longer.findall(pattern))
        if self.shorter is not None and "%" in pattern:
            octets -= 2 * len(self.shorter.findall(pattern))
        return octets


@cache
def escapes_but(kept: frozenset[int]) -> dict[str, str]:
    """Return what ``%`` with each pair of hex digits becomes: an escape if its octet is kept."""
    table = {}
    for high in _HEX:
        for low in _HEX:
            octet = int(high + low, 16)
            table[high + low] = f"%{octet:02X}" if octet in kept else chr(octet)
    return table


def match_path(uri: str, form: NormalForm) -> str:
    """Return the path and query of any URI, or of a path without an origin, in normal form.

    RFC 9309 section 2.2.2. The fragment is dropped, a trailing ``?`` is kept, ``http://h?q`` is
    ``/?q``. Characters outside ASCII stand for their octets in UTF-8. Nothing is raised.
    """
    return normal_path(readings(written_path(uri, form), form)[0], form)


def written_path(uri: str, form: NormalForm) -> str:
    """Return the path and query of any URI, or of a path without an origin, as written."""
    uri = uri.partition("#")[0]
    if form.encodes and uri.startswith("//"):
        # A caller that has encoded the URI may have left out the scheme.
        uri = "http:" + uri
    return _path_of(uri)


def readings(path: str, form: NormalForm) -> list[str]:
    """Return a path and query in octets and, if it has dot segments, the same without them."""
    if "#" in path:
        path = path.partition("#")[0]
    if not path.isascii():
        path = utf8_octets(path).decode("latin-1")
    if form.removes_dots and ("/." in path or "/%2" in path):
        plain = without_dot_segments(path)
        if plain != path:
            return [path, plain]
    return [path]


def without_dot_segments(path: str) -> str:
    """Return a path and query without the segments ``.`` and ``..``, however these are written.

    RFC 3986 sections 5.2.4 and 6.2.2.3: ``/a/./b/../c`` is ``/a/c``, ``/..`` is ``/``.
    """
    before, mark, query = path.partition("?")
    kept: list[str] = []
    segment = ""
    for written in before.split("/")[1:]:
        segment = _DOT.sub(".", written)
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(written)
    if segment in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept) + mark + query


def normal_path(path: str, form: NormalForm) -> str:
    """Return a path and query, in octets as written in a URI, in normal form."""
    if form.encodes:
        return path
    if "?" not in path:
        return form.path_text(path) if "%" in path else path
    before, mark, query = path.partition("?")
    if "%" in before:
        before = form.path_text(before)
    if not form.with_query:
        return before
    return before + mark + (form.query_text(query) if "%" in query else query)


def origin_of(uri: str) -> str:
    """Return the start of an http or https URI, up to the ``/`` that begins its path.

    ``https://e.org/`` is the origin of ``https://e.org/a?b``. Any other URI has the empty origin.
    """
    found = _ORIGIN.match(uri)
    return found.group() if found else ""


def _path_of(uri: str) -> str:
    if uri.startswith("/"):
        return uri
    start = 0
    scheme = uri.find(_SCHEME)
    early = _PATH_STARTS.search(uri)
    if scheme >= 0 and (early is None or early.start() > scheme):
        start = scheme + 3
    found = _PATH_STARTS.search(uri, start)
    if found is None:
        return "/"
    path = uri[found.start() :]
    return path if found.group() == "/" else "/" + path


def utf8_octets(text: str) -> bytes:
    """Return text in UTF-8; a lone surrogate becomes the octet that it was decoded from."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def normal_pattern(pattern: str, form: NormalForm) -> str:
    """Return a pattern without wildcards in normal form."""
    before, mark, query = pattern.partition("?")
    return form.path_text(before) + mark + form.query_text(query)
