"""What a response says about the use of its page, and all statements of a site together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple
from urllib.parse import urljoin

from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.profiles import PageProfile
from scrapy_rep.pages.reading import read
from scrapy_rep.pages.source import PageSource
from scrapy_rep.preferences import content_signal, content_usage, licenses, tdmrep
from scrapy_rep.preferences.statement import HEADER, META_ELEMENT, License, Preferences, Statement
from scrapy_rep.preferences.vocabulary import COUNTS_FOR, DISALLOWED, META

FIELDS: Final = frozenset(
    (b"Content-Usage", b"Content-Signal", b"Tdm-Reservation", b"Tdm-Policy", b"Link",
     b"X-Robots-Tag")
)  # fmt: skip
"""The header fields that are read, as a response keeps their names."""
_METAS: Final = (tdmrep.RESERVATION, tdmrep.POLICY)
_TERMS: Final = ("tdm-", *COUNTS_FOR[META])
"""Every meta that is read holds one of these in its name or content."""


class PagePreferences(NamedTuple):
    """What one response says about the use of its page."""

    statements: tuple[Statement, ...] = ()
    licenses: tuple[License, ...] = ()
    header: tdmrep.Said = tdmrep.SILENT
    meta: tdmrep.Said = tdmrep.SILENT

    def __bool__(self) -> bool:
        """Return whether anything is said."""
        return bool(self.statements or self.licenses or self.header.policy or self.meta.policy)


SILENT: Final = PagePreferences()


def speaks(source: PageSource) -> bool:
    """Return False if a response says nothing; most do not, and are not parsed."""
    if not FIELDS.isdisjoint(source.fields):
        return True
    markup = source.markup
    return markup is not None and (markup.may_name(*_TERMS) or markup.holds(licenses.MEDIA_TYPE))


def of_response(
    source: PageSource, url: str, tokens: Collection[str], profile: PageProfile
) -> PagePreferences:
    """Return what the response to ``url`` says to the crawler with these product tokens."""
    lines, markup = source.lines, source.markup
    header = tdmrep.of_fields(lines("tdm-reservation"), lines("tdm-policy"))
    meta = tdmrep.SILENT
    found = licenses.of_field(lines("Link"), url)
    if markup is not None and markup.may_name(*_TERMS):
        meta = tdmrep.of_metas((one.name, one.content) for one in markup.metas(_METAS))
    if markup is not None and markup.holds(licenses.MEDIA_TYPE):
        links = [(" ".join(one.rel), one.type, one.href) for one in markup.links(licenses.RELATION)]
        found += licenses.of_elements(links, _base(url, markup)) if links else ()
    statements = (
        *content_usage.of_field(lines("Content-Usage")),
        *content_signal.of_field(lines("Content-Signal")),
        *_of_terms(source, tokens, profile),
        *header.statements,
        *meta.statements,
    )
    return PagePreferences(statements, found, header, meta) or SILENT


def _base(url: str, markup: Markup) -> str:
    """Return what the references of a page are resolved against."""
    try:
        return urljoin(url, markup.base)
    except ValueError:
        return url


def _of_terms(
    source: PageSource, tokens: Collection[str], profile: PageProfile
) -> tuple[Statement, ...]:
    """Return what ``noai``, ``noimageai`` and ``noml`` say; other robots terms say nothing here.

    No document defines them. ``noimageai`` is about the images of a page, and counts for the whole
    page.
    """
    found = []
    for said in read(source, tokens, profile, whole=False).statements:
        label = said.name.strip().lower()
        if label in COUNTS_FOR[META]:
            origin = META_ELEMENT if said.source == META_ELEMENT else HEADER
            found.append(Statement(META, label, "", DISALLOWED, origin, None, said.name))
    return tuple(dict.fromkeys(found))


def together(
    page: PagePreferences,
    robots: Sequence[Statement] = (),
    robots_licenses: Sequence[License] = (),
) -> Preferences:
    """Return what robots.txt and the response say together."""
    return Preferences(
        (*robots, *page.statements),
        (*robots_licenses, *page.licenses),
        tdmrep.together(page.header, page.meta),
    )
