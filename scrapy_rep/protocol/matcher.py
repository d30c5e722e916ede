"""A matcher is the quickest function there is for the rules of one crawler.

RFC 9309 section 2.2.2. It is asked with a URI whether it may be fetched, and is sure of it for most
without looking at any rule. Each of the functions here begins with the same few lines, as a call
would cost as much as they do: the beginning of a URI up to its path is mostly that of the URI
before it, since one robots.txt is for one authority, and what follows is a match path already if it
holds no ``%``, no ``#`` and nothing outside ASCII.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from scrapy_rep.protocol.budget import uncounted
from scrapy_rep.protocol.index import PatternIndex
from scrapy_rep.protocol.path import Form, match_path, normal_path, origin_of
from scrapy_rep.protocol.places import Sieve

Matcher = Callable[[str], bool]
"""A matcher is asked with a URI (and what is behind it, with a match path) whether it may pass."""

PATIENCE: Final = 30
"""Questions after which an index of many patterns is cheaper than going on without."""
LONG_URI: Final = 1000
"""Octets of a URI in which many patterns should not be looked for one by one."""
_NO_ORIGIN: Final = "\n"
"""No URI that is well formed begins with a line end."""


class OutgrownError(LookupError):
    """So many questions were asked that another matcher, made from now on, is quicker."""


def everything(_: str) -> bool:
    """Nothing is disallowed."""
    return True


def matcher_for(
    sieve: Sieve, decides: Matcher, form: Form, put_in_order: Callable[[], None]
) -> Matcher:
    """A matcher asks ``decides`` only about a match path that a disallow rule may match.

    Many patterns are asked for one by one too, until it is clear that an index pays: then
    ``put_in_order`` is called, and :class:`OutgrownError` raised, maybe by the first question.
    """
    if not sieve.number:
        return everything
    if sieve.is_many:
        longest = min(LONG_URI, uncounted(sieve.wild))
        return _of_many(_of_few(sieve, decides, form), longest, put_in_order)
    if sieve.ends or sieve.guards:
        return _of_few(sieve, decides, form)
    return _of_heads(sieve.heads, decides, form)


def _of_heads(heads: tuple[str, ...], decides: Matcher, form: Form) -> Matcher:
    """Few patterns that tell how a path begins are asked for at once.

    None of them holds a ``#``, so that a fragment makes no difference to that.
    """
    origin, start = _NO_ORIGIN, -1

    def allows(uri: str) -> bool:
        nonlocal origin, start
        if not uri.startswith(origin):
            found = origin_of(uri)
            origin, start = found or _NO_ORIGIN, len(found) - 1
        if "%" in uri or start < 0 or not uri.isascii():
            path = match_path(uri, form) if start < 0 else normal_path(uri[start:], form)
            return not path.startswith(heads) or decides(path)
        return not uri.startswith(heads, start) or decides(normal_path(uri[start:], form))

    return allows


def _odd(form: Form) -> str:
    """What a URI holds whose path is not just a part of it; any does where queries are cut off."""
    return "%" if form.with_query else ""


def _of_few(sieve: Sieve, decides: Matcher, form: Form) -> Matcher:
    """Few patterns of all kinds are asked for one by one."""
    heads, ends = sieve.heads, sieve.ends
    query_guards = [guard for guard in sieve.guards if "?" in guard]
    guards = [guard for guard in sieve.guards if "?" not in guard]
    odd = _odd(form)
    origin, start = _NO_ORIGIN, -1

    def allows(uri: str) -> bool:
        nonlocal origin, start
        if not uri.startswith(origin):
            found = origin_of(uri)
            origin, start = found or _NO_ORIGIN, len(found) - 1
        if odd in uri or "#" in uri or start < 0 or not uri.isascii():
            path = match_path(uri, form) if start < 0 else normal_path(uri[start:], form)
        else:
            path = uri[start:]
        if path.startswith(heads) or path.endswith(ends):
            return decides(path)
        for guard in query_guards if "?" in path else ():
            if guard in path:
                return decides(path)
        for guard in guards:
            if guard in path:
                return decides(path)
        return True

    return allows


def _of_many(few: Matcher, longest: int, put_in_order: Callable[[], None]) -> Matcher:
    """The first questions about URIs shorter than ``longest`` are answered without an index."""
    asked = 0

    def allows(uri: str) -> bool:
        nonlocal asked
        asked += 1 if len(uri) < longest else PATIENCE
        if asked < PATIENCE:
            return few(uri)
        put_in_order()
        raise OutgrownError

    return allows


def ordered(index: PatternIndex, decides: Matcher, form: Form) -> Matcher:
    """Many heads are searched by bisection, and many guards by the grams of the path."""
    prefixes, floats = index.prefixes, index.floats
    keys, links, longest = prefixes.keys, prefixes.links, prefixes.longest
    ends, always = tuple(index.ends), "" in index.heads
    listed = index.guards if floats is None else ()
    guards = [guard for guard in listed if "?" not in guard]
    query_guards = [guard for guard in listed if "?" in guard]
    odd = _odd(form)
    origin, start = _NO_ORIGIN, -1

    def allows(uri: str) -> bool:
        nonlocal origin, start
        if not uri.startswith(origin):
            found = origin_of(uri)
            origin, start = found or _NO_ORIGIN, len(found) - 1
        if odd in uri or "#" in uri or start < 0 or not uri.isascii():
            path = match_path(uri, form) if start < 0 else normal_path(uri[start:], form)
        else:
            path = uri[start:]
        at = bisect_right(keys, path) - 1
        if at and (path.startswith(keys[at]) or (links[at] and longest(path))):
            return decides(path)
        if path.endswith(ends) or always or (floats is not None and floats.holds(path)):
            return decides(path)
        for guard in query_guards if "?" in path else ():
            if guard in path:
                return decides(path)
        for guard in guards:
            if guard in path:
                return decides(path)
        return True

    return allows
