"""The fast path from octets to patterns, for files that are written in the ordinary manner.

RFC 9309 sections 2.2 and 2.2.1. Nineteen of twenty real files are. The file is searched with
C-level string operations only; the lines of the groups that a crawler needs are returned as text
and split into patterns in bulk. On real files the first verdict takes half of the time that it
takes record by record. The price is a second parser that must always agree with the first: the
tests compare them. If a file is, or may be, written in another manner, the answer is None, and
:mod:`scrapy_rep.protocol.groups` reads it record by record.
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
"""What follows the colon of the only user-agent line in two of three files."""
_OTHER_AGENT: Final = re.compile(rb"\nuser(?:-agent[ \t]+| ?agent[ \t]*):", re.IGNORECASE)
_FIRST_RULES: Final = (b"\ndisallow:", b"\nallow:")
_OTHER_SPELLINGS: Final = (
    ("\nDisallow:", False),
    ("\nAllow:", True),
    ("\ndisallow:", False),
    ("\nallow:", True),
)
"""Usual beginnings of rule lines, and whether they are those of allow lines."""
_LARGE: Final = 16_000
"""A group of this many octets is not merged with others, so that crawlers can share it."""
_FEW_LINES: Final = 1
"""Up to this many lines in other spellings are read one by one: most files have one or none."""
_FEW_VALUES: Final = 12
"""Up to this many values are split one by one. More are split in bulk: for 1,000 rules or more the
first verdict takes 7 % less time."""
_RULE_LINES: Final = re.compile("\n([ \t]*(?:[aA][lL]|[dD][iI])[^\n]*)")
"""Lines that begin as allow, disallow and its misspellings do."""
_NAME: Final = re.compile(rb"[a-z0-9_-]+|\*(?![a-z0-9_-])")


def patterns_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[tuple[list[str], list[str]]]] | None:
    """Return the token found, or None, and the disallow and allow patterns of its groups.

    ``text`` is that of :func:`scrapy_rep.protocol.syntax.text_of`, and ``wanted`` are tokens in
    order of preference. The patterns of all groups are together; only those of a large group are
    apart, and come last. The answer is None if a user-agent line is, or may be, written otherwise
    than ``User-agent:``.
    """
    low = text.lower()
    agent_lines = _agent_lines(low)
    if agent_lines is None:
        text = _OTHER_AGENT.sub(_AGENT_LINE, _INDENT.sub(b"\n", text))
        low = text.lower()
        if low.count(_AGENT_LINE) != low.count(b"\nuser"):
            return None
        agent_lines = [found.end() for found in _AGENT_LINES.finditer(low)]
    if len(agent_lines) == 1 and low.startswith(_ALL_CRAWLERS, agent_lines[0]):
        return "*", [_patterns(text[agent_lines[0] + 2 :], profile)]
    sought, starts = _names_sought(tuple(wanted))
    found = _texts_by_name(text, low, agent_lines, sought, starts, profile)
    for token in sought:
        if token in found:
            texts = found[token]
            if len(texts) != 1:
                texts = _joined(texts)
            return token.decode("latin-1"), [_patterns(one, profile) for one in texts]
    return None, [([], [])]


def _joined(texts: list[bytes]) -> list[bytes]:
    """Return the texts of several groups as one; that of the largest stays apart if it is large."""
    largest = max(texts, key=len, default=b"")
    if len(largest) < _LARGE:
        return [b"".join(texts)]
    return [b"".join([text for text in texts if text is not largest]), largest]


def _agent_lines(low: bytes) -> list[int] | None:
    """Return where the values of user-agent lines begin, in text in lower case.

    The answer is None if the word "agent" stands anywhere else: that may be a user-agent line in
    another spelling. Splitting at the word is faster than a regular expression.
    """
    found = []
    at = 0
    pieces = low.split(b"agent")
    del pieces[-1]
    for piece in pieces:
        at += len(piece) + len(b"agent:")
        if low[at - len(_AGENT_LINE) : at] != _AGENT_LINE:
            return None
        found.append(at)
        at -= len(b":")
    return found


@lru_cache(maxsize=1024)
def _names_sought(wanted: tuple[str, ...]) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Return the names of tokens, and how values of user-agent lines with such a name may start."""
    sought = (*[token.encode("latin-1", "replace") for token in wanted], b"*")
    starts = (*[b" " + name for name in sought], *sought, b"  ", b"\t", b" \t")
    return sought, starts


