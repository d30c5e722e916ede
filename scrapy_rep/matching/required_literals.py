"""Every path that a pattern matches holds a certain literal: its required literal.

RFC 9309 section 2.2.3. There are three kinds:

==========  =======================  ================================
pattern     a path that it matches   required literal
==========  =======================  ================================
``/a*b``    begins with ``/a``       prefix
``/*.gif$`` ends with ``.gif``       suffix
``/*print`` holds ``print``          inner
==========  =======================  ================================

Only patterns that are not literals in normal form are classified here; a literal is its own prefix.
The literals are in normal form. A piece that may be written in two ways (``%2F`` is ``/`` in a
query) has two literals, of which a path holds at least one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import filterfalse
from typing import Final, Literal

from scrapy_rep.matching.normal_form import NormalForm
from scrapy_rep.matching.tuning import DISTINCTIVE
from scrapy_rep.matching.wildcard import inner_piece

Kind = Literal["prefix", "suffix", "inner"]
PREFIX: Final = "prefix"
SUFFIX: Final = "suffix"
INNER: Final = "inner"
_KINDS: Final[tuple[Kind, ...]] = PREFIX, SUFFIX, INNER

Required = tuple[Kind, str, str]
"""The kind of a required literal, the literal, and the pattern that requires it."""


RequiredLiterals = tuple[list[str], list[str], list[str]]
"""The required prefixes, suffixes and inner literals of some patterns.

All patterns of a file are classified before its first answer, so this is no more than the prefilter
needs; :func:`each_required_literal` tells which pattern requires which literal.
"""


def required_literals(
    patterns: Sequence[str], form: NormalForm, *, are_plain: bool = False
) -> RequiredLiterals:
    """Return the required literals of patterns; a pattern that matches no path has none.

    ``are_plain`` tells that all patterns are ASCII without ``%``, and so in normal form.
    """
    prefixes: list[str] = []
    suffixes: list[str] = []
    inner: list[str] = []
    found = prefixes, suffixes, inner
    changed = () if are_plain else form.not_normal(patterns)
    if changed:
        patterns = [*filterfalse({*changed}.__contains__, patterns)]
        for pattern in changed:
            _add_changed(pattern, form, found)
    for pattern in patterns:
        prefix, star, rest = pattern.partition("*")
        if not star:
            prefixes.append(pattern.removesuffix("$"))
        elif len(prefix) > 1:
            prefixes.append(prefix)
        elif prefix in ("", "/"):
            if "*" in rest:
                rest = _longest_piece(rest.removesuffix("$"))
                (inner if rest else prefixes).append(rest or prefix)
            elif rest in ("", "$"):
                prefixes.append(prefix)
            elif rest[-1] == "$":
                suffixes.append(rest[:-1])
            else:
                inner.append(rest)
    return found


def _longest_piece(rest: str) -> str:
    """Return the longest of the pieces between ``*``; splitting two takes half of the time."""
    piece, _, other = rest.partition("*")
    if "*" in other:
        return max(rest.split("*"), key=len)
    return piece if len(piece) >= len(other) else other


def each_required_literal(patterns: Iterable[str], form: NormalForm) -> Iterator[Required]:
    """Yield each required literal of patterns with its kind and its pattern."""
    for pattern in patterns:
        found = required_literals((pattern,), form)
        for kind, literals in zip(_KINDS, found, strict=True):
            for literal in literals:
                yield kind, literal, pattern


def _add_changed(pattern: str, form: NormalForm, found: RequiredLiterals) -> None:
    """Add the required literals of a pattern that may not be in normal form."""
    prefixes, suffixes, inner = found
    start = form.normal_start(pattern).partition("*")[0]
    if len(start) > 1 and start[0] == "/":
        prefixes.append(start)
        return
    prefix, _, rest = pattern.removesuffix("$").partition("*")
    pieces = [piece for piece in rest.split("*") if piece]
    if prefix and prefix[0] != "/":
        return
    if form.may_change(prefix):
        prefix = form.path_text(prefix.partition("?")[0])
    if len(prefix) > 1 or not pieces:
        prefixes.append(prefix)
    elif len(pieces) == 1 and pattern[-1] == "$" and rest[-1] != "*":
        suffixes.extend({*inner_piece(pieces[0], form)})
    else:
        inner.extend(inner_literals(pieces, form))


def inner_literals(pieces: Sequence[str], form: NormalForm) -> Collection[str]:
    """Return the inner literals of a pattern with these pieces; a path holds at least one.

    It is the longest piece, unless that may not be in normal form: then one that is, or a part that
    is, is preferred.
    """
    piece = max(pieces, key=len)
    if not form.may_change(piece):
        return (piece,)
    if len(pieces) > 1:
        normal = max([other for other in pieces if not form.may_change(other)], key=len, default="")
        if len(normal) >= DISTINCTIVE:
            return (normal,)
    if not form.encodes:
        # Between its escapes a piece is in normal form, and the same in a path and in a query.
        first, *others = piece.split("%")
        plain = max(first, *[other[2:] for other in others], key=len)
        if len(plain) >= DISTINCTIVE:
            return (plain,)
    return {*inner_piece(piece, form)}
