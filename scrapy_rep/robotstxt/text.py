"""The octets of a robots.txt become text: its limit, its coding and its line ends.

RFC 9309 sections 2.2 and 2.5.
"""

from __future__ import annotations

import re
from typing import Final

from scrapy_rep.robotstxt.normal_form import utf8_octets
from scrapy_rep.robotstxt.profiles import Profile

DEFAULT_MAX_SIZE: Final = 512_000
"""Octets of a robots.txt that are parsed; 500 KiB (RFC 9309 section 2.5)."""

_UTF8_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_BOM_STARTS: Final = frozenset((b"\xef", b"\xfe", b"\xff"))


def octets_of(body: bytearray | memoryview | str) -> bytes:
    """Return the octets of a body that is not ``bytes``; a ``str`` is encoded in UTF-8.

    Raises TypeError for a body of any other type.
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


def text_of(body: bytes, profile: Profile) -> str:
    r"""Return a body as text in which each line begins with ``\n``.

    RFC 9309 section 2.2: CR, LF and CRLF end a line, and nothing else does. A UTF-8 byte order mark
    is skipped; UTF-16 with a byte order mark is transcoded.
    """
    if body[:1] in _BOM_STARTS:
        body = _without_bom(body, profile)
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = "\n" + body.decode("latin-1")
    if profile.nul_ends_the_line and "\0" in text:
        text = re.sub("\0[^\n]*", "", text)
    if profile.longest_line is not None and len(text) > profile.longest_line:
        text = "\n".join([line[: profile.longest_line] for line in text.split("\n")])
    return text


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
