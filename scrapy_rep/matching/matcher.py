"""A matcher is a function that tells whether a crawler may fetch a URI.

RFC 9309 section 2.2.2. For most URIs the prefilter or the index knows the answer, and no rule is
looked at. Each of the three functions made here begins with the same few lines, because a call
would cost as much as they do: the part of a URI before its path is usually that of the URI before
it, as a robots.txt is for one authority; and what follows is the match path already if it has no
``%``, no ``#``, no dot segment and nothing outside ASCII. For any other URI, :class:`Rules` find
the match path, or call the matcher with each if there are several.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from scrapy_rep.matching.budget import uncounted
from scrapy_rep.matching.index import PatternIndex
from scrapy_rep.matching.normal_form import NormalForm, origin_of, written_path
from scrapy_rep.matching.prefilter import Prefilter
from scrapy_rep.matching.tuning import FEW, INDEX_AFTER, LONG_URI


class Matcher(Protocol):
    """Tells whether a URI, or a match path alone, may be fetched."""

    def __call__(self, uri: str, path: str | None = None, share: int = 1, /) -> bool:
        """Return True if ``uri`` may be fetched; if a match ``path`` is given, whether that may.

        ``share`` is the number of paths that share the budget, if a URI has several.
        """


class Rules(Protocol):
    """The rules of a crawler: what a matcher asks where it does not know the answer."""

    def allows_path(self, path: str, share: int = 1, /) -> bool:
        """Return True if a match path may be fetched that a disallow rule may match."""

    def only_match_path(self, path: str, /) -> str | None:
        """Return the match path of a path as written in a URI; None if it has several readings."""

    def allows_all_readings(self, path: str, allows: Matcher, /) -> bool:
        """Return True if every reading of a path as written in a URI may be fetched."""


_Position = tuple[str | tuple[()], slice]
"""An origin, and the slice of a URI that follows it: one value, so that threads see both."""
_NO_ORIGIN: Final[_Position] = (), slice(0)
"""No URI begins with one of no texts."""


def allow_all(_: str, path: str | None = None, share: int = 1) -> bool:
    """Return True: nothing is disallowed."""
    return True


def matcher_for(
    prefilter: Prefilter,
    rules: Rules,
    form: NormalForm,
    with_index: Callable[[], Matcher],
    replace: Callable[[Matcher], object],
) -> Matcher:
    """Return a matcher that asks ``rules`` only about paths that the prefilter does not let pass.

    Many patterns are searched one by one too, until it is clear that an index pays. Then the
    matcher calls ``replace`` with the result of ``with_index``, which is to be asked from then on.
    """
    if not prefilter.number:
        return allow_all
    if len(prefilter.prefixes) > FEW or len(prefilter.inner) > FEW:
        longest_path = min(LONG_URI, uncounted(prefilter.special))
        few = _of_few(prefilter, rules, form)
        return _until_indexed(few, longest_path, with_index, replace)
    if prefilter.suffixes or prefilter.inner or not form.with_query:
        return _of_few(prefilter, rules, form)
    return _of_prefixes(prefilter, rules, form)


def _origin_and_rest(uri: str) -> _Position:
    """Return the origin of a URI and where its path is."""
    origin = origin_of(uri)
    return (origin, slice(len(origin) - 1, None)) if origin else _NO_ORIGIN


def _of_prefixes(prefilter: Prefilter, rules: Rules, form: NormalForm) -> Matcher:
    """Return a matcher for few patterns that all have a required prefix.

    None of the prefixes holds a ``#``, so a fragment makes no difference to them; nor do octets
    outside ASCII, if the patterns are ``plain``.
    """
    prefixes, plain = prefilter.prefixes, prefilter.are_plain
    here: tuple[str, int] = "", 0  # one value, so that threads see both parts or none

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal here
        if path is None:
            origin, start = here
            rest = uri.removeprefix(origin)
            if rest == uri:
                origin = origin_of(uri)
                if not origin:
                    return rules.allows_all_readings(written_path(uri, form), allows)
                here = origin, start = origin, len(origin) - 1
                rest = uri[start + 1 :]
            if "%" not in rest and ("." not in rest or "/." not in uri):
                if not uri.startswith(prefixes, start) and (plain or rest.isascii()):
                    return True
                if rest.isascii():
                    return rules.allows_path(uri[start:].partition("#")[0])
            path = rules.only_match_path("/" + rest)
            if path is None:
                return rules.allows_all_readings("/" + rest, allows)
        return not path.startswith(prefixes) or rules.allows_path(path, share)

    return allows


def _never_plain(form: NormalForm) -> str:
    """Return what a URI holds whose path must be normalized; all do where queries are cut off."""
    return "%" if form.with_query else ""


def _without_and_with_query(inner: Collection[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the inner literals that a path without a query may hold, and all of them."""
    without = [literal for literal in inner if "?" not in literal]
    if len(without) == len(inner):
        return without, without
    return without, [*[literal for literal in inner if "?" in literal], *without]


