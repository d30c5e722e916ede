"""TDMRep: whether the rights of text and data mining are reserved.

TDM Reservation Protocol (W3C Community Group Final Report, 2024-05-10). Metas of the page take
precedence over header fields; where they say nothing, the fields count. The third place, a file
``/.well-known/tdmrep.json``, is not read: it would cost one more request for each site.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from scrapy_rep.preferences.content_usage import MOST_OCTETS
from scrapy_rep.preferences.licenses import is_url
from scrapy_rep.preferences.statement import HEADER, META_ELEMENT, Statement, Tdm
from scrapy_rep.preferences.vocabulary import ALLOWED, DISALLOWED, TDMREP, UNKNOWN

RESERVATION: Final = "tdm-reservation"
POLICY: Final = "tdm-policy"

_RESERVED: Final = {"1": True, "0": False}
_ANSWERS: Final = {True: DISALLOWED, False: ALLOWED, None: UNKNOWN}
_TOO_LONG: Final = "(too long)"


class Said(NamedTuple):
    """What one source says; ``reserved`` and ``policy`` are None if it does not say so."""

    reserved: bool | None
    policy: str | None
    statements: tuple[Statement, ...]


SILENT: Final = Said(None, None, ())


def of_fields(reservations: Sequence[str], policies: Sequence[str]) -> Said:
    """Return what the ``tdm-reservation`` and ``tdm-policy`` fields of a response say."""
    return _said(reservations, policies, HEADER)


def of_metas(metas: Iterable[tuple[str, str]]) -> Said:
    """Return what the metas of a page say, given as name and content."""
    found: dict[str, list[str]] = {RESERVATION: [], POLICY: []}
    for name, content in metas:
        if name.strip().lower() in found:
            found[name.strip().lower()].append(content)
    return _said(found[RESERVATION], found[POLICY], META_ELEMENT)


def together(header: Said, meta: Said) -> Tdm:
    """Return what counts: the first source, in order of precedence, that says something.

    A policy counts only with a reservation, and may come from another source.
    """
    sources = ((META_ELEMENT, meta), (HEADER, header))
    reserved, source = None, None
    for name, said in sources:
        if said.reserved is not None:
            reserved, source = said.reserved, name
            break
    policy = None
    if reserved:
        policy = next((said.policy for _, said in sources if said.policy), None)
    return Tdm(reserved, policy, source)


def _said(reservations: Sequence[str], policies: Sequence[str], source: str) -> Said:
    """Read lines, also those that a proxy has joined. Of several values, a reservation counts.

    What lies behind the octets that are read may reserve the rights, so nothing is allowed then.
    """
    values: dict[str, None] = {}
    left = MOST_OCTETS
    for text in reservations:
        values.update(dict.fromkeys(value.strip() for value in text[:left].split(",")))
        left -= len(text) + 1
        if left < 0:
            break
    if left < 0 and "1" not in values:
        values = {_TOO_LONG: None}
    statements = tuple(_statement(value, source) for value in values if value)
    reserved = _reserved([_RESERVED.get(value) for value in values])
    policy = next((text.strip() for text in policies if is_url(text.strip())), None)
    return Said(reserved, policy, statements)


def _statement(value: str, source: str) -> Statement:
    answer = _ANSWERS[_RESERVED.get(value)]
    return Statement(TDMREP, RESERVATION, value, answer, source, None, value)


def _reserved(found: Sequence[bool | None]) -> bool | None:
    if True in found:
        return True
    return False if False in found else None
