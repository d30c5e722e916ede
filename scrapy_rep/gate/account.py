"""Keeps account of what becomes of requests: stats, log lines, the signal, the overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_rep import stats as names
from scrapy_rep.access.outcome import Cause
from scrapy_rep.exceptions import BY_USAGE_PREFERENCE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.use import note

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.gate.decisions import Decisions
    from scrapy_rep.gate.judge import Judgement
    from scrapy_rep.gate.overrides import AppliedOverrides
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats


class Account:
    """Counts and logs each request, and tells listeners: that it passed, or what refuses it.

    A listener may refuse a request that would pass: the methods that tell of one raise its
    ``IgnoreRequest``, and the request is not counted.
    """

    def __init__(self, stats: RepStats, decisions: Decisions, overrides: AppliedOverrides):
        self._stats = stats
        self._decisions = decisions
        self._overrides = overrides

    def refused(
        self,
        asked: Asked,
        cached: CachedRules,
        judgement: Judgement,
        refusal: RobotsForbidden | RobotsUnreachable,
    ) -> None:
        """Count and log a request that is refused; :meth:`ended` tells of its exception."""
        request, url, *_ = asked
        if isinstance(refusal, RobotsUnreachable):
            self._stats.unreachable(request.method, url, refusal.cause)
            return
        if cached.stale:
            self._stats.inc(names.STALE)
        if refusal.by == BY_USAGE_PREFERENCE:
            self._stats.inc(names.PREFERENCES_SKIPPED)
        self._overrides.count_used(asked, cached, judgement.override, judgement.pace)
        self._stats.forbidden(request.method, url, refusal.verdict, refusal.by)

    def passed(
        self, asked: Asked, cached: CachedRules, judgement: Judgement, requested: str | None = None
    ) -> None:
        """Tell of a request that goes on, and note what is said about its use.

        ``requested`` is given for a response of another page than was asked for: the URL of the
        request.
        """
        self._decisions.passed(asked, cached, judgement, requested)
        note(asked.request, judgement.noted)
        if judgement.verdict is not None:
            self._overrides.count_allowed(
                asked, cached, judgement.verdict, judgement.override, judgement.pace
            )
        if cached.stale:
            self._stats.inc(names.STALE)

    def passed_without_rules(self, asked: Asked) -> None:
        """Tell of and count a request for the rules themselves, which waits for none.

        It is allowed by definition (RFC 9309 section 2.2.2).
        """
        self._decisions.passed_without_rules(asked)
        self._stats.inc(names.ALLOWED)

    def bypassed(self, request: Request) -> None:
        """Tell of and count a request that does not obey robots.txt."""
        self._decisions.bypassed(request)
        self._stats.inc(names.BYPASSED)

    def ended(self, request: Request, refusal: Exception, final_url: str = "") -> None:
        """Tell of what a request ended in, or the response whose final URL is given."""
        self._decisions.refused(request, refusal, final_url)

    def unreachable(
        self,
        request: Request,
        cause: Cause,
        detail: str = "",
        authority: Authority | None = None,
        url: str = "",
    ) -> RobotsUnreachable:
        """Count a request whose rules are undefined, and return what it ends in.

        ``url`` is the URL of the page that the request is for, if that is not its own.
        """
        said = f"{cause}: {detail}" if detail else str(cause)
        self._stats.unreachable(request.method, url or request.url, said)
        return RobotsUnreachable(authority, cause, detail=detail)
