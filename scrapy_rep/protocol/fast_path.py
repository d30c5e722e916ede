"""The short cut from octets to patterns, for files that are written in the ordinary manner.

RFC 9309 sections 2.2 and 2.2.1. Nineteen of twenty real files are. A whole file is touched by
C-level string operations only; the lines of the groups that are asked for are handed back as they
are, and split into patterns in bulk. Where the manner is another, or may be, the answer is None,
and :mod:`scrapy_rep.protocol.groups` reads record by record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from scrapy_rep.protocol import syntax
from scrapy_rep.protocol.profiles import Profile

_AGENT_LINE: Final = b"\nuser-agent:"
_AGENT_LINES: Final = re.compile(_AGENT_LINE)
_INDENT: Final = re.compile(rb"\n[ \t]+")
_ALL_CRAWLERS: Final = b" *\n"
"""What stands behind the only colon of a user-agent line in two of three files."""
_OTHER_AGENT: Final = re.compile(rb"\nuser(?:-agent[ \t]+| ?agent[ \t]*):", re.IGNORECASE)
_FIRST_RULES: Final = (b"\ndisallow:", b"\nallow:")
_OTHER_SPELLINGS: Final = ("\nDisallow:", "\nAllow:", "\ndisallow:", "\nallow:")
_LARGE: Final = 16_000
"""Octets from which on a group is not merged with others, so that crawlers can share it."""
_FEW_LINES: Final = 1
"""So few lines that begin otherwise than the ordinary ones are read one by one."""
_FEW_VALUES: Final = 12
"""So few values are looked at one by one."""
_RULE_LINES: Final = re.compile("\n([ \t]*(?:[aA][lL]|[dD][iI])[^\n]*)")
"""Allow, disallow and its misspellings begin so."""
_NAME: Final = re.compile(rb"[a-z0-9_-]+|\*(?![a-z0-9_-])")


def blocks(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[bytes]] | None:
    r"""The lines of the groups that apply to tokens, in order of preference, become one text.

    ``text`` is that of :func:`scrapy_rep.protocol.syntax.text_of`. The answer is the token found
    (or None) and text whose lines each begin with ``\n``; if one of several groups is large, its
    text comes last and apart. None where a user-agent line is, or may be, written in another manner
    than ``User-agent:``.
    """
    low = text.lower()
    marks = _marks(low)
    if marks is None:
        text = _OTHER_AGENT.sub(_AGENT_LINE, _INDENT.sub(b"\n", text))
        low = text.lower()
        if low.count(_AGENT_LINE) != low.count(b"\nuser"):
            return None
        marks = [found.end() for found in _AGENT_LINES.finditer(low)]
    if len(marks) == 1 and low.startswith(_ALL_CRAWLERS, marks[0]):
        return "*", [text[marks[0] + 2 :]]
    sought, begins = _sought(tuple(wanted))
    found = _found(text, low, marks, sought, begins, profile)
    for token in sought:
        if token in found:
            lines = found[token]
            if len(lines) != 1:
                lines = _joined(lines)
            return token.decode("latin-1"), lines
    return None, [b""]


def _joined(lines: list[bytes]) -> list[bytes]:
    """The lines of all groups; those of the largest come apart if it is large."""
    largest = max(lines, key=len, default=b"")
    if len(largest) < _LARGE:
        return [b"".join(lines)]
    return [b"".join([some for some in lines if some is not largest]), largest]


def _marks(low: bytes) -> list[int] | None:
    """The places behind the colons of user-agent lines, in text in lower case.

    None where the word stands elsewhere too, and may be a user-agent line of another manner.
    """
    marks = []
    at = 0
    pieces = low.split(b"agent")
    del pieces[-1]
    for piece in pieces:
        at += len(piece) + 6
        if low[at - 12 : at] != _AGENT_LINE:
            return None
        marks.append(at)
        at -= 1
    return marks


@lru_cache(maxsize=1024)
def _sought(wanted: tuple[str, ...]) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The names that tokens stand for, and how the values of user-agent lines with them begin."""
    sought = (*[token.encode("latin-1", "replace") for token in wanted], b"*")
    begins = (*[b" " + name for name in sought], *sought, b"  ", b"\t", b" \t")
    return sought, begins


