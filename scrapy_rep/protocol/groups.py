"""Records become groups, and a crawler's token finds the rules that are meant for it.

RFC 9309 sections 2.2 and 2.2.1. :func:`groups` is exact for every profile. :func:`blocks` is the
short cut for the 19 of 20 real files whose user-agent lines are written in the ordinary manner:
it looks at whole files with C-level string operations only, and hands back the lines of the
groups that are asked for, untouched. It says None where it is not sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from scrapy_rep.protocol import agent as tokens
from scrapy_rep.protocol import syntax
from scrapy_rep.protocol.profiles import Profile
from scrapy_rep.protocol.syntax import Record

_AGENT_LINE: Final = b"\nuser-agent:"
_AGENT_LINES: Final = re.compile(_AGENT_LINE)
_INDENT: Final = re.compile(rb"\n[ \t]+")
_FIRST_RULES: Final = (b"\ndisallow:", b"\nallow:")
_OTHER_SPELLINGS: Final = ("\nDisallow:", "\nAllow:", "\ndisallow:", "\nallow:")
_FEW_LINES: Final = 8
"""So few lines that begin otherwise than the ordinary ones are read one by one."""
_RULE_BEGINS: Final = frozenset("aAdD \t")
"""Allow, disallow and its misspellings begin so, and lines that are indented."""
_NAME: Final = re.compile(rb"[a-z0-9_-]+|\*(?![a-z0-9_-])")


class Group(NamedTuple):
    """A group is the names of its user-agent lines and the records that follow them."""

    names: Sequence[str]
    records: Sequence[Record]


def groups(records: Iterable[Record], profile: Profile) -> Iterator[Group]:
    """A group lasts up to the next user-agent line that comes after a rule.

    RFC 9309 section 2.1. In the profiles of 1994 and 1996 a blank line ends it too. Records
    before the first user-agent line belong to no group.
    """
    names: list[str] = []
    found: list[Record] = []
    has_rule = False
    for record in records:
        if record.key == syntax.BLANK or (record.key == syntax.AGENT and has_rule):
            if names and (has_rule or not profile.group_needs_a_rule):
                yield Group(names, found)
            names, found, has_rule = [], [], False
        if record.key == syntax.AGENT:
            names.extend(tokens.names_of(record.value, profile))
        elif names and record.key != syntax.BLANK:
            found.append(record)
            has_rule = has_rule or record.key in (syntax.ALLOW, syntax.DISALLOW)
    if names and (has_rule or not profile.group_needs_a_rule):
        yield Group(names, found)


def applicable(
    found: Iterable[Group], wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[Record]]:
    """The groups of the first token that has any are merged; else those of ``*``; else nothing.

    RFC 9309 section 2.2.1. The first item is the token that was found, or None.
    """
    by_token: dict[str, list[Record]] = {}
    for group in found:
        for token in dict.fromkeys((*wanted, tokens.DEFAULT)):
            if token in by_token and not profile.all_groups_are_merged:
                continue
            if token == tokens.DEFAULT:
                matches = token in group.names
            else:
                matches = tokens.is_named(group.names, token, profile)
            if matches:
                by_token.setdefault(token, []).extend(group.records)
    for token in (*wanted, tokens.DEFAULT):
        if token in by_token:
            return token, by_token[token]
    return None, []


def blocks(text: bytes, wanted: Sequence[str], profile: Profile) -> tuple[str | None, str] | None:
    r"""The lines of the groups that :func:`applicable` would choose, as one text.

    ``text`` is that of :func:`scrapy_rep.protocol.syntax.text_of`. The answer is the token found
    (or None) and text whose lines each begin with ``\n``. None where a user-agent line is, or
    may be, written in another manner than ``User-agent:``.
    """
    low = text.lower()
    marks = _marks(low)
    if marks is None:
        text = _INDENT.sub(b"\n", text)
        low = text.lower()
        if low.count(_AGENT_LINE) != low.count(b"\nuser"):
            return None
        marks = [found.end() for found in _AGENT_LINES.finditer(low)]
    sought = (*[token.encode("latin-1", "replace") for token in wanted], b"*")
    found = _found(text, low, marks, sought, profile)
    for token in sought:
        if token in found:
            lines = found[token]
            block = lines[0] if len(lines) == 1 else b"".join(lines)
            return token.decode("latin-1"), block.decode("latin-1")
    return None, ""


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


def _found(
    text: bytes, low: bytes, marks: list[int], sought: tuple[bytes, ...], profile: Profile
) -> dict[bytes, list[bytes]]:
    """Goes to the user-agent lines of the names sought and keeps what lies behind them."""
    found: dict[bytes, list[bytes]] = {}
    taken: dict[bytes, int] = {}
    begins = (*[b" " + name for name in sought], *sought, b"  ", b"\t", b" \t")
    for number, mark in enumerate(marks):
        if not low.startswith(begins, mark):
            continue
        end = low.find(b"\n", mark)
        name = _name_of(low[mark : end if end >= 0 else None].strip(b" \t"))
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


def patterns(block: str, profile: Profile) -> tuple[list[str], list[str]]:
    r"""The lines of a block become the disallow and the allow patterns.

    RFC 9309 section 2.2.2. What stands behind the colon is not yet freed of white space and
    comments. Lines that begin in a usual manner are split off in bulk; what is left over is read
    line by line.
    """
    disallow, left = _values("\nDisallow: ", block)
    if not left:
        return disallow, []
    allow, left = _values("\nAllow: ", left)
    lines = [line for line in left.split("\n") if line[:1] in _RULE_BEGINS]
    if len(lines) > _FEW_LINES:
        for key in _OTHER_SPELLINGS:
            values, left = _values(key, left)
            (allow if "a" in key[:2].lower() else disallow).extend(values)
        lines = [line for line in left.split("\n") if line[:1] in _RULE_BEGINS]
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
    parts = block.split(key)
    if len(parts) == 1:
        return [], block
    others = [parts.pop(0)]
    values = [part for part in parts if "\n" not in part]
    if len(values) == len(parts):
        return values, others[0]
    for part in [part for part in parts if "\n" in part]:
        value, _, rest = part.partition("\n")
        values.append(value)
        others.append(rest)
    return values, "\n".join(others)


def records_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[Record]]:
    """The records of the groups that apply to tokens, one by one and with their lines."""
    found = groups(syntax.records(text.decode("latin-1"), profile), profile)
    return applicable(found, wanted, profile)


def patterns_for(
    text: bytes, wanted: Sequence[str], profile: Profile
) -> tuple[str | None, list[str], list[str]]:
    """The token found for a crawler, and its disallow and allow patterns as written."""
    if profile.lines_are_ordinary:
        found = blocks(text, wanted, profile)
        if found is not None:
            return found[0], *patterns(found[1], profile)
    token, records = records_for(text, wanted, profile)
    disallow: list[str] = []
    allow: list[str] = []
    for record in records:
        if record.key == syntax.DISALLOW:
            disallow.extend(patterns_of(record, profile))
        elif record.key == syntax.ALLOW:
            allow.extend(patterns_of(record, profile))
    return token, disallow, allow


def patterns_of(record: Record, profile: Profile) -> list[str]:
    """A rule line has one pattern, and in some profiles more; another record has none."""
    if record.key not in (syntax.ALLOW, syntax.DISALLOW):
        return []
    value = record.value
    if profile.several_paths_on_a_line:
        parts = value.split()
        if parts and all(part.startswith("/") for part in parts):
            return parts
    if profile.index_html_allows_the_directory and record.key == syntax.ALLOW:
        directory, slash, page = value.rpartition("/")
        if slash and page.startswith("index.htm"):
            return [value, f"{directory}/$"]
    return [value]
