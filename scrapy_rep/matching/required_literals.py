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
from typing import Final, Literal

from scrapy_rep.matching.normal_form import NormalForm
from scrapy_rep.matching.tuning import DISTINCTIVE, LONGEST_INNER
from scrapy_rep.matching.wildcard import inner_piece

Kind = Literal["prefix", "suffix", "inner"]
PREFIX: Final = "prefix"
SUFFIX: Final = "suffix"
INNER: Final = "inner"

Required = tuple[Kind, str, str]
"""The kind of a required literal, the literal, and the pattern that requires it."""


def required_literals(patterns: Sequence[str], form: NormalForm) -> Iterator[Required]:
    """Yield the required literals of patterns; none for a pattern that matches no path."""
    changed = {*form.not_normal(patterns)}
    for pattern in patterns:
        star = pattern.find("*")
        if pattern in changed:
            yield from _required_by_changed(pattern, form)
        elif star > 1:
            yield PREFIX, pattern[:star], pattern
        elif star < 0:
            yield PREFIX, pattern.removesuffix("$"), pattern
        elif pattern[0] in "/*":
            rest = pattern[star + 1 :]
            if "*" in rest or rest in ("", "$"):
                piece = max(rest.removesuffix("$").split("*"), key=len)
                yield INNER if piece else PREFIX, piece[-LONGEST_INNER:] or pattern[:star], pattern
            elif rest[-1] == "$":
                yield SUFFIX, rest[:-1], pattern
            else:
                yield INNER, rest[-LONGEST_INNER:], pattern


def _required_by_changed(pattern: str, form: NormalForm) -> Iterator[Required]:
    """Yield the required literals of a pattern that may not be in normal form."""
    prefix, _, rest = pattern.removesuffix("$").partition("*")
    pieces = [piece for piece in rest.split("*") if piece]
    if prefix and prefix[0] != "/":
        return
    if form.may_change(prefix):
        normal = form.normal_start(prefix)
        prefix = normal if len(normal) > 1 else form.path_text(prefix.partition("?")[0])
    if len(prefix) > 1 or not pieces:
        yield PREFIX, prefix, pattern
    elif len(pieces) == 1 and pattern[-1] == "$" and rest[-1] != "*":
        for text in {*inner_piece(pieces[0], form)}:
            yield SUFFIX, text, pattern
    else:
        for text in inner_literals(pieces, form):
            yield INNER, text, pattern


def inner_literals(pieces: Sequence[str], form: NormalForm) -> Collection[str]:
    """Return the inner literals of a pattern with these pieces; a path holds at least one.

    The last octets of a long piece distinguish it as well as the whole piece does, and are found
    faster in a path that was made to resemble it.
    """
    return {text[-LONGEST_INNER:] for text in _distinctive(pieces, form)}


def _distinctive(pieces: Sequence[str], form: NormalForm) -> Collection[str]:
    """Return the longest piece; one in normal form, or a part that is, is preferred."""
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
    return inner_piece(piece, form)
