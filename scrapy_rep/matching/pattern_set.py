"""A set of patterns tells whether one of them matches a path, and which of those is longest.

RFC 9309 sections 2.2.2 and 2.2.3. Only what the sieve of :mod:`scrapy_rep.matching.prefilter` lets
through comes here, and most paths never do: so a set is made when it is asked for the first time,
and a pattern that is not a literal is taken apart when it is tried for the first time.
What one question may cost is bounded by :mod:`scrapy_rep.matching.budget`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scrapy_rep.matching import budget
from scrapy_rep.matching.budget import FEW, TooCostlyError
from scrapy_rep.matching.index import PatternIndex
from scrapy_rep.matching.normal_form import Form
from scrapy_rep.matching.prefilter import Place, Placed, each_placed
from scrapy_rep.matching.wildcard import Wildcard, wildcard

_FEW_SHOWN: Final = 16
"""So many patterns that a path shows are tried one by one, whatever comes."""
_MOST_APART: Final = 5_000_000
"""Octets of patterns that are kept taken apart; past that it begins anew."""


class PatternSet:
    """All patterns of one kind, allow or disallow, that hold for one crawler.

    Some may be placed already. ``index`` is None until :meth:`put_in_order`. Each question about a
    path raises TooCostlyError if the budget does not suffice. So many sets as ``share`` says have
    it together, and so many paths as that of a question says.

    Several threads may ask. Where the patterns are placed is made on demand and given up for the
    index: each step reads what there is once, and with nothing there it places them all.
    """

    __slots__ = (
        "_apart",
        "_apart_size",
        "_form",
        "_given",
        "_literals",
        "_others",
        "_placed",
        "_steps",
        "_tried",
        "_uncounted",
        "index",
    )

    def __init__(
        self, patterns: Sequence[str], form: Form, placed: Sequence[Placed] = (), *, share: int = 1
    ) -> None:
        changed = {*form.changed(patterns)}
        plain = [p for p in patterns if "*" not in p and "$" not in p and p not in changed]
        self._form = form
        self._literals = tuple(plain)
        self._others: Sequence[str] = ()
        if len(plain) < len(patterns):
            known = {*plain}
            self._others = tuple([p for p in dict.fromkeys(patterns) if p not in known])
        self._steps = budget.STEPS // share
        self._uncounted = budget.uncounted(self._others)
        self._given = placed
        self._placed: list[Placed] | None = None
        self._tried = False
        self._apart: dict[str, Wildcard] = {}
        self._apart_size = 0
        self.index: PatternIndex | None = None

    @property
    def is_many(self) -> bool:
        """An index would be quicker in the long run."""
        return len(self._literals) + len(self._others) > FEW

    @property
    def others(self) -> Sequence[str]:
        """The patterns that are no literals in normal form: all that hold ``*``, ``$`` or ``%``."""
        return self._others

    @property
    def state(self) -> tuple[object, ...]:
        """What has been made on demand; it is another when the set takes a quarter more memory."""
        bits = self._apart_size.bit_length()
        apart = bits, self._apart_size >> max(bits - 3, 0)
        return self.index is None, self._placed is None, self._tried, apart

    def put_in_order(self) -> PatternIndex:
        """An index is made, once it is clear that this pays."""
        if self.index is None:
            self.index = PatternIndex(self._literals, self._places(), self._form)
            self._given, self._placed = (), None
        return self.index

    def match(self, path: str, share: int = 1) -> bool:
        """Some pattern matches a path in normal form."""
        if self.index is None:
            begun = path.startswith(self._literals)
        else:
            begun = self.index.longest_literal(path) is not None
        if begun or not self._others:
            return begun
        return any(wild.matches(path) for wild, _ in self._met(path, share))

    def longest(self, path: str, share: int = 1) -> int:
        """Octets of the longest pattern that matches a path in normal form; 0 if none does."""
        text = self._longest_literal(path) if self._literals else None
        octets = self._form.octets(text) if text is not None else 0
        for wild, _ in self._met(path, share) if self._others else ():
            if wild.octets > octets and wild.matches(path):
                octets = wild.octets
        return octets

    def written(self, path: str, octets: int, share: int = 1) -> list[str]:
        """The patterns as they were written that gave :meth:`longest` its answer."""
        text = self._longest_literal(path)
        found = [text] if text is not None and self._form.octets(text) == octets else []
        for wild, pattern in self._met(path, share) if self._others else ():
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

    def _met(self, path: str, share: int) -> Iterator[tuple[Wildcard, str]]:
        """The patterns that are no literals and may match a path, taken apart and as written."""
        if len(path) * share > self._uncounted:
            yield from self._met_within(self._steps // share, path)
            return
        for pattern in self._shown(path):
            wild = self._apart.get(pattern)
            if wild is None and self._may_match(pattern, path):
                wild = self._take_apart(pattern)
            if wild is not None:
                yield wild, pattern

    def _met_within(self, left: int, path: str) -> Iterator[tuple[Wildcard, str]]:
        """The same within so many steps, as they might take too long; raises TooCostlyError."""
        for pattern in self.put_in_order().shown(path):
            left -= budget.STEPS_OF_A_PATTERN
            if self._fits(pattern, path):
                wild = self._apart.get(pattern) or self._take_apart(pattern)
                left -= wild.steps(path) + budget.STEPS_OF_A_PIECE * len(wild.floats)
                if left < 0:
                    raise TooCostlyError
                yield wild, pattern
            elif left < 0:
                raise TooCostlyError

    def _shown(self, path: str) -> Iterable[str]:
        """The patterns that are no literals and whose head, end or guard a path has.

        The first path is held against all of them, as it may be the last.
        """
        if self.index is None:
            given = self._given
            if self._placed is None and not self._tried:
                self._tried = True
                return [*_showing(given, path), *self._unplaced(given)]
            found = _showing(self._places(), path)
            if len(found) <= _FEW_SHOWN:
                return found
        return self.put_in_order().shown(path)

    def _places(self) -> list[Placed]:
        """Each head, end and guard with the pattern that is found by it."""
        given = self._given
        found = self._placed
        if found is None:
            found = self._placed = [*given, *each_placed(self._unplaced(given), self._form)]
            self._given = ()
        return found

    def _unplaced(self, given: Sequence[Placed]) -> list[str]:
        """The patterns that are no literals and were not given with their places."""
        known = {pattern for *_, pattern in given}
        return [pattern for pattern in self._others if pattern not in known]

    def _may_match(self, pattern: str, path: str) -> bool:
        """A path is long enough for a pattern, and holds all of its pieces somewhere."""
        if not self._fits(pattern, path) or self._form.changes(pattern):
            return self._fits(pattern, path)
        return all(map(path.__contains__, pattern.removesuffix("$").split("*")))

    def _fits(self, pattern: str, path: str) -> bool:
        """A path is long enough for a pattern, and begins as the pattern does."""
        octets = len(pattern) - pattern.count("*") - pattern.endswith("$")
        head = pattern.partition("*")[0]
        if self._form.changes(pattern):
            return octets <= 3 * len(path) and path.startswith(self._form.unchanged(head))
        return octets <= len(path) and path.startswith(head.removesuffix("$"))

    def _take_apart(self, pattern: str) -> Wildcard:
        wild = wildcard(pattern, self._form)
        self._apart_size += wild.size
        if self._apart_size > _MOST_APART:
            self._apart, self._apart_size = {}, wild.size
        self._apart[pattern] = wild
        return wild


def _showing(placed: Iterable[Placed], path: str) -> list[str]:
    """The patterns whose head, end or guard a path has."""
    return [
        pattern
        for place, text, pattern in placed
        if (
            text in path
            if place is Place.GUARD
            else path.startswith(text)
            if place is Place.HEAD
            else path.endswith(text)
        )
    ]
