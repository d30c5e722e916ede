"""Licences in RSL (Really Simple Licensing) to which a response links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import urljoin

from scrapy_rep.preferences.vocabularies import HEADER, MOST_OCTETS, is_url

MEDIA_TYPE: Final = "application/rsl+xml"
RELATION: Final = "license"

_LINK: Final = re.compile(r'<([^<>]*)>((?:[^<",\n]|"(?:[^"\\\n]|\\.?)*"?)*)')
"""A quoted string without an end lasts to the end of its field (RFC 8288 appendix B.4), and not
into the next one. So nothing is read twice: many links would otherwise take quadratic time."""
_PARAMETER: Final = re.compile(
    r';[ \t]*([^\s;="]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.?)*)"?|([^\s;"]*)))?'
)


class License(NamedTuple):
    """The address of licence terms in RSL. It is never fetched."""

    url: str
    source: str
    """``robots.txt``, ``header`` or ``html``."""
    line: int | None = None


def licenses_of_field(lines: Iterable[str], url: str) -> list[License]:
    """Return the licences that ``Link`` fields of the response to ``url`` name (RFC 8288).

    A link with an anchor is about another resource. Only the first 8 KiB of all lines are read.
    """
    found = []
    for target, parameters in _links("\n".join(lines)[:MOST_OCTETS]):
        if "anchor" not in parameters:
            relations = parameters.get("rel", "").lower().split()
            found += license_link(target, relations, parameters.get("type", ""), url, HEADER)
    return found


def license_link(
    target: str, relations: Iterable[str], media_type: str, url: str, source: str
) -> list[License]:
    """Return the licence that a link names, if any; ``target`` may be relative to ``url``.

    Only links of the type ``application/rsl+xml`` count, as other licences are linked in the same
    way.
    """
    if RELATION not in relations or media_type.partition(";")[0].strip().lower() != MEDIA_TYPE:
        return []
    try:
        address = urljoin(url, target.strip())
    except ValueError:  # brackets without an IPv6 address
        return []
    return [License(address, source)] if is_url(address) else []


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the targets of a field value with their parameters.

    RFC 8288 section 3. Of several parameters of the same name, the first counts.
    """
    for target, rest in _LINK.findall(value):
        parameters: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(rest):
            parameters.setdefault(name.lower(), quoted or plain)
        yield target, parameters
