"""A set of patterns tells quickly that none of them matches a path, and else which is longest.

RFC 9309 sections 2.2.2 and 2.2.3. Most requests match no rule at all, so a set is first of all the
means to be sure of that at once:

- heads, what a path must begin with: literal patterns, and what stands before the first ``*`` or
  the ``$`` of others;
- ends, what a path must end with: ``/*.gif$``;
- guards, what a path must hold: a literal of patterns like ``/*print*x``.

Only when a path has a head, end or guard is it asked which patterns they belong to; and a pattern
that is not a literal is taken apart when it is tried for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from scrapy_rep.protocol.blocks import cleaned
from scrapy_rep.protocol.index import FloatIndex, PrefixIndex
from scrapy_rep.protocol.path import Form
from scrapy_rep.protocol.places import (
    Place,
    Placed,
    Places,
    each_placed,
    guards_of,
    placed,
    places_of,
)
from scrapy_rep.protocol.wildcard import Wildcard, wildcard

FEW: Final = 24
"""So few heads or guards are asked for one by one, whatever comes."""
_BEHIND_ONE_HEAD: Final = 16
"""Patterns with ``*`` behind one head; more of them are found by their guards."""
_MOST_KNOWN: Final = 2_000
"""Patterns that are kept taken apart; past that it begins anew."""

Filed = dict[Place, dict[str, list[str]]]
"""For each kind of place, and each text that may stand there, the patterns that it belongs to."""
_UNFILED: Final[Filed] = {place: {} for place in Place}


class PatternSet:
    """All patterns of one kind, allow or disallow, that hold for one crawler."""

    __slots__ = (
        "_changed",
        "_filed",
        "_form",
        "_known",
        "_literal_set",
        "_literals",
        "_number",
        "_octets_of",
        "_octets_written",
        "_patterns",
        "_placed",
        "ends",
        "floats",
        "guards",
        "heads",
        "prefixes",
    )

    def __init__(self, patterns: list[str], form: Form) -> None:
        patterns, joined = cleaned(patterns)
        self._form = form
        self._number = len(patterns)
        self._octets_written = len(joined)
        self._octets_of: Callable[[str], int] = form.octets
        self._changed: list[Placed] = []
        self._placed: list[Placed] | None = None
        self._filed: Filed = _UNFILED
        self._known: dict[str, Wildcard] | None = None
        self._literals: tuple[str, ...] | None = None
        self._patterns: tuple[str, ...] | None = None
        self.prefixes: PrefixIndex | None = None
        self.floats: FloatIndex | None = None
        self.ends: tuple[str, ...] = ()
        self.guards: tuple[str, ...] = ()
        # Patterns that are no literals do no harm among the heads: a path may be taken for one that
        # has to be looked at, and then is; to leave them out would cost more.
        self.heads = tuple(patterns)
        special = []
        if "*" in joined or "$" in joined:
            special = [p for p in patterns if "*" in p or "$" in p]
        if form.changes(joined):
            changed = dict.fromkeys(p for p in patterns if form.changes(p))
            special = [p for p in special if p not in changed]
            self._changed = each_placed(changed, form)
            self._add(Places.told(self._changed))
        if special:
            self._add(placed(special, form))

    def _add(self, places: Places) -> None:
        self.heads += tuple(places.heads)
        self.ends += tuple(places.ends)
        self.guards += tuple(places.guards)

    def __bool__(self) -> bool:
        return self._number > 0

    @property
    def is_many(self) -> bool:
        """An index would be quicker in the long run."""
        return len(self.heads) > FEW or len(self.guards) > FEW

    @property
    def has_empty_head(self) -> bool:
        """A pattern such as ``*`` matches every path, and is behind no head."""
        return "" in self._filed[Place.HEAD]

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        numbers = 130 * len(self.prefixes.keys) if self.prefixes else 0
        filed = 140 * len(self._placed or self._changed)
        filed += sum([250 * len(found) for found in self._filed.values()])
        found = 75 * (len(self.heads) + len(self.ends) + len(self.guards))
        floats = 500 * len(self.guards) if self.floats else 0
        apart = 700 * len(self._known or ())
        written = self._octets_written + 75 * self._number
        return 700 + written + numbers + filed + found + floats + apart

    def _places(self) -> list[Placed]:
        """Each head, end and guard with the pattern that is found by it."""
        if self._placed is None:
            done = {*self.literals(), *[pattern for *_, pattern in self._changed]}
            others = [pattern for pattern in dict.fromkeys(self._all()) if pattern not in done]
            placed, form = self._changed, self._form
            for pattern in others:
                at = pattern.find("*")
                if at > 1:
                    placed.append((Place.HEAD, pattern[:at], pattern))
                else:
                    placed += [(place, text, pattern) for place, text in places_of(pattern, form)]
            self._placed = placed
        return self._placed

    def _all(self) -> tuple[str, ...]:
        return self.heads[: self._number] if self._patterns is None else self._patterns

    def literals(self) -> tuple[str, ...]:
        """The patterns that say nothing but themselves."""
        if self._literals is None:
            patterns, changes = self._all(), self._form.changes
            found = [p for p in patterns if "*" not in p and "$" not in p and not changes(p)]
            self._literals = tuple(found) if len(found) < len(patterns) else patterns
            text = "".join(found)
            if self._form.octets(text) == len(text):
                self._octets_of = len
        return self._literals

    def _taken_apart(self, pattern: str) -> Wildcard:
        if self._known is None or len(self._known) >= _MOST_KNOWN:
            self._known = {}
        wild = self._known.get(pattern)
        if wild is None:
            wild = self._known[pattern] = wildcard(pattern, self._form)
        return wild

    def index(self) -> PrefixIndex:
        """Many heads and many guards are put in order, once it is clear that this pays."""
        if self.prefixes is None:
            self._patterns = self._all()
            filed = self._filed = {place: {} for place in Place}
            for place, text, pattern in self._places():
                filed[place].setdefault(text, []).append(pattern)
            self._changed = self._placed = []
            heads, guards = filed[Place.HEAD], filed[Place.GUARD]
            for head, patterns in heads.items():
                if len(patterns) > _BEHIND_ONE_HEAD:
                    heads[head] = self._spread(patterns, guards)
            self._literal_set = {*self.literals()}
            self.prefixes = PrefixIndex(self._literal_set | heads.keys())
            self.heads, self.guards = (), tuple(guards)
            if len(guards) > FEW:
                self.floats = FloatIndex(guards)
        return self.prefixes

    def _spread(self, patterns: list[str], guards: dict[str, list[str]]) -> list[str]:
        """Patterns that crowd behind one head are found by their guards instead.

        Those without any are left behind it.
        """
        left, form = [], self._form
        for pattern in patterns:
            pieces = pattern.removesuffix("$").split("*")
            pieces[0] = ""
            if any(pieces):
                for text in guards_of(pieces, form):
                    guards.setdefault(text, []).append(pattern)
            else:
                left.append(pattern)
        return left

    def match(self, path: str) -> bool:
        """Some pattern matches a path in normal form."""
        if self.prefixes is None:
            if path.startswith(self.literals()):
                return True
        elif self._longest_literal(path) is not None:
            return True
        if not self._has_others():
            return False
        return any(self._taken_apart(pattern).matches(path) for pattern in self._met(path))

    def longest(self, path: str) -> int:
        """Octets of the longest pattern that matches a path in normal form; 0 if none does."""
        octets = 0
        if self.prefixes is None:
            if path.startswith(self.literals()):
                octets = max(map(self._octets_of, filter(path.startswith, self.literals())))
        else:
            text = self._longest_literal(path)
            octets = self._octets_of(text) if text is not None else 0
        if self._has_others():
            for pattern in self._met(path):
                wild = self._taken_apart(pattern)
                if wild.octets > octets and wild.matches(path):
                    octets = wild.octets
        return octets

    def _has_others(self) -> bool:
        """There are patterns that are no literals."""
        return len(self.literals()) < self._number

    def _longest_literal(self, path: str) -> str | None:
        """The longest literal that begins a path has the most octets of those that do."""
        index, literals = self.prefixes, self._literal_set
        if index is not None:
            at = index.longest(path)
            while at:
                if index.keys[at] in literals:
                    return index.keys[at]
                at = index.links[at]
        return None

    def written(self, path: str, octets: int) -> str:
        """The pattern as it was written that gave :meth:`longest` its answer."""
        return next(written for found, written in self.matching(path) if found == octets)

    def matching(self, path: str) -> Iterator[tuple[int, str]]:
        """All patterns that match a path, each with its octets."""
        octets = self._form.octets
        for text in filter(path.startswith, self.literals()):
            yield octets(text), text
        for pattern in self._met(path):
            wild = self._taken_apart(pattern)
            if wild.matches(path):
                yield wild.octets, pattern

    def _met(self, path: str) -> Iterator[str]:
        """The patterns that are no literals and whose head, end or guard a path has.

        A pattern with more octets besides its stars than the path can have is none of them.
        """
        longest = 3 * len(path) + 1
        for pattern in self._shown(path):
            if len(pattern) <= longest or len(pattern) - pattern.count("*") <= longest:
                yield pattern

    def _shown(self, path: str) -> Iterator[str]:
        if self.prefixes is None:
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
            if len(found) <= _BEHIND_ONE_HEAD:
                yield from found
                return
        yield from self._shown_in_order(path, self.index())

    def _shown_in_order(self, path: str, prefixes: PrefixIndex) -> Iterator[str]:
        filed = self._filed
        for head in (*prefixes.beginning(path), ""):
            yield from filed[Place.HEAD].get(head, ())
        if path.endswith(self.ends):
            for end, patterns in filed[Place.END].items():
                if path.endswith(end):
                    yield from patterns
        guards = filed[Place.GUARD]
        if self.floats is not None:
            held: Iterable[str] = self.floats.held(path)
        else:
            held = [guard for guard in guards if guard in path]
        for guard in held:
            yield from guards[guard]