def _texts_by_name(
    text: bytes,
    low: bytes,
    agent_lines: list[int],
    sought: tuple[bytes, ...],
    starts: tuple[bytes, ...],
    profile: Profile,
) -> dict[bytes, list[bytes]]:
    """Return the texts of the groups of each name that is sought and found."""
    found: dict[bytes, list[bytes]] = {}
    taken: dict[bytes, int] = {}
    for number, start in enumerate(agent_lines):
        if not low.startswith(starts, start):
            continue
        end = low.find(b"\n", start)
        value = low[start : end if end >= 0 else None].strip(b" \t")
        name = value if value in sought else _name_of(value)
        if name in sought and number >= taken.get(name, 0):
            texts = found.setdefault(name, [])
            taken[name] = _take_group(text, low, agent_lines, number, texts, profile)
    return found


def _take_group(
    text: bytes,
    low: bytes,
    agent_lines: list[int],
    number: int,
    texts: list[bytes],
    profile: Profile,
) -> int:
    """Append the text of the group of a user-agent line; return the number of the next group's."""
    while number < len(agent_lines):
        start = agent_lines[number]
        number += 1
        is_last = number == len(agent_lines)
        until = len(low) if is_last else agent_lines[number] - len(_AGENT_LINE)
        end = low.find(b"\n", start, until)
        if end >= 0:
            texts.append(text[end:until])
            if (
                low.startswith(_FIRST_RULES, end)
                or low.find(_FIRST_RULES[0], end, until) >= 0
                or _has_rule(low[end:until], profile)
            ):
                break
    return number


def _name_of(value: bytes) -> bytes:
    """Return the name that a value in lower case begins with, or ``*``; empty if there is none."""
    named = _NAME.match(value)
    return named.group() if named else b""


def _has_rule(low: bytes, profile: Profile) -> bool:
    """Return True if lines in lower case hold an allow or disallow line in any spelling."""
    if b"low" not in low and b"law" not in low:
        return False
    return any(
        record.key in (syntax.ALLOW, syntax.DISALLOW)
        for record in syntax.records(low.decode("latin-1"), profile)
    )


def _patterns(text: bytes, profile: Profile) -> tuple[list[str], list[str]]:
    r"""Return the disallow and the allow patterns in the text of groups.

    RFC 9309 section 2.2.2. White space around them and comments are not removed yet. Lines that
    begin in a usual spelling are split off in bulk; the others are read one by one.
    """
    allow, left = _values("\nAllow: ", text.decode("latin-1"))
    disallow, left = _values("\nDisallow: ", left)
    if not left:
        return disallow, allow
    lines = _RULE_LINES.findall(left)
    if len(lines) > _FEW_LINES:
        for key, is_allow in _OTHER_SPELLINGS:
            values, left = _values(key, left)
            (allow if is_allow else disallow).extend(values)
        lines = _RULE_LINES.findall(left)
    for line in lines:
        record = syntax.record_of(line, 0, profile)
        if record is not None and record.key == syntax.DISALLOW:
            disallow.append(record.value)
        elif record is not None and record.key == syntax.ALLOW:
            allow.append(record.value)
    return disallow, allow


def _values(key: str, text: str) -> tuple[list[str], str]:
    r"""Return the values of all lines that begin with a key, and the text of all other lines.

    Each line of the text begins with ``\n``.
    """
    values = text.split(key)
    if len(values) == 1:
        return [], text
    others = [values.pop(0)]
    if len(values) > _FEW_VALUES:
        # Usually a line of the same key follows each of them but the last.
        last, end, rest = values[-1].partition("\n")
        left = others[0] + end + rest
        if text.count("\n") == len(values) + left.count("\n"):
            values[-1] = last
            return values, left
    for number, value in enumerate(values):
        if "\n" in value:
            values[number], _, rest = value.partition("\n")
            others.append(rest)
    return values, "\n".join(others)
