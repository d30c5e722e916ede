"""``Content-Usage``: a structured field of responses, and a rule of robots.txt.

draft-ietf-aipref-attach-05 and draft-ietf-aipref-vocab-08. The value is a Dictionary of RFC 9651
section 3.2. ``y`` allows and ``n`` disallows a use; any other value, and a label that is not there,
leaves it unknown. A value that is not a Dictionary says nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scrapy_rep.preferences.statement import HEADER, ROBOTS_TXT, Statement
from scrapy_rep.preferences.vocabulary import ALLOWED, CONTENT_USAGE, DISALLOWED, UNKNOWN

MOST_OCTETS: Final = 8_192
"""Octets of a value that are read; a longer one is not read as a Dictionary.

The parser takes 45 ms for 64 KiB, and less than 6 ms for this much. Real values are far shorter:
there are three labels.
"""

_ANSWERS: Final = {"y": ALLOWED, "n": DISALLOWED}


def of_field(lines: Sequence[str]) -> list[Statement]:
    """Return what the field lines of a response say; several lines are one Dictionary."""
    return _statements(", ".join(lines), HEADER) if lines else []


def of_rule(value: str, line: int) -> list[Statement]:
    """Return what a rule of robots.txt says about the paths that it is for.

    ``value`` has one character for each octet, here and everywhere in this package.
    """
    _, expression = path_and_expression(value)
    return _statements(expression, ROBOTS_TXT, line, value)


def path_and_expression(value: str) -> tuple[str, str]:
    """Split the value of a rule into its path, empty if there is none, and the rest.

    A value that begins with ``/`` begins with a path, which ends before the first space or tab.
    """
    if not value.startswith("/"):
        return "", value
    end = min([at for at in map(value.find, " \t") if at >= 0], default=len(value))
    return value[:end], value[end:].strip(" \t")


def _statements(
    text: str, source: str, line: int | None = None, written: str | None = None
) -> list[Statement]:
    import http_sf  # late, because it would take a third of the start-up time of the matcher

    raw = text if written is None else written
    try:
        if len(text) > MOST_OCTETS:
            raise ValueError("too long")
        members: Any = http_sf.parse(text.encode("latin-1"), tltype="dictionary")
    except ValueError:  # also raised by the parser
        return [Statement(CONTENT_USAGE, "", "", UNKNOWN, source, line, raw)]
    found = []
    for label, (value, _) in members.items():
        is_token = isinstance(value, http_sf.Token)  # the string "n" says nothing
        answer = _ANSWERS.get(str(value), UNKNOWN) if is_token else UNKNOWN
        shown = http_sf.ser([(value, {})])
        found.append(Statement(CONTENT_USAGE, label, shown, answer, source, line, raw))
    return found