def _found(
    text: bytes,
    low: bytes,
    marks: list[int],
    sought: tuple[bytes, ...],
    begins: tuple[bytes, ...],
    profile: Profile,
) -> dict[bytes, list[bytes]]:
    """Goes to the user-agent lines of the names sought and keeps what lies behind them."""
    found: dict[bytes, list[bytes]] = {}
    taken: dict[bytes, int] = {}
    for number, mark in enumerate(marks):
        if not low.startswith(begins, mark):
            continue
        end = low.find(b"\n", mark)
        value = low[mark : end if end >= 0 else None].strip(b" \t")
        name = value if value in sought else _name_of(value)
        if name in sought and number >= taken.get(name, 0):
            lines = found.setdefault(name, [])
            taken[name] = _take(text, low, marks, number, lines, profile)
    return found


def _take(
    text: bytes, low: bytes, marks: list[int], number: int, lines: list[bytes], profile: Profile
) -> int:
    """Takes the lines of a group from a user-agent line on, and tells which line ends it."""
    while number < len(marks):
        mark = marks[number]
        number += 1
        until = marks[number] - len(_AGENT_LINE) if number < len(marks) else len(low)
        end = low.find(b"\n", mark, until)
        if end >= 0:
            lines.append(text[end:until])
            if (
                low.startswith(_FIRST_RULES, end)
                or low.find(_FIRST_RULES[0], end, until) >= 0
                or _has_rule(low[end:until], profile)
            ):
                break
    return number


def _name_of(value: bytes) -> bytes:
    """The name that a value in lower case begins with, or ``*``; empty if there is none."""
    named = _NAME.match(value)
    return named.group() if named else b""


def _has_rule(low: bytes, profile: Profile) -> bool:
    """An allow or disallow line is among lines in lower case, however it is spelt."""
    if b"low" not in low and b"law" not in low:
        return False
    return any(
        record.key in (syntax.ALLOW, syntax.DISALLOW)
        for record in syntax.records(low.decode("latin-1"), profile)
    )


def patterns(block: bytes, profile: Profile) -> tuple[list[str], list[str]]:
    r"""The lines of a block become the disallow and the allow patterns.

    RFC 9309 section 2.2.2. What stands behind the colon is not yet freed of white space and
    comments. Lines that begin in a usual manner are split off in bulk; what is left over is read
    line by line.
    """
    allow, left = _values("\nAllow: ", block.decode("latin-1"))
    disallow, left = _values("\nDisallow: ", left)
    if not left:
        return disallow, allow
    lines = _RULE_LINES.findall(left)
    if len(lines) > _FEW_LINES:
        for key in _OTHER_SPELLINGS:
            values, left = _values(key, left)
            (allow if "a" in key[:2].lower() else disallow).extend(values)
        lines = _RULE_LINES.findall(left)
    for line in lines:
        record = syntax.record_of(line, 0, profile)
        if record is not None and record.key == syntax.DISALLOW:
            disallow.append(record.value)
        elif record is not None and record.key == syntax.ALLOW:
            allow.append(record.value)
    return disallow, allow


def _values(key: str, block: str) -> tuple[list[str], str]:
    r"""The values of all lines that begin with a key, and the lines that do not.

    The lines left over begin with ``\n`` each.
    """
    values = block.split(key)
    if len(values) == 1:
        return [], block
    others = [values.pop(0)]
    if len(values) > _FEW_VALUES:
        # All but the last are mostly followed by a line of the same key.
        last, end, rest = values[-1].partition("\n")
        left = others[0] + end + rest
        if block.count("\n") == len(values) + left.count("\n"):
            values[-1] = last
            return values, left
    for number, value in enumerate(values):
        if "\n" in value:
            values[number], _, rest = value.partition("\n")
            others.append(rest)
    return values, "\n".join(others)
