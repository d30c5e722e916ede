"""Keeps account of what becomes of requests: stats, log lines, the decision log, the overrides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from scrapy_rep import stats as names
from scrapy_rep.access.outcome import Cause
from scrapy_rep.exceptions import BY_USAGE_PREFERENCE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.use import note

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.gate.identity import Identity
    from scrapy_rep.gate.judge import Judgement
    from scrapy_rep.gate.overrides import AppliedOverrides
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.robotstxt.verdict import Verdict
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats


class Recorder(Protocol):
    """Records decisions. A request that would pass is refused if one of the first three raises."""

    def passed(
        self, asked: Asked, cached: CachedRules, verdict: Verdict | None, requested: str | None
    ) -> None:
        """Record a request that goes on, or the response to ``requested``, if that is given."""

    def passed_without_rules(self, asked: Asked) -> None:
        """Record a request for the rules themselves."""

    def bypassed(self, request: Request, agent: tuple[str, ...]) -> None:
        """Record a request that does not obey robots.txt."""

    def refused(
        self, request: Request, agent: tuple[str, ...], error: Exception, final_url: str
    ) -> None:
        """Record what a request ended in, or the response whose final URL is given."""


class Account:
    """Counts, logs and records each request: that it passed, or what it is refused with.

    ``overrides`` and ``recorder`` are there if settings ask for them.
    """

    def __init__(
        self,
        identity: Identity,
        stats: RepStats,
        overrides: AppliedOverrides | None = None,
        recorder: Recorder | None = None,
    ):
        self._identity = identity
        self._stats = stats
        self._overrides = overrides
        self._recorder = recorder

    def refused(
        self,
        asked: Asked,
        cached: CachedRules,
        judgement: Judgement,
        refusal: RobotsForbidden | RobotsUnreachable,
    ) -> None:
        """Count and log a request that is refused; the decision log has it from its exception."""
        request, url, *_ = asked
        if isinstance(refusal, RobotsUnreachable):
            self._stats.unreachable(request.method, url, refusal.cause)
            return
        if cached.stale:
            self._stats.inc(names.STALE)
        if refusal.by == BY_USAGE_PREFERENCE:
            self._stats.inc(names.PREFERENCES_SKIPPED)
        if self._overrides is not None:
            self._overrides.count_used(asked, cached, judgement.override, judgement.pace)
        self._stats.forbidden(request.method, url, refusal.verdict, refusal.by)

    def passed(
        self, asked: Asked, cached: CachedRules, judgement: Judgement, requested: str | None = None
    ) -> None:
        """Record a request that goes on, and note what is said about its use.

        ``requested`` is given for a response of another page than was asked for: the URL of the
        request.
        """
        if self._recorder is not None:
            passed = self._recorder.passed
            self._record(passed, asked.request, asked, cached, judgement.verdict, requested)
        if judgement.noted is not None or requested is not None:
            note(asked.request, judgement.noted)
        if self._overrides is not None and judgement.verdict is not None:
            self._overrides.count_allowed(
                asked, cached, judgement.verdict, judgement.override, judgement.pace
            )
        if cached.stale:
            self._stats.inc(names.STALE)

    def passed_without_rules(self, asked: Asked) -> None:
        """Record and count a request for the rules themselves, which waits for none.

        It is allowed by definition (RFC 9309 section 2.2.2).
        """
        if self._recorder is not None:
            self._record(self._recorder.passed_without_rules, asked.request, asked)
        self._stats.inc(names.ALLOWED)

    def bypassed(self, request: Request) -> None:
        """Record and count a request that does not obey robots.txt."""
        if self._recorder is not None:
            agent = self._identity.usable(request)
            self._record(self._recorder.bypassed, request, request, agent)
        self._stats.inc(names.BYPASSED)

    def ended(self, request: Request, refusal: Exception, final_url: str = "") -> None:
        """Record what a request ended in, or the response whose final URL is given."""
        if self._recorder is not None:
            self._recorder.refused(request, self._identity.usable(request), refusal, final_url)

    def _record(self, write: Callable[..., None], request: Request, *told: object) -> None:
        """Record a decision; refuse its request if it cannot be recorded, and that is required."""
        try:
            write(*told)
        except Exception as error:
            why = f"its decision cannot be recorded: {error}"
            raise self.unreachable(request, Cause.ERROR, why) from error

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
