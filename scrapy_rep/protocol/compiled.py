"""The rules of one crawler, compiled, and shared with other crawlers where they are equal.

RFC 9309 section 2.2.1. The rules of a crawler are those of all groups that name it. If several
crawlers ask the same file, memory must not grow with crawlers times rules, so equal rules are held
once. A crawler may have a small group for itself and a large one that it shares with many others:
therefore the largest of several groups is one part of the rules, and all other groups are another.
A file with 64 small groups and 20,000 rules for all 64 crawlers takes 9 MB instead of up to 290 MB.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Final

from scrapy_rep.matching.first_match import FirstMatchRules
from scrapy_rep.matching.rule_set import LongestMatchRules
from scrapy_rep.matching.rules_in_parts import RulesInParts
from scrapy_rep.protocol import groups
from scrapy_rep.protocol.groups import Lines, RuleValues
from scrapy_rep.protocol.normal_forms import form_of
from scrapy_rep.protocol.profiles import Profile
from scrapy_rep.protocol.verdict import Verdict

_Part = LongestMatchRules | FirstMatchRules
_Source = RuleValues | list[tuple[bool, str]]
"""What a part is made from: disallow and allow values, or patterns in the order of the file."""

_OCTETS_OF_A_LINE: Final = 260
"""Octets of memory for a pattern and its line number, about."""


class Compiled:
    """The rules of one crawler, and their lines once these are needed.

    ``others`` are the compiled rules of the crawlers that asked before. Several threads may ask:
    what is made on demand is published whole.
    """

    __slots__ = ("_fingerprints", "group", "lines", "parts", "rules", "verdicts", "wanted")

    parts: list[_Part]
    rules: LongestMatchRules | FirstMatchRules | RulesInParts

    def __init__(
        self,
        text: bytes,
        wanted: tuple[str, ...],
        profile: Profile,
        others: Collection[Compiled],
    ) -> None:
        self.wanted = wanted
        self.lines: list[Lines] | None = None
        self.verdicts: dict[tuple[object, ...], Verdict] = {}
        """The last verdicts by a rule, by what :class:`Match` says of the rules."""
        self.group, sources = _sources(text, wanted, profile)
        self._fingerprints: list[bytes] | None = None
        if not others and len(sources) == 1:
            self.rules = _part(sources[0], profile)
            self.parts = [self.rules]
        else:
            self._share(sources, text, profile, others)

    def _share(
        self,
        sources: Sequence[_Source],
        text: bytes,
        profile: Profile,
        others: Collection[Compiled],
    ) -> None:
        """Make the parts, except those that another crawler has already: these are shared."""
        self._fingerprints = _fingerprints(sources)
        known = {key: part for one in others for key, part in one.fingerprints(text, profile)}
        self.parts = [
            known.get(key) or _part(source, profile, len(sources))
            for key, source in zip(self._fingerprints, sources, strict=True)
        ]
        self.rules = self.parts[0] if len(sources) == 1 else _in_parts(self.parts, profile)

    def fingerprints(self, text: bytes, profile: Profile) -> Iterator[tuple[bytes, _Part]]:
        """Return each part of the rules with its fingerprint."""
        if self._fingerprints is None:  # not needed while there was one crawler
            self._fingerprints = _fingerprints(_sources(text, self.wanted, profile)[1])
        return zip(self._fingerprints, self.parts, strict=True)

    def find_lines(self, text: bytes, profile: Profile, others: Collection[Compiled]) -> None:
        """Read the lines of the rules; those that another crawler has already are shared."""
        found = groups.lines_for(text, self.wanted, profile)
        known = [lines for other in others for lines in other.lines or ()]
        self.lines = [next((one for one in known if one == lines), lines) for lines in found]

    def first(self, allow: bool, patterns: Sequence[str]) -> tuple[int, str]:
        """Return the first line that any of some patterns has, and that pattern."""
        return min(
            (lines[allow, pattern], pattern)
            for lines in self.lines or ()
            for pattern in patterns
            if (allow, pattern) in lines
        )


def size(compiled: Collection[Compiled]) -> int:
    """Return the octets of memory that the rules of some crawlers take together, about."""
    parts = {id(part): part for one in compiled for part in one.parts}
    lines = {id(some): some for one in compiled for some in one.lines or ()}
    held = sum([part.size for part in parts.values()])
    return held + sum([_OCTETS_OF_A_LINE * len(some) for some in lines.values()])


def _sources(
    text: bytes, wanted: tuple[str, ...], profile: Profile
) -> tuple[str | None, Sequence[_Source]]:
    """Return the token found for a crawler, and what the parts of its rules are made from."""
    if profile.most_octets_win:
        return groups.patterns_for(text, wanted, profile)
    group, ordered = groups.ordered_patterns_for(text, wanted, profile)
    return group, [ordered]


def _part(source: _Source, profile: Profile, parts: int = 1) -> _Part:
    form = form_of(profile)
    free = profile.robots_txt_is_always_allowed
    if isinstance(source, tuple):
        return LongestMatchRules(*source, form, robots_txt_is_free=free, share=parts)
    return FirstMatchRules(source, form, robots_txt_is_free=free)


def _in_parts(parts: Sequence[_Part], profile: Profile) -> RulesInParts:
    longest = [part for part in parts if isinstance(part, LongestMatchRules)]
    return RulesInParts(
        longest, form_of(profile), robots_txt_is_free=profile.robots_txt_is_always_allowed
    )


def _fingerprints(sources: Sequence[_Source]) -> list[bytes]:
    """Return a digest of each part of some rules and of the number of parts."""
    texts = [repr((source, len(sources))).encode() for source in sources]
    return [blake2b(text, digest_size=16).digest() for text in texts]
