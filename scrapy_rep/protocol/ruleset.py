"""The rules of one crawler, compiled: a URI goes in, permission comes out.

RFC 9309 section 2.2.2. :class:`scrapy_rep.protocol.firstmatch.FirstMatch` answers the same two
questions as :class:`LongestMatch`; which of them is made is a field of the profile.
"""

from __future__ import annotations

from scrapy_rep.protocol.blocks import cleaned
from scrapy_rep.protocol.decisive import Decisive, strictest
from scrapy_rep.protocol.escapes import AS_WRITTEN, as_written, patterns_within
from scrapy_rep.protocol.matcher import (
    LONG_URI,
    PATIENCE,
    Matcher,
    OutgrownError,
    matcher_for,
    ordered,
)
from scrapy_rep.protocol.path import (
    ROBOTS_TXT,
    Form,
    normal_path,
    octets_of,
    path_of,
    readings,
)
from scrapy_rep.protocol.patterns import PatternSet
from scrapy_rep.protocol.places import NO_PATTERNS, Sieve


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
        "_rules_within",
        "_sieve",
        "_within_is_known",
    )

    def __init__(
        self, disallow: list[str], allow: list[str], form: Form, *, robots_txt_is_free: bool
    ) -> None:
        self._sieve = Sieve.of(*cleaned(disallow), form)
        self._allow_lines = allow
        self._disallow: PatternSet | None = None
        self._allow: PatternSet | None = None
        self._form = form
        self._always = ROBOTS_TXT if robots_txt_is_free else None
        self._asked = 0
        self._rules_within: _Within | None = None
        self._within_is_known = form.encodes

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
            found = self._disallow = PatternSet(sieve.patterns, self._form, sieve.placed)
        return found

    @property
    def _permits(self) -> PatternSet:
        """The allow rules are read when a disallow rule may match."""
        lines = self._allow_lines
        found = self._allow
        if found is None:
            found = self._allow = PatternSet(cleaned(lines)[0], self._form)
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
        for written in readings(path, self._form):
            normal = normal_path(written, self._form)
            allowed = allows("", normal)
            within = self._within
            escaped = self._escaped(written) if within is not None else ""
            if within is not None and escaped and within.differs(escaped, allowed):
                disallow, allow = self.longest(normal, escaped)
                allowed = allow >= disallow or normal == self._always
            if not allowed:
                return False
        return True

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
            self._rules_within = _Within(disallow, allow)
        self._within_is_known = True

    def _escaped(self, path: str) -> str:
        """A path with escapes as it is written; empty for one without them."""
        if "%" in path or not path.isascii():
            return as_written(path, self._form)
        return ""

    def longest(self, path: str, escaped: str) -> tuple[int, int]:
        """Octets of the longest disallow and allow rules that match a path.

        ``path`` is in normal form, ``escaped`` with its escapes as they are written, if it has any.
        """
        self._count(path)
        if self._asked >= PATIENCE and self._forbids.is_many:
            self._put_in_order()
        disallow, allow = self._forbids.longest(path), self._permits.longest(path)
        within = self._within
        if within is not None and escaped:
            others = within.longest(escaped)
            disallow, allow = max(disallow, others[0]), max(allow, others[1])
        return disallow, allow

    def decides(self, path: str) -> bool:
        """A path is allowed unless the longest rule that matches it is a disallow."""
        octets = 0
        if self._allow_lines or self._allow is not None:
            if self._asked < PATIENCE:
                self._count(path)
            octets = self._permits.longest(path)
        if not octets:
            return not self._forbids.match(path) or path == self._always
        return octets >= self._forbids.longest(path) or path == self._always

    def decisive(self, uri: str) -> Decisive:
        """The rule that decides, and the one of the other kind that it overrules.

        Of a URI with dot segments that is allowed with them, and not without them, the rule that
        forbids it without them.
        """
        found = [self._decisive(path) for path in readings(path_of(uri, self._form), self._form)]
        return strictest(found, self._always)

    def _decisive(self, written: str) -> Decisive:
        path = normal_path(written, self._form)
        escaped = self._escaped(written)
        disallow, allow = self.longest(path, escaped)
        if not disallow and not allow:
            return Decisive(path)
        forbids = self.written(False, path, escaped, disallow) if disallow else []
        permits = self.written(True, path, escaped, allow) if allow else []
        if allow >= disallow:
            return Decisive(path, True, permits, forbids)
        return Decisive(path, False, forbids, permits)

    def written(self, allow: bool, path: str, escaped: str, octets: int) -> list[str]:
        """The patterns as they were written that gave :meth:`longest` its answer."""
        found = (self._permits if allow else self._forbids).written(path, octets)
        within = self._within
        if within is not None and escaped:
            found += within.written(allow, escaped, octets)
        return found

    def _count(self, path: str) -> None:
        """After so many questions, or one as long as they are, an index of many rules pays."""
        self._asked += 1 if len(path) < LONG_URI else PATIENCE
        if self._asked >= PATIENCE and self._permits.is_many:
            self._permits.put_in_order()


class _Within:
    """The rules that may match within an escape, held against a URI as it is written.

    ``/*2Fb`` is such a rule: it matches ``/?q=a%2Fb``, whose normal form holds no ``2F``. Both
    arguments come from :func:`scrapy_rep.protocol.path.patterns_within`.
    """

    __slots__ = ("_matcher", "_patterns", "_rules")

    def __init__(self, disallow: dict[str, str], allow: dict[str, str]) -> None:
        self._patterns = disallow, allow
        self._rules = LongestMatch([*disallow], [*allow], AS_WRITTEN, robots_txt_is_free=False)
        self._matcher = self._rules.matcher()

    @property
    def state(self) -> tuple[object, ...]:
        """What has been made on demand."""
        return self._rules.state

    def differs(self, path: str, allowed: bool) -> bool:
        """These rules may say something else of a path as it is written than all others do."""
        if not allowed and not self._patterns[True]:
            return False
        return self._allows(path) is not allowed

    def _allows(self, path: str) -> bool:
        try:
            return self._matcher("", path)
        except OutgrownError:
            self._matcher = matcher = self._rules.matcher()
            return matcher("", path)

    def longest(self, path: str) -> tuple[int, int]:
        """Octets of the longest disallow and allow rules that match a path as it is written."""
        return self._rules.longest(path, "")

    def written(self, allow: bool, path: str, octets: int) -> list[str]:
        """The patterns that gave :meth:`longest` its answer."""
        found = self._rules.written(allow, path, "", octets)
        return [self._patterns[allow][text] for text in found]
