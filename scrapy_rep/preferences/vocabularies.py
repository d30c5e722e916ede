"""How each vocabulary is written: the value of a line, a field or an element becomes statements.

Text has one character for each octet (Latin-1). Of each value 8 KiB are read. Real ones are far
shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import urljoin

from scrapy_rep.preferences.statement import (
    ALLOWED,
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    COUNTS_FOR,
    DISALLOWED,
    HEADER,
    POLICY,
    RESERVATION,
    TDMREP,
    UNKNOWN,
    License,
    Statement,
)

MOST_OCTETS: Final = 8_192
"""Octets of a value that are read. The parser of structured fields takes 6 ms for as many, and 45
ms for 64 KiB."""

MEDIA_TYPE: Final = "application/rsl+xml"
RELATION: Final = "license"

_USAGE: Final = {"y": ALLOWED, "n": DISALLOWED}
_SIGNALS: Final = {"yes": ALLOWED, "no": DISALLOWED}
_URL: Final = re.compile(r"https?://[^\s/?#\\<>\"]+[!-~]*", re.IGNORECASE)
_LINK: Final = re.compile(r'<([^<>]*)>((?:[^<",]|"(?:[^"\\]|\\.)*")*)')
_PARAMETER: Final = re.compile(
    r';[ \t]*([^\s;="]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?'
)


def content_usage(text: str, source: str, line: int | None = None) -> list[Statement]:
    """Return what the value of a ``Content-Usage`` says, without the path of a rule.

    draft-ietf-aipref-attach-05 and draft-ietf-aipref-vocab-08. The value is a Dictionary of RFC
    9651 section 3.2. ``y`` allows and ``n`` disallows a use; any other value, and a label that is
    not there, leaves it unknown. A value that is not a Dictionary says nothing at all.
    """
    import http_sf  # late, because it would take a third of the start-up time of the matcher

    unreadable = [Statement(CONTENT_USAGE, "", text, UNKNOWN, source, line)]
    if len(text) > MOST_OCTETS:
        return unreadable
    try:
        members: Any = http_sf.parse(text.encode("latin-1"), tltype="dictionary")
    except ValueError:
        return unreadable
    found = []
    for label, (value, _) in members.items():
        is_token = isinstance(value, http_sf.Token)  # the string "n" says nothing
        answer = _USAGE.get(str(value), UNKNOWN) if is_token else UNKNOWN
        shown = http_sf.ser([(value, {})])
        found.append(Statement(CONTENT_USAGE, label, shown, answer, source, line))
    return found


def path_and_expression(value: str) -> tuple[str, str]:
    """Split the value of a rule into its path, empty if there is none, and the rest.

    A value that begins with ``/`` begins with a path, which ends before the first space or tab.
    """
    if not value.startswith("/"):
        return "", value
    end = min([at for at in map(value.find, " \t") if at >= 0], default=len(value))
    return value[:end], value[end:].strip(" \t")


def content_signal(text: str, source: str, line: int | None = None) -> list[Statement]:
    """Return what the value of a ``Content-Signal`` says.

    Cloudflare writes such lines for its customers: ``search=yes, ai-input=no, ai-train=no,
    use=reference`` (draft-romm-aipref-contentsignals-00, expired, and the policy text that comes
    with the line). ``yes`` allows a use, ``no`` disallows it. The documents define no grammar, so
    members are read one by one, and an unreadable one does not affect the others. They define no
    header field either, so one never allows a use: Cloudflare sends ``ai-train=yes`` with pages
    that it converts to Markdown, unless the site chose otherwise.
    """
    if len(text) > MOST_OCTETS:
        return [Statement(CONTENT_SIGNAL, "", text, UNKNOWN, source, line)]
    found = []
    for member in text.split(","):
        label, _, said = member.partition("=")
        label, said = label.strip(" \t").lower(), said.strip(" \t")
        answer = UNKNOWN
        if label in COUNTS_FOR[CONTENT_SIGNAL]:
            answer = _SIGNALS.get(said.lower(), UNKNOWN)
        if answer == ALLOWED and source == HEADER:
            answer = UNKNOWN
        if label:
            found.append(Statement(CONTENT_SIGNAL, label, said, answer, source, line))
    return found


def tdmrep(reservations: Sequence[str], policies: Iterable[str], source: str) -> list[Statement]:
    """Return what the fields or the metas of a response say by TDMRep.

    TDM Reservation Protocol (W3C Community Group Final Report, 2024-05-10). Of several values, also
    of those that a proxy has joined, a reservation counts. What lies behind the octets that are
    read may be one, so nothing is allowed then. The third place, a file
    ``/.well-known/tdmrep.json``, is not read: it would cost one more request for each site.
    """
    text = ",".join(reservations)
    values = {value.strip() for value in text[:MOST_OCTETS].split(",")}
    answer = UNKNOWN
    if "1" in values:
        answer = DISALLOWED
    elif "0" in values and len(text) <= MOST_OCTETS:
        answer = ALLOWED
    found = []
    if reservations:
        found.append(Statement(TDMREP, RESERVATION, text[:MOST_OCTETS], answer, source))
    policy = next((text.strip() for text in policies if is_url(text.strip())), None)
    if policy is not None:
        found.append(Statement(TDMREP, POLICY, policy, UNKNOWN, source))
    return found


def licenses_of_field(lines: Iterable[str], url: str) -> list[License]:
    """Return the licences that ``Link`` fields of the response to ``url`` name (RFC 8288).

    A link with an anchor is about another resource. The first 8 KiB of all lines are read.
    """
    found = []
    for target, parameters in _links(",".join(lines)[:MOST_OCTETS]):
        if "anchor" not in parameters:
            relations, kind = parameters.get("rel", "").lower(), parameters.get("type", "")
            found += license_link(target, relations.split(), kind, url, HEADER)
    return found


def license_link(
    target: str, relations: Iterable[str], kind: str, url: str, source: str
) -> list[License]:
    """Return the licence that a link names, if it does; ``target`` may be relative to ``url``.

    Only links of the type ``application/rsl+xml`` count, as other licences are linked in the same
    way.
    """
    if RELATION not in relations or kind.partition(";")[0].strip().lower() != MEDIA_TYPE:
        return []
    try:
        address = urljoin(url, target.strip())
    except ValueError:  # brackets without an IPv6 address
        return []
    return [License(address, source)] if is_url(address) else []


def is_url(text: str) -> bool:
    """Return True for an absolute http or https URL that is not too long."""
    return len(text) <= MOST_OCTETS and _URL.fullmatch(text) is not None


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the targets of a field value with their parameters.

    RFC 8288 section 3. Of several parameters of the same name, the first counts.
    """
    for target, rest in _LINK.findall(value):
        parameters: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(rest):
            parameters.setdefault(name.lower(), quoted or plain)
        yield target, parameters
