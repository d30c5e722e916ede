"""A prefilter lets most paths pass without looking at any pattern.

A path that holds none of the required literals of the disallow patterns is matched by none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getsizeof
from typing import Final, NamedTuple

from scrapy_rep.matching.normal_form import NormalForm
from scrapy_rep.matching.patterns import Patterns
from scrapy_rep.matching.required_literals import required_literals

_POINTER: Final = 8
"""Octets of a reference."""


class Prefilter(NamedTuple):
    """The required literals of the patterns of one kind, and the patterns.

    ``prefixes`` begins with all patterns as written. Only literals belong there, but leaving the
    others out would cost more than they do: a path that begins with ``/a*`` is rare.
    """

    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    inner: tuple[str, ...]
    number: int
    """The number of patterns."""
    special: Sequence[str]
    """The patterns that are not literals in normal form."""
    are_plain: bool
    """All patterns are ASCII and hold no ``%``."""

    @classmethod
    def of(cls, patterns: Patterns, form: NormalForm) -> Prefilter:
        """Return the prefilter of some patterns."""
        written, special, are_plain = patterns
        if not special:
            return cls((*written,), (), (), len(written), special, are_plain)
        prefixes, suffixes, inner = required_literals(special, form, are_plain=are_plain)
        all_prefixes = (*written, *prefixes)
        return cls(all_prefixes, (*suffixes,), (*inner,), len(written), special, are_plain)

    @property
    def patterns(self) -> Patterns:
        """The patterns that this is the prefilter of."""
        return Patterns(self.prefixes[: self.number], self.special, self.are_plain)

    @property
    def octets(self) -> int:
        """Octets of memory of the patterns and literals, without those of empty tuples."""
        texts = (*self.prefixes, *self.suffixes, *self.inner)
        return sum(map(getsizeof, texts)) + _POINTER * (len(texts) + len(self.special))


NO_PATTERNS: Final = Prefilter((), (), (), 0, (), True)
