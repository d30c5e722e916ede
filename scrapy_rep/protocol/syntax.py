"""Octets of a robots.txt become lines, and lines become records.

RFC 9309 section 2.2. There are two ways from octets to rules: the records of this module, one at a
time and exact for every profile, and the fast path of :mod:`scrapy_rep.protocol.fast_path` for
files that are written in the ordinary manner. Text is ``str`` with one character for each octet
(Latin-1), because octets are compared and Python's ``str`` methods are faster than a loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from scrapy_rep.matching.normal_form import utf8_octets
from scrapy_rep.protocol.profiles import Profile

DEFAULT_MAX_SIZE: Final = 512_000
"""Octets of a robots.txt that are parsed; 500 KiB (RFC 9309 section 2.5)."""

AGENT: Final = "user-agent"
ALLOW: Final = "allow"
DISALLOW: Final = "disallow"
SITEMAP: Final = "sitemap"
HOST: Final = "host"
CRAWL_DELAY: Final = "crawl-delay"
REQUEST_RATE: Final = "request-rate"
VISIT_TIME: Final = "visit-time"
CLEAN_PARAM: Final = "clean-param"
CONTENT_USAGE: Final = "content-usage"
CONTENT_SIGNAL: Final = "content-signal"
LICENSE: Final = "license"
EXTENSION: Final = "extension"
"""The key of a line with any other key, where that counts as a rule line (1996)."""
BLANK: Final = ""
"""The key of an empty line, without even a comment: it ends a record of 1994 and 1996."""

KEYS: Final = {
    "user-agent": AGENT,
    "useragent": AGENT,
    "user agent": AGENT,
    "allow": ALLOW,
    "disallow": DISALLOW,
    "sitemap": SITEMAP,
    "sitemaps": SITEMAP,
    "site-map": SITEMAP,
    "host": HOST,
    "crawl-delay": CRAWL_DELAY,
    "crawl delay": CRAWL_DELAY,
    "request-rate": REQUEST_RATE,
    "visit-time": VISIT_TIME,
    "clean-param": CLEAN_PARAM,
    "content-usage": CONTENT_USAGE,
    "content-signal": CONTENT_SIGNAL,
    "license": LICENSE,
}
_PREFIXES: Final = ("user-agent", "useragent", "user agent", "allow", "disallow")

_UTF8_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_BOM_STARTS: Final = frozenset((b"\xef", b"\xfe", b"\xff"))
_BLANK_LINES: Final = re.compile(rb"\n[ \t\n]*\n")
_CR_IS_LF: Final = bytes.maketrans(b"\r", b"\n")
_TOKEN: Final = re.compile(r"[!#-'*+.0-9A-Z^-z|~-]+")
"""A token of RFC 1945 section 2.2, which the draft of 1996 refers to."""
_TWO_WORDS: Final = re.compile(r"([^ \t]+)[ \t]+([^ \t]+)")


class Record(NamedTuple):
    """One line with a known key: its number, key and value.

    Line numbers count from 1. ``key`` is in lower case and in its usual spelling. ``lenient`` is
    True if the line was misspelt or had no colon (RFC 9309 section 2.2.4).
    """

    line: int
    key: str
    value: str
    lenient: bool = False


def octets_of(body: bytearray | memoryview | str) -> bytes:
    """Return the octets of a body of another type than ``bytes``; a text is encoded in UTF-8.

    Raises TypeError for a body that is neither.
    """
    if isinstance(body, str):
        return utf8_octets(body)
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    wanted = "bytes, bytearray, memoryview or str"
    raise TypeError(f"a robots.txt is {wanted}, not {type(body).__name__}")


def truncate(body: bytes, limit: int) -> bytes:
    """Return a body cut at a limit, without the partial line at its end.

    RFC 9309 section 2.5. ``limit`` counts octets. A cut ``Disallow: /private`` must not become
    ``Disallow: /p``.
    """
    if len(body) <= limit:
        return body
    coding = _UTF16_BOMS.get(body[:2])
    if coding is not None:
        return _truncate_utf16(body, limit, coding)
    if body[limit : limit + 1] in (b"\n", b"\r"):
        return body[:limit]
    return body[: max(body.rfind(b"\n", 0, limit), body.rfind(b"\r", 0, limit)) + 1]


def _truncate_utf16(body: bytes, limit: int, coding: str) -> bytes:
    """Cut UTF-16, in which a line end is two octets that begin at an even position."""
    end = limit & ~1
    if body[end : end + 2] in ("\n".encode(coding), "\r".encode(coding)):
        return body[:end]
    text = body[2:end].decode(coding, "surrogatepass")
    whole = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    return body[: 2 + len(whole.encode(coding, "surrogatepass"))] if whole else b""


def text_of(body: bytes, profile: Profile) -> bytes:
    r"""Return a body as lines that each begin with ``\n``.

    RFC 9309 section 2.2: CR, LF and CRLF end a line, and nothing else does. A UTF-8 byte order mark
    is skipped; UTF-16 with a byte order mark is transcoded.
    """
    if body[:1] in _BOM_STARTS:
        body = _without_bom(body, profile)
    if b"\r" in body:
        if body.count(b"\r") == body.count(b"\r\n"):
            body = body.translate(None, b"\r")
        else:
            body = body.replace(b"\r\n", b"\n").translate(_CR_IS_LF)
    return b"\n" + body


def _without_bom(body: bytes, profile: Profile) -> bytes:
    """Return a body without its byte order mark, in UTF-8."""
    if body.startswith(_UTF8_BOM):
        return body[3:]
    if profile.part_of_a_mark_is_skipped and body[:1] == _UTF8_BOM[:1]:
        return body[2:] if body.startswith(_UTF8_BOM[:2]) else body[1:]
    coding = _UTF16_BOMS.get(body[:2])
    if coding is None or not profile.utf16_is_transcoded:
        return body
    return body[2:].decode(coding, "replace").encode("utf-8", "replace")


def words(value: str) -> list[str]:
    """Return the words of a value, which only spaces and tabs separate."""
    return [word for word in value.replace("\t", " ").split(" ") if word]


def squeeze_blank_lines(text: bytes) -> bytes:
    """Return text with one blank line for several in a row; its lines have other numbers."""
    return _BLANK_LINES.sub(b"\n\n", text)


def records(text: str, profile: Profile) -> Iterator[Record]:
    r"""Yield the records of a text in which each line begins with ``\n``.

    RFC 9309 sections 2.2 and 2.2.4. Lines with an unknown key are skipped, and all others count
    (section 2.3.1.5). Where the profile gives blank lines a meaning, the first of several in a row
    yields a record with the key ``BLANK``.
    """
    blanks = profile.blank_line_ends_the_group
    was_blank = False
    for number, line in enumerate(text.split("\n")):
        if line:
            record = record_of(line, number, profile)
            if record is not None:
                yield record
        if not blanks:
            continue
        if line.strip(profile.whitespace):
            was_blank = False
        elif not was_blank:
            was_blank = True
            yield Record(number, BLANK, "")


def record_of(line: str, number: int, profile: Profile) -> Record | None:
    """Return the record of a line: a key, a colon and a value; some profiles need no colon."""
    if profile.longest_line is not None:
        line = line[: profile.longest_line]
    if profile.nul_ends_the_line:
        line = line.partition("\0")[0]
    if "#" in line:
        line = line[: line.index("#")]
    white = profile.whitespace
    name, colon, value = line.partition(":")
    if not colon:
        words = _TWO_WORDS.fullmatch(line.strip(white)) if profile.colon_may_be_missing else None
        if words is None:
            return None
        name, value = words.groups()
    written = name.strip(white).lower()
    key = _key_of(written, profile)
    if key is None and colon and _TOKEN.fullmatch(written) and profile.extensions_are_rules:
        key = EXTENSION
    if key is None:
        return None
    return Record(number, key, value.strip(white), not colon or written != key)


def _key_of(written: str, profile: Profile) -> str | None:
    """Return the key of its usual spelling or of a common misspelling; None if it is unknown."""
    key = KEYS.get(written)
    if key is not None:
        return key if key != ALLOW or profile.allow_is_a_rule else None
    if written in profile.misspelt_disallow:
        return DISALLOW
    if profile.key_is_a_prefix:
        for usual in _PREFIXES + profile.misspelt_disallow:
            if written.startswith(usual):
                return KEYS.get(usual, DISALLOW)
    return None
