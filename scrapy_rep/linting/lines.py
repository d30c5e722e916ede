"""The lines of a robots.txt as a linter needs them, and what it finds about one of them.

RFC 9309 section 2.2. Keys and values are read as :mod:`scrapy_rep.robotstxt.lines` reads them.
Text is ``str`` with one character for each octet (Latin-1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from scrapy_rep.linting.codes import CODES, Severity
from scrapy_rep.preferences.vocabularies import LINES
from scrapy_rep.robotstxt import lines as syntax
from scrapy_rep.robotstxt.lines import names_of
from scrapy_rep.robotstxt.profiles import RFC9309
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE, text_of, truncate

_LONGEST_QUOTED = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, where, and what to do about it.

    ``line`` and ``column`` count from 1, columns in characters of UTF-8; both are None where the
    finding is about the file as a whole. ``message`` and ``fix`` are in lower case and without a
    full stop. They may quote the file: escape them before a terminal shows them.
    """

    line: int | None
    column: int | None
    code: str
    severity: Severity
    message: str
    fix: str
    source: str


def finding(
    code: str,
    message: str,
    fix: str,
    *,
    line: int | None = None,
    column: int | None = None,
) -> Finding:
    """Return a finding with the severity and the source of its code."""
    entry = CODES[code]
    return Finding(line, column, code, entry.severity, message, fix, entry.source)


def quoted(text: str) -> str:
    """Return octets of the file, given as Latin-1, as UTF-8 text, which is cut if it is long."""
    shown = text.encode("latin-1").decode("utf-8", "backslashreplace")
    return shown if len(shown) <= _LONGEST_QUOTED else shown[:_LONGEST_QUOTED] + "..."


BLANK: Final = ""
"""The key of a blank line, without even a comment."""
JUNK: Final = "?"
"""The key of a line that is neither a record nor a comment."""
UNKNOWN: Final = ":"
"""The key of a record whose key is not known."""

RULES: Final = frozenset({syntax.ALLOW, syntax.DISALLOW})

_KNOWN: Final = {
    **{name: key for key, names in syntax.SPELLINGS.items() for name in names},
    syntax.ALLOW: syntax.ALLOW,
    syntax.DISALLOW: syntax.DISALLOW,
    **dict.fromkeys(RFC9309.misspelt_disallow, syntax.DISALLOW),
    **{key: key for key in LINES},
}


class ParsedLine(NamedTuple):
    """A line that is not a comment: its number from 1, its key, and what is written there.

    ``key`` is in lower case and well spelt, or one of BLANK, JUNK and UNKNOWN; ``name`` is the key
    as written. ``start`` and ``column`` are where the key and the value begin, in octets from 1.
    """

    number: int
    key: str
    name: str = ""
    value: str = ""
    start: int = 1
    column: int = 1
    colon: bool = True


class GroupLines(NamedTuple):
    """A group: its user-agent lines, the name read from each, and its allow and disallow lines."""

    agents: list[ParsedLine]
    names: list[str]
    rules: list[ParsedLine]


class RobotsFile:
    """A robots.txt: its lines as written and as parsed, and its groups."""

    def __init__(self, body: bytes) -> None:
        text = text_of(truncate(body, DEFAULT_MAX_SIZE), RFC9309)
        self.lines = text.split("\n")[1:]  # each line begins with a "\n", also the first one
        self.parsed = [*_read(self.lines)]
        self.groups = _groups_of(self.parsed)

    def finding_at(
        self, code: str, line: ParsedLine, message: str, fix: str, octet: int = 0
    ) -> Finding:
        """Return a finding about a line, at an octet of it or where its value begins."""
        before = self.lines[line.number - 1][: (octet or line.column) - 1]
        if not before.isascii():
            before = before.encode("latin-1").decode("utf-8", "replace")
        column = len(before) + 1
        return finding(code, message, fix, line=line.number, column=column)


def _read(lines: list[str]) -> Iterator[ParsedLine]:
    """Yield the lines that are not comments."""
    for number, written in enumerate(lines, 1):
        text = written.partition("#")[0]
        name, colon, value = text.partition(":")
        key, start = name.strip(" \t"), _start(text)
        if colon:
            known = _KNOWN.get(key.lower(), UNKNOWN)
            column = len(name) + 1 + _start(value)
            yield ParsedLine(number, known, key, value.strip(" \t"), start, column)
        elif key:
            words = syntax.words(text)
            if len(words) == 2 and words[0].lower() in _KNOWN:
                known = _KNOWN[words[0].lower()]
                yield ParsedLine(number, known, words[0], words[1], start, start, colon=False)
            else:
                yield ParsedLine(number, JUNK, key, key, start, start, colon=False)
        elif not written.strip(" \t"):
            yield ParsedLine(number, BLANK)


def _start(text: str) -> int:
    """Return where the first character that is not white space stands, from 1."""
    return len(text) - len(text.lstrip(" \t")) + 1


def name_of(value: str) -> str:
    """Return the name read from the value of a user-agent line; ``*`` is the default group."""
    [name] = names_of(value, RFC9309)
    return name


def _groups_of(read: list[ParsedLine]) -> list[GroupLines]:
    """Return the groups. Each lasts up to the next user-agent line after a rule."""
    found: list[GroupLines] = []
    has_rule = True
    for line in read:
        if line.key == syntax.AGENT:
            if has_rule:
                found.append(GroupLines([], [], []))
                has_rule = False
            found[-1].agents.append(line)
            found[-1].names.append(name_of(line.value))
        elif found and line.key in RULES:
            found[-1].rules.append(line)
            has_rule = True
    return found
