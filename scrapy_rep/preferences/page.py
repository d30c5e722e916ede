"""What a response says about the use of its page.

Most say nothing. A response without any of the header fields in ``VOCABULARIES`` is searched for
the words of the metas listed there, and parsed only if it has one. A page of 50 KB takes 20
microseconds in this way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import urljoin

from scrapy_rep.pages.directives import read
from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.source import PageSource
from scrapy_rep.preferences import licenses
from scrapy_rep.preferences.licenses import License
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.vocabularies import (
    DISALLOWED,
    HEADER,
    HTML,
    META,
    META_ELEMENT,
    POLICY,
    RESERVATION,
    VOCABULARIES,
    Statement,
    tdmrep,
)
from scrapy_rep.robotstxt.profiles import Profile

_FIELDS: Final = frozenset(
    [field.encode() for vocabulary in VOCABULARIES.values() for field in vocabulary.fields]
)
_METAS: Final = tuple([word for vocabulary in VOCABULARIES.values() for word in vocabulary.metas])
_TERMS: Final = VOCABULARIES[META].counts_for


def speaks(source: PageSource) -> bool:
    """Return False if a response says nothing; most do not, and are not parsed."""
    if not _FIELDS.isdisjoint(source.fields):
        return True
    markup = source.markup
    return markup is not None and (_has_terms(markup) or _has_licenses(markup))


def _has_terms(markup: Markup) -> bool:
    return markup.may_name(*_METAS)


def _has_licenses(markup: Markup) -> bool:
    return markup.holds(licenses.MEDIA_TYPE)


def of_response(
    source: PageSource, url: str, tokens: Collection[str], profile: Profile
) -> Preferences:
    """Return what the response to ``url`` says to the crawler with these product tokens."""
    lines, markup = source.lines, source.markup
    statements = [*_of_fields(source), *dict.fromkeys(_of_terms(source, tokens, profile))]
    statements += tdmrep(lines(RESERVATION), lines(POLICY), HEADER)
    found = licenses.licenses_of_field(lines("Link"), url)
    if markup is not None and _has_terms(markup):
        metas = [*markup.metas((RESERVATION, POLICY))]
        reservations = [one.content for one in metas if one.name == RESERVATION]
        policies = [one.content for one in metas if one.name == POLICY]
        statements += tdmrep(reservations, policies, META_ELEMENT)
    if markup is not None and _has_licenses(markup):
        found += _of_links(markup, url)
    return Preferences(tuple(statements), tuple(dict.fromkeys(found)))


def _of_fields(source: PageSource) -> Iterator[Statement]:
    """Yield the statements of those header fields that belong to one vocabulary each."""
    for vocabulary in VOCABULARIES.values():
        if vocabulary.read is not None:
            values = [line for field in vocabulary.fields for line in source.lines(field)]
            yield from vocabulary.read(", ".join(values), HEADER, None) if values else ()


def _of_links(markup: Markup, url: str) -> Iterator[License]:
    """Yield the licences that the ``link`` elements of a page name."""
    links = markup.links(licenses.RELATION)
    try:
        base = urljoin(url, markup.base) if links else url
    except ValueError:
        base = url
    for one in links:
        yield from licenses.license_link(one.href, one.rel, one.type, base, HTML)


def _of_terms(source: PageSource, tokens: Collection[str], profile: Profile) -> Iterator[Statement]:
    """Yield what ``noai``, ``noimageai`` and ``noml`` say; other robots terms say nothing here.

    No document defines them. ``noimageai`` is about the images of a page, and counts for the whole
    page.
    """
    for term in read(source, tokens, profile).statements:
        label = term.name.strip().lower()
        if label in _TERMS:
            place = META_ELEMENT if term.source == META_ELEMENT else HEADER
            yield Statement(META, label, "", DISALLOWED, place)
