"""The rules of one crawler, compiled: a URI goes in, permission comes out.

RFC 9309 section 2.2.2. :class:`scrapy_rep.matching.first_match.FirstMatchRules` answers the same
two questions as :class:`LongestMatchRules`; a field of the profile decides which of them is made.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof

from scrapy_rep.matching.budget import TooCostlyError
from scrapy_rep.matching.escapes import AS_WRITTEN, as_written, patterns_within_escapes
from scrapy_rep.matching.index import PatternIndex
from scrapy_rep.matching.match import Comparison, Longest, Match, is_allowed, match, strictest
from scrapy_rep.matching.matcher import Matcher, Rules, indexed_matcher, matcher_for
from scrapy_rep.matching.memory import Measure, measured
from scrapy_rep.matching.normal_form import (
    ROBOTS_TXT,
    NormalForm,
    normal_path,
    origin_of,
    readings,
    utf8_octets,
    written_path,
)
from scrapy_rep.matching.pattern_set import PatternSet
from scrapy_rep.matching.patterns import patterns_of
from scrapy_rep.matching.prefilter import NO_PATTERNS, Prefilter
from scrapy_rep.matching.tuning import INDEX_AFTER, LONG_URI


class _Unknown:
    """Rules that answer no question: what is asked of them counts as disallowed."""

    def allows_path(self, path: str, share: int = 1) -> bool:
        """Return False."""
        return False

    def only_match_path(self, path: str) -> str | None:
        """Return None."""
        return None

    def allows_all_readings(self, path: str, allows: Matcher) -> bool:
        """Return False."""
        return False


_UNKNOWN = _Unknown()


class LongestMatchRules:
    """The rule with the most octets decides; of equally long rules, an allow rule.

    ``share`` is the number of rule sets that share the budget of a question.

    Several threads may ask. What is made on demand is published whole, in one step. What it is made
    from is read before it is looked for, and dropped after it is published, so a thread that finds
    nothing made has read all that it takes to make it.
    """

    __slots__ = (
        "_allow_set",
        "_allow_values",
        "_asked",
        "_clear",
        "_disallow_set",
        "_escape_rules",
        "_escape_rules_are_known",
        "_form",
        "_free_path",
        "_measured",
        "_only_disallows",
        "_prefilter",
        "_share",
    )

    def __init__(
        self,
        disallow: list[str],
        allow: list[str],
        form: NormalForm,
        *,
        robots_txt_is_free: bool,
        share: int = 1,
    ) -> None:
        self._prefilter = Prefilter.of(patterns_of(disallow, form), form)
        self._allow_values = allow
        self._only_disallows = not allow
        self._disallow_set: PatternSet | None = None
        self._allow_set: PatternSet | None = None
        self._clear: Matcher | None = None
        self._form = form
        self._free_path = ROBOTS_TXT if robots_txt_is_free else None
        self._asked = 0
        self._share = share
        self._escape_rules: _EscapeRules | None = None
        self._escape_rules_are_known = form.encodes
        self._measured: Measure | None = None

    @property
    def size(self) -> int:
        """Octets of memory."""
        found = self._measured = measured(self, self._measured)
        return found[1]

    @property
    def octets_of_patterns(self) -> int:
        """Octets of memory of the patterns, as long as nothing was made of them on demand."""
        allow = self._allow_values
        return self._prefilter.octets + sum(map(getsizeof, allow)) + getsizeof(allow)

    @property
    def state(self) -> tuple[object, ...]:
        """What was made on demand."""
        sets = [found and found.state for found in (self._disallow_set, self._allow_set)]
        escape_rules = self._escape_rules
        made = self._prefilter is NO_PATTERNS, self._clear is None
        return *made, *sets, escape_rules and escape_rules.state

    @property
    def _disallow(self) -> PatternSet:
        """The disallow rules; made when a path shows that one may match it."""
        prefilter = self._prefilter
        found = self._disallow_set
        if found is None:
            found = PatternSet(prefilter.patterns, self._form, share=self._share)
            self._disallow_set = found
        return found

    @property
    def _allow(self) -> PatternSet:
        """The allow rules; made when a disallow rule may match."""
        values = self._allow_values
        found = self._allow_set
        if found is None:
            found = PatternSet(patterns_of(values, self._form), self._form, share=self._share)
            self._allow_set = found
            self._allow_values = []
        return found

    def matcher(self, replace: Callable[[Matcher], object]) -> Matcher:
        """Return the fastest function that tells whether a URI may be fetched.

        It may call ``replace`` later, once, with a faster one that is to be asked from then on.
        """
        return self._matcher(self, replace)

    def _matcher(self, rules: Rules, replace: Callable[[Matcher], object]) -> Matcher:
        """Return a matcher that asks ``rules`` about paths that a disallow rule may match."""

        def with_index() -> Matcher:
            return indexed_matcher(self._index_disallow_rules(), rules, self._form)

        prefilter = self._prefilter
        if prefilter is NO_PATTERNS:
            return with_index()
        return matcher_for(prefilter, rules, self._form, with_index, replace)

    def _index_disallow_rules(self) -> PatternIndex:
        """Replace the prefilter of the disallow rules by an index."""
        index = self._disallow.build_index()
        self._prefilter = NO_PATTERNS
        return index

    def only_match_path(self, path: str) -> str | None:
        """Return the match path of a path as written in a URI; None if it has several readings."""
        form = self._form
        if not self._escape_rules_are_known:
            self._find_escape_rules()
        if self._escape_rules is not None:
            return None
        if "#" in path:
            path = path.partition("#")[0]
        if not path.isascii():
            path = utf8_octets(path).decode("latin-1")
        normal = normal_path(path, form)
        if form.removes_dots and (form.shorter is None or ("." in normal and "/." in normal)):
            return None
        return normal

    def allows_all_readings(self, path: str, allows: Matcher) -> bool:
        """Return True if every reading of a path as written in a URI is allowed."""
        found, escape_rules, share = self._readings_of(path)
        for written in found:
            normal = normal_path(written, self._form)
            allowed = allows("", normal, share)
            if escape_rules is not None:
                escaped = as_written(written, self._form)
                if escape_rules.may_change(escaped, share, allowed):
                    comparisons = (
                        Comparison(self, normal, share),
                        Comparison(escape_rules, escaped, share),
                    )
                    allowed = is_allowed(comparisons, self._free_path)
            if not allowed:
                return False
        return True

    def comparisons(self, path: str) -> list[list[Comparison]]:
        """Return what to compare for each reading of a path as written in a URI.

        The first comparison is of the match path. The second, if there is one, is of the path with
        its escapes, for the rules that may match within one.
        """
        found, escape_rules, share = self._readings_of(path)
        form = self._form
        each = [[Comparison(self, normal_path(written, form), share)] for written in found]
        if escape_rules is not None:
            for comparisons, written in zip(each, found, strict=True):
                comparisons.append(Comparison(escape_rules, as_written(written, form), share))
        return each

    def _readings_of(self, path: str) -> tuple[list[str], _EscapeRules | None, int]:
        """Return the readings of a path, the escape rules if they matter, and the comparisons."""
        found = readings(path, self._form)
        if not self._escape_rules_are_known:
            self._find_escape_rules()
        escape_rules = self._escape_rules
        if escape_rules is None or ("%" not in path and path.isascii()):
            return found, None, len(found)
        return found, escape_rules, 2 * len(found)

    def _find_escape_rules(self) -> None:
        """Find the rules that may match within an escape; called for the first URI with one."""
        prefilter, values = self._prefilter, self._allow_values
        disallow_set, allow_set = self._disallow_set, self._allow_set
        disallow = disallow_set.special if disallow_set else prefilter.special
        allow = allow_set.special if allow_set else patterns_of(values, self._form).special
        within = patterns_within_escapes(disallow), patterns_within_escapes(allow)
        if any(within):
            self._escape_rules = _EscapeRules(*within, self._share)
        self._escape_rules_are_known = True

    def allows_path(self, path: str, share: int = 1) -> bool:
        """Return True unless the longest rule that matches a path is a disallow rule."""
        octets = 0
        if self._allow_values or self._allow_set is not None:
            if self._asked < INDEX_AFTER:
                self._count(path)
            try:
                octets, _ = self._allow.longest(path, share)
            except TooCostlyError:
                octets = 0  # A disallow rule that matches counts as the longer one.
        try:
            if not octets:
                return not self._disallow.matches(path, share) or path == self._free_path
            return octets >= self._disallow.longest(path, share)[0] or path == self._free_path
        except TooCostlyError:
            return path == self._free_path

    def match(self, uri: str) -> Match:
        """Return the rules that decide, and those of the other kind that they overrule.

        If a URI is allowed with its dot segments and not without them, the rules that disallow it
        without them decide.
        """
        origin = origin_of(uri)
        if origin and _is_plain(uri) and self._is_clear(uri):
            path = uri[len(origin) - 1 :]
            return self._match_of_allow_rules(normal_path(path, self._form))
        matches = [match(found) for found in self.comparisons(written_path(uri, self._form))]
        return strictest(matches, self._free_path)

    @property
    def _is_clear(self) -> Matcher:
        """Tells whether it is known at once that no disallow rule matches a URI.

        This is so for most URIs. For a file with 80 rules and ``Allow: /`` it makes
        :meth:`match` three times as fast.
        """
        found = self._clear
        if found is None:
            found = self._clear = self._matcher(_UNKNOWN, self._replace_clear)
        return found

    def _replace_clear(self, matcher: Matcher) -> None:
        self._clear = matcher

    def _match_of_allow_rules(self, path: str) -> Match:
        """Return the allow rules that match a path that no disallow rule matches."""
        if self._only_disallows:
            return Match(path)
        if self._asked < INDEX_AFTER:
            self._count(path)
        try:
            octets, patterns = self._allow.longest(path, 1)
        except TooCostlyError:  # whether one matches makes no difference
            return Match(path)
        return Match(path, True, patterns) if octets else Match(path)

    def longest_disallow(self, path: str, share: int) -> Longest:
        """Return the longest disallow rules that match a path; raises TooCostlyError."""
        self._count(path)
        disallow = self._disallow
        if self._asked >= INDEX_AFTER and disallow.is_large:
            self._index_disallow_rules()
        return disallow.longest(path, share)

    def longest_allow(self, path: str, share: int) -> Longest:
        """Return the longest allow rules that match a path; raises TooCostlyError."""
        return self._allow.longest(path, share)

    def _count(self, path: str) -> None:
        """Count a question, and build the index of many allow rules when it pays."""
        self._asked += 1 if len(path) < LONG_URI else INDEX_AFTER
        if self._asked >= INDEX_AFTER and self._allow.is_large:
            self._allow.build_index()


def _is_plain(uri: str) -> bool:
    """Return True for a URI that has one reading and no escape."""
    return "%" not in uri and "/." not in uri and "#" not in uri and uri.isascii()


class _EscapeRules:
    """The rules that may match within an escape, compared with a URI as it is written.

    ``/*2Fb`` is such a rule: it matches ``/?q=a%2Fb``, whose normal form does not hold ``2F``. Both
    dictionaries come from :func:`scrapy_rep.matching.escapes.patterns_within_escapes`.
    """

    __slots__ = ("_matcher", "_patterns", "_rules")

    def __init__(self, disallow: dict[str, str], allow: dict[str, str], share: int) -> None:
        self._patterns = disallow, allow
        self._rules = LongestMatchRules(
            [*disallow], [*allow], AS_WRITTEN, robots_txt_is_free=False, share=share
        )
        self._matcher = self._rules.matcher(self._replace_matcher)

    def _replace_matcher(self, matcher: Matcher) -> None:
        self._matcher = matcher

    @property
    def state(self) -> tuple[object, ...]:
        """What was made on demand."""
        return self._rules.state

    def may_change(self, path: str, share: int, allowed: bool) -> bool:
        """Return True if these rules may change what all other rules say of a URI."""
        if not allowed and not self._patterns[True]:
            return False
        return self._matcher("", path, share) is not allowed

    def longest_disallow(self, path: str, share: int) -> Longest:
        """Return the longest disallow rules that match a path; raises TooCostlyError."""
        return self._as_in_the_file(self._rules.longest_disallow(path, share), allow=False)

    def longest_allow(self, path: str, share: int) -> Longest:
        """Return the longest allow rules that match a path; raises TooCostlyError."""
        return self._as_in_the_file(self._rules.longest_allow(path, share), allow=True)

    def _as_in_the_file(self, found: Longest, *, allow: bool) -> Longest:
        octets, texts = found
        return octets, [self._patterns[allow][text] for text in texts]
