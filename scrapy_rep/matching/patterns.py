"""The values of rule lines become the patterns of one kind, allow or disallow.

RFC 9309 section 2.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrapy_rep.matching.normal_form import NormalForm


class Patterns(NamedTuple):
    """The patterns of one kind that apply to one crawler, in the order of the file."""

    written: Sequence[str]
    """As written, without comments and the white space around them. None is empty."""
    special: Sequence[str]
    """Those that are not literals in normal form: all with ``*``, ``$`` or ``%``."""
    are_plain: bool
    """All are ASCII and hold no ``%``."""


def patterns_of(values: list[str], form: NormalForm) -> Patterns:
    """Return the patterns in the values of rule lines."""
    written, joined = _cleaned(values)
    are_plain = joined.isascii() and "%" not in joined
    special: Sequence[str] = ()
    if not are_plain and form.may_change(joined):
        if form.encodes:
            special = [p for p in written if "*" in p or "$" in p or form.may_change(p)]
        else:
            special = [p for p in written if "*" in p or "$" in p or "%" in p]
    elif "*" in joined or "$" in joined:
        special = [p for p in written if "*" in p or "$" in p]
    return Patterns(written, special, are_plain)


def _cleaned(values: list[str]) -> tuple[list[str], str]:
    """Return values without comments, white space and empty ones; and all of them as one text."""
    joined = "\n".join(values)
    if "#" in joined:
        values = [value.partition("#")[0] for value in values]
    if " " in joined or "\t" in joined:
        values = [value.strip(" \t") for value in values]
        joined = "\n".join(values)
    if not all(values):
        values = [value for value in values if value]
    return values, joined
