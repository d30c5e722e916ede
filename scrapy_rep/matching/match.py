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
    ``too_costly``, ``allow`` is False and both are empty. ``/robots.txt`` is not special here:
    ``allow`` is False under ``Disallow: /``, and the caller knows if that path is always allowed.
    """

    path: str
    allow: bool | None = None
    patterns: Sequence[str] = ()
    overruled: Sequence[str] = ()
    too_costly: bool = False


Longest = tuple[int, Sequence[str]]
"""The octets of the longest rule that matches, and the rules of that length as written.

These are 0 and nothing if no rule matches.
"""


class RuleSet(Protocol):
    """Rules of which the longest match decides.

    ``share`` is the number of comparisons that share the budget of a question. Each method raises
    TooCostlyError if its part of the budget is used up.
    """

    def longest_disallow(self, path: str, share: int, /) -> Longest:
        """Return the longest disallow rules that match."""

    def longest_allow(self, path: str, share: int, /) -> Longest:
        """Return the longest allow rules that match."""


class Comparison(NamedTuple):
    """A path to compare with a rule set, as one of ``share`` comparisons for the same URI."""

    rules: RuleSet
    path: str
    share: int

    def longest_disallow(self) -> Longest:
        """Return the longest disallow rules that match; may raise TooCostlyError."""
        return self.rules.longest_disallow(self.path, self.share)

    def longest_allow(self) -> Longest | None:
        """Return the longest allow rules that match; None if it is too costly to tell."""
        try:
            return self.rules.longest_allow(self.path, self.share)
        except TooCostlyError:
            return None


def is_allowed(comparisons: Sequence[Comparison], free_path: str | None) -> bool:
    """Return True if one reading of a URI is allowed.

    The path of the first comparison is the match path; ``free_path`` is always allowed. The
    search ends at the first comparison with a disallow rule that is longer than all allow rules.
    """
    allow, _ = _longest([one.longest_allow() for one in comparisons])
    try:
        is_disallowed = any(one.longest_disallow()[0] > allow for one in comparisons)
    except TooCostlyError:
        is_disallowed = True
    return not is_disallowed or comparisons[0].path == free_path


def match(comparisons: Sequence[Comparison]) -> Match:
    """Return the rules that decide about one reading of a URI.

    The path of the first comparison is the match path.
    """
    path = comparisons[0].path
    try:
        disallow, disallows = _longest([one.longest_disallow() for one in comparisons])
    except TooCostlyError:
        return Match(path, False, too_costly=True)
    found = [one.longest_allow() for one in comparisons]
    allow, allows = _longest(found)
    if allow < disallow:
        if None in found:  # an allow rule that was not compared may be longer
            return Match(path, False, too_costly=True)
        return Match(path, False, disallows, allows)
    return Match(path, True, allows, disallows) if allow else Match(path)


def _longest(found: Sequence[Longest | None]) -> Longest:
    """Return the longest rules of several comparisons together; None counts as no rule."""
    known = [one for one in found if one is not None]
    if len(known) == 1:  # as for nearly every URI
        return known[0]
    octets = max((octets for octets, _ in known), default=0)
    return octets, [rule for longest, rules in known if longest == octets for rule in rules]


def strictest(matches: Sequence[Match], free_path: str | None) -> Match:
    """Return the first match that disallows, or else the first."""
    for one in matches:
        if one.allow is False and one.path != free_path:
            return one
    return matches[0]
