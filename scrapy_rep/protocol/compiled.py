"""The rules of one crawler, found in the text of a robots.txt and compiled.

RFC 9309 section 2.2.1. A robots.txt keeps one :class:`Compiled` for each crawler that has asked.
Crawlers that the file gives the same rules share one rule set.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from scrapy_rep.protocol import groups
from scrapy_rep.protocol.firstmatch import FirstMatch
from scrapy_rep.protocol.path import form_of
from scrapy_rep.protocol.profiles import Profile
from scrapy_rep.protocol.ruleset import LongestMatch

_Source = tuple[list[str], list[str]] | list[tuple[bool, str]]
"""What rules are made of: disallow and allow patterns, or both in the order of the file."""


class Compiled:
    """What a robots.txt holds for one crawler: its rules now, their lines once they are asked."""

    __slots__ = ("group", "lines", "mark", "rules", "wanted")

    def __init__(
        self,
        text: bytes,
        wanted: tuple[str, ...],
        profile: Profile,
        others: Sequence[Compiled],
    ) -> None:
        self.wanted = wanted
        self.lines: dict[tuple[bool, str], int] | None = None
        self.mark: bytes | None = None
        self.group, source = _source(text, wanted, profile)
        shared = self._shared(source, text, profile, others) if others else None
        self.rules = shared or _rules(source, profile)

    def _shared(
        self, source: _Source, text: bytes, profile: Profile, others: Sequence[Compiled]
    ) -> LongestMatch | FirstMatch | None:
        """Crawlers with the same rules share them: nothing grows with agents times rules."""
        self.mark = _mark(source)
        for other in others:
            if other.mark is None:  # it was the first, and could not know that others would come
                other.mark = _mark(_source(text, other.wanted, profile)[1])
            if other.mark == self.mark:
                return other.rules
        return None


def _source(text: bytes, wanted: tuple[str, ...], profile: Profile) -> tuple[str | None, _Source]:
    """The token found for a crawler, and what its rules are made of."""
    if profile.most_octets_win:
        group, disallow, allow = groups.patterns_for(text, wanted, profile)
        return group, (disallow, allow)
    return groups.ordered_patterns_for(text, wanted, profile)


def _rules(source: _Source, profile: Profile) -> LongestMatch | FirstMatch:
    form = form_of(profile)
    free = profile.robots_txt_is_always_allowed
    if isinstance(source, tuple):
        return LongestMatch(*source, form, robots_txt_is_free=free)
    return FirstMatch(source, form, robots_txt_is_free=free)


def _mark(source: _Source) -> bytes:
    """The same for the same patterns, and short."""
    return blake2b(repr(source).encode(), digest_size=16).digest()
