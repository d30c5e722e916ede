"""What a response says about the use of its page.

Most say nothing. A response without one of six header fields is searched for the words of its
metas, and parsed only if it has one. A page of 50 KB takes 20 microseconds in this way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import urljoin

from scrapy_rep.pages.directives import read
from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.source import PageSource
from scrapy_rep.preferences import vocabularies
from scrapy_rep.preferences.statement import (
    COUNTS_FOR,
    DISALLOWED,
    HEADER,
    HTML,
    META,
    META_ELEMENT,
    POLICY,
    RESERVATION,
    License,
    Preferences,
    Statement,
)
from scrapy_rep.robotstxt.profiles import Profile

_FIELDS: Final = frozenset(
    (b"Content-Usage", b"Content-Signal", b"Tdm-Reservation", b"Tdm-Policy", b"Link",
     b"X-Robots-Tag")
)  # fmt: skip
"""The header fields that are read, as a response keeps their names."""
_TERMS: Final = ("tdm-", *COUNTS_FOR[META])
"""Every meta that is read holds one of these in its name or content."""


def speaks(source: PageSource) -> bool:
    """Return False if a response says nothing; most do not, and are not parsed."""
    if not _FIELDS.isdisjoint(source.fields):
        return True
    markup = source.markup
    return markup is not None and (_has_terms(markup) or _has_licenses(markup))


def _has_terms(markup: Markup) -> bool:
    return markup.may_name(*_TERMS)


def _has_licenses(markup: Markup) -> bool:
    return markup.holds(vocabularies.MEDIA_TYPE)


def of_response(
    source: PageSource, url: str, tokens: Collection[str], profile: Profile
) -> Preferences:
    """Return what the response to ``url`` says to the crawler with these product tokens."""
    lines, markup = source.lines, source.markup
    usage, signal = lines("Content-Usage"), lines("Content-Signal")
    statements = vocabularies.content_usage(", ".join(usage), HEADER) if usage else []
    statements += vocabularies.content_signal(",".join(signal), HEADER) if signal else []
    statements += dict.fromkeys(_of_terms(source, tokens, profile))
    statements += vocabularies.tdmrep(lines(RESERVATION), lines(POLICY), HEADER)
    licenses = vocabularies.licenses_of_field(lines("Link"), url)
    if markup is not None and _has_terms(markup):
        metas = [*markup.metas((RESERVATION, POLICY))]
        reservations = [one.content for one in metas if one.name == RESERVATION]
        policies = [one.content for one in metas if one.name == POLICY]
        statements += vocabularies.tdmrep(reservations, policies, META_ELEMENT)
    if markup is not None and _has_licenses(markup):
        licenses += _of_links(markup, url)
    return Preferences(tuple(statements), tuple(dict.fromkeys(licenses)))


def _of_links(markup: Markup, url: str) -> Iterator[License]:
    """Yield the licences that the ``link`` elements of a page name."""
    links = markup.links(vocabularies.RELATION)
    try:
        base = urljoin(url, markup.base) if links else url
    except ValueError:
        base = url
    for one in links:
        yield from vocabularies.license_link(one.href, one.rel, one.type, base, HTML)


def _of_terms(source: PageSource, tokens: Collection[str], profile: Profile) -> Iterator[Statement]:
    """Yield what ``noai``, ``noimageai`` and ``noml`` say; other robots terms say nothing here.

    No document defines them. ``noimageai`` is about the images of a page, and counts for the whole
    page.
    """
    for said in read(source, tokens, profile).statements:
        label = said.name.strip().lower()
        if label in COUNTS_FOR[META]:
            origin = META_ELEMENT if said.source == META_ELEMENT else HEADER
            yield Statement(META, label, "", DISALLOWED, origin)
