"""URIs and patterns are put in one normal form, so that they can be compared as text.

RFC 9309 sections 2.2.2 and 2.2.3. Two texts that the standard treats as equal have the same normal
form. This text describes the profile ``rfc9309``; :class:`NormalForm` says how others differ. Of
the two ways to write an octet, the normal form is the shorter one, so an ordinary URI is in normal
form already and costs nothing.

- A percent-encoded octet is decoded, unless it is ``%`` itself or a reserved character whose
  encoded form means something else: ``/ ? # ! & ' ( ) + , ; =``. These stay, in upper-case hex. So
  ``%2F`` is not ``/``: the first is a character of a name, the second ends it.
- ``: @ [ ] * $`` equal their encoded forms (in a pattern a bare ``*`` and a final ``$`` are
  special), and inside the query so do ``/ ?``, which end nothing there (figure 4, row 2).
- A ``%`` without two hex digits is ``%25``.

Octets that may not stand in a URI are compared as they are. Where lengths are compared, they count
as the three octets of their encoded form.

Two more comparisons are rare, and only a URI that needs them pays for them:

- A URI with dot segments has a second *reading* without them (:func:`readings`): ``/a/../b`` and
  ``/b`` are the same resource, so both must be allowed. So has a URI whose path ends with ``;``:
  clients that split URIs as :func:`urllib.parse.urlparse` does, such as Twisted's, send ``/a`` for
  ``/a;``.
- A URI with escapes is also compared as it is written (:func:`as_written`) with the few patterns
  that may match *within* an escape: ``/*2Fb`` matches the octets of ``/?q=a%2Fb``, but not its
  normal form ``/?q=a/b``. In ``/itm/*/%`` the ``%`` stands for the start of any escape. 1.3 % of
  real files have such a pattern, most by accident (``/*Account*``).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from scrapy_rep.robotstxt.profiles import Profile

ROBOTS_TXT: Final = "/robots.txt"

_HEX: Final = "0123456789ABCDEFabcdef"
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)
_KEPT_IN_PATH: Final = frozenset(b"%/?#!&'()+,;=")
_KEPT_IN_QUERY: Final = _KEPT_IN_PATH - frozenset(b"/?")
_KEPT_IN_1996: Final = frozenset(b"%/")

_NOT_ASCII: Final = re.compile("[\x80-\xff]")
_NOT_OF_A_URI: Final = re.compile("[^!#-;=?-Z\\[\\]_a-z~]|%(?![0-9A-Fa-f]{2})")
_UNRESERVED_ESCAPES: Final = re.compile(
    "%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
)
_QUERY_STARTS: Final = re.compile("[?#]")
_DOT: Final = re.compile("%2[Ee]")
_EMPTY_PARAMETERS: Final = re.compile(r"\A([^?]*/[^;/?]*);(?=\?|\Z)")
_ORIGIN: Final = re.compile("https?://[^/?;#%\\\\\x00- \x7f-\U0010ffff]+/")
_PATH_STARTS: Final = re.compile("[/?;]")
_USER: Final = re.compile("[^/?]*@")
_ENCODED: Final = {
    octet: f"%{octet:02X}" for octet in (*range(0x21), *b'"<>\\^`{|}', *range(0x7F, 0x100))
}
_STRAY_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_OPEN_END: Final = re.compile("%[0-9A-Fa-f]?$")
_SHORT: Final = 100
"""The longest pattern, in octets, whose count is kept: a thousand outlive their files."""
_MAY_MATCH_WITHIN: Final = re.compile(r"\*[0-9A-F]|%[0-9A-Fa-f]?(?:\*|\$?$)")


class NormalForm:
    """The normal form of one profile: what ``%XX`` becomes in a path and in a query.

    Attributes with the name of a field of :class:`~scrapy_rep.robotstxt.profiles.Profile` have its
    value.
    """

    def __init__(self, profile: Profile) -> None:
        self.uri_is_taken_as_it_is = profile.uri_is_taken_as_it_is
        """If so, octets outside ASCII are encoded in patterns, as the caller did in the URI."""
        self.query_is_matched = profile.query_is_matched
        self.dot_segments_are_removed = profile.dot_segments_are_removed
        """If so, a URI whose path ends with ``;`` has a second reading, too."""
        self._unreserved_is_decoded = profile.unreserved_is_decoded
        self._stray_percent = "%" if self.uri_is_taken_as_it_is else "%25"
        if self.uri_is_taken_as_it_is:
            in_path = in_query = frozenset(range(256))
        elif profile.only_the_slash_stays_encoded:
            in_path = in_query = _KEPT_IN_1996
        else:
            more = frozenset() if profile.unreserved_is_decoded else _UNRESERVED
            in_path, in_query = _KEPT_IN_PATH | more, _KEPT_IN_QUERY | more
        self._in_path, self._in_query = _escapes_but(in_path), _escapes_but(in_query)
        self._counted = lru_cache(maxsize=1024)(self._count)

    def path_text(self, text: str) -> str:
        """Return octets of a path, before any ``?``, in normal form."""
        return self._translated(text, self._in_path)

    def query_text(self, text: str) -> str:
        """Return octets after the first ``?`` in normal form."""
        return self._translated(text, self._in_query)

    def prefix(self, text: str) -> str:
        """Return the beginning of a path, which may go on in the query, in normal form."""
        before, mark, query = text.partition("?")
        return self.path_text(before) + mark + self.query_text(query)

    def _translated(self, text: str, escapes: dict[str, str]) -> str:
        if "%" in text:
            parts = text.split("%")
            for at in range(1, len(parts)):
                part = parts[at]
                pair = part[:2]
                if pair in escapes:
                    parts[at] = escapes[pair] + part[2:]
                else:
                    parts[at] = self._stray_percent + part
            text = "".join(parts)
        if self.uri_is_taken_as_it_is and not text.isascii():
            text = text.translate(_ENCODED)
        return text

    def may_change(self, text: str) -> bool:
        """Return True if a text of a pattern may not be in normal form."""
        return "%" in text or (self.uri_is_taken_as_it_is and not text.isascii())

    def octets(self, pattern: str) -> int:
        """Return the octets of a pattern, by which RFC 9309 section 2.2.2 compares rules.

        An octet that must be encoded counts as the three octets of its escape, and an escape of an
        unreserved character as that character. Everything else counts as written: a ``$`` in the
        middle of a pattern and ``%24`` mean the same and differ in length.

        Counts are kept, because a literal is counted each time that it matches.
        """
        return self._counted(pattern) if len(pattern) <= _SHORT else self._count(pattern)

    def _count(self, pattern: str) -> int:
        longer = _NOT_ASCII if self.uri_is_taken_as_it_is else _NOT_OF_A_URI
        octets = len(pattern) + 2 * len(longer.findall(pattern))
        if self._unreserved_is_decoded and "%" in pattern:
            octets -= 2 * len(_UNRESERVED_ESCAPES.findall(pattern))
        return octets


@cache
def form_of(profile: Profile) -> NormalForm:
    """Return the normal form of a profile."""
    return NormalForm(profile)


def _escapes_but(kept: frozenset[int]) -> dict[str, str]:
    """Return what each pair of hex digits after ``%`` becomes: an escape if its octet is kept."""
    table = {}
    for high in _HEX:
        for low in _HEX:
            octet = int(high + low, 16)
            table[high + low] = f"%{octet:02X}" if octet in kept else chr(octet)
    return table


def written_path(uri: str, form: NormalForm) -> str:
    """Return the path and query of any URI, or of a path without an origin, as written.

    RFC 9309 section 2.2.2. The fragment is dropped, a trailing ``?`` is kept, ``http://h?q`` is
    ``/?q``. Nothing is raised.
    """
    uri = _as_sent(uri, form).partition("#")[0]
    if form.uri_is_taken_as_it_is and uri.startswith("//"):
        # A caller that has encoded the URI may have left out the scheme.
        uri = "http:" + uri
    if uri.startswith("/"):
        return uri
    start = 0
    scheme = uri.find("://")
    early = _PATH_STARTS.search(uri)
    if scheme >= 0 and (early is None or early.start() > scheme):
        start = scheme + 3
        user = None if form.uri_is_taken_as_it_is else _USER.match(uri, start)
        start = start if user is None else user.end()  # a user name may hold a ";"
    found = _PATH_STARTS.search(uri, start)
    if found is None:
        return "/"
    path = uri[found.start() :]
    return path if found.group() == "/" else "/" + path


def _as_sent(uri: str, form: NormalForm) -> str:
    """Return a URI without tabs and line ends, and with ``/`` for each backslash of its path.

    Clients that read URIs as browsers do make these changes before anything else.
    """
    # Four searches for one character each take a third of the time of a search for a set.
    if "\\" not in uri and "\n" not in uri and "\r" not in uri and "\t" not in uri:
        return uri
    if form.uri_is_taken_as_it_is:
        return uri
    uri = uri.translate(dict.fromkeys(b"\t\n\r"))
    query = _QUERY_STARTS.search(uri)
    end = query.start() if query else len(uri)
    return uri[:end].replace("\\", "/") + uri[end:]


def origin_of(uri: str) -> str:
    """Return the start of an http or https URI, up to the ``/`` that begins its path.

    ``https://e.org/`` is the origin of ``https://e.org/a?b``. Any other URI has the empty origin.
    """
    found = _ORIGIN.match(uri)
    return found.group() if found else ""


def readings(path: str, form: NormalForm) -> list[str]:
    """Return a path and query in octets and, if it may be sent in other forms, those as well.

    Characters outside ASCII stand for their octets in UTF-8.
    """
    path = _as_sent(path, form)
    if "#" in path:
        path = path.partition("#")[0]
    if not path.isascii():
        path = utf8_octets(path).decode("latin-1")
    found = [path]
    if form.dot_segments_are_removed and ends_with_semicolon(path):
        found.append(_EMPTY_PARAMETERS.sub(r"\1", path))
    if form.dot_segments_are_removed and ("/." in path or "/%2" in path):
        found += [_without_dot_segments(one) for one in found]
    return [*dict.fromkeys(found)]


def ends_with_semicolon(uri: str) -> bool:
    """Return whether the path of a URI without a fragment may end with a semicolon."""
    return ";" in uri and (uri.endswith(";") or ";?" in uri)


def _without_dot_segments(path: str) -> str:
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
    if form.uri_is_taken_as_it_is:
        return path
    if "?" not in path:
        return form.path_text(path) if "%" in path else path
    before, mark, query = path.partition("?")
    if "%" in before:
        before = form.path_text(before)
    if not form.query_is_matched:
        return before
    return before + mark + (form.query_text(query) if "%" in query else query)


def as_written(text: str) -> str:
    """Return octets with all escapes kept, in upper case, and encode the others that must be.

    ``/%7ea?b=%2fc`` becomes ``/%7Ea?b=%2Fc``.
    """
    if "%" in text:
        text = _STRAY_PERCENT.sub("%25", text)
        text = in_upper_case(text)
    return text.translate(_ENCODED)


def in_upper_case(text: str) -> str:
    """Return octets with their escapes in upper case, and everything else unchanged."""
    return _ESCAPE.sub(lambda found: found.group().upper(), text)


def within_escapes(pattern: str) -> str | None:
    """Return a pattern to compare with a path as it is written; None for most patterns.

    A pattern may match within an escape only if one of its pieces begins with a hex digit, as in
    ``/*2Fb``, or ends within an escape, as in ``/%``. Such an end is kept.
    """
    if not _MAY_MATCH_WITHIN.search(pattern):
        return None
    end = "$" if pattern.endswith("$") else ""
    pieces = []
    for piece in pattern.removesuffix("$").split("*"):
        cut = _OPEN_END.search(piece)
        whole = piece[: cut.start()] if cut else piece
        pieces.append(as_written(whole) + (cut.group().upper() if cut else ""))
    return "*".join(pieces) + end


def utf8_octets(text: str) -> bytes:
    """Return text in UTF-8; a lone surrogate becomes the octet that it was decoded from."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
