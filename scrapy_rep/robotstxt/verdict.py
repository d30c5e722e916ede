"""A verdict: whether a request may be sent, and by which line of robots.txt.

RFC 9309 section 2.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from scrapy_rep.robotstxt.printable import printable

BY_RULE: Final = "rule"
NO_RULE_MATCHES: Final = "no rule matches"
NO_GROUP: Final = "no group"
ROBOTS_TXT_ITSELF: Final = "robots.txt itself"
TOO_COSTLY: Final = "too costly"
"""The rules could not be compared with the URL within the budget, so it is disallowed."""
LAST_GOOD_COPY: Final = " (last good copy)"
"""The end of the reason while rules are followed although the site is unreachable."""
UNAVAILABLE: Final = "unavailable"
"""The site has no robots.txt, so all is allowed (RFC 9309 section 2.3.1.3)."""
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

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request may be sent, and why; true if it may.

    A verdict is plain data: it can be kept, compared and pickled, and does not keep the file in
    memory. ``reason`` is ``rule``, ``no rule matches``, ``no group``, ``robots.txt itself`` or
    ``too costly``; ``(last good copy)`` is added while such a copy is followed. If something other
    than rules decides, it says what: ``unavailable``, ``unreachable``, ``access denied (403)``,
    ``override``, ``nofollow (meta)``, or a few words on the pace or the use of the page.
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

    def __str__(self) -> str:
        """Return the answer and what it is based on: printable, in one line."""
        return f"{'allowed' if self.allowed else 'disallowed'}: {why(self)}"

    def __repr__(self) -> str:
        """Return the same as ``str()``, between angle brackets."""
        return f"<Verdict {self}>"


def why(verdict: Verdict) -> str:
    """Return what a verdict is based on: printable, in one line."""
    if verdict.override is not None and verdict.without is not None:
        would = "allowed" if verdict.without.allowed else "forbidden"
        without = f"without it: {would}, {why(verdict.without)}"
        return f"{printable(verdict.override)}; {without}"
    reason = printable(verdict.reason)
    group = "" if verdict.group is None else f", group {printable(verdict.group)}"
    if verdict.rule is None:
        return f"{reason}{group}"
    copy = reason.removeprefix(BY_RULE)  # LAST_GOOD_COPY, or nothing
    return f"{printable(str(verdict.rule))}, line {verdict.line}{group}{copy}"


UNDEFINED: Final = Verdict(allowed=False, reason=UNREACHABLE)
"""The verdict on every URL of a site whose rules are undefined (RFC 9309 section 2.3.1.4)."""


@lru_cache(maxsize=1_000)
def unmatched(group: str | None) -> Verdict:
    """Return the verdict on a URL that no rule of a group matches; None if there is no group."""
    reason = NO_GROUP if group is None else NO_RULE_MATCHES
    return Verdict(True, group=group, reason=reason)


def is_undefined(verdict: Verdict) -> bool:
    """Return True if nothing but the lack of rules has decided: no override, pace or use did."""
    return verdict.reason.startswith(UNREACHABLE)


def as_plain(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain values for JSON; a rule becomes the text of its line."""
    return {
        "allowed": verdict.allowed,
        "rule": None if verdict.rule is None else str(verdict.rule),
        "line": verdict.line,
        "group": verdict.group,
        "reason": verdict.reason,
        "overruled": None if verdict.overruled is None else str(verdict.overruled),
    }
