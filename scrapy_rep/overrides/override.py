"""The operator's exceptions: what is done at one authority in spite of its robots.txt.

``ROBOTSTXT_OBEY = False`` turns obeying off for every site. An override does so for one site, says
why, who answers for it and until when, and leaves a record of what the site's own robots.txt would
have decided. ``REP_OVERRIDES`` names a TOML file, or is a list of dictionaries with the same keys::

    [[override]]
    authority = "https://intranet.example.org"
    action = "allow"
    paths = ["/reports/"]
    reason = "our own site, ticket OPS-114"
    by = "crawl-team@example.org"
    until = 2027-03-31

The actions, and the order in which they take effect at one authority:

1. ``agent``: the rules are read for another product token.
2. ``unreachable-is-allowed``: while the rules are undefined, all is allowed instead of disallowed.
3. ``allow``, then ``forbid``: the verdict is replaced. Where both cover a URL, ``forbid`` wins.

``delay`` replaces the pace that the site asks for: Crawl-delay and Request-rate. It is independent
of the others. The site's own robots.txt is always fetched, so that both verdicts are known: a
verdict that an override has changed carries the other one in ``without``.

A fault anywhere in the file stops the crawl at its start: an exception that is skipped in silence
would be as wrong as one that is applied in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, timezone
from functools import cached_property
from typing import Final

from scrapy_rep.access.authority import Authority
from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
from scrapy_rep.robotstxt.verdict import UNREACHABLE, Verdict, is_undefined

ALLOW: Final = "allow"
FORBID: Final = "forbid"
UNREACHABLE_IS_ALLOWED: Final = "unreachable-is-allowed"
AGENT: Final = "agent"
DELAY: Final = "delay"

ACTIONS: Final = (ALLOW, FORBID, UNREACHABLE_IS_ALLOWED, AGENT, DELAY)
REASON: Final = "override"
"""The reason of a verdict that an override has changed."""


@dataclass(frozen=True)
class Override:
    """One exception. ``entry`` is its number in the file, from 1; ``until`` the last day, UTC.

    ``tokens`` are the product tokens of the action ``agent``, ``delay`` the seconds of ``delay``.
    """

    entry: int
    authority: Authority
    action: str
    reason: str
    by: str
    until: date
    paths: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    delay: float = 0.0

    def __str__(self) -> str:
        """Return a description for logs and reports."""
        return f"{self.action}, entry {self.entry}: {self.reason} ({self.by}, until {self.until})"

    @property
    def name(self) -> str:
        """The authority and the text of :meth:`__str__`, for log lines."""
        return f"{self.authority}, {self}"

    @cached_property
    def end(self) -> float:
        """The end of its last day, UTC, in seconds since the epoch."""
        midnight = datetime.combine(self.until, time(), timezone.utc)
        return (midnight + timedelta(days=1)).timestamp()

    def may_permit(self, now: float) -> bool:
        """Return whether this may permit requests while their site is unreachable."""
        return self.action in (ALLOW, UNREACHABLE_IS_ALLOWED) and now < self.end

    def covers(self, url: str) -> bool:
        """Return whether this applies to a URL of its authority: to any, or to those of ``paths``.

        No override covers the robots.txt itself, which is always allowed (RFC 9309 section 2.2.2).
        A URL may have several readings, as ``/a/../b`` has. ``forbid`` need cover only one of them;
        any other action has to cover all, because each may be the one that is requested.
        """
        if self.authority.has_its_rules_at(url):
            return False
        if self._patterns is None:
            return True
        # A URL that is too costly to compare is disallowed here: that never leads to permission.
        return self._patterns.allowed(url, "*") is not (self.action == FORBID)

    @cached_property
    def _patterns(self) -> ParsedRobotsTxt | None:
        """The paths, as a robots.txt that disallows them, or allows nothing else."""
        if not self.paths:
            return None
        key, others = ("Disallow", "") if self.action == FORBID else ("Allow", "Disallow: /\n")
        rules = "".join(f"{key}: {path}\n" for path in self.paths)
        text = f"User-agent: *\n{others}{rules}"
        # None of the operator's own paths is cut off, however many there are.
        return ParsedRobotsTxt.parse(text, max_size=len(text.encode()) + 1)


class SiteOverrides:
    """The overrides of one authority."""

    def __init__(self, overrides: Sequence[Override]):
        self.overrides = tuple(overrides)

    def verdict(
        self,
        url: str,
        agent: tuple[str, ...],
        robots: ParsedRobotsTxt | None,
        without: Verdict,
        now: float,
    ) -> tuple[Verdict, Override | None]:
        """Return the verdict on a URL, and the override that changed it, if one did.

        ``robots`` are the site's rules, or ``None`` if it has none or they are unreachable;
        ``without`` is the verdict without overrides, which a changed verdict carries.
        """
        verdict = without
        tokens, changed_by = self.agent(url, agent, now)
        if changed_by is not None and robots is not None:
            verdict = robots.verdict(url, tokens)
        for action, allowed in ((UNREACHABLE_IS_ALLOWED, True), (ALLOW, True), (FORBID, False)):
            override = self.first(action, url, now)
            if override is None or (verdict.allowed == allowed and not is_undefined(verdict)):
                continue
            # A site that only the crawler failed to reach has a longer reason, and stays closed.
            if action != UNREACHABLE_IS_ALLOWED or verdict.reason == UNREACHABLE:
                verdict, changed_by = Verdict(allowed=allowed, reason=REASON), override
        if changed_by is None:
            return without, None
        if verdict.reason != REASON and verdict.allowed == without.allowed:
            return verdict, None  # the other rules decide the same
        return replace(verdict, override=str(changed_by), without=without), changed_by

    def agent(
        self, url: str, agent: tuple[str, ...], now: float
    ) -> tuple[tuple[str, ...], Override | None]:
        """Return the tokens for which the rules of a URL are read, and the override that says so.

        The pace of that group counts too. Without an override the tokens are those given.
        """
        override = self.first(AGENT, url, now)
        return (agent, None) if override is None else (override.tokens, override)

    def first(self, action: str, url: str, now: float) -> Override | None:
        """Return the first override in force with an action that covers a URL."""
        for override in self.overrides:
            if override.action == action and now < override.end and override.covers(url):
                return override
        return None
