"""The rules of one crawler in several parts, which other crawlers may share.

RFC 9309 section 2.2.1. :mod:`scrapy_rep.protocol.compiled` says which parts these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_rep.matching.match import Comparison, Match, is_allowed, match, strictest
from scrapy_rep.matching.matcher import Matcher
from scrapy_rep.matching.normal_form import ROBOTS_TXT, NormalForm, written_path

if TYPE_CHECKING:
    from scrapy_rep.matching.rule_set import LongestMatchRules


class RulesInParts:
    """Rules that apply together; the rule with the most octets decides.

    One part is the largest group, which crawlers can share. The other part is all other groups.
    """

    __slots__ = ("_form", "_free_path", "_parts")

    def __init__(
        self, parts: Sequence[LongestMatchRules], form: NormalForm, *, robots_txt_is_free: bool
    ) -> None:
        self._parts = parts
        self._form = form
        self._free_path = ROBOTS_TXT if robots_txt_is_free else None

    @property
    def state(self) -> tuple[object, ...]:
        """What was made on demand."""
        return tuple([part.state for part in self._parts])

    def matcher(self, replace: object) -> Callable[[str], bool]:
        """Return a function that tells whether a URI may be fetched; it never replaces itself."""
        matchers: list[Matcher] = []
        for number, part in enumerate(self._parts):
            matchers.append(part.matcher(partial(matchers.__setitem__, number)))

        def allows(uri: str) -> bool:
            # What each part allows, even by overruling itself, both of them together allow.
            return all(allows(uri) for allows in matchers) or self._is_allowed(uri)

        return allows

    def _is_allowed(self, uri: str) -> bool:
        return all(is_allowed(found, self._free_path) for found in self._comparisons(uri))

    def match(self, uri: str) -> Match:
        """Return the rules that decide, and those of the other kind that they overrule."""
        return strictest([match(found) for found in self._comparisons(uri)], self._free_path)

    def _comparisons(self, uri: str) -> Iterator[list[Comparison]]:
        """Return the comparisons for each reading of a URI, those of all parts together."""
        path = written_path(uri, self._form)
        each = [part.comparisons(path) for part in self._parts]
        return ([*chain.from_iterable(found)] for found in zip(*each, strict=True))
