"""Thousands of literals are searched for at once.

RFC 9309 sections 2.2.2 and 2.2.3. A file may hold 20,000 patterns like ``/p/123`` or
``/*?session=``. If each were tried in turn, a request would take as long as the file is: 60 to
320 ms. Literals that begin a path are found by bisection, those that lie within it by their first
octets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from scrapy_rep.matching.normal_form import NormalForm
from scrapy_rep.matching.required_literals import INNER, Required, inner_literals
from scrapy_rep.matching.tuning import CROWD, FEW, FEW_SUBSTRINGS, GRAM, LONGEST_INNER


class PrefixIndex:
    """Literals in sorted order, each linked to the longest other literal that begins it.

    The longest literal that begins a path is the last one that is not greater than the path, or one
    that it is linked to. ``keys[0]`` is the empty literal, so every chain of links ends there.
    """

    __slots__ = ("keys", "links")

    def __init__(self, literals: Collection[str]) -> None:
        keys = ["", *sorted({*literals} - {""})]
        links = [0] * len(keys)
        chain_of_links = [0]
        for at in range(1, len(keys)):
            while not keys[at].startswith(keys[chain_of_links[-1]]):
                chain_of_links.pop()
            links[at] = chain_of_links[-1]
            chain_of_links.append(at)
        self.keys, self.links = keys, links

    def longest(self, path: str) -> int:
        """Return the number of the longest literal that begins a path; 0 is the empty literal."""
        at = bisect_right(self.keys, path) - 1
        while not path.startswith(self.keys[at]):
            at = self.links[at]
        return at

    def prefixes_of(self, path: str) -> Iterator[str]:
        """Yield the literals that begin a path, the longest first."""
        at = self.longest(path)
        while at:
            yield self.keys[at]
            at = self.links[at]


class SubstringIndex:
    """Literals that may lie anywhere in a path.

    Those with ``?``, ``&`` or ``=`` are only searched for in a path that holds one of the three.
    """

    __slots__ = ("_in_paths", "_in_queries")

    def __init__(self, literals: Collection[str]) -> None:
        of_queries = {text for text in literals if "?" in text or "&" in text or "=" in text}
        self._in_queries = _Substrings(of_queries)
        self._in_paths = _Substrings({*literals} - of_queries)

    def found_in(self, path: str) -> Iterator[str]:
        """Yield the literals that lie in a path, each once."""
        yield from self._in_paths.found_in(path)
        if "?" in path or "&" in path or "=" in path:
            yield from self._in_queries.found_in(path)

    def any_in(self, path: str) -> bool:
        """Return True if one of the literals lies in a path."""
        for _ in self.found_in(path):
            return True
        return False


class _Substrings:
    """Few literals are searched for one by one, many by their *gram*, the first four octets.

    A path of n octets has n grams. Where one of them begins a literal, a :class:`PrefixIndex` tells
    which literals lie there. Literals shorter than a gram are looked up among the path's own
    substrings of their lengths.
    """

    __slots__ = ("_few", "_grams", "_index", "_longest", "_short", "_short_lengths")

    def __init__(self, literals: set[str]) -> None:
        self._few = tuple(literals) if len(literals) <= FEW_SUBSTRINGS else ()
        many = set() if self._few else literals
        long = {text for text in many if len(text) >= GRAM}
        self._short = many - long
        self._short_lengths = sorted({len(text) for text in self._short})
        self._grams = {text[:GRAM] for text in long}
        self._index = PrefixIndex(long)
        self._longest = max(map(len, long), default=0)

    def found_in(self, path: str) -> Iterator[str]:
        """Yield the literals that lie in a path, each once."""
        for text in self._few:
            if text in path:
                yield text
        if not self._short and not self._grams:
            return
        grams = {path[at : at + GRAM] for at in range(len(path))}
        if self._short:
            yield from self._short & {gram[:n] for n in self._short_lengths for gram in grams}
        if not grams.isdisjoint(self._grams):
            yield from self._long_in(path)

    def _long_in(self, path: str) -> Iterator[str]:
        found: set[str] = set()
        for at in range(len(path) - GRAM + 1):
            if path[at : at + GRAM] in self._grams:
                yield from self._new_in(path[at : at + self._longest], found)

    def _new_in(self, window: str, found: set[str]) -> Iterator[str]:
        """Yield the literals that begin a window, the longest first, and add them to ``found``.

        If one was found before, so were all that begin it.
        """
        for text in self._index.prefixes_of(window):
            if text in found:
                return
            found.add(text)
            yield text


class PatternIndex:
    """The patterns of one kind, filed by their required literals.

    ``by_prefix``, ``by_suffix`` and ``by_inner`` lead from a literal to the patterns that require
    it. Of a long inner literal only the last octets are filed: they distinguish it as well, and are
    found faster in a path that was made to resemble it. Thousands of patterns may share a literal,
    as those of ``/*session*1``, ``/*session*2``, ... do: a crowd behind one literal is filed by
    other literals where there are any.
    """

    __slots__ = ("by_inner", "by_prefix", "by_suffix", "literals", "prefixes", "substrings")

    def __init__(
        self, literals: Iterable[str], required: Iterable[Required], form: NormalForm
    ) -> None:
        self.by_prefix: dict[str, list[str]] = {}
        self.by_suffix: dict[str, list[str]] = {}
        self.by_inner: dict[str, list[str]] = {}
        files = {"prefix": self.by_prefix, "suffix": self.by_suffix, "inner": self.by_inner}
        for kind, literal, pattern in required:
            if kind == INNER:
                literal = literal[-LONGEST_INNER:]
            files[kind].setdefault(literal, []).append(pattern)
        for prefix, patterns in self.by_prefix.items():
            if len(patterns) > CROWD:
                self.by_prefix[prefix] = self._file_by_inner(patterns, form)
        self._file_crowds_by_rarest(form)
        self.literals = {*literals}
        self.prefixes = PrefixIndex(self.literals | self.by_prefix.keys())
        self.substrings = SubstringIndex(self.by_inner) if len(self.by_inner) > FEW else None

    def _file_by_inner(self, patterns: list[str], form: NormalForm) -> list[str]:
        """File patterns that crowd behind a prefix by inner literals; return those without any."""
        left = []
        for pattern in patterns:
            pieces = _pieces_after_star(pattern)
            if pieces:
                for literal in inner_literals(pieces, form):
                    self.by_inner.setdefault(literal[-LONGEST_INNER:], []).append(pattern)
            else:
                left.append(pattern)
        return left

    def _file_crowds_by_rarest(self, form: NormalForm) -> None:
        """File patterns that crowd behind an inner literal by the piece that the fewest have."""
        crowds = [text for text, patterns in self.by_inner.items() if len(patterns) > CROWD]
        pieces = {
            pattern: _pieces_after_star(pattern)
            for text in crowds
            for pattern in self.by_inner[text]
        }
        number = Counter(chain.from_iterable(pieces.values()))
        rarity = {piece: (having, -len(piece)) for piece, having in number.items()}.__getitem__
        literals: dict[str, Collection[str]] = {}
        for text in crowds:
            crowd, self.by_inner[text] = self.by_inner[text], []
            for pattern in crowd:
                rarest = min(pieces[pattern], key=rarity)
                if rarest not in literals:
                    literals[rarest] = inner_literals([rarest], form)
                for literal in literals[rarest]:
                    self.by_inner.setdefault(literal[-LONGEST_INNER:], []).append(pattern)
            if not self.by_inner[text]:
                del self.by_inner[text]

    def longest_literal(self, path: str) -> str | None:
        """Return the longest literal that begins a path, which has the most octets of them."""
        keys, links = self.prefixes.keys, self.prefixes.links
        at = self.prefixes.longest(path)
        while at and keys[at] not in self.literals:
            at = links[at]
        return keys[at] if at else None

    def candidates(self, path: str) -> Iterator[str]:
        """Yield the patterns whose required literal a path has; not the literals themselves."""
        for prefix in (*self.prefixes.prefixes_of(path), ""):
            yield from self.by_prefix.get(prefix, ())
        if path.endswith(tuple(self.by_suffix)):
            for suffix, patterns in self.by_suffix.items():
                if path.endswith(suffix):
                    yield from patterns
        inner: Iterable[str]
        if self.substrings is not None:
            inner = self.substrings.found_in(path)
        else:
            inner = [literal for literal in self.by_inner if literal in path]
        for literal in inner:
            yield from self.by_inner[literal]


def _pieces_after_star(pattern: str) -> list[str]:
    """Return the pieces of a pattern that follow a ``*``."""
    return [piece for piece in pattern.removesuffix("$").split("*")[1:] if piece]
