"""A set of patterns tells whether one of them matches a path, and which of those is longest.

RFC 9309 sections 2.2.2 and 2.2.3. Only what the sieve of :mod:`scrapy_rep.protocol.places` lets
through comes here, and most paths never do: so a set is made when it is asked for the first time,
and a pattern that is not a literal is taken apart when it is tried for the first time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scrapy_rep.protocol.index import PatternIndex
from scrapy_rep.protocol.path import Form
from scrapy_rep.protocol.places import FEW, Place, Placed, each_placed
from scrapy_rep.protocol.wildcard import Wildcard, wildcard

_FEW_SHOWN: Final = 16
"""So many patterns that a path shows are tried one by one, whatever comes."""
_MOST_KNOWN: Final = 2_000
"""Patterns that are kept taken apart; past that it begins anew."""


class PatternSet:
    """All patterns of one kind, allow or disallow, that hold for one crawler.

    Some may be placed already. ``index`` is None until :meth:`put_in_order`.
    """

    __slots__ = ("_form", "_given", "_known", "_literals", "_octets", "_others", "_placed", "index")

    def __init__(self, patterns: Sequence[str], form: Form, placed: Sequence[Placed] = ()) -> None:
        plain = [p for p in patterns if "*" not in p and "$" not in p and "%" not in p]
        if form.encodes:
            plain = [p for p in plain if p.isascii()]
        self._form = form
        self._octets = sum(map(len, patterns))
        self._literals = tuple(plain)
        self._others: Sequence[str] = ()
        if len(plain) < len(patterns):
            known = {*plain}
            self._others = tuple([p for p in dict.fromkeys(patterns) if p not in known])
        self._given = placed
        self._placed: list[Placed] | None = None
        self._known: dict[str, Wildcard] = {}
        self.index: PatternIndex | None = None

    @property
    def is_many(self) -> bool:
        """An index would be quicker in the long run."""
        return len(self._literals) + len(self._others) > FEW

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        texts = 75 * (len(self._literals) + len(self._others)) + self._octets
        index = self.index.size if self.index else 0
        return 300 + texts + 140 * len(self._placed or ()) + 700 * len(self._known) + index

    def put_in_order(self) -> PatternIndex:
        """An index is made, once it is clear that this pays."""
        if self.index is None:
            self.index = PatternIndex(self._literals, self._places(), self._form)
            self._given, self._placed = (), None
        return self.index

    def match(self, path: str) -> bool:
        """Some pattern matches a path in normal form."""
        if self.index is None:
            begun = path.startswith(self._literals)
        else:
            begun = self.index.longest_literal(path) is not None
        if begun or not self._others:
            return begun
        return any(self._taken_apart(pattern).matches(path) for pattern in self._met(path))

    def longest(self, path: str) -> int:
        """Octets of the longest pattern that matches a path in normal form; 0 if none does."""
        text = self._longest_literal(path) if self._literals else None
        octets = self._form.octets(text) if text is not None else 0
        for pattern in self._met(path) if self._others else ():
            wild = self._taken_apart(pattern)
            if wild.octets > octets and wild.matches(path):
                octets = wild.octets
        return octets

    def written(self, path: str, octets: int) -> list[str]:
        """The patterns as they were written that gave :meth:`longest` its answer."""
        text = self._longest_literal(path)
        found = [text] if text is not None and self._form.octets(text) == octets else []
        for pattern in self._met(path) if self._others else ():
            wild = self._taken_apart(pattern)
            if wild.octets == octets and wild.matches(path):
                found.append(pattern)
        return found

    def _longest_literal(self, path: str) -> str | None:
        """The longest literal that begins a path has the most octets of those that do."""
        if self.index is not None:
            return self.index.longest_literal(path)
        if not path.startswith(self._literals):
            return None
        return max(filter(path.startswith, self._literals), key=len)

    def _met(self, path: str) -> Iterator[str]:
        """The patterns that are no literals and whose head, end or guard a path has.

        A pattern with more octets besides its stars than the path can have is none of them.
        """
        longest = 3 * len(path) + 1
        for pattern in self._shown(path):
            if len(pattern) <= longest or len(pattern) - pattern.count("*") <= longest:
                yield pattern

    def _shown(self, path: str) -> Iterator[str]:
        if self.index is None:
            found = [
                pattern
                for place, text, pattern in self._places()
                if (
                    text in path
                    if place is Place.GUARD
                    else path.startswith(text)
                    if place is Place.HEAD
                    else path.endswith(text)
                )
            ]
            if len(found) <= _FEW_SHOWN:
                return iter(found)
        return self.put_in_order().shown(path)

    def _places(self) -> list[Placed]:
        """Each head, end and guard with the pattern that is found by it."""
        if self._placed is None:
            done = {pattern for *_, pattern in self._given}
            others = [pattern for pattern in self._others if pattern not in done]
            self._placed = [*self._given, *each_placed(others, self._form)]
            self._given = ()
        return self._placed

    def _taken_apart(self, pattern: str) -> Wildcard:
        wild = self._known.get(pattern)
        if wild is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            wild = self._known[pattern] = wildcard(pattern, self._form)
        return wild
