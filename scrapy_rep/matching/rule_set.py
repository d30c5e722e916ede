"""The rules of one crawler, compiled: a URI goes in, permission comes out.

RFC 9309 section 2.2.2. :class:`scrapy_rep.matching.first_match.FirstMatch` answers the same two
questions as :class:`LongestMatch`; which of them is made is a field of the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from scrapy_rep.matching.budget import TooCostlyError
from scrapy_rep.matching.decisive import Decisive, Text, decisive, passes, strictest
from scrapy_rep.matching.escapes import AS_WRITTEN, as_written, patterns_within
from scrapy_rep.matching.matcher import (
    LONG_URI,
    PATIENCE,
    Matcher,
    OutgrownError,
    matcher_for,
    ordered,
)
from scrapy_rep.matching.memory import Measure, measured
from scrapy_rep.matching.normal_form import (
    ROBOTS_TXT,
    Form,
    normal_path,
    octets_of,
    path_of,
    readings,
)
from scrapy_rep.matching.pattern_set import PatternSet
from scrapy_rep.matching.prefilter import NO_PATTERNS, Sieve


class LongestMatch:
    """The rule with the most octets is used; on a tie it is the allow rule.

    Several threads may ask. What is made on demand is published whole, in one step; what it is
    made of is read before it is looked for, and given up after it is published. So a thread that
    finds nothing made has read all that it takes to make it.
    """

    __slots__ = (
        "_allow",
        "_allow_lines",
        "_always",
        "_asked",
        "_disallow",
        "_form",
        "_measured",
        "_rules_within",
        "_share",
        "_sieve",
        "_within_is_known",
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
        self._allow_lines = allow
        self._disallow: PatternSet | None = None
        self._allow: PatternSet | None = None
        self._form = form
        self._always = ROBOTS_TXT if robots_txt_is_free else None
        self._asked = 0
        self._share = share
        self._rules_within: _Within | None = None
        self._within_is_known = form.encodes
        self._measured: Measure | None = None

    @property
    def size(self) -> int:
        """Octets of memory."""
        found = self._measured = measured(self, self._measured)
        return found[1]

    @property
    def state(self) -> tuple[object, ...]:
        """What has been made on demand."""
        made = [found and found.state for found in (self._disallow, self._allow)]
        within = self._rules_within
        return self._sieve is NO_PATTERNS, *made, within and within.state

    @property
    def _forbids(self) -> PatternSet:
        """The disallow rules are read when a path shows that one may match it."""
        sieve = self._sieve
        found = self._disallow
        if found is None:
            found = PatternSet(sieve.patterns, self._form, sieve.placed, share=self._share)
            self._disallow = found
        return found

    @property
    def _permits(self) -> PatternSet:
        """The allow rules are read when a disallow rule may match."""
        lines = self._allow_lines
        found = self._allow
        if found is None:
            found = self._allow = PatternSet(cleaned(lines)[0], self._form, share=self._share)
            self._allow_lines = []
        return found

    def matcher(self) -> Matcher:
        """The quickest function there is for these rules: it says whether a URI may be fetched."""
        sieve = self._sieve
        if sieve is NO_PATTERNS:
            return ordered(self._forbids.put_in_order(), self, self._form)
        return matcher_for(sieve, self, self._form, self._put_in_order)

    def _put_in_order(self) -> None:
        """An index of the disallow rules takes the place of their sieve."""
        self._forbids.put_in_order()
        self._sieve = NO_PATTERNS

    def reading(self, path: str) -> str | None:
        """The match path of a path as it stands in a URI; None if it may have several."""
        form = self._form
        if not self._within_is_known:
            self._seek_within()
        if self._rules_within is not None:
            return None
        if "#" in path:
            path = path.partition("#")[0]
        if not path.isascii():
            path = octets_of(path).decode("latin-1")
        normal = normal_path(path, form)
        if form.removes_dots and (form.shorter is None or ("." in normal and "/." in normal)):
            return None
        return normal

    def careful(self, path: str, allows: Matcher) -> bool:
        """All that a path as it stands in a URI may be read as must be allowed."""
        found, within, share = self._read(path)
        for written in found:
            normal = normal_path(written, self._form)
            allowed = allows("", normal, share)
            if within is not None:
                escaped = as_written(written, self._form)
                if within.differs(escaped, share, allowed):
                    texts = Text(self, normal, share), Text(within, escaped, share)
                    allowed = passes(texts, self._always)
            if not allowed:
                return False
        return True

    def readings(self, path: str) -> list[list[Text]]:
        """What a path as it stands in a URI may be read as; each reading is one text or two.

        The first is the match path. The second is the path with its escapes, for the rules that
        may match within one.
        """
        found, within, share = self._read(path)
        texts = [[Text(self, normal_path(written, self._form), share)] for written in found]
        if within is not None:
            for several, written in zip(texts, found, strict=True):
                several.append(Text(within, as_written(written, self._form), share))
        return texts

    def _read(self, path: str) -> tuple[list[str], _Within | None, int]:
        """The readings of a path, rules that may match within its escapes, the number of texts."""
        found = readings(path, self._form)
        within = self._within
        if within is None or ("%" not in path and path.isascii()):
            return found, None, len(found)
        return found, within, 2 * len(found)

    @property
    def _within(self) -> _Within | None:
        """The rules that may match within an escape, if there are any."""
        if not self._within_is_known:
            self._seek_within()
        return self._rules_within

    def _seek_within(self) -> None:
        """They are sought once, when the first URI comes that is not in normal form."""
        sieve, lines = self._sieve, self._allow_lines
        forbids, permits = self._disallow, self._allow
        disallow = patterns_within(forbids.others if forbids else sieve.patterns)
        allow = patterns_within(permits.others if permits else cleaned(lines)[0])
        if disallow or allow:
            self._rules_within = _Within(disallow, allow, self._share)
        self._within_is_known = True

    def decides(self, path: str, share: int = 1) -> bool:
        """A path is allowed unless the longest rule that matches it is a disallow."""
        octets = 0
        if self._allow_lines or self._allow is not None:
            if self._asked < PATIENCE:
                self._count(path)
            try:
                octets = self._permits.longest(path, share)
            except TooCostlyError:
                octets = 0  # A disallow rule that matches counts as the longer one.
        try:
            if not octets:
                return not self._forbids.match(path, share) or path == self._always
            return octets >= self._forbids.longest(path, share) or path == self._always
        except TooCostlyError:
            return path == self._always

    def decisive(self, uri: str) -> Decisive:
        """The rule that decides, and the one of the other kind that it overrules.

        Of a URI with dot segments that is allowed with them, and not without them, the rule that
        forbids it without them.
        """
        found = [decisive(texts) for texts in self.readings(path_of(uri, self._form))]
        return strictest(found, self._always)

    def forbidden(self, path: str, share: int) -> int:
        """Octets of the longest disallow rule that matches; raises TooCostlyError."""
        self._count(path)
        forbids = self._forbids
        if self._asked >= PATIENCE and forbids.is_many:
            self._put_in_order()
        return forbids.longest(path, share)

    def permitted(self, path: str, share: int) -> int:
        """Octets of the longest allow rule that matches; raises TooCostlyError."""
        return self._permits.longest(path, share)

    def written(self, path: str, share: int, octets: int, *, allow: bool) -> list[str]:
        """The rules of one kind, as written, that are so long and match."""
        return (self._permits if allow else self._forbids).written(path, octets, share)

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

    @property
    def state(self) -> tuple[object, ...]:
        """What has been made on demand."""
        return tuple([part.state for part in self._parts])

    def matcher(self) -> Callable[[str], bool]:
        """A function that says whether a URI may be fetched."""
        asked = [part.matcher() for part in self._parts]

        def allows(uri: str) -> bool:
            # What each group allows, even by overruling itself, all of them together allow.
            return all(allows(uri) for allows in asked) or self._decides(uri)

        return allows

    def _decides(self, uri: str) -> bool:
        return all(passes(texts, self._always) for texts in self._readings(uri))

    def decisive(self, uri: str) -> Decisive:
        """The rule that decides, and the one of the other kind that it overrules."""
        return strictest([decisive(texts) for texts in self._readings(uri)], self._always)

    def _readings(self, uri: str) -> Iterator[list[Text]]:
        """What a URI may be read as, for all groups together."""
        path = path_of(uri, self._form)
        each = [part.readings(path) for part in self._parts]
        return ([*chain.from_iterable(texts)] for texts in zip(*each, strict=True))


class _Within:
    """The rules that may match within an escape, held against a URI as it is written.

    ``/*2Fb`` is such a rule: it matches ``/?q=a%2Fb``, whose normal form holds no ``2F``. Both
    collections come from :func:`scrapy_rep.matching.escapes.patterns_within`.
    """

    __slots__ = ("_matcher", "_patterns", "_rules")

    def __init__(self, disallow: dict[str, str], allow: dict[str, str], share: int) -> None:
        self._patterns = disallow, allow
        self._rules = LongestMatch(
            [*disallow], [*allow], AS_WRITTEN, robots_txt_is_free=False, share=share
        )
        self._matcher = self._rules.matcher()

    @property
    def state(self) -> tuple[object, ...]:
        """What has been made on demand."""
        return self._rules.state

    def differs(self, path: str, share: int, allowed: bool) -> bool:
        """These rules may say something else of a path as it is written than all others do."""
        if not allowed and not self._patterns[True]:
            return False
        return self._allows(path, share) is not allowed

    def _allows(self, path: str, share: int) -> bool:
        try:
            return self._matcher("", path, share)
        except OutgrownError:
            self._matcher = matcher = self._rules.matcher()
            return matcher("", path, share)

    def forbidden(self, path: str, share: int) -> int:
        """Octets of the longest disallow rule that matches; raises TooCostlyError."""
        return self._rules.forbidden(path, share)

    def permitted(self, path: str, share: int) -> int:
        """Octets of the longest allow rule that matches; raises TooCostlyError."""
        return self._rules.permitted(path, share)

    def written(self, path: str, share: int, octets: int, *, allow: bool) -> list[str]:
        """The rules of one kind, as the file has them, that are so long and match."""
        found = self._rules.written(path, share, octets, allow=allow)
        return [self._patterns[allow][text] for text in found]


def cleaned(patterns: list[str]) -> tuple[list[str], str]:
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
