"""A finding: one thing that a linter says about a robots.txt."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_rep.linting.codes import CODES, SEVERITIES, Severity

_LONGEST_QUOTED = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, where, and what to do about it.

    ``line`` and ``column`` count from 1, columns in characters of UTF-8; both are None where the
    finding is about the file as a whole. ``message`` and ``fix`` may quote the file: escape them
    before a terminal shows them.
    """

    line: int | None
    column: int | None
    code: str
    severity: Severity
    message: str
    fix: str
    source: str


def finding(
    code: str,
    message: str,
    fix: str,
    *,
    line: int | None = None,
    column: int | None = None,
    severity: Severity | None = None,
    source: str = "",
) -> Finding:
    """Return a finding with the usual severity and source of its code, unless others are given."""
    usual = CODES[code]
    return Finding(
        line, column, code, severity or usual.severity, message, fix, source or usual.source
    )


def quoted(text: str) -> str:
    """Return octets of the file, given as Latin-1, as UTF-8 text that is not too long."""
    shown = text.encode("latin-1").decode("utf-8", "backslashreplace")
    return shown if len(shown) <= _LONGEST_QUOTED else shown[:_LONGEST_QUOTED] + "..."


def at_least(found: Finding, severity: Severity) -> bool:
    """Return True if a finding is as grave as ``severity``, or graver."""
    return SEVERITIES.index(found.severity) <= SEVERITIES.index(severity)
