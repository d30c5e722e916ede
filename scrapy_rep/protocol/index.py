"""A set of patterns answers which is the longest that matches a path.

RFC 9309 sections 2.2.2 and 2.2.3. The first few answers use what is cheap to have: one
``startswith`` over all literal patterns. A set that is asked more often builds its index: sorted
literals, searched by bisection, each with a link to the longest literal that begins it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from scrapy_rep.protocol.path import Form, Wildcard, literal, wildcard

_FEW: Final = 8
"""So few literals are never worth an index."""
_PATIENCE: Final = 30
"""Answers after which the index is cheaper than going on without."""


class PatternSet:
    """All patterns of one kind, allow or disallow, that hold for one crawler."""

    __slots__ = (
        "_answers",
        "_exact",
        "_form",
        "_keys",
        "_links",
        "_literals",
        "_octets_written",
        "_stars",
        "_wild",
        "_written",
    )

    def __init__(self, patterns: list[str], form: Form) -> None:
        self._form = form
        self._answers = 0
        self._keys: list[str] | None = None
        self._links: list[int] = []
        self._exact: dict[str, str] = {}
        self._stars: dict[str, tuple[int, str]] = {}
        self._wild: list[Wildcard] = []
        self._written: dict[str, str] = {}
        joined = "\n".join(patterns)
        self._octets_written = len(joined)
        plain = patterns
        if "*" in joined or "$" in joined:
            plain = [p for p in patterns if "*" not in p and p[-1:] != "$"]
            self._add_special([p for p in patterns if "*" in p or p[-1:] == "$"])
        if "%" in joined or not joined.isascii():
            plain = [self._normal(p) for p in plain]
        self._literals = (*filter(None, plain), *self._stars)

    def __bool__(self) -> bool:
        return bool(self._literals or self._wild or self._exact)

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        literals = 60 * len(self._literals) + 60 * len(self._links)
        special = 200 * (len(self._exact) + len(self._stars) + len(self._written))
        return 500 + 3 * self._octets_written + literals + special + 500 * len(self._wild)

    def _normal(self, pattern: str) -> str:
        text = literal(pattern, self._form)
        if text != pattern:
            self._written.setdefault(text, pattern)
        return text

    def _add_special(self, patterns: list[str]) -> None:
        for pattern in patterns:
            if "*" not in pattern:
                self._exact.setdefault(literal(pattern[:-1], self._form), pattern)
                continue
            wild = wildcard(pattern, self._form)
            if wild.floats or wild.tail is not None:
                self._wild.append(wild)
            else:
                self._add_star(wild)
        self._wild.sort(key=lambda wild: -wild.octets)

    def _add_star(self, wild: Wildcard) -> None:
        """A pattern that ends with ``*`` is its head, with the length of all that is written."""
        extra = wild.octets - self._form.octets(wild.head)
        if wild.head not in self._stars or self._stars[wild.head][0] < extra:
            self._stars[wild.head] = (extra, wild.written)

    def longest(self, path: str) -> int:
        """Octets of the longest pattern that matches a path in normal form; 0 if none does."""
        octets = 0
        if self._keys is not None:
            octets = max([self._octets(text) for text in self._prefixes(path)], default=0)
        elif path.startswith(self._literals):
            octets = max([self._octets(text) for text in self._prefixes(path)])
            self._grow_impatient()
        if self._exact and path in self._exact:
            octets = max(octets, self._form.octets(path) + 1)
        for wild in self._wild:
            if wild.octets <= octets:
                break
            if wild.matches(path):
                return wild.octets
        return octets

    def written(self, path: str, octets: int) -> str:
        """The pattern as it was written that gave :meth:`longest` its answer."""
        for text in self._prefixes(path):
            if self._octets(text) == octets:
                star = self._stars.get(text)
                return star[1] if star else self._written.get(text, text)
        if path in self._exact and self._form.octets(path) + 1 == octets:
            return self._exact[path]
        return next(w.written for w in self._wild if w.octets == octets and w.matches(path))

    def _octets(self, text: str) -> int:
        octets = self._form.octets(text)
        return octets + self._stars[text][0] if text in self._stars else octets

    def _prefixes(self, path: str) -> Iterator[str]:
        """The literals that begin a path, the longest first where there is an index."""
        if self._keys is None:
            yield from (text for text in self._literals if path.startswith(text))
            return
        at = bisect_right(self._keys, path) - 1
        while at >= 0:
            text = self._keys[at]
            if path.startswith(text):
                yield text
            at = self._links[at]

    def _grow_impatient(self) -> None:
        self._answers += 1
        if self._answers > _PATIENCE and len(self._literals) > _FEW:
            self._index()

    def _index(self) -> None:
        """Each literal is linked to the longest other one that begins it, or to none (-1)."""
        keys = sorted(set(self._literals))
        links = []
        open_: list[int] = []
        for at, key in enumerate(keys):
            while open_ and not key.startswith(keys[open_[-1]]):
                open_.pop()
            links.append(open_[-1] if open_ else -1)
            open_.append(at)
        self._keys, self._links = keys, links
