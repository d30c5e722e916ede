"""``License``: the address of licence terms by RSL 1.0 (Really Simple Licensing).

A line of robots.txt, a ``Link`` field of a response, or a ``link`` element of a page names the URL.
The URL is reported, and never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urljoin

from scrapy_rep.preferences.content_usage import MOST_OCTETS
from scrapy_rep.preferences.statement import HEADER, HTML, ROBOTS_TXT, License, Statement
from scrapy_rep.preferences.vocabulary import RSL, UNKNOWN

MEDIA_TYPE: Final = "application/rsl+xml"
RELATION: Final = "license"

_ABSOLUTE: Final = re.compile(r"https?://[^\s/?#\\<>\"]+[!-~]*", re.IGNORECASE)
_TARGET: Final = re.compile(r"[ \t,]*<([^<>]*)>")
_PARAMETER: Final = re.compile(
    r"[ \t]*;[ \t]*([!#-'*+.0-9A-Z^-z|~-]+)"
    r"(?:[ \t]*=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^ \t\",;<>]*)))?"
)


def of_lines(
    lines: Iterable[tuple[int, str]],
) -> tuple[tuple[License, ...], tuple[Statement, ...]]:
    """Return the licences that lines of robots.txt name, and the lines without a URL.

    ``License: none (public domain)`` has no URL, and is kept as written.
    """
    found, others = [], []
    for line, value in lines:
        if is_url(value):
            found.append(License(value, ROBOTS_TXT, line))
        elif value:
            others.append(Statement(RSL, RELATION, value, UNKNOWN, ROBOTS_TXT, line, value))
    return tuple(found), tuple(others)


def of_field(lines: Sequence[str], url: str) -> tuple[License, ...]:
    """Return the licences that ``Link`` fields of the response to ``url`` name (RFC 8288).

    Only links of the type ``application/rsl+xml`` count, as other licences are linked in the same
    way. A link with an anchor is about another resource. The first 8 KiB of all lines are read.
    """
    found = []
    left = MOST_OCTETS
    for line in lines:
        for target, parameters in _links(line[:left]):
            if "anchor" not in parameters:
                relation, kind = parameters.get("rel", ""), parameters.get("type", "")
                found += _license(target, relation, kind, url, HEADER)
        left -= len(line)
        if left <= 0:
            break
    return tuple(dict.fromkeys(found))


def of_elements(elements: Iterable[tuple[str, str, str]], url: str) -> tuple[License, ...]:
    """Return the licences that ``link`` elements name, given as rel, type and href.

    ``url`` is what a relative ``href`` is resolved against.
    """
    found: list[License] = []
    for relation, kind, href in elements:
        found += _license(href, relation, kind, url, HTML)
    return tuple(dict.fromkeys(found))


def is_url(text: str) -> bool:
    """Return whether a text is an absolute http or https URL that is not too long."""
    return len(text) <= MOST_OCTETS and _ABSOLUTE.fullmatch(text) is not None


def _license(target: str, relation: str, kind: str, url: str, source: str) -> list[License]:
    if RELATION not in relation.lower().split():
        return []
    if kind.partition(";")[0].strip().lower() != MEDIA_TYPE:
        return []
    try:
        address = urljoin(url, target.strip())
    except ValueError:  # brackets without an IPv6 address
        return []
    return [License(address, source)] if is_url(address) else []


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the targets of a field value with their parameters, up to what is not a link.

    RFC 8288 section 3. Of several parameters of the same name, the first counts.
    """
    at = 0
    while found := _TARGET.match(value, at):
        at = found.end()
        parameters: dict[str, str] = {}
        while more := _PARAMETER.match(value, at):
            at = more.end()
            name, quoted, plain = more.groups()
            if quoted is not None:
                plain = re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(name.lower(), plain or "")
        yield found.group(1), parameters
