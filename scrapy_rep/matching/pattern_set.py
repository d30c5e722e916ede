"""A pattern set tells whether one of its patterns matches a path, and how long the longest is.

RFC 9309 sections 2.2.2 and 2.2.3. Only paths that the prefilter does not let pass come here, and
most paths do not: so a set is made when it is first needed, and a pattern with wildcards is parsed
when it is first tried. What one question may cost is limited by
:mod:`scrapy_rep.matching.budget`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scrapy_rep.matching import budget
from scrapy_rep.matching.budget import TooCostlyError
from scrapy_rep.matching.index import PatternIndex
from scrapy_rep.matching.normal_form import NormalForm
from scrapy_rep.matching.patterns import Patterns
from scrapy_rep.matching.required_literals import Required, each_required_literal
from scrapy_rep.matching.tuning import (
    FEW,
    MOST_PARSED,
    STEPS,
    STEPS_OF_A_PATTERN,
    STEPS_OF_A_PIECE,
)
from scrapy_rep.matching.wildcard import Wildcard, parse_wildcard


class PatternSet:
    """All patterns of one kind, allow or disallow, that apply to one crawler.

    ``share`` is the number of sets that share the budget of a question; the ``share`` of a method
    is the number of paths that do. Each question may raise TooCostlyError. ``index`` is None until
    :meth:`build_index`.

    Several threads may ask. The required literals are found on demand and dropped once there is an
    index: each step reads them once, and finds them again if they are gone.
    """

    __slots__ = (
        "_form",
        "_literals",
        "_parsed",
        "_parsed_size",
        "_required",
        "_steps",
        "_uncounted",
        "index",
        "special",
    )

    def __init__(self, patterns: Patterns, form: NormalForm, *, share: int = 1) -> None:
        self.special: Sequence[str] = (*dict.fromkeys(patterns.special),)
        self._literals = (*patterns.written,)
        if self.special:
            special = {*self.special}
            self._literals = tuple([p for p in patterns.written if p not in special])
        self._form = form
        self._required: Sequence[Required] | None = None
        self._steps = STEPS // share
        self._uncounted = budget.uncounted(self.special)
        self._parsed: dict[str, Wildcard] = {}
        self._parsed_size = 0
        self.index: PatternIndex | None = None

    @property
    def is_large(self) -> bool:
        """Return True if an index would be faster in the long run."""
        return len(self._literals) + len(self.special) > FEW

    @property
    def state(self) -> tuple[object, ...]:
        """What was made on demand; it changes when the set takes an eighth more memory."""
        bits = self._parsed_size.bit_length()
        parsed = bits, self._parsed_size >> max(bits - 3, 0)
        return self.index is None, self._required is None, parsed

    def build_index(self) -> PatternIndex:
        """Return the index of the patterns; it is built once."""
        index = self.index
        if index is None:
            index = self.index = PatternIndex(self._literals, self._required_literals(), self._form)
            self._required = None
        return index

    def matches(self, path: str, share: int) -> bool:
        """Return True if a pattern matches a path in normal form."""
        if self.index is None:
            is_prefix = path.startswith(self._literals)
        else:
            is_prefix = self.index.longest_literal(path) is not None
        if is_prefix or not self.special:
            return is_prefix
        return any(wildcard.matches(path) for wildcard, _ in self._candidates(path, share))

    def longest(self, path: str, share: int) -> tuple[int, list[str]]:
        """Return the octets of the longest pattern that matches a path, and the patterns.

        They are as written, several if they are equally long; 0 and nothing if none matches.
        """
        text = self._longest_literal(path) if self._literals else None
        octets = self._form.octets(text) if text is not None else 0
        found = [text] if text is not None else []
        for wildcard, pattern in self._candidates(path, share) if self.special else ():
            if wildcard.octets >= octets and wildcard.matches(path):
                if wildcard.octets > octets:
                    octets, found = wildcard.octets, []
                found.append(pattern)
        return octets, found

    def _longest_literal(self, path: str) -> str | None:
        """Return the longest literal that begins a path, which has the most octets of them."""
        if self.index is not None:
            return self.index.longest_literal(path)
        if not path.startswith(self._literals):
            return None
        return max(filter(path.startswith, self._literals), key=len)

    def _candidates(self, path: str, share: int) -> Iterator[tuple[Wildcard, str]]:
        """Yield the special patterns that may match a path, parsed and as written."""
        if len(path) * share > self._uncounted:
            yield from self._candidates_within(self._steps // share, path)
            return
        for pattern in self._with_required_literal(path):
            wildcard = self._parsed.get(pattern)
            if wildcard is None and self._may_match(pattern, path):
                wildcard = self._parse(pattern)
            if wildcard is not None:
                yield wildcard, pattern

    def _candidates_within(self, budget_left: int, path: str) -> Iterator[tuple[Wildcard, str]]:
        """Yield the same within a budget of steps; raises TooCostlyError."""
        for pattern in self.build_index().candidates(path):
            budget_left -= STEPS_OF_A_PATTERN
            if self._fits(pattern, path):
                wildcard = self._parsed.get(pattern) or self._parse(pattern)
                budget_left -= wildcard.steps(path) + STEPS_OF_A_PIECE * len(wildcard.inner)
                if budget_left < 0:
                    raise TooCostlyError
                yield wildcard, pattern
            elif budget_left < 0:
                raise TooCostlyError

    def _with_required_literal(self, path: str) -> Iterable[str]:
        """Return the special patterns whose required literal a path has."""
        if self.index is not None:
            return self.index.candidates(path)
        has = {"prefix": path.startswith, "suffix": path.endswith, "inner": path.__contains__}
        required = self._required_literals()
        return [pattern for kind, literal, pattern in required if has[kind](literal)]

    def _required_literals(self) -> Sequence[Required]:
        required = self._required
        if required is None:
            found = each_required_literal(self.special, self._form)
            required = self._required = [*found]
        return required

    def _may_match(self, pattern: str, path: str) -> bool:
        """Return False if a path is too short for a pattern or lacks one of its pieces."""
        if not self._fits(pattern, path) or self._form.may_change(pattern):
            return self._fits(pattern, path)
        return all(map(path.__contains__, pattern.removesuffix("$").split("*")))

    def _fits(self, pattern: str, path: str) -> bool:
        """Return True if a path is long enough for a pattern and begins as the pattern does."""
        octets = len(pattern) - pattern.count("*") - pattern.endswith("$")
        prefix = pattern.partition("*")[0]
        if self._form.may_change(pattern):
            return octets <= 3 * len(path) and path.startswith(self._form.normal_start(prefix))
        return octets <= len(path) and path.startswith(prefix.removesuffix("$"))

    def _parse(self, pattern: str) -> Wildcard:
        wildcard = parse_wildcard(pattern, self._form)
        self._parsed_size += wildcard.size
        if self._parsed_size > MOST_PARSED:
            self._parsed, self._parsed_size = {}, wildcard.size
        self._parsed[pattern] = wildcard
        return wildcard
