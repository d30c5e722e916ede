"""A matcher is the quickest function there is for the rules of one crawler.

RFC 9309 section 2.2.2. It is asked with a URI whether it may be fetched, and is sure of it for most
without looking at any rule. Each of the functions here begins with the same few lines, as a call
would cost as much as they do: the beginning of a URI up to its path is mostly that of the URI
before it, since one robots.txt is for one authority, and what follows is a match path already if it
holds no ``%``, no ``#``, no dot segment and nothing outside ASCII. For all other URIs
the :class:`Rules` find the match path, or ask back with each if there are several.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection
from typing import Final, Protocol

from scrapy_rep.matching.budget import uncounted
from scrapy_rep.matching.index import PatternIndex
from scrapy_rep.matching.normal_form import Form, origin_of, path_of
from scrapy_rep.matching.prefilter import Sieve


class Matcher(Protocol):
    """A matcher is asked with a URI whether it may pass, or with a match path alone."""

    def __call__(self, uri: str, path: str | None = None, share: int = 1, /) -> bool:
        """Return whether ``uri`` may pass; if there is a ``path``, whether that may.

        ``share`` is the number of texts that have the budget together, if a URI has several.
        """


class Rules(Protocol):
    """What a matcher asks in turn: the rules that it was made for."""

    def decides(self, path: str, share: int = 1, /) -> bool:
        """Return whether a match path may pass that a disallow rule may match."""

    def reading(self, path: str, /) -> str | None:
        """Return the match path of a path as it stands in a URI; None if it has several."""

    def careful(self, path: str, allows: Matcher, /) -> bool:
        """Return whether all match paths of a path as it stands in a URI may pass."""


PATIENCE: Final = 30
"""Questions after which an index of many patterns is cheaper than going on without."""
LONG_URI: Final = 1000
"""Octets of a URI in which many patterns should not be looked for one by one."""
_Here = tuple[str | tuple[()], slice]
"""An origin, and the slice of what follows it: one value, so that threads see both or none."""
_NOWHERE: Final[_Here] = (), slice(0)
"""No URI begins with one of no texts."""


class OutgrownError(LookupError):
    """So many questions were asked that another matcher, made from now on, is quicker."""


def everything(_: str, path: str | None = None, share: int = 1) -> bool:
    """Nothing is disallowed."""
    return True


def matcher_for(
    sieve: Sieve, rules: Rules, form: Form, put_in_order: Callable[[], None]
) -> Matcher:
    """A matcher asks ``rules`` only about a match path that a disallow rule may match.

    Many patterns are asked for one by one too, until it is clear that an index pays: then
    ``put_in_order`` is called, and :class:`OutgrownError` raised, maybe by the first question.
    """
    if not sieve.number:
        return everything
    if sieve.is_many:
        longest = min(LONG_URI, uncounted(sieve.wild))
        return _of_many(_of_few(sieve, rules, form), longest, put_in_order)
    if sieve.ends or sieve.guards or not form.with_query:
        return _of_few(sieve, rules, form)
    return _of_heads(sieve, rules, form)


def _origin_and_rest(uri: str) -> _Here:
    """The origin of a URI and where its path is; for a URI without an origin, nowhere."""
    origin = origin_of(uri)
    return (origin, slice(len(origin) - 1, None)) if origin else _NOWHERE


def _of_heads(sieve: Sieve, rules: Rules, form: Form) -> Matcher:
    """Few patterns that tell how a path begins are asked for at once.

    None of them holds a ``#``, so that a fragment makes no difference to that; nor do octets
    outside ASCII, if they are ``plain``.
    """
    heads, plain = sieve.heads, sieve.plain
    here: tuple[str, int] = "", 0  # one value, so that threads see both parts or none

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal here
        if path is None:
            origin, start = here
            rest = uri.removeprefix(origin)
            if rest == uri:
                origin = origin_of(uri)
                if not origin:
                    return rules.careful(path_of(uri, form), allows)
                here = origin, start = origin, len(origin) - 1
                rest = uri[start + 1 :]
            if "%" not in rest and ("." not in rest or "/." not in uri):
                if not uri.startswith(heads, start) and (plain or rest.isascii()):
                    return True
                if rest.isascii():
                    return rules.decides(uri[start:].partition("#")[0])
            path = rules.reading("/" + rest)
            if path is None:
                return rules.careful("/" + rest, allows)
        return not path.startswith(heads) or rules.decides(path, share)

    return allows


def _odd(form: Form) -> str:
    """What a URI holds whose path is not just a part of it; any does where queries are cut off."""
    return "%" if form.with_query else ""


def _parted(guards: Collection[str]) -> tuple[list[str], list[str]]:
    """The guards that a path without a query may hold, and all of them."""
    few = [guard for guard in guards if "?" not in guard]
    if len(few) == len(guards):
        return few, few
    return few, [*[guard for guard in guards if "?" in guard], *few]


def _of_few(sieve: Sieve, rules: Rules, form: Form) -> Matcher:
    """Few patterns of all kinds are asked for one by one."""
    heads, ends = sieve.heads, sieve.ends
    guards, all_guards = _parted(sieve.guards)
    odd = _odd(form)
    here = _NOWHERE

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal here
        if path is None:
            origin, rest = here
            if not uri.startswith(origin):
                here = origin, rest = _origin_and_rest(uri)
                if not origin:
                    return rules.careful(path_of(uri, form), allows)
            path = uri[rest]
            if odd in path or "#" in path or ("." in path and "/." in path) or not path.isascii():
                path = rules.reading(path)
                if path is None:
                    return rules.careful(uri[rest], allows)
        if path.startswith(heads) or path.endswith(ends):
            return rules.decides(path, share)
        for guard in all_guards if "?" in path else guards:
            if guard in path:
                return rules.decides(path, share)
        return True

    return allows


def _of_many(few: Matcher, longest: int, put_in_order: Callable[[], None]) -> Matcher:
    """The first questions about URIs shorter than ``longest`` are answered without an index."""
    asked = 0

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal asked
        asked += 1 if len(path or uri) * share < longest else PATIENCE
        if asked < PATIENCE:
            return few(uri, path, share)
        put_in_order()
        raise OutgrownError

    return allows


def ordered(  # noqa: C901 (a call for each of its steps would take longer than they do)
    index: PatternIndex, rules: Rules, form: Form
) -> Matcher:
    """Many heads are searched by bisection, and many guards by the grams of the path."""
    prefixes, floats = index.prefixes, index.floats
    keys, links, longest = prefixes.keys, prefixes.links, prefixes.longest
    ends, always = tuple(index.ends), "" in index.heads
    guards, all_guards = _parted(index.guards if floats is None else ())
    odd = _odd(form)
    here = _NOWHERE

    def allows(uri: str, path: str | None = None, share: int = 1) -> bool:
        nonlocal here
        if path is None:
            origin, rest = here
            if not uri.startswith(origin):
                here = origin, rest = _origin_and_rest(uri)
                if not origin:
                    return rules.careful(path_of(uri, form), allows)
            path = uri[rest]
            if odd in path or "#" in path or ("." in path and "/." in path) or not path.isascii():
                path = rules.reading(path)
                if path is None:
                    return rules.careful(uri[rest], allows)
        at = bisect_right(keys, path) - 1
        if at and (path.startswith(keys[at]) or (links[at] and longest(path))):
            return rules.decides(path, share)
        if path.endswith(ends) or always or (floats is not None and floats.holds(path)):
            return rules.decides(path, share)
        for guard in all_guards if "?" in path else guards:
            if guard in path:
                return rules.decides(path, share)
        return True

    return allows
