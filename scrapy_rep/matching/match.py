"""The rules that decide about a URI, before their lines are looked up.

RFC 9309 section 2.2.2. A URI is usually one path that is compared with one rule set. It takes
several comparisons where several groups apply, where the URI has dot segments, and where rules
match within its escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from scrapy_rep.matching.budget import TooCostlyError


class Match(NamedTuple):
    """The longest rules that match a URI.

    ``path`` is the match path. ``allow`` is the kind of the rules that decide, and None if no rule
    matches. ``patterns`` are those rules as written, several if they are equally long;
    ``overruled`` are the longest matching rules of the other kind. If the comparison was
    ``too_costly``, ``allow`` is False and both are empty.
    """

    path: str
    allow: bool | None = None
    patterns: Sequence[str] = ()
    overruled: Sequence[str] = ()
    too_costly: bool = False


class RuleSet(Protocol):
    """Rules of which the longest match decides.

    ``share`` is the number of comparisons that share the budget of a question. Each method raises
    TooCostlyError if its part of the budget is used up.
    """

    def longest_disallow(self, path: str, share: int, /) -> int:
        """Return the octets of the longest disallow rule that matches; 0 if none does."""

    def longest_allow(self, path: str, share: int, /) -> int:
        """Return the octets of the longest allow rule that matches; 0 if none does."""

    def patterns_of_length(
        self, path: str, share: int, octets: int, /, *, allow: bool
    ) -> list[str]:
        """Return the matching rules of one kind that have this many octets, as written."""


class Comparison(NamedTuple):
    """A path to compare with a rule set, as one of ``share`` comparisons for the same URI."""

    rules: RuleSet
    path: str
    share: int

    def longest_disallow(self) -> int:
        """Return the octets of the longest disallow rule that matches; may raise TooCostlyError."""
        return self.rules.longest_disallow(self.path, self.share)

    def longest_allow(self) -> int | None:
        """Return the octets of the longest allow rule that matches; None if that is too costly."""
        try:
            return self.rules.longest_allow(self.path, self.share)
        except TooCostlyError:
            return None

    def patterns_of_length(self, octets: int, *, allow: bool) -> list[str]:
        """Return the matching rules of a length; none if there are none or it is too costly."""
        try:
            found = self.rules.patterns_of_length
            return found(self.path, self.share, octets, allow=allow) if octets else []
        except TooCostlyError:
            return []


def longest_rules(comparisons: Sequence[Comparison]) -> tuple[int, int]:
    """Return the octets of the longest disallow and the longest allow rule that match.

    Raises TooCostlyError if it is too costly to tell which of the two is longer.
    """
    disallow = max([one.longest_disallow() for one in comparisons])
    allows = [one.longest_allow() for one in comparisons]
    allow = max([octets or 0 for octets in allows])
    if allow < disallow and None in allows:
        raise TooCostlyError
    return disallow, allow


def is_allowed(comparisons: Sequence[Comparison], free_path: str | None) -> bool:
    """Return True if one reading of a URI is allowed.

    The path of the first comparison is the match path; ``free_path`` is always allowed. The
    search ends at the first disallow rule that is longer than all allow rules.
    """
    allow = max([one.longest_allow() or 0 for one in comparisons])
    try:
        is_disallowed = any(one.longest_disallow() > allow for one in comparisons)
    except TooCostlyError:
        is_disallowed = True
    return not is_disallowed or comparisons[0].path == free_path


def match(comparisons: Sequence[Comparison]) -> Match:
    """Return the rules that decide about one reading of a URI.

    The path of the first comparison is the match path.
    """
    path = comparisons[0].path
    try:
        disallow, allow = longest_rules(comparisons)
    except TooCostlyError:
        return Match(path, False, too_costly=True)
    if not disallow and not allow:
        return Match(path)
    disallows = [p for one in comparisons for p in one.patterns_of_length(disallow, allow=False)]
    allows = [p for one in comparisons for p in one.patterns_of_length(allow, allow=True)]
    if allow >= disallow:
        return Match(path, True, allows, disallows)
    return Match(path, False, disallows, allows)


def strictest(matches: Sequence[Match], free_path: str | None) -> Match:
    """Return the first match that disallows, or else the first."""
    for one in matches:
        if one.allow is False and one.path != free_path:
            return one
    return matches[0]
