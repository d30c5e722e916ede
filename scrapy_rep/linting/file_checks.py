"""Findings about the octets of a robots.txt: its size, its encoding, what kind of text it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scrapy_rep.linting.lines import Finding, finding
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE

_LONGEST_LINE: Final = 8 * 2083 - 1
_MARKS: Final = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,500}?-->\s*|<\?xml[^>]{0,200}>\s*)?"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|p|h1|a|table|center)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_CONTROLS: Final = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\xa0\xad\u200b-\u200f\u2028-\u202e\u2060\ufeff]"
)
_MOST_CONTROLS: Final = 20
"""Lines with control characters that are named one by one; a binary file has thousands."""


def is_html(body: bytes) -> bool:
    """Return True if a file begins as a page of HTML does."""
    return _HTML.match(body[:2000]) is not None


def check_file(body: bytes) -> Iterator[Finding]:
    """Yield what is to be said about a file as a whole and about its encoding."""
    if not body.strip():
        yield finding(
            "empty-file",
            "the file is empty: everything is allowed",
            'write "User-agent: *" and "Disallow:" to say so, or answer with status 404',
        )
    if len(body) > DEFAULT_MAX_SIZE:
        yield finding(
            "over-500-kib",
            f"the file has {len(body):,} octets; crawlers may stop reading after 512,000",
            "shorten the file: rules with * replace many rules for single paths",
        )
    coding = next((_MARKS[mark] for mark in _MARKS if body.startswith(mark)), None)
    if coding:
        yield finding(
            "byte-order-mark",
            f"the file begins with a byte order mark of {coding}",
            "save the file as UTF-8 without a byte order mark",
            line=1,
            column=1,
        )
    if is_html(body):
        yield finding(
            "html-not-text",
            "the file is a page of HTML, not a robots.txt",
            "serve plain text at /robots.txt, or answer with status 404",
            line=1,
            column=1,
        )
    yield from _check_encoding(body, coding)


def _check_encoding(body: bytes, coding: str | None) -> Iterator[Finding]:
    fix = "save the file as UTF-8, or percent-encode what is not ASCII in paths"
    if coding == "UTF-16":
        yield finding("not-utf-8", "the file is encoded in UTF-16", fix, line=1, column=1)
        return
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        lines = _LINE_END.split(body[: error.start])
        column = len(lines[-1].decode("utf-8", "replace")) + 1
        message = f"the octet 0x{body[error.start]:02X} is not UTF-8 here"
        yield finding("not-utf-8", message, fix, line=len(lines), column=column)


def check_characters(lines: list[str]) -> Iterator[Finding]:
    """Yield the lines that are too long, and the first lines that hold invisible characters."""
    named = 0
    for number, line in enumerate(lines, 1):
        if len(line) > _LONGEST_LINE:
            message = f"the line has {len(line):,} octets; Google's parser reads 16,663 of them"
            fix = "split the line into several records"
            yield finding("line-too-long", message, fix, line=number, column=1)
        if named == _MOST_CONTROLS or (line.isascii() and line.isprintable()):
            continue
        text = line.encode("latin-1").decode("utf-8", "replace").partition("#")[0]
        found = _CONTROLS.search(text)
        if found is not None:
            message = f"the character U+{ord(found.group()):04X} is invisible, and counts"
            column = found.start() + 1
            fix = "remove the character"
            yield finding("control-character", message, fix, line=number, column=column)
            named += 1
