"""Findings about usage preferences: Content-Usage and Content-Signal.

Their texts are drafts: draft-ietf-aipref-attach-05, draft-ietf-aipref-vocab-08 and
draft-romm-aipref-contentsignals-00.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scrapy_rep.linting.findings import Finding, quoted
from scrapy_rep.linting.lines import Line, RobotsFile
from scrapy_rep.preferences.content_usage import MOST_OCTETS, path_and_expression
from scrapy_rep.preferences.robots_lines import SIGNAL_KEY, USAGE_KEY
from scrapy_rep.preferences.vocabulary import CONTENT_USAGE, COUNTS_FOR, OUTDATED

_LABELS: Final = tuple(COUNTS_FOR[CONTENT_USAGE])
_SIGNALS: Final = {
    "search": ("yes", "no"),
    "ai-input": ("yes", "no"),
    "ai-train": ("yes", "no"),
    "use": ("immediate", "reference", "full"),
}

# The grammar of a dictionary (RFC 9651 section 3.2).
_KEY: Final = r"[a-z*][a-z0-9_.*-]*"
_BARE: Final = (
    r"(?:-?[0-9]{1,12}\.[0-9]{1,3}|-?[0-9]{1,15}|@-?[0-9]{1,15}|\?[01]"
    r'|"(?:[ !#-\[\]-~]|\\["\\])*"|%"(?:[ !#$&-~]|%[0-9a-f]{2})*"|:[A-Za-z0-9+/=]*:'
    r"|[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*)"
)
_PARAMETERS: Final = rf"(?:; *{_KEY}(?:={_BARE})?)*"
_ITEM: Final = rf"{_BARE}{_PARAMETERS}"
_INNER_LIST: Final = rf"\( *(?:{_ITEM}(?: +{_ITEM})* *)?\){_PARAMETERS}"
_MEMBER: Final = re.compile(rf"({_KEY})(?:=({_INNER_LIST}|{_ITEM})|{_PARAMETERS})")
_COMMA: Final = re.compile(r"[ \t]*,[ \t]*")


def check_preferences(file: RobotsFile) -> Iterator[Finding]:
    """Yield what the preferences say that their vocabularies do not know."""
    for line in file.parsed:
        if line.key == USAGE_KEY:
            yield from _usage(file, line)
        elif line.key == SIGNAL_KEY:
            yield from _signal(file, line)


def _usage(file: RobotsFile, line: Line) -> Iterator[Finding]:
    _, value = path_and_expression(line.value)
    column = line.column + len(line.value) - len(value)
    members = dictionary(value)
    if members is None:
        message = f'"{quoted(value)}" is not a dictionary of structured fields: all of it is lost'
        fix = "write train-ai=n, or several parted by commas, in lower case"
        yield file.finding_at("content-usage-does-not-parse", line, message, fix, column)
        return
    for name, said in members:
        if name not in _LABELS:
            old = " any more" if name in OUTDATED[CONTENT_USAGE] else ""
            message = f'"{quoted(name)}" is not a category of the vocabulary{old}'
            fix = f"use one of {', '.join(_LABELS)}"
            yield file.finding_at("content-usage-unknown-label", line, message, fix, column)
        elif said.partition(";")[0] not in ("y", "n"):
            message = f'"{quoted(said or name)}" says neither y nor n, and counts as unknown'
            fix = f"write {name}=y or {name}=n"
            yield file.finding_at("content-usage-unknown-value", line, message, fix, column)


def dictionary(value: str) -> list[tuple[str, str]] | None:
    """Return the members of a structured-field dictionary, or None if the value is not one.

    RFC 9651 section 4.2.2. A member without a value comes with an empty text.
    """
    value = value.lstrip(" ").rstrip(" \t")
    if not value or len(value) > MOST_OCTETS:
        return None
    members, at = [], 0
    while True:
        found = _MEMBER.match(value, at)
        if found is None:
            return None
        members.append((found.group(1), found.group(2) or ""))
        if found.end() == len(value):
            return members
        comma = _COMMA.match(value, found.end())
        if comma is None:
            return None
        at = comma.end()


def _signal(file: RobotsFile, line: Line) -> Iterator[Finding]:
    column = line.column
    for part in line.value[:MOST_OCTETS].split(","):
        name, _, said = (text.strip(" \t") for text in part.partition("="))
        start = column + len(part) - len(part.lstrip(" \t"))
        column += len(part) + 1
        known = _SIGNALS.get(name.lower())
        if known is None:
            message = f'"{quoted(name)}" is not a content signal'
            fix = f"use one of {', '.join(_SIGNALS)}"
            yield file.finding_at("content-signal-unknown-label", line, message, fix, start)
        elif said.lower() not in known:
            message = f'"{quoted(said)}" is not a value of {name.lower()}'
            fix = f"write {name.lower()}={known[0]} or {name.lower()}={known[1]}"
            yield file.finding_at("content-signal-unknown-value", line, message, fix, start)
