"""Patterns with and without wildcards, compared with a path in normal form.

RFC 9309 sections 2.2.2 and 2.2.3. To try ``/a*b$`` (:class:`Wildcard`), the path must begin with
``/a``; then each piece between two stars is searched for once, from where the piece before it
ended, because the first place where a piece fits is always good enough; and the last piece must end
the path if there is a ``$``. There is no regular expression and no backtracking.

**What bounds the time.** To search a path for a piece compares, at worst, the length of the piece
times the length of the path, and an attacker can write thousands of patterns and a path for which
every search is at its worst. So a question has a budget of :data:`STEPS`. What a pattern may cost
is subtracted before it is tried, and when nothing is left :class:`TooCostlyError` is raised and the
URI is disallowed: a failure is never permission. The steps depend on the patterns and the path
alone, so the answer is always the same. 9,000 hostile rules and a URI of 8 KB take 8 ms instead of
280 ms, and no real file comes near the budget.

More than 1,000 patterns with wildcards, which a handful of 8,396 real files have, are found by an
index (:class:`GramIndex`). It buys nothing on those files. With 20,000 patterns it answers in 6
microseconds instead of 900, and a URI of 8 KB, which would exceed the budget, is answered at all.

In the documents of 1994 and 1996 patterns are plain prefixes, and the first that matches decides.
There a pattern has its place in the file for a *score* instead of its length; all else is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from scrapy_rep.robotstxt.normal_form import NormalForm, within_escapes

MANY: Final = 1_000
"""More patterns with wildcards than this are found by an index."""
FEW: Final = 8
"""So few literals are in a tuple: it is searched as quickly as a set, and takes 600 octets less."""
LONGEST_LITERAL: Final = 32
"""Octets of an inner literal; of a longer piece, the last ones. 950 hostile pieces and a URI of
8 KB take 0.6 ms; with whole pieces they take 5 ms."""
GRAM: Final = 4
"""Octets of a gram: shorter ones are in more paths by chance, longer ones in fewer patterns."""
GRAMS: Final = 12
"""Octets at the end of a piece that are looked at for its rarest gram."""
SOME_PIECES: Final = 4
"""Pieces of a pattern that are looked at for it."""
STEPS: Final = 20_000_000
"""Steps that the patterns of one kind may take for one question: 40 ms at most. The costliest of
34,000 questions about real files and URIs of 2 KB made of their own patterns took 1.7 million."""
STEPS_OF_A_PIECE: Final = 200
"""Steps for each piece of a pattern that is tried, besides those of its search."""
OCTETS_IN_A_STEP: Final = 2
"""Octets of a path in which one step searches for a literal: most differ in its first octet."""

Scores = dict[str, int]
"""The score of each pattern, where that is not its length."""


class TooCostlyError(Exception):
    """The budget was used up before it was clear which patterns match."""


class Wildcard:
    """A pattern that is not a literal in normal form, parsed.

    Of ``/a*b*c$``, ``head`` is ``/a``, ``pieces`` are ``b`` and ``c``, and ``ends`` is true. In a
    query the text of a piece may be another, ``in_query``: ``%2F`` and ``%3F`` are ``/`` and ``?``
    there. Every path that the pattern matches holds ``literal``, which is part of a piece, and has
    at least ``least`` octets.
    """

    __slots__ = (
        "ends",
        "head",
        "in_query",
        "least",
        "literal",
        "pattern",
        "pieces",
        "score",
    )

    def __init__(
        self, pattern: str, text: str, score: int, form: NormalForm | None, *, stars: bool
    ) -> None:
        self.pattern, self.score = pattern, score
        self.ends = stars and text.endswith("$")
        head, *pieces = (text[:-1] if self.ends else text).split("*") if stars else (text,)
        if "" in pieces:  # several stars in a row are one; only what ends the path may be empty
            last = pieces.pop() if self.ends else ""
            pieces = [*filter(None, pieces), *([last] if self.ends else ())]
        self.head = head
        self.pieces = self.in_query = (*pieces,)
        plain: Sequence[str] = pieces
        if form is not None and form.may_change(text):
            self._normalize(form)
            plain = [part for piece in self.pieces for part in _parts_in_both(piece)]
        self.literal = max(plain, key=len)[-LONGEST_LITERAL:] if plain else ""
        self.least = len(self.head) + sum(map(len, self.in_query))

    def _normalize(self, form: NormalForm) -> None:
        """Put the head and the pieces in normal form. What follows a ``?`` lies in the query."""
        path, mark, query = self.head.partition("?")
        self.head = form.path_text(path) + mark + form.query_text(query)
        in_path, in_query = [], []
        for text in self.pieces:
            path, other, query = text.partition("?")
            after = other + form.query_text(query)
            in_query.append(form.query_text(path) + after)
            in_path.append(in_query[-1] if mark else form.path_text(path) + after)
            mark = mark or other
        self.pieces = self.in_query = tuple(in_query)
        if in_path != in_query:
            self.pieces = tuple(in_path)

    def steps(self, path: str) -> int:
        """Return the most steps that :meth:`matches` may take."""
        pieces = self.pieces
        searches = 1 if pieces is self.in_query else 2 * len(pieces)
        longest = max(map(len, pieces), default=0)
        return STEPS_OF_A_PIECE * len(pieces) + searches * longest * len(path)

    def matches(self, path: str) -> bool:
        """Return True if the pattern matches a path from its first octet on."""
        if not path.startswith(self.head):
            return False
        at, pieces = len(self.head), self.pieces
        if pieces is not self.in_query:
            return self._matches_with_query(path)
        if self.ends:
            if not pieces:  # a pattern without a star
                return len(path) == at
            pieces = pieces[:-1]
        for text in pieces:  # the first place is as good as any: it leaves the most of the path
            found = path.find(text, at)
            if found < 0:
                return False
            at = found + len(text)
        return not self.ends or path.endswith(self.pieces[-1], at)

    def _matches_with_query(self, path: str) -> bool:
        """Take each piece where it ends first: as part of the path, or of the query."""
        at = len(self.head)
        query = path.find("?") + 1 or len(path) + 1
        both = [*zip(self.pieces, self.in_query, strict=True)]
        last = both.pop() if self.ends else None
        for text, in_query in both:
            ends = []
            if (found := path.find(text, at)) >= 0:
                ends.append(found + len(text))
            if (found := path.find(in_query, max(at, query))) >= 0:
                ends.append(found + len(in_query))
            if not ends:
                return False
            at = min(ends)
        if last is None:
            return True
        return path.endswith(last[0], at) or path.endswith(last[1], max(at, query))

    def literals(self) -> tuple[str, Iterable[str]]:
        """Return the kind of the literals that the prefilter looks for, and the literals."""
        if len(self.head) > 1 or not self.pieces:
            return "prefix", [self.head]
        if len(self.pieces) == 1 and self.ends and self.pieces[0]:
            return "suffix", {self.pieces[0], self.in_query[0]}
        longest = max(range(len(self.pieces)), key=lambda at: len(self.in_query[at]))
        texts = {self.pieces[longest], self.in_query[longest]}
        return ("prefix", [self.head]) if "" in texts else ("inner", texts)


def _parts_in_both(piece: str) -> list[str]:
    """Return the parts of a piece that are the same in a path and in a query."""
    return [part[2:] if at else part for at, part in enumerate(piece.split("%"))]


class Wildcards:
    """Patterns with wildcards, the highest score first, and an index if there are many."""

    __slots__ = ("_index", "_patterns")

    def __init__(self, patterns: list[Wildcard]) -> None:
        patterns.sort(key=_score, reverse=True)
        self._patterns = patterns
        self._index = GramIndex(patterns) if len(patterns) > MANY else None

    def best(
        self, path: str, score: int, found: list[str], steps: int
    ) -> tuple[int, list[str], int]:
        """Return the highest score of a pattern that matches, those patterns, and the steps left.

        ``score`` and ``found`` are the highest score so far and its patterns. Raises
        TooCostlyError.
        """
        patterns = self._patterns if self._index is None else self._index.candidates(path)
        octets = len(path)
        for one in patterns:
            if one.score < score:
                break
            if one.least > octets or not path.startswith(one.head):
                continue
            steps -= octets // OCTETS_IN_A_STEP
            holds_it = one.literal in path
            steps -= one.steps(path) if holds_it else 0
            if steps < 0:
                raise TooCostlyError
            if holds_it and one.matches(path):
                if one.score > score:
                    score, found = one.score, []
                found.append(one.pattern)
        return score, found, steps

    def every(self, path: str, steps: int) -> list[tuple[int, str]]:
        """Return all patterns that match, with their scores. Raises TooCostlyError."""
        patterns = self._patterns if self._index is None else self._index.candidates(path)
        found = []
        for one in patterns:
            if one.least <= len(path) and path.startswith(one.head) and one.literal in path:
                steps -= one.steps(path)
                if steps < 0:
                    raise TooCostlyError
                if one.matches(path):
                    found.append((one.score, one.pattern))
        return found


class GramIndex:
    """Many patterns with wildcards, each filed by the rarest four octets of its pieces.

    A path of n octets has n grams, so that few patterns are candidates, however many there are.
    """

    __slots__ = ("_anywhere", "_by_gram", "_sizes")

    def __init__(self, patterns: Sequence[Wildcard]) -> None:
        self._anywhere: list[Wildcard] = []
        self._by_gram: dict[str, list[Wildcard]] = {}
        grams = [self._grams(one) for one in patterns]
        number: dict[str, int] = {}
        for some in grams:
            for gram in some:
                number[gram] = number.get(gram, 0) + 1
        for one, some in zip(patterns, grams, strict=True):
            if some:
                self._by_gram.setdefault(min(some, key=number.__getitem__), []).append(one)
            else:
                self._anywhere.append(one)
        self._sizes = {*map(len, self._by_gram)}

    @staticmethod
    def _grams(one: Wildcard) -> Sequence[str]:
        """Return the last grams of some pieces of a pattern; a piece that is shorter, whole."""
        pieces = one.pieces if one.pieces is one.in_query else (one.literal,)
        found = []
        for text in (one.head, *pieces[:SOME_PIECES]):
            text = text[-GRAMS:]
            if text:
                found += [text[at : at + GRAM] for at in range(len(text) - GRAM + 1)] or [text]
        return found

    def candidates(self, path: str) -> list[Wildcard]:
        """Return the patterns that may match a path, the highest score first."""
        found = [*self._anywhere]
        for size in self._sizes:
            grams = {path[at : at + size] for at in range(len(path) - size + 1)}
            for gram in grams & self._by_gram.keys():
                found += self._by_gram[gram]
        found.sort(key=_score, reverse=True)
        return found


def _score(one: Wildcard) -> int:
    return one.score


class Patterns:
    """All patterns of one kind, allow or disallow, that apply to one crawler.

    With ``scores`` they are plain prefixes, and the one with the highest score counts. Otherwise
    the one with the most octets does. They are parsed when a path passes the prefilter for the
    first time; several threads may ask, so what is made then is published last.
    """

    __slots__ = (
        "_form",
        "_literals",
        "_parsed",
        "_scores",
        "_sizes",
        "_wild",
        "_within",
        "special",
        "written",
    )

    def __init__(
        self, written: Sequence[str], form: NormalForm, scores: Scores | None = None
    ) -> None:
        self.written, self._form, self._scores = (*filter(None, written),), form, scores
        self.special: Sequence[str] = ()
        """The patterns that may not be literals in normal form."""
        joined = "\n".join(written)
        if "*" in joined or "$" in joined or "%" in joined:
            self.special = [p for p in self.written if "*" in p or "$" in p or "%" in p]
        if form.encodes and not joined.isascii():
            self.special = [*self.special, *[p for p in self.written if not p.isascii()]]
        self._literals: Collection[str] | None = None
        self._within: Wildcards | None = None
        self._parsed: dict[str, Wildcard] | None = None

    @property
    def may_match_within_escapes(self) -> bool:
        """True if a pattern is also to be compared with a path as it is written."""
        if self._scores is not None or self._form.encodes:
            return False
        return any(within_escapes(pattern) is not None for pattern in self.special)

    @property
    def size(self) -> int:
        """Octets of memory, about: a formula that fits nine of ten real files within a quarter."""
        octets = 75 * len(self.written) + sum(map(len, self.written))
        if self._literals is not None:
            octets += 60 * len(self._literals) + 320 * len(self.special)
            octets += 2 * sum(map(len, self.special))
        return octets

    def _parse(self) -> Collection[str]:
        special = dict.fromkeys(self.special)
        literals: Collection[str] = {*self.written} - special.keys()
        if len(literals) <= FEW:
            literals = (*literals,)
        self._sizes = sorted({*map(len, literals)}, reverse=True)
        kept = self._parsed or {}
        self._wild = Wildcards([kept.get(one) or self._wildcard(one) for one in special])
        self._parsed = None
        self._literals = literals
        return literals

    def parsed(self, pattern: str) -> Wildcard:
        """Parse a special pattern, which is kept until all are parsed."""
        one = self._wildcard(pattern)
        self._parsed = self._parsed or {}
        self._parsed[pattern] = one
        return one

    def _wildcard(self, pattern: str) -> Wildcard:
        stars, score = self._scores is None, self._score(pattern)
        return Wildcard(pattern, pattern, score, self._form, stars=stars)

    def _within_escapes(self) -> Wildcards:
        """Return the patterns that may match within an escape, in the form for that."""
        found = self._within
        if found is None:
            texts = [(pattern, within_escapes(pattern)) for pattern in dict.fromkeys(self.special)]
            found = self._within = Wildcards(
                [
                    Wildcard(pattern, text, self._score(pattern), None, stars=True)
                    for pattern, text in texts
                    if text is not None
                ]
            )
        return found

    def _score(self, pattern: str) -> int:
        return self._form.octets(pattern) if self._scores is None else self._scores[pattern]

    def best(self, path: str, written: str | None, steps: int) -> tuple[int, Sequence[str]]:
        """Return the highest score of a pattern that matches, and all patterns with that score.

        ``written`` is the path as written, for the patterns that may match within an escape. The
        score is 0 if no pattern matches. Raises TooCostlyError.
        """
        literals = self._literals
        if literals is None:
            literals = self._parse()
        score, found = 0, []
        for size in self._sizes:
            text = path[:size]
            if text in literals:
                other = self._score(text)
                if other > score:
                    score, found = other, [text]
                if self._scores is None:  # a shorter one has fewer octets
                    break
        if self.special:
            score, found, steps = self._wild.best(path, score, found, steps)
            if written is not None:
                score, found, _ = self._within_escapes().best(written, score, found, steps)
                found = [*dict.fromkeys(found)]
        return score, found

    def every(self, path: str, written: str | None, steps: int) -> list[tuple[int, str]]:
        """Return all patterns that match, with their scores. Raises TooCostlyError."""
        literals = self._parse() if self._literals is None else self._literals
        texts = [path[:size] for size in self._sizes if path[:size] in literals]
        found = [(self._score(text), text) for text in texts] + self._wild.every(path, steps)
        if written is not None:
            found += self._within_escapes().every(written, steps)
        return found
