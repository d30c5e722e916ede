"""Each pattern that is no literal has a place where a path that it matches shows it.

RFC 9309 section 2.2.3. A path that ``/a*b`` matches begins with its head ``/a``; one that
``/*.gif$`` matches ends with ``.gif``; one that ``/*print*x`` matches holds the guard ``print``.
A path that shows none of the places of a set of patterns is matched by none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from scrapy_rep.protocol.path import Form
from scrapy_rep.protocol.wildcard import floating_piece

_TELLING: Final = 3
"""Octets of a text that few paths hold by chance."""


class Place(IntEnum):
    """Where a path shows that a pattern may match it: its begin, its end, or anywhere."""

    HEAD = 0
    END = 1
    GUARD = 2


Placed = tuple[Place, str, str]
"""A place, the text that shows there, and the pattern that is found by it."""


class Places(NamedTuple):
    """The texts by which a set of patterns is found."""

    heads: list[str]
    ends: list[str]
    guards: list[str]

    @classmethod
    def told(cls, placed: Iterable[Placed]) -> Places:
        """The texts of what was placed one by one."""
        found = cls([], [], [])
        for place, text, _ in placed:
            found[place].append(text)
        return found


def placed(patterns: list[str], form: Form) -> Places:
    """Patterns in normal form with ``*`` or ``$`` are mostly simple, and quickly placed."""
    heads: list[str] = []
    ends: list[str] = []
    guards: list[str] = []
    others: list[str] = []
    for pattern in patterns:
        at = pattern.find("*")
        if at > 1:
            heads.append(pattern[:at])
            continue
        rest = pattern[at + 1 :]
        if at < 0:
            heads.append(pattern.removesuffix("$"))
        elif len(rest) < 2 or rest[-1] == "*":
            others.append(pattern)
        elif rest[-1] != "$":
            guards.append(rest[rest.rfind("*") + 1 :])
        elif "*" in rest:
            others.append(pattern)
        else:
            ends.append(rest[:-1])
    if others:
        more = Places.told(each_placed(others, form))
        return Places(heads + more.heads, ends + more.ends, guards + more.guards)
    return Places(heads, ends, guards)


def each_placed(patterns: Iterable[str], form: Form) -> list[Placed]:
    """Patterns of any kind are placed one by one."""
    return [
        (place, text, pattern) for pattern in patterns for place, text in places_of(pattern, form)
    ]


def places_of(pattern: str, form: Form) -> Iterator[tuple[Place, str]]:
    """A path that a pattern matches shows at least one of these."""
    head, _, rest = pattern.removesuffix("$").partition("*")
    pieces = [piece for piece in rest.split("*") if piece]
    if head and head[0] != "/":
        return
    if form.changes(head):
        unchanged = form.unchanged(head)
        head = unchanged if len(unchanged) > 1 else form.path_text(head.partition("?")[0])
    if len(head) <= 1 and len(pieces) == 1 and pattern[-1] == "$" and rest[-1] != "*":
        for text in {*floating_piece(pieces[0], form)}:
            yield Place.END, text
    elif len(head) > 1 or not pieces:
        yield Place.HEAD, head
    else:
        for text in guards_of(pieces, form):
            yield Place.GUARD, text


def guards_of(pieces: list[str], form: Form) -> Collection[str]:
    """What a path must hold of the longest piece, or one of what it must hold."""
    piece = max(pieces, key=len)
    if not form.changes(piece):
        return (piece,)
    if not form.encodes:
        # Between its escapes a piece is in normal form, and the same in a path and in a query.
        first, *others = piece.split("%")
        plain = max(first, *[other[2:] for other in others], key=len)
        if len(plain) >= _TELLING:
            return (plain,)
    return {*floating_piece(piece, form)}
