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

from collections.abc import Collection, Iterator, Sequence
from itertools import repeat
from typing import Final, Literal, NamedTuple

from scrapy_rep.matching.normal_form import NormalForm
from scrapy_rep.matching.tuning import DISTINCTIVE
from scrapy_rep.matching.wildcard import inner_piece

Kind = Literal["prefix", "suffix", "inner"]
PREFIX: Final = "prefix"
SUFFIX: Final = "suffix"
INNER: Final = "inner"

Required = tuple[Kind, str, str]
"""The kind of a required literal, the literal, and the pattern that requires it."""


class RequiredLiterals(NamedTuple):
    """The required literals of some patterns, and behind each list the patterns that require them.

    These are lists rather than tuples because all patterns of a file are classified before its
    first answer, and the prefilter takes each list as it is.
    """

    prefixes: list[str]
    of_prefixes: list[str]
    suffixes: list[str]
    of_suffixes: list[str]
    inner: list[str]
    of_inner: list[str]

    def each(self) -> Iterator[Required]:
        """Yield each literal with its kind and its pattern."""
        yield from zip(repeat(PREFIX), self.prefixes, self.of_prefixes, strict=False)
        yield from zip(repeat(SUFFIX), self.suffixes, self.of_suffixes, strict=False)
        yield from zip(repeat(INNER), self.inner, self.of_inner, strict=False)


def required_literals(
    patterns: Sequence[str], form: NormalForm, *, are_plain: bool = False
) -> RequiredLiterals:
    """Return the required literals of patterns; a pattern that matches no path has none.

    ``are_plain`` tells that all patterns are ASCII without ``%``, and so in normal form.
    """
    found = RequiredLiterals([], [], [], [], [], [])
    prefixes, of_prefixes, suffixes, of_suffixes, inner, of_inner = found
    changed = () if are_plain else {*form.not_normal(patterns)}
    for pattern in patterns:
        star = pattern.find("*")
        if changed and pattern in changed:
            _add_changed(pattern, form, found)
        elif star > 1:
            prefixes.append(pattern[:star])
            of_prefixes.append(pattern)
        elif star < 0:
            prefixes.append(pattern.removesuffix("$"))
            of_prefixes.append(pattern)
        elif pattern[0] in "/*":
            rest = pattern[star + 1 :]
            is_end = rest[-1:] == "$"
            if "*" in rest or rest == "$":
                rest = max((rest[:-1] if is_end else rest).split("*"), key=len)
                is_end = False
            if not rest:
                prefixes.append(pattern[:star])
                of_prefixes.append(pattern)
            elif is_end:
                suffixes.append(rest[:-1])
                of_suffixes.append(pattern)
            else:
                inner.append(rest)
                of_inner.append(pattern)
    return found


def _add_changed(pattern: str, form: NormalForm, found: RequiredLiterals) -> None:
    """Add the required literals of a pattern that may not be in normal form."""
    prefix, _, rest = pattern.removesuffix("$").partition("*")
    pieces = [piece for piece in rest.split("*") if piece]
    if prefix and prefix[0] != "/":
        return
    if form.may_change(prefix):
        normal = form.normal_start(prefix)
        prefix = normal if len(normal) > 1 else form.path_text(prefix.partition("?")[0])
    if len(prefix) > 1 or not pieces:
        found.prefixes.append(prefix)
        found.of_prefixes.append(pattern)
    elif len(pieces) == 1 and pattern[-1] == "$" and rest[-1] != "*":
        for text in {*inner_piece(pieces[0], form)}:
            found.suffixes.append(text)
            found.of_suffixes.append(pattern)
    else:
        for text in inner_literals(pieces, form):
            found.inner.append(text)
            found.of_inner.append(pattern)


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
