"""What a verdict is called, and what it follows from, in the words of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_rep.commands.output import EndingError, Status
from scrapy_rep.robotstxt.verdict import UNREACHABLE, is_undefined

if TYPE_CHECKING:
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.gate.explain import LookUp
    from scrapy_rep.robotstxt.verdict import Verdict

ALLOWED, DISALLOWED = "allowed", "disallowed"


def word_of(verdict: Verdict) -> str:
    """Return the verdict in one word."""
    if is_undefined(verdict):
        return UNREACHABLE
    return ALLOWED if verdict.allowed else DISALLOWED


def told(verdict: Verdict, known: CachedRules | None = None) -> str:
    """Return why a verdict is what it is; text from outside is not escaped yet."""
    if verdict.override is not None:
        without = "" if verdict.without is None else f"; without it: {word_of(verdict.without)}"
        return f"override: {verdict.override}{without}"
    if verdict.rule is not None:
        return f"{verdict.rule} (line {verdict.line}, group {verdict.group})"
    if is_undefined(verdict) and known is not None and known.unreachable:
        return known.cause
    return verdict.reason if verdict.line is None else f"{verdict.reason} (line {verdict.line})"


def unreachable(url: str, one: LookUp) -> EndingError:
    """Return the error that ends the command if the rules of a site are not known."""
    cause = "error" if one.known is None else one.known.cause
    return EndingError(Status.UNKNOWN, f"the robots.txt of {url} is unreachable: {cause}")
