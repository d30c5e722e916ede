"""What a response says about the use of its page, and all statements of a site together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from scrapy_rep.preferences import content_signal, content_usage, licenses, tdmrep
from scrapy_rep.preferences.statement import HEADER, META_ELEMENT, License, Preferences, Statement
from scrapy_rep.preferences.vocabulary import COUNTS_FOR, DISALLOWED, META

FIELDS: Final = ("Content-Usage", "Content-Signal", "tdm-reservation", "tdm-policy", "Link")
"""The header fields that are read."""

NAMES: Final = (tdmrep.RESERVATION, tdmrep.POLICY)
"""The names of metas that are read."""

TERMS: Final = ("tdm-", *COUNTS_FOR[META])
"""Every meta that is read holds one of these in its name or content."""

_LABELS: Final = COUNTS_FOR[META]


class PagePreferences(NamedTuple):
    """What one response says about the use of its page."""

    statements: tuple[Statement, ...] = ()
    licenses: tuple[License, ...] = ()
    header: tdmrep.Said = tdmrep.SILENT
    meta: tdmrep.Said = tdmrep.SILENT

    def __bool__(self) -> bool:
        """Return whether anything is said."""
        return bool(self.statements or self.licenses or self.header.policy or self.meta.policy)


def of_response(
    field: Callable[[str], Sequence[str]],
    metas: Sequence[tuple[str, str]],
    links: Iterable[tuple[str, str, str]],
    terms: Iterable[tuple[str, str]],
    url: str,
    base: str = "",
) -> PagePreferences:
    """Return what a response says.

    ``field(name)`` returns the lines of a header field, ``metas`` are names and contents, ``links``
    the rel, type and href of link elements, and ``terms`` the robots terms that are for this
    crawler, each with its source (``meta`` or the name of a header field). Relative addresses
    in header fields are resolved against ``url``, those of elements against ``base``, if it is not
    empty.
    """
    header = tdmrep.of_fields(field("tdm-reservation"), field("tdm-policy"))
    meta = tdmrep.of_metas(metas)
    statements = (
        *content_usage.of_field(field("Content-Usage")),
        *content_signal.of_field(field("Content-Signal")),
        *of_terms(terms),
        *header.statements,
        *meta.statements,
    )
    found = (*licenses.of_field(field("Link"), url), *licenses.of_elements(links, base or url))
    return PagePreferences(statements, found, header, meta)


def of_terms(terms: Iterable[tuple[str, str]]) -> tuple[Statement, ...]:
    """Return what ``noai``, ``noimageai`` and ``noml`` say; other robots terms say nothing here.

    No document defines them. ``noimageai`` is about the images of a page, and counts for the whole
    page.
    """
    found = []
    for term, source in terms:
        label = term.strip().lower()
        if label in _LABELS:
            origin = META_ELEMENT if source == META_ELEMENT else HEADER
            found.append(Statement(META, label, "", DISALLOWED, origin, None, term))
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
