"""Findings about the octets of a robots.txt and about its lines, and all findings about a file."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, islice
from typing import Final
from urllib.parse import urlsplit

from scrapy_rep.linting.group_checks import (
    check_agents,
    check_emptiness,
    check_order,
    check_redundancy,
)
from scrapy_rep.linting.lines import (
    JUNK,
    RULES,
    UNKNOWN,
    Finding,
    ParsedLine,
    RobotsFile,
    finding,
    quoted,
)
from scrapy_rep.preferences.vocabularies import (
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    LINES,
    MOST_OCTETS,
    ROBOTS_TXT,
    VOCABULARIES,
    content_signal,
    content_usage,
    path_and_expression,
)
from scrapy_rep.preferences.vocabularies import UNKNOWN as UNKNOWN_USE
from scrapy_rep.robotstxt import lines as syntax
from scrapy_rep.robotstxt.pace import PACE
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE

_USUAL: Final = {
    **{key: key.capitalize() for key in (*syntax.SPELLINGS, *RULES)},
    **{key: vocabulary.line for key, vocabulary in LINES.items()},
}
"""The usual spelling of each known key."""
_OF_PAGES: Final = frozenset({"noindex", "nofollow", "nosnippet", "noarchive"})
"""Directives of pages. Google gave up reading some of them in robots.txt on 2019-09-01."""
_MOST_JUNK: Final = 100
"""The most lines that are not understood and are reported; a binary file has thousands."""
_LABELS: Final = tuple(VOCABULARIES[CONTENT_USAGE].counts_for)
_SIGNALS: Final = {
    **dict.fromkeys(VOCABULARIES[CONTENT_SIGNAL].counts_for, ("yes", "no")),
    "use": ("immediate", "reference", "full"),
}
_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,500}?-->\s*|<\?xml[^>]{0,200}>\s*)?"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|p|h1|a|table|center)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_NEXT_PATH: Final = re.compile(r"[^ \t,:](?:[ \t]*,[ \t]*|[ \t]+)/")
"""Where a second path begins. A colon before it is that of a URL with a space, ``/http: /``."""
_CONTROLS: Final = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\xa0\xad\u200b-\u200f\u2028-\u202e\u2060\ufeff]"
)
_MOST_CONTROLS: Final = 20
"""The most lines with control characters that are reported; a binary file has thousands."""


def lint(body: bytes) -> list[Finding]:
    """Return all findings about a robots.txt, sorted by line and column; never raise.

    Only the first 500 KiB are read line by line (RFC 9309 section 2.5), and a page of HTML is not.
    """
    found = [*check_file(body)]
    if not is_html(body):
        file = RobotsFile(body)
        found += chain(
            islice(check_characters(file.lines), _MOST_CONTROLS),
            check_keys(file),
            check_paths(file),
            check_values(file),
            check_agents(file),
            check_order(file),
            check_emptiness(file),
            check_redundancy(file),
            check_preferences(file),
        )
    return sorted(found, key=lambda one: (one.line or 0, one.column or 0, one.code))


def is_html(body: bytes) -> bool:
    """Return True if a file begins like a page of HTML."""
    return _HTML.match(body[:2000]) is not None


def check_file(body: bytes) -> Iterator[Finding]:
    """Yield the findings about a file as a whole and about its encoding."""
    if len(body) > DEFAULT_MAX_SIZE:
        yield finding(
            "over-500-kib",
            f"the file has {len(body):,} bytes; crawlers may stop reading after 512,000",
            "shorten the file: rules with * replace many rules for single paths",
        )
    if is_html(body):
        yield finding(
            "html-not-text",
            "the file is a page of HTML, not a robots.txt",
            "serve plain text at /robots.txt, or answer with status 404",
            line=1,
            column=1,
        )
    yield from _check_encoding(body)


def _check_encoding(body: bytes) -> Iterator[Finding]:
    fix = "save the file as UTF-8, or percent-encode what is not ASCII in paths"
    if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        yield finding("not-utf-8", "the file is encoded in UTF-16", fix, line=1, column=1)
        return
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        lines = _LINE_END.split(body[: error.start])
        column = len(lines[-1].decode("utf-8", "replace")) + 1
        message = f"the byte 0x{body[error.start]:02X} is not UTF-8 here"
        yield finding("not-utf-8", message, fix, line=len(lines), column=column)


def check_characters(lines: list[str]) -> Iterator[Finding]:
    """Yield the first lines that hold invisible characters."""
    for number, line in enumerate(lines, 1):
        if line.isascii() and line.isprintable():
            continue
        text = line.encode("latin-1").decode("utf-8", "replace").partition("#")[0]
        found = _CONTROLS.search(text)
        if found is not None:
            character = f"U+{ord(found.group()):04X}"
            message = f"the invisible character {character} is read as part of the line"
            column = found.start() + 1
            fix = "remove the character"
            yield finding("control-character", message, fix, line=number, column=column)


def check_keys(file: RobotsFile) -> Iterator[Finding]:
    """Yield the lines whose key is missing, misspelt or unknown.

    An unknown key is reported once: a file may have thousands of ``Noindex`` lines.
    """
    reported: set[str] = set()
    junk = 0
    for line in file.parsed:
        name = line.name.lower()
        if line.key == JUNK:
            junk += 1
            if junk <= _MOST_JUNK:
                message = f'"{quoted(line.value)}" is neither a record nor a comment'
                fix = "put # before a comment, and a colon between key and value"
                yield file.finding_at("line-not-understood", line, message, fix, line.start)
        elif line.key == UNKNOWN and name not in reported:
            reported.add(name)
            yield _unknown(file, line)
        if line.key in _USUAL and (not line.colon or line.name != _USUAL[line.key]):
            yield from _misspelt(file, line)


def _misspelt(file: RobotsFile, line: ParsedLine) -> Iterator[Finding]:
    usual = _USUAL[line.key]
    if line.name.lower() != usual.lower():
        message = f'"{quoted(line.name)}" is read as {usual} by lenient crawlers only'
        yield file.finding_at("misspelt-key", line, message, f"write {usual}:", line.start)
    if not line.colon:
        message = f"no colon follows {usual}; only lenient crawlers read the line"
        fix = f"write {usual}: {quoted(line.value)}"
        yield file.finding_at("missing-colon", line, message, fix, line.start)


def _unknown(file: RobotsFile, line: ParsedLine) -> Finding:
    name, low = quoted(line.name), line.name.lower()
    nearest = get_close_matches(low[:40], _USUAL, n=1, cutoff=0.8)
    if nearest:
        usual = _USUAL[nearest[0]]
        code, fix = "misspelt-key", f"write {usual}:"
        message = f'"{name}" is not a known key; crawlers do not read it as {usual}'
    else:
        code = "key-without-effect"
        message = f'"{name}" has no effect: no crawler is known to read it'
        fix = "use a robots META tag or X-Robots-Tag" if low in _OF_PAGES else "remove the line"
    return file.finding_at(code, line, message, fix, line.start)


def check_paths(file: RobotsFile) -> Iterator[Finding]:
    """Yield the rules whose path matches nothing, or something else than it seems to."""
    for line in file.parsed:
        if line.key not in RULES:
            continue
        path = line.value
        if path[:1] not in ("/", "*", ""):
            yield _cannot_match(file, line)
        written = file.lines[line.number - 1]
        mark = written.find("#")
        if mark > line.column - 1 and path and written[mark - 1] not in " \t":
            message = f'the path ends before the #: only "{quoted(path)}" is read'
            fix = "write %23 for a # in a path, or a space before a comment"
            yield file.finding_at("comment-in-path", line, message, fix, mark + 1)
        if path[:1] in ("/", "*") and (found := _NEXT_PATH.search(path)):
            message = f'"{quoted(path)}" is read as one path, and not as several'
            fix = "write a line for each path"
            column = line.column + found.end() - 1
            yield file.finding_at("several-paths", line, message, fix, column)
        if "$" in path[:-1]:
            yield _dollar(file, line)


def _dollar(file: RobotsFile, line: ParsedLine) -> Finding:
    """Return the finding about a ``$``, a warning if what follows it hardly belongs to a path."""
    at = line.value.index("$")
    message = f'the $ in "{quoted(line.value)}" is read as a character, and not as the end'
    fix = "end the path with the $ if the end is meant"
    one = file.finding_at("dollar-in-path", line, message, fix, line.column + at)
    is_path = any(map(str.isalnum, line.value[at:]))
    return one if is_path else replace(one, severity="warning", fix="end the path with the $")


def _cannot_match(file: RobotsFile, line: ParsedLine) -> Finding:
    path = line.value
    if path[0] in "?$.":
        fix = f"write {quoted('/*' + path)}"
    elif "://" in path or "." in path.partition("/")[0]:  # it begins with a host, or may do so
        fix = "write the path alone, beginning with /"
    else:
        fix = f"write {quoted('/' + path)}"
    message = f'"{quoted(path)}" does not begin with / or *: it matches nothing'
    return file.finding_at("path-cannot-match", line, message, fix)


def check_values(file: RobotsFile) -> Iterator[Finding]:
    """Yield the values that are not valid for their keys."""
    for line in file.parsed:
        if line.key in PACE:
            if PACE[line.key].read(line.value) is None:
                message = f'"{quoted(line.value)}" cannot be read, and is ignored'
                fix = f"write {PACE[line.key].wanted}"
                yield file.finding_at("value-unreadable", line, message, fix)
        elif line.key == syntax.SITEMAP and not _is_absolute(line.value):
            message = f'"{quoted(line.value)}" is not an absolute URL'
            fix = "write the whole URL: https://example.org/sitemap.xml"
            yield file.finding_at("sitemap-not-absolute", line, message, fix)


def _is_absolute(value: str) -> bool:
    """Return True for an http or https URL with a host, and without white space."""
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in value
    except ValueError:
        return False


def check_preferences(file: RobotsFile) -> Iterator[Finding]:
    """Yield what the preferences say outside their vocabularies."""
    for line in file.parsed:
        name = LINES[line.key].name if line.key in LINES else None
        if name == CONTENT_USAGE:
            yield from _usage(file, line)
        elif name == CONTENT_SIGNAL:
            yield from _signal(file, line)


def _usage(file: RobotsFile, line: ParsedLine) -> Iterator[Finding]:
    _, value = path_and_expression(line.value)
    column = line.column + len(line.value) - len(value)
    preferences = content_usage(value, ROBOTS_TXT)
    if not preferences or not preferences[0].label:
        message = f'"{quoted(value)}" is not a dictionary of structured fields: all of it is lost'
        fix = "write train-ai=n, or several separated by commas, in lower case"
        yield file.finding_at("content-usage-does-not-parse", line, message, fix, column)
        return
    for one in preferences:
        if one.label not in _LABELS:
            message = f'"{quoted(one.label)}" is not a category of the vocabulary'
            fix = f"use one of {', '.join(_LABELS)}"
            yield file.finding_at("content-usage-unknown-label", line, message, fix, column)
        elif one.answer == UNKNOWN_USE:
            message = f'the value of "{one.label}" is neither y nor n, and counts as unknown'
            fix = f"write {one.label}=y or {one.label}=n"
            yield file.finding_at("content-usage-unknown-value", line, message, fix, column)


def _signal(file: RobotsFile, line: ParsedLine) -> Iterator[Finding]:
    for one in content_signal(line.value[:MOST_OCTETS], ROBOTS_TXT):
        known = _SIGNALS.get(one.label)
        if known is None:
            message = f'"{quoted(one.label)}" is not a content signal'
            fix = f"use one of {', '.join(_SIGNALS)}"
            yield file.finding_at("content-signal-unknown-label", line, message, fix)
        elif one.value.lower() not in known:
            message = f'"{quoted(one.value)}" is not a value of {one.label}'
            fix = f"write {one.label}={known[0]} or {one.label}={known[1]}"
            yield file.finding_at("content-signal-unknown-value", line, message, fix)