def _of_few(prefilter: Prefilter, rules: Rules, form: NormalForm) -> Matcher:
    """Return a matcher that searches for few required literals one by one."""
    prefixes, suffixes = prefilter.prefixes, prefilter.suffixes
    inner, inner_with_query = _without_and_with_query(prefilter.inner)
    odd = _never_plain(form)
    here = _NO_ORIGIN

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal here
        if path is None:
            origin, rest = here
            if not uri.startswith(origin):
                here = origin, rest = _origin_and_rest(uri)
                if not origin:
                    return rules.allows_all_readings(written_path(uri, form), allows)
            path = uri[rest]
            if odd in path or "#" in path or ("." in path and "/." in path) or not path.isascii():
                path = rules.only_match_path(path)
                if path is None:
                    return rules.allows_all_readings(uri[rest], allows)
        if path.startswith(prefixes) or path.endswith(suffixes):
            return rules.allows_path(path, share)
        for literal in inner_with_query if "?" in path else inner:
            if literal in path:
                return rules.allows_path(path, share)
        return True

    return allows


def _until_indexed(
    without_index: Matcher,
    longest_path: int,
    with_index: Callable[[], Matcher],
    replace: Callable[[Matcher], object],
) -> Matcher:
    """Return a matcher that is asked some questions, and then replaces itself.

    A path of ``longest_path`` octets or more counts as all of these questions at once. In a race,
    several threads may replace it, each with an equal matcher.
    """
    asked = 0

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal asked
        asked += 1 if len(path or uri) * share < longest_path else INDEX_AFTER
        if asked < INDEX_AFTER:
            return without_index(uri, path, share)
        matcher = with_index()
        replace(matcher)
        return matcher(uri, path, share)

    return allows


def indexed_matcher(  # noqa: C901 (a call for each of its steps would take longer than they do)
    index: PatternIndex, rules: Rules, form: NormalForm
) -> Matcher:
    """Return a matcher that bisects many prefixes and finds many inner literals by their grams."""
    prefixes, substrings = index.prefixes, index.substrings
    keys, links, longest = prefixes.keys, prefixes.links, prefixes.longest
    suffixes, any_path = tuple(index.by_suffix), "" in index.by_prefix
    few_inner = index.by_inner if substrings is None else ()
    inner, inner_with_query = _without_and_with_query(few_inner)
    odd = _never_plain(form)
    here = _NO_ORIGIN

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal here
        if path is None:
            origin, rest = here
            if not uri.startswith(origin):
                here = origin, rest = _origin_and_rest(uri)
                if not origin:
                    return rules.allows_all_readings(written_path(uri, form), allows)
            path = uri[rest]
            if odd in path or "#" in path or ("." in path and "/." in path) or not path.isascii():
                path = rules.only_match_path(path)
                if path is None:
                    return rules.allows_all_readings(uri[rest], allows)
        at = bisect_right(keys, path) - 1
        if at and (path.startswith(keys[at]) or (links[at] and longest(path))):
            return rules.allows_path(path, share)
        if path.endswith(suffixes) or any_path or (substrings and substrings.any_in(path)):
            return rules.allows_path(path, share)
        for literal in inner_with_query if "?" in path else inner:
            if literal in path:
                return rules.allows_path(path, share)
        return True

    return allows
