"""URIs become match paths, and patterns become what a match path is held against.

RFC 9309 sections 2.2.2 and 2.2.3. Both sides are put in one normal form, in which two texts that
the standard holds equal are the same text. Of the two ways to write an octet, the form takes the
shorter: an ordinary URI is in it already, so that it costs nothing to bring it there.

- A percent-encoded octet is decoded, unless it is ``%`` itself or a reserved character whose
  encoded form means something else: ``/ ? # ! & ' ( ) + , ; =``. Those stay, in upper-case hex.
- ``: @ [ ] * $`` equal their encoded forms, and inside the query so do ``/ ?`` (figure 4, row 2).
- A ``%`` without two hex digits is ``%25``.

The octets that may not stand in a URI are held against each other as they are, and count as the
three octets of their encoded form where lengths are compared.

Two more readings of a URI are rare, and only a URI that needs them pays for them:

- A URI with escapes is also read as it is written, by the rules that may match within an escape
  (:mod:`scrapy_rep.matching.escapes`).
- A URI with dot segments is also read with them removed (:func:`without_dots`): ``/a/../b`` and
  ``/b`` are the same resource, so both must be allowed.
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
class Form:
    """A normal form: what becomes of ``%XX`` in a path and in a query, and of other octets."""

    in_path: dict[str, str]
    in_query: dict[str, str]
    stray_percent: str
    encodes: bool
    """Octets outside ASCII are encoded in patterns, and URIs are taken as they are."""
    with_query: bool
    removes_dots: bool
    """A URI with dot segments is read with them and without."""
    longer: re.Pattern[str]
    """What counts as two octets more than are written, as it becomes an escape."""
    shorter: re.Pattern[str] | None
    """What counts as two octets less than are written, as it is decoded."""
    is_given: bool = False
    """All patterns are in this form already: none has to be changed."""

    def path_text(self, text: str) -> str:
        """Octets of a path, before any ``?``, in normal form."""
        return self._translated(text, self.in_path)

    def query_text(self, text: str) -> str:
        """Octets after the first ``?`` in normal form."""
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

    def changes(self, text: str) -> bool:
        """A text may not be in normal form."""
        if self.is_given:
            return False
        return "%" in text or (self.encodes and not text.isascii())

    def changed(self, texts: Iterable[str]) -> list[str]:
        """Those of some texts that may not be in normal form."""
        if self.is_given:
            return []
        if self.encodes:
            return [text for text in texts if "%" in text or not text.isascii()]
        return [text for text in texts if "%" in text]

    def unchanged(self, text: str) -> str:
        """What stands before the first octet of a text that the normal form may change."""
        if self.is_given:
            return text
        if self.encodes and not text.isascii():
            text = NOT_ASCII.split(text, maxsplit=1)[0]
        return text.partition("%")[0]

    def octets(self, pattern: str) -> int:
        """Octets of a pattern as written, by which RFC 9309 section 2.2.2 compares rules.

        What must be encoded counts as the three octets of its escape, and an escape that only
        hides an unreserved character as that character. All else counts as written: what two
        patterns can say in two ways, as ``$`` and ``%24``, differs in length.
        """
        octets = len(pattern) + 2 * len(self.longer.findall(pattern))
        if self.shorter is not None and "%" in pattern:
            octets -= 2 * len(self.shorter.findall(pattern))
        return octets


@cache
def escapes_but(kept: frozenset[int]) -> dict[str, str]:
    """Each pair of hex digits, in any case, with what ``%`` and the pair become."""
    table = {}
    for high in _HEX:
        for low in _HEX:
            octet = int(high + low, 16)
            table[high + low] = f"%{octet:02X}" if octet in kept else chr(octet)
    return table


def match_path(uri: str, form: Form) -> str:
    """The path and query of any URI in normal form; a bare path stands for itself.

    RFC 9309 section 2.2.2. The fragment is dropped, a trailing ``?`` is kept, ``http://h?q`` is
    ``/?q``. Characters outside ASCII stand for their octets in UTF-8. Nothing is raised.
    """
    return normal_path(readings(path_of(uri, form), form)[0], form)


def path_of(uri: str, form: Form) -> str:
    """The path and query of any URI as they are written there; a bare path stands for itself."""
    uri = uri.partition("#")[0]
    if form.encodes and uri.startswith("//"):
        # A caller who has encoded the URI may have left out the scheme.
        uri = "http:" + uri
    return _path_of(uri)


def readings(path: str, form: Form) -> list[str]:
    """A path and query as written and, if it has dot segments, with those removed."""
    if "#" in path:
        path = path.partition("#")[0]
    if not path.isascii():
        path = octets_of(path).decode("latin-1")
    if form.removes_dots and ("/." in path or "/%2" in path):
        plain = without_dots(path)
        if plain != path:
            return [path, plain]
    return [path]


def without_dots(path: str) -> str:
    """A path and query without the segments ``.`` and ``..``, written in any way.

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


def normal_path(path: str, form: Form) -> str:
    """A path and query in octets, as they stand in a URI, in normal form."""
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
    """What stands before the path of an http or https URI, and the ``/`` that begins the path.

    ``https://e.org/`` is the origin of ``https://e.org/a?b``. It is empty for all other URIs.
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


def octets_of(text: str) -> bytes:
    """Lone surrogates stand for the octets that they were made from, where they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def literal(pattern: str, form: Form) -> str:
    """A pattern without wildcards in normal form."""
    before, mark, query = pattern.partition("?")
    return form.path_text(before) + mark + form.query_text(query)
