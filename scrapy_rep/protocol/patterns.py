"""A set of patterns tells quickly that none of them matches a path, and else which is longest.

RFC 9309 sections 2.2.2 and 2.2.3. Most requests match no rule at all, so patterns are kept as the
means to be sure of that at once:

- heads, what a path must begin with: literal patterns, and what stands before the first ``*`` or
  the ``$`` of others;
- ends, what a path must end with: ``/*.gif$``;
- guards, what a path must hold: the longest literal of patterns like ``/*print*x``.

A pattern that is not a literal is taken apart only when its head, end or guard is met, and once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from scrapy_rep.protocol.index import FloatIndex, PrefixIndex
from scrapy_rep.protocol.path import Form, Wildcard, floating_piece, wildcard

FEW: Final = 24
"""So few heads or guards are asked for one by one, whatever comes."""
_BEHIND_ONE_HEAD: Final = 16
"""Patterns with ``*`` behind one head; more of them are found by their guards."""

_MOST_KNOWN: Final = 2_000
"""Patterns that are kept taken apart; past that it begins anew."""


class PatternSet:
    """All patterns of one kind, allow or disallow, that hold for one crawler."""

    __slots__ = (
        "_behind",
        "_behind_head",
        "_ended",
        "_form",
        "_guarded",
        "_guarded_by",
        "_known",
        "_literal_set",
        "_literals",
        "_octets_of",
        "_octets_written",
        "_patterns",
        "ends",
        "floats",
        "guards",
        "heads",
        "prefixes",
    )

    def __init__(self, patterns: list[str], form: Form) -> None:
        self._form = form
        self._octets_of: Callable[[str], int] = form.octets
        self._known: dict[str, Wildcard] = {}
        self._behind: list[tuple[str, str]] = []
        self._ended: list[tuple[str, str]] = []
        self._guarded: list[tuple[str, str]] = []
        self.prefixes: PrefixIndex | None = None
        self.floats: FloatIndex | None = None
        self._literals: tuple[str, ...] | None = None
        self.guards: list[str] = []
        patterns, joined = _cleaned(patterns)
        self._patterns = patterns
        self._octets_written = len(joined)
        encoded = form.changes(joined)
        if encoded:
            if form.encodes:
                unlike = [p for p in patterns if form.changes(p)]
            else:
                unlike = [p for p in patterns if "%" in p]
            self._add_encoded(unlike)
        if "*" in joined or "$" in joined:
            special = [p for p in patterns if "*" in p or "$" in p]
            self._add_special([p for p in special if not form.changes(p)] if encoded else special)
        self.ends = tuple([end for end, _ in self._ended])
        # What is no literal does no harm here: a path may be taken for one that has to be looked
        # at, and then is; to leave it out would cost more.
        self.heads = (*patterns, *[head for head, _ in self._behind])

    def __bool__(self) -> bool:
        return bool(self._patterns)

    @property
    def is_many(self) -> bool:
        """An index would be quicker in the long run."""
        return len(self.heads) > FEW or len(self.guards) > FEW

    @property
    def has_empty_head(self) -> bool:
        """A pattern such as ``*`` matches every path, and is behind no head."""
        return self.prefixes is not None and "" in self._behind_head

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        numbers = 130 * len(self.prefixes.keys) if self.prefixes else 0
        floats = 400 * len(self._guarded) if self.floats else 0
        special = 180 * (len(self._behind) + len(self._ended) + len(self._guarded))
        apart = 700 * len(self._known)
        listed = 75 * len(self._patterns)
        return 700 + self._octets_written + listed + special + numbers + floats + apart

    def _add_special(self, patterns: list[str]) -> None:
        """A pattern with ``*`` or a final ``$`` is filed where a path that it matches looks."""
        for pattern in patterns:
            at = pattern.find("*")
            if at > 1 or at < 0:
                self._behind.append((pattern[:at], pattern))
                continue
            rest = pattern[at + 1 :]
            if "*" not in rest and rest and rest != "$":
                if rest[-1] == "$":
                    self._ended.append((rest[:-1], pattern))
                elif at or rest[0] != "/":
                    self.guards.append(rest)
                    self._guarded.append((rest, pattern))
                else:
                    self._guard("", [rest], pattern)
                continue
            rest = rest.lstrip("*")
            if not rest or rest == "$":
                self._behind.append((pattern[:at], pattern))
            else:
                self._guard(pattern[:at], rest.removesuffix("$").split("*"), pattern)

    def _guard(self, head: str, pieces: list[str], pattern: str) -> None:
        """A path that begins with the first piece does so at its very beginning: it has no
        octet before it for the guard to be found behind.
        """
        guard = max(pieces, key=len) if len(pieces) > 1 else pieces[0]
        guards = {guard}
        if self._form.changes(guard):
            guards = {*floating_piece(guard, self._form)}
        for text in guards:
            self.guards.append(text)
            self._guarded.append((text, pattern))
            if not head and pieces[0] is guard:
                self._behind.append((text, pattern))

    def _add_encoded(self, patterns: list[str]) -> None:
        """A pattern that is not in normal form is filed behind what stands before the first octet
        that is not; there is no need to take it apart for that.
        """
        for pattern in patterns:
            head = self._form.unchanged(pattern).partition("*")[0]
            if len(head) > 1:
                self._behind.append((head, pattern))
            elif not self._guard_free(pattern):
                self._behind.append((self._taken_apart(pattern).head, pattern))

    def _guard_free(self, pattern: str) -> bool:
        """A pattern that says something behind its first ``*`` is filed by that."""
        head, _, rest = pattern.removesuffix("$").partition("*")
        pieces = [piece for piece in rest.split("*") if piece]
        if not pieces or self._form.changes(head):
            return False
        self._guard(head, pieces, pattern)
        return True

    def _taken_apart(self, pattern: str) -> Wildcard:
        wild = self._known.get(pattern)
        if wild is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            wild = self._known[pattern] = wildcard(pattern, self._form)
        return wild

    def literals(self) -> tuple[str, ...]:
        """The patterns that say nothing but themselves."""
        if self._literals is None:
            changes = self._form.changes
            self._literals = tuple(
                [p for p in self._patterns if "*" not in p and "$" not in p and not changes(p)]
            )
            text = "".join(self._literals)
            if self._form.octets(text) == len(text):
                self._octets_of = len
        return self._literals

    def index(self) -> PrefixIndex:
        """Many heads and many guards are put in order, once it is clear that this pays."""
        if self.prefixes is None:
            self._behind_head = _by_first(self._behind)
            for head, patterns in self._behind_head.items():
                if len(patterns) > _BEHIND_ONE_HEAD:
                    self._spread(head, patterns)
            self._literal_set = {*self.literals()}
            self.prefixes = PrefixIndex(self._literal_set | self._behind_head.keys())
            self.heads = ()
            if len(self.guards) > FEW:
                self._guarded_by = _by_first(self._guarded)
                self.floats = FloatIndex(self._guarded_by)
        return self.prefixes

    def _spread(self, head: str, patterns: list[str]) -> None:
        """Patterns that crowd behind one head are found by their guards instead."""
        self._behind_head[head] = [p for p in patterns if not self._guard_free(p)]

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
        return len(self.literals()) < len(self._patterns)

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
        """The patterns that are no literals and whose head, end or guard a path has."""
        if self.prefixes is None:
            behind = [pattern for head, pattern in self._behind if path.startswith(head)]
            if len(behind) > _BEHIND_ONE_HEAD:
                self.index()
            else:
                yield from behind
        if self.prefixes is not None:
            for head in (*self.prefixes.beginning(path), ""):
                yield from self._behind_head.get(head, ())
        if path.endswith(self.ends):
            yield from [pattern for end, pattern in self._ended if path.endswith(end)]
        if self.floats is None:
            yield from [pattern for guard, pattern in self._guarded if guard in path]
        else:
            for guard in self.floats.held(path):
                yield from self._guarded_by[guard]


def _by_first(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Pairs become a map from the first of them to all the second ones, each once."""
    found: dict[str, dict[str, None]] = {}
    for first, second in pairs:
        found.setdefault(first, {})[second] = None
    return {first: [*seconds] for first, seconds in found.items()}


def _cleaned(patterns: list[str]) -> tuple[list[str], str]:
    """Patterns without comments, white space around them and empty ones; and all as one text."""
    joined = "\n".join(patterns)
    if "#" in joined:
        patterns = [pattern.partition("#")[0] for pattern in patterns]
    if " " in joined or "\t" in joined:
        patterns = [pattern.strip(" \t") for pattern in patterns]
        joined = "\n".join(patterns)
    if not all(patterns):
        patterns = [pattern for pattern in patterns if pattern]
    return patterns, joined
