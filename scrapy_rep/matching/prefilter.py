"""Each pattern that is no literal has a place where a path that it matches shows it.

RFC 9309 section 2.2.3. A path that ``/a*b`` matches begins with its head ``/a``; one that
``/*.gif$`` matches ends with ``.gif``; one that ``/*print*x`` matches holds the guard ``print``.
A path that shows none of the places of a set of patterns is matched by none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from scrapy_rep.matching.budget import FEW
from scrapy_rep.matching.normal_form import Form
from scrapy_rep.matching.wildcard import floating_piece

_LONGEST_GUARD: Final = 32
"""Octets of a guard in an index. The last octets of a longer piece tell it from others as well as
all of it, and searching for more of them is slower where path and piece are made to be alike."""
_TELLING: Final = 3
"""Octets of a text that few paths hold by chance."""


class Place(IntEnum):
    """Where a path shows that a pattern may match it: its begin, its end, or anywhere."""

    HEAD = 0
    END = 1
    GUARD = 2


Placed = tuple[Place, str, str]
"""A place, the text that shows there, and the pattern that is found by it."""


class Sieve(NamedTuple):
    """Most paths are matched by no pattern of a set, and show it: they have none of these texts.

    ``heads`` begins with the patterns themselves, so many as ``number`` says. Those that are no
    literals do no harm there: a path may be taken for one that has to be looked at, and then is;
    to leave them out would cost more.
    """

    heads: tuple[str, ...]
    ends: tuple[str, ...]
    guards: tuple[str, ...]
    number: int
    placed: Sequence[Placed]
    """The patterns that took some time, to be used again."""
    wild: Sequence[str]
    """The patterns that are no literals."""
    plain: bool
    """The patterns are ASCII and hold no ``%``."""

    @classmethod
    def of(cls, patterns: list[str], joined: str, form: Form) -> Sieve:
        """Patterns that are not empty; ``joined`` is one text that holds them all."""
        special: list[str] = []
        if "*" in joined or "$" in joined:
            special = [p for p in patterns if "*" in p or "$" in p]
        wild = special
        heads: list[str] = []
        others: list[str] = []
        plain = joined.isascii() and "%" not in joined
        if not plain and form.changes(joined):
            changed = form.changed(patterns)
            both = {p for p in changed if "*" in p or "$" in p}
            if both:
                special = [p for p in special if p not in both]
            wild = special + changed
            for pattern in changed:
                head = form.unchanged(pattern).partition("*")[0]
                if len(head) > 1:
                    heads.append(head)
                else:
                    others.append(pattern)
        ends, guards = _placed(special, heads, others) if special else ([], [])
        slow = each_placed(dict.fromkeys(others), form) if others else ()
        for place, text, _ in slow:
            (heads, ends, guards)[place].append(text)
        all_heads = (*patterns, *heads)
        return cls(all_heads, tuple(ends), tuple(guards), len(patterns), slow, wild, plain)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns as written, without white space around them."""
        return self.heads[: self.number]

    @property
    def is_many(self) -> bool:
        """An index would be quicker in the long run."""
        return len(self.heads) > FEW or len(self.guards) > FEW


NO_PATTERNS: Final = Sieve((), (), (), 0, (), (), True)


def _placed(
    patterns: list[str], heads: list[str], others: list[str]
) -> tuple[list[str], list[str]]:
    """Patterns in normal form with ``*`` or ``$`` are mostly simple, and quickly placed.

    The ends and guards are returned; heads, and the patterns that are not simple, are added.
    """
    ends: list[str] = []
    guards: list[str] = []
    for pattern in patterns:
        at = pattern.find("*")
        if at > 1:
            heads.append(pattern[:at])
        elif at < 0:
            heads.append(pattern.removesuffix("$"))
        elif pattern[-1] == "*":
            others.append(pattern)
        elif pattern[-1] != "$":
            guards.append(pattern[pattern.rfind("*") + 1 :])
        elif "*" in pattern[at + 1 :] or len(pattern) == at + 2:
            others.append(pattern)
        else:
            ends.append(pattern[at + 1 : -1])
    return ends, guards


def each_placed(patterns: Iterable[str], form: Form) -> list[Placed]:
    """Patterns of any kind are placed one by one."""
    found: list[Placed] = []
    for pattern in patterns:
        at = pattern.find("*")
        if at > 1 and not form.changes(pattern):
            found.append((Place.HEAD, pattern[:at], pattern))
        else:
            found += [(place, text, pattern) for place, text in places_of(pattern, form)]
    return found


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
    """What a path must hold of the longest piece that tells, or one of what it must hold."""
    return {text[-_LONGEST_GUARD:] for text in _telling(pieces, form)}


def _telling(pieces: list[str], form: Form) -> Collection[str]:
    """One text that a path must hold, or several of which it must hold at least one."""
    piece = max(pieces, key=len)
    if not form.changes(piece):
        return (piece,)
    if len(pieces) > 1:
        usual = max([other for other in pieces if not form.changes(other)], key=len, default="")
        if len(usual) >= _TELLING:
            return (usual,)
    if not form.encodes:
        # Between its escapes a piece is in normal form, and the same in a path and in a query.
        first, *others = piece.split("%")
        plain = max(first, *[other[2:] for other in others], key=len)
        if len(plain) >= _TELLING:
            return (plain,)
    return floating_piece(piece, form)
