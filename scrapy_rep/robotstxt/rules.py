"""The rules of one crawler: whether they allow a URI, and which of them decides.

RFC 9309 sections 2.2.2 and 2.2.3. A pattern matches from the first octet of the path, ``*`` is any
text, a final ``$`` is the end of the path, and of the patterns that match the one with the most
octets decides. An allow pattern wins a tie. A file has 7 rules in the median and 37,000 in the
worst case. A crawl asks it thousands of times, and most answers are "allowed". So a question passes
through stages, and most end in the second:

1. **The path.** The part of a URI before its path is usually the same as in the last URI. The rest
   is in normal form already if it is ASCII without ``%``, ``#``, ``/.``, a backslash, a tab or a
   line end. Any other URI is put in normal form (:mod:`~scrapy_rep.robotstxt.normal_form`).
2. **The prefilter** (:class:`Prefilter`). A path that ``/a*b$`` matches begins with ``/a``, one
   that ``/*.gif$`` matches ends with ``.gif``, and one that ``/*print`` matches holds ``print``. A
   path that has none of these literals is allowed without trying any pattern, unless one may match
   within an escape of the path.
3. **The patterns** (:mod:`~scrapy_rep.robotstxt.patterns`), disallow and then allow. Those without
   ``*``, ``$`` and ``%`` are a set, in which the beginnings of the path are looked up, the longest
   first. The others are tried in turn, from the longest on.

What each mechanism gains on real files: without the prefilter, later verdicts take 2.0 times as
long, and on the worst file 14 times. Without the remembered origin they take 1.4 times as
long. Without the sorting of many prefixes they take 1.05 times as long, 6 times on the worst real
file, and 70 times with 20,000 prefixes. The literals are read off the patterns as text: if each
pattern were parsed for them, a first verdict would take 1.2 times as long.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from scrapy_rep.robotstxt.normal_form import (
    NormalForm,
    as_written,
    ends_with_semicolon,
    normal_path,
    origin_of,
    readings,
    written_path,
)
from scrapy_rep.robotstxt.patterns import LONGEST_LITERAL, STEPS, Patterns, TooCostlyError

MOST_INNER: Final = 1_000
"""The most literals that are searched for within a path; with more, all patterns are tried."""
MANY_PREFIXES: Final = 40
"""More prefixes than this are sorted, once :data:`SORT_AFTER` questions have been asked. Sorting
400 takes as long as 100 questions; each later one then takes 0.6 microseconds instead of 1.9."""
SORT_AFTER: Final = 30
"""Most files are asked fewer questions, so their prefixes are never sorted."""

_UNUSUAL: Final = re.compile(r"[%#?\\\t\n\r]|/\.|;\Z|[^\x00-\x7f]")
"""What a path holds if it may not be in normal form, or has several readings."""
_NOTHING: Final[tuple[int, Sequence[str]]] = 0, ()


class Prefilter:
    """Literals, at least one of which is in every path that a disallow pattern matches."""

    __slots__ = ("_asked", "_keys", "inner", "prefixes", "suffixes")

    def __init__(self, patterns: Patterns, form: NormalForm) -> None:
        prefixes: list[str] = []
        suffixes: list[str] = []
        inner: list[str] = []
        for pattern in patterns.special:
            head, _, rest = pattern.removesuffix("$").partition("*")
            if len(head) > 1 or not rest:  # /a*b, /a$, /*
                literals, text = prefixes, head
            elif "*" in rest:  # /*a*bc
                literals, text = inner, max(rest.split("*"), key=len)
            else:  # /*.gif$, /*print
                literals, text = suffixes if pattern.endswith("$") else inner, rest
            if form.may_change(text):
                literals += {form.prefix(text), form.query_text(text)}
            else:
                literals.append(text)
        self.prefixes, self.suffixes = patterns.texts, (*suffixes,)
        if prefixes:
            self.prefixes += (*dict.fromkeys(prefixes),)
        if "" in prefixes:  # from a pattern such as ``*``: any path may match
            self.prefixes = ("",)
        self.inner = (*[text[-LONGEST_LITERAL:] for text in inner],)
        if len(inner) > MOST_INNER:
            self.inner = ("",)
        self._asked = 0
        self._keys: list[str] | None = None

    def begins(self, path: str) -> bool:
        """Return True if one of the prefixes begins a path. Many are sorted when that pays."""
        keys = self._keys
        if keys is None:
            self._asked += 1
            if len(self.prefixes) <= MANY_PREFIXES or self._asked < SORT_AFTER:
                return path.startswith(self.prefixes)
            keys = [""]
            for text in sorted({*self.prefixes}):  # those that no other one begins
                if keys[-1] == "" or not text.startswith(keys[-1]):
                    keys.append(text)
            self._keys = keys
        key = keys[bisect_right(keys, path) - 1]
        return key != "" and path.startswith(key)

    def may_match(self, path: str) -> bool:
        """Return False if no disallow pattern matches a path in normal form."""
        if self.begins(path) or path.endswith(self.suffixes):
            return True
        return any(text in path for text in self.inner)


class Match(NamedTuple):
    """What decides about a URI.

    ``path`` is the path in normal form. ``allow`` is the kind of the rules that decide, and None if
    no rule matches. ``patterns`` are those rules as written, several if they are equally long;
    ``overruled`` are the longest matching rules of the other kind. If the budget was used up before
    it was known that no disallow pattern matches, ``too_costly`` is True and ``allow`` is False.
    """

    path: str
    allow: bool | None = None
    patterns: Sequence[str] = ()
    overruled: Sequence[str] = ()
    too_costly: bool = False


Reading = tuple[str, str | None, int]
"""A path in normal form; the same path as written, None if no pattern may match within its escapes;
and the steps for it."""


class Rules:
    """The rules of one crawler, compiled."""

    __slots__ = ("_allow", "_disallow", "_form", "_prefilter", "always_allowed")

    def __init__(
        self,
        disallow: Patterns,
        allow: Patterns,
        form: NormalForm,
        always_allowed: str | None = None,
    ) -> None:
        self._disallow, self._allow, self._form = disallow, allow, form
        self.always_allowed = always_allowed
        """The path that no rule disallows, that of the robots.txt itself; None if there is none."""
        self._prefilter = Prefilter(disallow, form)

    @property
    def size(self) -> int:
        """Approximate octets of memory."""
        return 1_900 + self._disallow.size + self._allow.size

    def matcher(  # noqa: C901 (a call for each step of a question would take longer than it does)
        self,
    ) -> Callable[[str], bool]:
        """Return a function that tells whether a URI may be fetched."""
        if not self._disallow.texts:
            return _allow_all
        form, of_path, of_others = self._form, self._allows_path, self._allows_each_reading
        prefilter = self._prefilter
        prefixes, suffixes, inner = prefilter.prefixes, prefilter.suffixes, prefilter.inner
        # Those that a URI may hold although it has neither "?" nor "=".
        without_query = (*[text for text in inner if "?" not in text and "=" not in text],)
        begins = prefilter.begins if len(prefixes) > MANY_PREFIXES else None
        cuts = not form.query_is_matched
        # The origin of the last URI and where its path starts: one value, so that threads see both
        # or none. No text starts with one of ().
        here: tuple[str | tuple[()], int] = (), 0

        def allows(uri: str) -> bool:
            nonlocal here
            origin, start = here
            if not uri.startswith(origin):
                origin = origin_of(uri)
                if not origin:
                    return of_others(written_path(uri, form))
                here = origin, start = origin, len(origin) - 1  # its "/" belongs to the path
            if "%" in uri or "#" in uri or not uri.isascii() or (cuts and "?" in uri):
                return of_others(uri[start:])
            if (
                (";" in uri and ends_with_semicolon(uri))
                or "/." in uri
                or "\\" in uri
                or "\n" in uri
                or "\r" in uri
                or "\t" in uri
            ):
                return of_others(uri[start:])
            if begins(uri[start:]) if begins else uri.startswith(prefixes, start):
                return of_path(uri[start:], None, STEPS)
            if suffixes and uri.endswith(suffixes):
                return of_path(uri[start:], None, STEPS)
            if not inner:  # as in most files, which have no suffixes either
                return True
            for text in inner if "?" in uri or "=" in uri else without_query:
                if text in uri:
                    return of_path(uri[start:], None, STEPS)
            return True

        return allows

    def _allows_each_reading(self, path: str) -> bool:
        """Return True if each reading of a path, as written in a URI, is allowed."""
        may_match = self._prefilter.may_match  # of matches within escapes it knows nothing
        for normal, written, steps in self._readings(path):
            if (written or may_match(normal)) and not self._allows_path(normal, written, steps):
                return False
        return True

    def _allows_path(self, path: str, written: str | None, steps: int) -> bool:
        if path == self.always_allowed:
            return True
        try:
            score, _ = self._disallow.best(path, written, steps)
            if not score or not self._allow.texts:
                return not score
            return self._allow.best(path, written, steps)[0] >= score
        except TooCostlyError:
            return False

    def _readings(self, path: str) -> list[Reading]:
        """Return the readings of a path as written in a URI; they share the steps."""
        form = self._form
        found = readings(path, form)
        steps = STEPS // len(found)
        has_escapes = "%" in path or not path.isascii()
        if has_escapes and (self._disallow.within_escapes() or self._allow.within_escapes()):
            return [(normal_path(one, form), as_written(one), steps) for one in found]
        return [(normal_path(one, form), None, steps) for one in found]

    def match(self, uri: str) -> Match:
        """Return the rules that decide, and those of the other kind that they overrule.

        If a URI is allowed in one reading and not in another, the rules that disallow it decide.
        """
        found = self.matches(uri)
        if len(found) == 1:
            return found[0]
        strict = (one for one in found if one.allow is False and one.path != self.always_allowed)
        return next(strict, found[0])

    def matches(self, uri: str) -> list[Match]:
        """Return the rules that decide about each reading of a URI."""
        origin = origin_of(uri)
        path = uri[len(origin) - 1 :] if origin else written_path(uri, self._form)
        if not _UNUSUAL.search(path):  # the way below takes a fifth longer
            return [self._match(path, None, STEPS)]
        return [self._match(*reading) for reading in self._readings(path)]

    def _match(self, path: str, written: str | None, steps: int) -> Match:
        disallow_score, disallowing = _NOTHING
        try:
            if written or self._prefilter.may_match(path):
                disallow_score, disallowing = self._disallow.best(path, written, steps)
        except TooCostlyError:
            return Match(path, False, too_costly=True)
        try:
            allow_score, allowing = self._allow.best(path, written, steps)
        except TooCostlyError:  # where nothing disallows the path, no allow pattern is needed
            return Match(path, False, too_costly=True) if disallow_score else Match(path)
        if disallow_score > allow_score:
            return Match(path, False, disallowing, allowing)
        return Match(path, True, allowing, disallowing) if allow_score else Match(path)


def _allow_all(uri: str) -> bool:
    return True
