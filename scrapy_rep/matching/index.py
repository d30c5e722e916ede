"""Many literals are looked for at once.

RFC 9309 sections 2.2.2 and 2.2.3. A file may hold twenty thousand patterns like ``/p/123`` or
``/*?session=``; to try each in turn would make every request as slow as the file is long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from scrapy_rep.matching.budget import FEW
from scrapy_rep.matching.normal_form import Form
from scrapy_rep.matching.prefilter import Placed, guards_of

_CROWD: Final = 16
"""Patterns behind one head or guard; where there are more, they are found by something else."""
_PIECES: Final = 8
"""Pieces of a pattern, the longest, that are looked at for one that few others hold."""
_FEW_FLOATS: Final = 60
"""So many literals are looked for sooner than the places of a path are gone through."""
_GRAM: Final = 4
"""Octets of a path by which it is told that no literal begins there."""


class PrefixIndex:
    """Literals in order, each linked to the longest other one that begins it.

    The literal that a path is found behind in the order, or one linked from it, is the longest
    that begins the path. The first literal is the empty one, so that every link leads somewhere.
    ``jumps`` are longer links: a thousand literals that begin each other are climbed in some
    twenty steps.
    """

    __slots__ = ("jumps", "keys", "links")

    def __init__(self, literals: Collection[str]) -> None:
        keys = ["", *sorted({*literals} - {""})]
        links, jumps, depths = [0] * len(keys), [0] * len(keys), [0] * len(keys)
        begun = [0]
        for at in range(1, len(keys)):
            key = keys[at]
            while not key.startswith(keys[begun[-1]]):
                begun.pop()
            link = begun[-1]
            over = jumps[link]
            even = depths[link] - depths[over] == depths[over] - depths[jumps[over]]
            links[at], jumps[at] = link, jumps[over] if even else link
            depths[at] = depths[link] + 1
            begun.append(at)
        self.keys, self.links, self.jumps = keys, links, jumps

    def longest(self, path: str, start: int = 0) -> int:
        """The number of the longest literal that a path holds at a place; 0 is the empty one."""
        keys = self.keys
        at = bisect_right(keys, path[start:] if start else path) - 1
        while not path.startswith(keys[at], start):
            jump = self.jumps[at]
            at = self.links[at] if path.startswith(keys[jump], start) else jump
        return at

    def beginning(self, path: str) -> Iterator[str]:
        """The literals that begin a path, the longest first."""
        at = self.longest(path)
        while at:
            yield self.keys[at]
            at = self.links[at]


class FloatIndex:
    """Literals that may stand anywhere in a path.

    Those that only a query holds, as a rule, are not looked for in a path without one.
    """

    __slots__ = ("_in_paths", "_in_queries")

    def __init__(self, literals: Collection[str]) -> None:
        queried = {text for text in literals if "?" in text or "&" in text or "=" in text}
        self._in_queries = _Floats(queried)
        self._in_paths = _Floats({*literals} - queried)

    def held(self, path: str) -> Iterator[str]:
        """The literals that a path holds, each once."""
        yield from self._in_paths.held(path)
        if "?" in path or "&" in path or "=" in path:
            yield from self._in_queries.held(path)

    def holds(self, path: str) -> bool:
        """A path holds some of the literals."""
        for _ in self.held(path):
            return True
        return False


class _Floats:
    """Few literals are looked for one by one, many at each place of the path at once."""

    __slots__ = ("_few", "_grams", "_index", "_longest", "_short", "_short_lengths")

    def __init__(self, literals: set[str]) -> None:
        self._few = tuple(literals) if len(literals) <= _FEW_FLOATS else ()
        many = set() if self._few else literals
        long = {text for text in many if len(text) >= _GRAM}
        self._short = many - long
        self._short_lengths = sorted({len(text) for text in self._short})
        self._grams = {text[:_GRAM] for text in long}
        self._index = PrefixIndex(long)
        self._longest = max(map(len, long), default=0)

    def held(self, path: str) -> Iterator[str]:
        """The literals that a path holds, each once."""
        for text in self._few:
            if text in path:
                yield text
        if not self._short and not self._grams:
            return
        grams = {path[at : at + _GRAM] for at in range(len(path))}
        if self._short:
            yield from self._short & {gram[:n] for n in self._short_lengths for gram in grams}
        if not grams.isdisjoint(self._grams):
            yield from self._held_long(path)

    def _held_long(self, path: str) -> Iterator[str]:
        found: set[str] = set()
        for at in range(len(path) - _GRAM + 1):
            if path[at : at + _GRAM] in self._grams:
                yield from self._held_at(path[at : at + self._longest], found)

    def _held_at(self, window: str, found: set[str]) -> Iterator[str]:
        """The literals that begin a window, up to one that was found before."""
        for text in self._index.beginning(window):
            if text in found:
                return
            found.add(text)
            yield text


class PatternIndex:
    """Patterns of all kinds, in the order in which a path is quickly held against them.

    ``heads``, ``ends`` and ``guards`` are what a path shows, each with the patterns found by it.
    """

    __slots__ = ("ends", "floats", "guards", "heads", "literals", "prefixes")

    def __init__(self, literals: Iterable[str], placed: Iterable[Placed], form: Form) -> None:
        self.heads: dict[str, list[str]] = {}
        self.ends: dict[str, list[str]] = {}
        self.guards: dict[str, list[str]] = {}
        filed = (self.heads, self.ends, self.guards)
        for place, text, pattern in placed:
            filed[place].setdefault(text, []).append(pattern)
        for head, patterns in self.heads.items():
            if len(patterns) > _CROWD:
                self.heads[head] = self._spread(patterns, form)
        self._thin_out(form)
        self.literals = {*literals}
        self.prefixes = PrefixIndex(self.literals | self.heads.keys())
        self.floats = FloatIndex(self.guards) if len(self.guards) > FEW else None

    def _thin_out(self, form: Form) -> None:
        """Patterns that crowd behind one guard are found by the piece that the fewest hold."""
        crowds = [text for text, patterns in self.guards.items() if len(patterns) > _CROWD]
        pieces = {
            pattern: _longest_of(_floating(pattern))
            for text in crowds
            for pattern in self.guards[text]
        }
        number = Counter(chain.from_iterable(pieces.values()))
        rarity = {piece: (held, -len(piece)) for piece, held in number.items()}.__getitem__
        guards: dict[str, Collection[str]] = {}
        for text in crowds:
            crowd, self.guards[text] = self.guards[text], []
            for pattern in crowd:
                rarest = min(pieces[pattern], key=rarity)
                if rarest not in guards:
                    guards[rarest] = guards_of([rarest], form)
                for found in guards[rarest]:
                    self.guards.setdefault(found, []).append(pattern)
            if not self.guards[text]:
                del self.guards[text]

    def _spread(self, patterns: list[str], form: Form) -> list[str]:
        """Patterns that crowd behind one head are found by their guards instead.

        Those without any are left behind it.
        """
        left = []
        for pattern in patterns:
            pieces = _floating(pattern)
            if pieces:
                for text in guards_of(pieces, form):
                    self.guards.setdefault(text, []).append(pattern)
            else:
                left.append(pattern)
        return left

    def longest_literal(self, path: str) -> str | None:
        """The longest literal that begins a path has the most octets of those that do."""
        prefixes = self.prefixes
        at = prefixes.longest(path)
        while at:
            if prefixes.keys[at] in self.literals:
                return prefixes.keys[at]
            at = prefixes.links[at]
        return None

    def shown(self, path: str) -> Iterator[str]:
        """The patterns that are no literals and whose head, end or guard a path has."""
        for head in (*self.prefixes.beginning(path), ""):
            yield from self.heads.get(head, ())
        if path.endswith(tuple(self.ends)):
            for end, patterns in self.ends.items():
                if path.endswith(end):
                    yield from patterns
        held: Iterable[str]
        if self.floats is not None:
            held = self.floats.held(path)
        else:
            held = [guard for guard in self.guards if guard in path]
        for guard in held:
            yield from self.guards[guard]


def _longest_of(pieces: list[str]) -> Sequence[str]:
    """The longest of some pieces. Only where there are many is each of them once."""
    if len(pieces) <= _PIECES:
        return pieces
    return sorted(dict.fromkeys(pieces), key=len)[-_PIECES:]


def _floating(pattern: str) -> list[str]:
    """The pieces of a pattern that stand behind a ``*``."""
    return [piece for piece in pattern.removesuffix("$").split("*")[1:] if piece]
