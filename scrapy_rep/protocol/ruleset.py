"""The rules of one crawler, compiled: a URI goes in, permission comes out.

RFC 9309 section 2.2.2, and section 3.2.2 of the draft of 1996 for :class:`FirstMatch`. Each kind
of rule set answers the same two questions; which kind is made is a field of the profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scrapy_rep.protocol.blocks import cleaned
from scrapy_rep.protocol.budget import TooCostlyError
from scrapy_rep.protocol.matcher import LONG_URI, PATIENCE, Matcher, matcher_for, ordered
from scrapy_rep.protocol.path import ROBOTS_TXT, Form, literal, match_path
from scrapy_rep.protocol.patterns import PatternSet
from scrapy_rep.protocol.places import NO_PATTERNS, Sieve


class Decisive(NamedTuple):
    """What decided: the kind and the patterns of the rules, and of the best of the other kind.

    ``path`` is the match path; ``allow`` is None where no rule matched. Patterns are as written;
    several may be of the same length. If it was ``too_costly`` to find out, ``allow`` is False.
    """

    path: str
    allow: bool | None = None
    written: Sequence[str] = ()
    overruled: Sequence[str] = ()
    too_costly: bool = False


class LongestMatch:
    """The rule with the most octets is used; on a tie it is the allow rule."""

    __slots__ = (
        "_allow",
        "_allow_lines",
        "_always",
        "_asked",
        "_disallow",
        "_form",
        "_share",
        "_sieve",
    )

    def __init__(
        self,
        disallow: list[str],
        allow: list[str],
        form: Form,
        *,
        robots_txt_is_free: bool,
        share: int = 1,
    ) -> None:
        self._sieve = Sieve.of(*cleaned(disallow), form)
        self._disallow: PatternSet | None = None
        self._allow: PatternSet | None = None
        self._allow_lines = allow
        self._form = form
        self._always = ROBOTS_TXT if robots_txt_is_free else None
        self._asked = 0
        self._share = share

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        allow = self._allow.size if self._allow else 100 * len(self._allow_lines)
        disallow = self._disallow.size if self._disallow else 0
        return 200 + self._sieve.size + disallow + allow

    @property
    def _forbids(self) -> PatternSet:
        """The disallow rules are read when a path shows that one may match it."""
        if self._disallow is None:
            sieve = self._sieve
            self._disallow = PatternSet(sieve.patterns, self._form, sieve.placed, share=self._share)
        return self._disallow

    @property
    def _permits(self) -> PatternSet:
        """The allow rules are read when a disallow rule may match."""
        if self._allow is None:
            self._allow = PatternSet(cleaned(self._allow_lines)[0], self._form, share=self._share)
            self._allow_lines = []
        return self._allow

    def matcher(self) -> Matcher:
        """The quickest function there is for these rules: it says whether a URI may be fetched."""
        index = self._disallow.index if self._disallow is not None else None
        if index is not None:
            return ordered(index, self._decides, self._form)
        return matcher_for(self._sieve, self._decides, self._form, self._put_in_order)

    def _put_in_order(self) -> None:
        """An index of the disallow rules takes the place of their sieve."""
        self._forbids.put_in_order()
        self._sieve = NO_PATTERNS

    def _decides(self, path: str) -> bool:
        """A path is allowed unless the longest rule that matches it is a disallow."""
        octets: int | None = 0
        if self._allow_lines or self._allow is not None:
            if self._asked < PATIENCE:
                self._count(path)
            octets = self.permitted(path)
        try:
            if not octets:
                return not self._forbids.match(path) or path == self._always
            return octets >= self._forbids.longest(path) or path == self._always
        except TooCostlyError:
            return path == self._always

    def decisive(self, uri: str) -> Decisive:
        """The rule that decides, and the one of the other kind that it overrules."""
        return _decisive([self], match_path(uri, self._form))

    def forbidden(self, path: str) -> int:
        """Octets of the longest disallow rule that matches; raises TooCostlyError."""
        self._count(path)
        if self._asked >= PATIENCE and self._forbids.is_many:
            self._put_in_order()
        return self._forbids.longest(path)

    def permitted(self, path: str) -> int | None:
        """Octets of the longest allow rule that matches; None if that is too costly to know."""
        try:
            return self._permits.longest(path)
        except TooCostlyError:
            return None

    def written(self, path: str, octets: int, *, allow: bool) -> list[str]:
        """The rules of one kind, as written, that are so long and match."""
        return (self._permits if allow else self._forbids).written(path, octets) if octets else []

    def _count(self, path: str) -> None:
        """After so many questions, or one as long as they are, an index of many rules pays."""
        self._asked += 1 if len(path) < LONG_URI else PATIENCE
        if self._asked >= PATIENCE and self._permits.is_many:
            self._permits.put_in_order()


class MergedMatch:
    """The rules of several groups that apply together; the rule with the most octets is used.

    Each group keeps its own rule set, so that crawlers can share it.
    """

    __slots__ = ("_always", "_form", "_parts")

    def __init__(
        self, parts: Sequence[LongestMatch], form: Form, *, robots_txt_is_free: bool
    ) -> None:
        self._parts = parts
        self._form = form
        self._always = ROBOTS_TXT if robots_txt_is_free else None

    def matcher(self) -> Matcher:
        """A function that says whether a URI may be fetched."""
        asked = [part.matcher() for part in self._parts]

        def allows(uri: str) -> bool:
            # What each group allows, even by overruling itself, all of them together allow.
            return all(allows(uri) for allows in asked) or self._decides(uri)

        return allows

    def _decides(self, uri: str) -> bool:
        decisive = self.decisive(uri)
        return decisive.allow is not False or decisive.path == self._always

    def decisive(self, uri: str) -> Decisive:
        """The rule that decides, and the one of the other kind that it overrules."""
        return _decisive(self._parts, match_path(uri, self._form))


def _decisive(parts: Sequence[LongestMatch], path: str) -> Decisive:
    """The rule of several rule sets that decides, and the one that it overrules."""
    try:
        disallow = max([part.forbidden(path) for part in parts])
    except TooCostlyError:
        return Decisive(path, False, too_costly=True)
    permitted = [part.permitted(path) for part in parts]
    allow = max([octets or 0 for octets in permitted])
    if allow < disallow and None in permitted:
        return Decisive(path, False, too_costly=True)
    if not disallow and not allow:
        return Decisive(path)
    forbids = [p for part in parts for p in part.written(path, disallow, allow=False)]
    permits = [p for part in parts for p in part.written(path, allow, allow=True)]
    if allow >= disallow:
        return Decisive(path, True, permits, forbids)
    return Decisive(path, False, forbids, permits)


class FirstMatch:
    """The first rule that matches, in the order of the file, is used (1996 section 3.2.2)."""

    __slots__ = ("_allow", "_always", "_form", "_heads", "_written")

    def __init__(
        self, rules: Iterable[tuple[bool, str]], form: Form, *, robots_txt_is_free: bool
    ) -> None:
        first: dict[tuple[str, bool], str] = {}
        for allow, pattern in rules:
            if pattern:
                first.setdefault((literal(pattern, form), allow), pattern)
        self._heads = tuple([text for text, _ in first])
        self._allow = bytes([allow for _, allow in first])
        self._written = {
            number: pattern
            for number, ((text, _), pattern) in enumerate(first.items())
            if text != pattern
        }
        self._form = form
        self._always = ROBOTS_TXT if robots_txt_is_free else None

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        return 300 + sum([70 + len(text) for text in self._heads]) + 150 * len(self._written)

    def matcher(self) -> Matcher:
        """A function that says whether a URI may be fetched."""
        return self._allows

    def _allows(self, uri: str) -> bool:
        """A URI may be fetched unless the first rule that matches it is a disallow."""
        path = match_path(uri, self._form)
        if not path.startswith(self._heads) or path == self._always:
            return True
        return bool(self._allow[next(self._matching(path))])

    def _matching(self, path: str) -> Iterator[int]:
        """The numbers of the rules that match, in their order."""
        return (number for number, text in enumerate(self._heads) if path.startswith(text))

    def decisive(self, uri: str) -> Decisive:
        """The rule that decides, and the first of the other kind that it overrules."""
        path = match_path(uri, self._form)
        matching = [*self._matching(path)]
        if not matching:
            return Decisive(path)
        first = matching[0]
        allow = self._allow[first]
        others = [number for number in matching if self._allow[number] != allow][:1]
        return Decisive(path, bool(allow), self._shown([first]), self._shown(others))

    def _shown(self, numbers: list[int]) -> list[str]:
        """Rules as they are written."""
        return [self._written.get(number, self._heads[number]) for number in numbers]
