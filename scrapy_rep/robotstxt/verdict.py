"""A verdict: whether a request may be sent, and by which line of robots.txt.

RFC 9309 section 2.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from scrapy_rep.robotstxt.lines import ALLOW, DISALLOW

BY_RULE: Final = "rule"
NO_RULE_MATCHES: Final = "no rule matches"
NO_GROUP: Final = "no group"
ROBOTS_TXT_ITSELF: Final = "robots.txt itself"
TOO_COSTLY: Final = "too costly"
"""The rules could not be compared with the URL within the budget, so it is disallowed."""
UNREACHABLE: Final = "unreachable"
"""The rules are undefined, so all is disallowed (RFC 9309 section 2.3.1.4)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An allow or disallow line of a robots.txt."""

    allow: bool
    pattern: str
    """The path pattern as written, without the white space around it. An octet that is not UTF-8
    is shown as ``\\xff``."""
    line: int

    @property
    def kind(self) -> str:
        """``allow`` or ``disallow``."""
        return ALLOW if self.allow else DISALLOW

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request may be sent, and why; true if it may.

    A verdict is plain data: it can be kept, compared and pickled, and does not keep the file in
    memory. ``reason`` is ``rule``, ``no rule matches``, ``no group``, ``robots.txt itself`` or
    ``too costly``; ``(last good copy)`` is added while such a copy is followed. If something other
    than rules decides, it says what: ``unavailable``, ``unreachable``, ``access denied (403)``,
    ``override``, ``nofollow (meta)``, or a few words on the pace, the hours or the use of the page.
    """

    allowed: bool
    rule: Rule | None = None
    line: int | None = None
    group: str | None = None
    """The name of the group as matched, in lower case; ``*`` for the default group."""
    reason: str = NO_RULE_MATCHES
    overruled: Rule | None = None
    """The longest rule of the other kind that matched too and lost, if there is one."""
    override: str | None = None
    """The operator's override that changed the verdict: its action, entry, reason and end."""
    without: Verdict | None = None
    """What the verdict would have been without the override."""

    def __bool__(self) -> bool:
        """Return ``allowed``."""
        return self.allowed


def is_undefined(verdict: Verdict) -> bool:
    """Return True if nothing but the lack of rules has decided: no override, pace or use did."""
    return verdict.reason.startswith(UNREACHABLE)


def as_plain(verdict: Verdict) -> dict[str, Any]:
    """Return what JSON says of a verdict; the rule is its line as text."""
    return {
        "allowed": verdict.allowed,
        "rule": None if verdict.rule is None else str(verdict.rule),
        "line": verdict.line,
        "group": verdict.group,
        "reason": verdict.reason,
    }
