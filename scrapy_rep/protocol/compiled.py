"""What a robots.txt holds for the crawlers that have asked about it.

RFC 9309 section 2.2.1. The rules of a crawler are those of all groups that name it. Where several
crawlers ask the same file, memory must not grow with crawlers times rules, so equal rules are held
once. Each crawler may have a small group of its own beside a large one for many crawlers: therefore
the largest of several groups is one part of the rules, and the other groups are another.
A file with 64 small groups and 20,000 rules for all 64 crawlers takes 9 MB instead of up to 290 MB.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Final

from scrapy_rep.matching.first_match import FirstMatchRules
from scrapy_rep.matching.rule_set import LongestMatchRules, MergedRules
from scrapy_rep.protocol import groups
from scrapy_rep.protocol.groups import Lines, Patterns
from scrapy_rep.protocol.normal_forms import form_of
from scrapy_rep.protocol.profiles import Profile

_Part = LongestMatchRules | FirstMatchRules
_Source = Patterns | list[tuple[bool, str]]
"""What rules are made of: disallow and allow patterns, or both in the order of the file."""

_OCTETS_OF_A_LINE: Final = 260
"""Octets of memory for a pattern and the number of its line, about."""


class Compiled:
    """The rules of one crawler now, and their lines once they are needed.

    ``others`` are those of the crawlers that asked before. Several threads may ask: what is made on
    demand is published whole.
    """

    __slots__ = ("_fingerprints", "group", "lines", "parts", "rules", "wanted")

    parts: list[_Part]
    rules: LongestMatchRules | FirstMatchRules | MergedRules

    def __init__(
        self,
        text: bytes,
        wanted: tuple[str, ...],
        profile: Profile,
        others: Collection[Compiled],
    ) -> None:
        self.wanted = wanted
        self.lines: list[Lines] | None = None
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
        """Each part that another crawler has already is taken from there."""
        self._fingerprints = _fingerprints(sources)
        known = {key: part for one in others for key, part in one.fingerprints(text, profile)}
        self.parts = [
            known.get(key) or _part(source, profile, len(sources))
            for key, source in zip(self._fingerprints, sources, strict=True)
        ]
        self.rules = self.parts[0] if len(sources) == 1 else _merged(self.parts, profile)

    def fingerprints(self, text: bytes, profile: Profile) -> Iterator[tuple[bytes, _Part]]:
        """Each part of the rules, and a short text that is the same for the same rules."""
        if self._fingerprints is None:  # none were needed while there was one crawler
            self._fingerprints = _fingerprints(_sources(text, self.wanted, profile)[1])
        return zip(self._fingerprints, self.parts, strict=True)

    def find_lines(self, text: bytes, profile: Profile, others: Collection[Compiled]) -> None:
        """The lines of the rules are read, and held once for all crawlers."""
        found = groups.lines_for(text, self.wanted, profile)
        known = [lines for other in others for lines in other.lines or ()]
        self.lines = [next((one for one in known if one == lines), lines) for lines in found]

    def first(self, allow: bool, patterns: Sequence[str]) -> tuple[int, str]:
        """The first line that one of some patterns stands on, and the pattern."""
        return min(
            (lines[allow, pattern], pattern)
            for lines in self.lines or ()
            for pattern in patterns
            if (allow, pattern) in lines
        )


def size(compiled: Collection[Compiled]) -> int:
    """Octets of memory that the rules of some crawlers hold together, about."""
    parts = {id(part): part for one in compiled for part in one.parts}
    lines = {id(some): some for one in compiled for some in one.lines or ()}
    held = sum([part.size for part in parts.values()])
    return held + sum([_OCTETS_OF_A_LINE * len(some) for some in lines.values()])


def _sources(
    text: bytes, wanted: tuple[str, ...], profile: Profile
) -> tuple[str | None, Sequence[_Source]]:
    """The token found for a crawler, and what the parts of its rules are made of."""
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


def _merged(parts: Sequence[_Part], profile: Profile) -> MergedRules:
    longest = [part for part in parts if isinstance(part, LongestMatchRules)]
    return MergedRules(
        longest, form_of(profile), robots_txt_is_free=profile.robots_txt_is_always_allowed
    )


def _fingerprints(sources: Sequence[_Source]) -> list[bytes]:
    """A short text for each part of some rules, in which the number of parts counts as well."""
    texts = [repr((source, len(sources))).encode() for source in sources]
    return [blake2b(text, digest_size=16).digest() for text in texts]
