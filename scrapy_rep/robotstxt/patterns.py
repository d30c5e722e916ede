"""Patterns with and without wildcards, compared with a path in normal form.

RFC 9309 sections 2.2.2 and 2.2.3. To try ``/a*b$`` (:class:`Wildcard`), the path must begin with
``/a``; then each piece between two stars is searched for once, from where the piece before it
ended, because the first place where a piece fits is always good enough; and the last piece must end
the path if there is a ``$``. There is no regular expression and no backtracking.

**What bounds the time.** A search of a path for a piece takes, at worst, the length of the piece
times the length of the path, and an attacker can write thousands of patterns and a path for which
every search is at its worst. So the disallow patterns have a budget of :data:`STEPS` for each
question, and the allow patterns another one; if a URI has two readings, each has half of it. What a
pattern may cost at most is subtracted before it is tried, and when nothing is left
:class:`TooCostlyError` is raised. The URI is then disallowed, unless all disallow patterns were
compared and none matches: a failure is never permission. The steps depend on the patterns and the
path alone, so the answer is always the same. 9,000 hostile rules and a URI of 8 KB take 4 ms
instead of 240 ms, and real files take a tenth of the budget at most. The prefilter has bounds of
its own: the number of its literals and their length.

Patterns with ``*``, ``$`` or ``%`` are tried one by one, however many there are. None of 8,396 real
files has more than 579 disallow patterns with a wildcard for a crawler without a group of its own,
and an index of them gained nothing. 20,000 of them take 4 ms for a usual URI, and are too costly
for one of 2 KB.

Two quick checks come before a pattern is tried. Without the search for its literal, later verdicts
on real files take 1.03 times as long, and 2.1 times on the worst file; without the comparison with
the least number of octets they take 1.01 times as long, and 1.5 times on the worst file.

In the documents of 1994 and 1996 patterns are plain prefixes, and the first that matches decides.
There the *score* of a pattern is its place in the file instead of its length; everything else is
the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from scrapy_rep.robotstxt.normal_form import NormalForm, within_escapes

FEW: Final = 8
"""Up to so many literals are kept in a tuple: as quick to search as a set, and 600 octets less."""
LONGEST_LITERAL: Final = 32
"""The most octets of an inner literal; a longer piece is represented by its last ones. 950 hostile
pieces and a URI of 8 KB take 0.6 ms; with whole pieces they take 5 ms."""
STEPS: Final = 20_000_000
"""Steps that the patterns of one kind may take for one question: 40 ms at most. The costliest of
29,000 questions about real files and URIs of 2 KB made of their own patterns took 1.8 million."""
STEPS_OF_A_PIECE: Final = 200
"""Steps for each piece of a pattern that is tried, besides those of its search."""

Scores = Mapping[str, tuple[int, str]]
"""Where the first match decides: the score and the text as written, by prefix in normal form."""


class TooCostlyError(Exception):
    """The budget was used up before it was clear which patterns match."""


class Wildcard:
    """A pattern that is not a literal in normal form, parsed.

    Of ``/a*b*c$``, ``head`` is ``/a``, ``pieces`` are ``b`` and ``c``, and ``ends`` is true. In a
    query the text of a piece may differ (``in_query``): ``%2F`` and ``%3F`` are ``/`` and ``?``
    there. Every path that the pattern matches holds ``literal``, which is part of a piece, and has
    at least ``least`` octets.
    """

    __slots__ = ("ends", "head", "in_query", "least", "literal", "pattern", "pieces", "score")

    def __init__(self, pattern: str, text: str, score: int, form: NormalForm | None) -> None:
        self.pattern, self.score = pattern, score
        self.ends = text.endswith("$")
        head, *pieces = text.removesuffix("$").split("*")
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
        is_query = "?" in self.head
        self.head = form.prefix(self.head)
        in_path, in_query = [], []
        for text in self.pieces:
            in_query.append(form.query_text(text))
            in_path.append(in_query[-1] if is_query else form.prefix(text))
            is_query = is_query or "?" in text
        self.pieces = self.in_query = tuple(in_query)
        if in_path != in_query:
            self.pieces = tuple(in_path)

    def steps(self, path: str) -> int:
        """Return the most steps that :meth:`matches` may take."""
        pieces = self.pieces
        # The search for a piece begins where the one before ended: together they pass over the path
        # once. Pieces that differ before and after a "?" are searched for in both.
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
        """Match each piece where it ends first: as part of the path, or of the query."""
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


def _parts_in_both(piece: str) -> list[str]:
    """Return the parts of a piece that are the same in a path and in a query."""
    return [part[2:] if at else part for at, part in enumerate(piece.split("%"))]


def best_of(
    patterns: Sequence[Wildcard], path: str, score: int, found: list[str], steps: int
) -> tuple[int, list[str], int]:
    """Return the highest score of a pattern that matches, those patterns, and the steps left.

    ``patterns`` are sorted, the highest score first. ``score`` and ``found`` are the highest score
    so far and its patterns. Raises TooCostlyError.
    """
    octets = len(path)
    for one in patterns:
        if one.score < score:
            break
        if one.least > octets or not path.startswith(one.head):
            continue
        steps -= octets
        holds_it = one.literal in path
        steps -= one.steps(path) if holds_it else 0
        if steps < 0:
            raise TooCostlyError
        if holds_it and one.matches(path):
            if one.score > score:
                score, found = one.score, []
            found.append(one.pattern)
    return score, found, steps


class Patterns:
    """All patterns of one kind, allow or disallow, that apply to one crawler.

    With ``scores`` they are plain prefixes in normal form, and the one with the highest score
    counts. Otherwise the one with the most octets does. They are parsed when they are first
    compared; several threads may do this at once, so the attribute that is tested is set last.
    """

    __slots__ = (
        "_form",
        "_literals",
        "_scores",
        "_sizes",
        "_wild",
        "_within",
        "special",
        "texts",
    )

    def __init__(
        self, texts: Iterable[str], form: NormalForm, scores: Scores | None = None
    ) -> None:
        self._form, self._scores = form, scores
        self.texts = (*filter(None, texts),)
        """All that are not empty: as written or, with ``scores``, in normal form."""
        self.special: Sequence[str] = ()
        """The patterns that may not be literals in normal form; most files have none."""
        joined = "\n".join(self.texts) if scores is None else ""
        if "*" in joined or "$" in joined or "%" in joined:
            self.special = [p for p in self.texts if "*" in p or "$" in p or "%" in p]
        if form.uri_is_taken_as_it_is and not joined.isascii():
            self.special = [*self.special, *[p for p in self.texts if not p.isascii()]]
        self._literals: Collection[str] | None = None
        self._within: Sequence[Wildcard] | None = None

    @property
    def size(self) -> int:
        """Approximate octets of memory, off by at most a quarter for nine of ten real files."""
        octets = 75 * len(self.texts) + sum(map(len, self.texts))
        if self._literals is not None:
            octets += 60 * len(self._literals) + 320 * len(self.special)
            octets += 2 * sum(map(len, self.special))
        return octets

    def _parse(self) -> Collection[str]:
        special = dict.fromkeys(self.special)
        literals: Collection[str] = {*self.texts} - special.keys()
        if len(literals) <= FEW:
            literals = (*literals,)
        self._sizes = sorted({*map(len, literals)}, reverse=True)
        self._wild = self._sorted([(pattern, pattern) for pattern in special], self._form)
        self._literals = literals
        return literals

    def within_escapes(self) -> Sequence[Wildcard]:
        """Return the patterns that are also compared with a path as it is written."""
        found = self._within
        if found is None:
            special = () if self._form.uri_is_taken_as_it_is else dict.fromkeys(self.special)
            both = [(pattern, within_escapes(pattern)) for pattern in special]
            found = self._within = self._sorted([(p, text) for p, text in both if text], None)
        return found

    def _sorted(
        self, patterns: Iterable[tuple[str, str]], form: NormalForm | None
    ) -> list[Wildcard]:
        """Parse patterns, each given as written and in the form to compare."""
        octets = self._form.octets
        found = [Wildcard(pattern, text, octets(pattern), form) for pattern, text in patterns]
        return sorted(found, key=lambda one: one.score, reverse=True)

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
                if self._scores is None:  # a shorter one has fewer octets
                    score, found = self._form.octets(text), [text]
                    break
                if self._scores[text][0] > score:
                    score, found = self._scores[text][0], [self._scores[text][1]]
        if self.special:
            score, found, steps = best_of(self._wild, path, score, found, steps)
            if written is not None:
                score, found, _ = best_of(self.within_escapes(), written, score, found, steps)
                found = [*dict.fromkeys(found)]
        return score, found
