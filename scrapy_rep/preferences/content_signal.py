"""``Content-Signal``: a line of robots.txt that Cloudflare writes for its customers.

draft-romm-aipref-contentsignals-00 (expired) and the policy text that comes with the line:
``search=yes, ai-input=no, ai-train=no, use=reference``. ``yes`` allows a use, ``no`` disallows it.
The documents define no grammar, so members are read one by one, and an unreadable one does not
affect the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scrapy_rep.preferences.content_usage import MOST_OCTETS
from scrapy_rep.preferences.statement import HEADER, ROBOTS_TXT, Statement
from scrapy_rep.preferences.vocabulary import (
    ALLOWED,
    CONTENT_SIGNAL,
    COUNTS_FOR,
    DISALLOWED,
    UNKNOWN,
)

_ANSWERS: Final = {"yes": ALLOWED, "no": DISALLOWED}
_OF_HEADER: Final = {"no": DISALLOWED}
_LABELS: Final = COUNTS_FOR[CONTENT_SIGNAL]


def of_line(value: str, line: int) -> list[Statement]:
    """Return what a line of robots.txt says."""
    return _statements(value, ROBOTS_TXT, line, _ANSWERS)


def of_field(lines: Sequence[str]) -> list[Statement]:
    """Return what a header field says. No document defines one, so it never allows a use.

    Cloudflare sends it with pages that it converts to Markdown, with ``ai-train=yes`` unless the
    site chose otherwise.
    """
    return _statements(",".join(lines), HEADER, None, _OF_HEADER) if lines else []


def _statements(
    value: str, source: str, line: int | None, answers: dict[str, str]
) -> list[Statement]:
    if len(value) > MOST_OCTETS:
        return [Statement(CONTENT_SIGNAL, "", "", UNKNOWN, source, line, value)]
    found = []
    for member in value.split(","):
        label, _, said = member.partition("=")
        label, said = label.strip(" \t").lower(), said.strip(" \t")
        if label:
            answer = answers.get(said.lower(), UNKNOWN) if label in _LABELS else UNKNOWN
            found.append(Statement(CONTENT_SIGNAL, label, said, answer, source, line, value))
    return found
