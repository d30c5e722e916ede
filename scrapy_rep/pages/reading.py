"""Combines all statements of a response for one crawler.

The documents leave much of this open, or disagree; the guide says what was chosen. The rule behind
the choices: statements add up, and none lifts another. The one exception is the profile ``kollar``,
whose document says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Final

from scrapy_rep.pages.header_fields import X_ROBOTS_TAG, x_robots_tag
from scrapy_rep.pages.markup import Markup, Meta
from scrapy_rep.pages.profiles import PageProfile
from scrapy_rep.pages.source import PageSource
from scrapy_rep.pages.statements import NOFOLLOW, NOINDEX, PageDirectives, Statement
from scrapy_rep.pages.terms import (
    ALL,
    FOLLOW,
    IMAGE_PREVIEWS,
    MAX_IMAGE_PREVIEW,
    MAX_SNIPPET,
    MAX_VIDEO_PREVIEW,
    NONE,
    OF_1996,
    RESTRICTIONS,
    UNAVAILABLE_AFTER,
    Term,
    limit_of,
    moment_of,
    terms_of,
)

EVERY_AGENT: Final = "*"
NOTHING: Final = PageDirectives()

_ROBOTS: Final = "robots"
_DOCUMENT_STATE: Final = "document-state"
_URL: Final = "url"
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_MOST_TEXT: Final = 32 * 1024
"""Characters of all metas together that are read."""


def read(
    source: PageSource, tokens: Collection[str], profile: PageProfile, *, whole: bool = True
) -> PageDirectives:
    """Return what a response asks of the crawler with these product tokens, in lower case.

    Without ``whole``, a page is parsed only if a meta names ``robots`` or a token, and what
    restricts nothing may be missing: ``document_state`` and ``url``.
    """
    reading = _Reading(tokens, profile)
    # A look at all names takes a tenth of the time of a lookup, and most responses lack this one.
    if X_ROBOTS_TAG.encode() in [*source.fields]:
        reading.header(x_robots_tag(source.lines(X_ROBOTS_TAG)))
    markup = source.markup
    if markup is not None and (whole or markup.may_name(_ROBOTS, *tokens)):
        reading.page(markup)
    return reading.result


class _Reading:
    """Gathers the statements of one response for one crawler."""

    def __init__(self, tokens: Collection[str], profile: PageProfile):
        self._tokens = tokens
        self._profile = profile
        self._statements: list[Statement] = []
        self._counting: list[Term] = []
        self._document_state: str | None = None
        self._url: str | None = None

    def header(self, terms: Iterable[Term]) -> None:
        """Add the terms of ``X-Robots-Tag`` that are for this crawler."""
        for term in terms:
            agent = self._agent(term.agent)
            if agent is not None:
                self._counting.append(term)
                self._statements.append(Statement(term.name, term.value, agent, X_ROBOTS_TAG))

    def page(self, markup: Markup) -> None:
        """Add the metas of a page."""
        names = {_ROBOTS, _DOCUMENT_STATE, _URL, *self._tokens}
        left = _MOST_TEXT
        for meta in markup.metas(names, everywhere=self._profile.body_counts):
            self._meta(meta)
            left -= len(meta.content)
            if left <= 0:
                break

    def _meta(self, meta: Meta) -> None:
        content = meta.content[:_MOST_TEXT]
        if meta.name == _ROBOTS or meta.name in self._tokens:
            agent = EVERY_AGENT if meta.name == _ROBOTS else meta.name
            terms = [*terms_of(content)]
            self._statements += (Statement(term.name, term.value, agent, "meta") for term in terms)
            self._counting += self._weighed(terms)
            return
        self._statements.append(Statement(meta.name, content, EVERY_AGENT, "meta"))
        if meta.name == _DOCUMENT_STATE:
            state = content.strip().lower()
            if self._document_state is None and state in ("static", "dynamic"):
                self._document_state = state
        elif self._url is None and _ABSOLUTE.fullmatch(content.strip()):
            self._url = content.strip()

    def _agent(self, written: str) -> str | None:
        """Return ``*``, or the name of this crawler; ``None`` if another crawler is meant.

        ``mybot/2.1`` is ``mybot``, as in robots.txt (RFC 9309 section 2.2.1).
        """
        name = written.lower()
        if name in ("", EVERY_AGENT, _ROBOTS):
            return EVERY_AGENT
        lengths = (len(name) - len(name.lstrip(each)) for each in self._profile.name_alphabets)
        return next((name[:n] for n in lengths if name[:n] in self._tokens), None)

    def _weighed(self, terms: list[Term]) -> Iterator[Term]:
        """Yield the terms of one meta that count under the profile."""
        written = {term.name.lower() for term in terms}
        lifts = self._profile.all_and_follow_lift
        if lifts and ALL in written:
            return
        if self._profile.noindex_closes_links and written & OF_1996 == {NOINDEX}:
            yield Term(NOFOLLOW)
        for term in terms:
            name = term.name.lower()
            if lifts and FOLLOW in written and name in (NOFOLLOW, NONE):
                if name == NONE:
                    yield Term(NOINDEX)
            else:
                yield term

    @property
    def result(self) -> PageDirectives:
        """All statements together."""
        if not self._statements:
            return NOTHING
        limits = _Limits(self._counting)
        return PageDirectives(
            restrictions=frozenset(_restrictions(self._counting)) | limits.restrictions,
            max_snippet=limits.of(MAX_SNIPPET),
            max_video_preview=limits.of(MAX_VIDEO_PREVIEW),
            max_image_preview=limits.image_preview,
            unavailable_after=limits.unavailable_after,
            document_state=self._document_state,
            url=self._url,
            statements=tuple(self._statements),
        )


def _restrictions(terms: Iterable[Term]) -> Iterator[str]:
    for term in terms:
        name = term.name.lower()
        if name == NONE:
            yield NOINDEX
            yield NOFOLLOW
        elif name in RESTRICTIONS:
            yield name


class _Limits:
    """Chooses the smallest limit and the earliest date; bad values are ignored."""

    def __init__(self, terms: Iterable[Term]):
        self._values: dict[str, list[str | None]] = {}
        for term in terms:
            self._values.setdefault(term.name.lower(), []).append(term.value)

    def of(self, name: str) -> int | None:
        """Return the smallest limit of a name. -1 stands for no limit, so it is the largest."""
        limits = [limit for limit in map(limit_of, self._values.get(name, ())) if limit is not None]
        return min((limit for limit in limits if limit >= 0), default=-1 if limits else None)

    @property
    def restrictions(self) -> frozenset[str]:
        """``nosnippet``, if a snippet may have 0 characters."""
        return frozenset(("nosnippet",)) if self.of(MAX_SNIPPET) == 0 else frozenset()

    @property
    def image_preview(self) -> str | None:
        """The smallest size."""
        written = {(value or "").lower() for value in self._values.get(MAX_IMAGE_PREVIEW, ())}
        return next((size for size in IMAGE_PREVIEWS if size in written), None)

    @property
    def unavailable_after(self) -> datetime | None:
        """The earliest date."""
        moments = map(moment_of, self._values.get(UNAVAILABLE_AFTER, ()))
        return min((moment for moment in moments if moment is not None), default=None)
