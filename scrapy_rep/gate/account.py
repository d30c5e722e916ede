"""Keeps account of what becomes of requests: stats, log lines, overrides, and the signal.

The signal is ``robots_decided``. If nothing listens to it, no ``RobotsDecision`` is created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_rep import stats as names
from scrapy_rep.access.authority import usable_authority_of
from scrapy_rep.access.in_force import RulesInForce
from scrapy_rep.exceptions import BY_USAGE_PREFERENCE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.page_url import page_of
from scrapy_rep.gate.use import note
from scrapy_rep.preferences.robots_txt import preferences, speaks_of_use
from scrapy_rep.robotstxt.verdict import ROBOTS_TXT_ITSELF, Verdict
from scrapy_rep.signals import (
    BYPASSED,
    WITHOUT_A_NAME,
    RobotsDecision,
    SignalSender,
    robots_decided,
)

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.outcome import Cause
    from scrapy_rep.gate.judge import Judgement
    from scrapy_rep.gate.overrides import AppliedOverrides
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats


class Account:
    """Counts and logs each request, and tells listeners: that it passed, or what refuses it.

    A refusal is reported twice: :meth:`refused` counts it where the rules are known, and
    :meth:`ended` tells listeners once its exception leaves the middleware.

    A listener may refuse a request that would pass: the methods for requests that go on raise the
    listener's ``IgnoreRequest``, and do not count the request.

    ``agent_of(request)`` returns the names that a request goes by; ``weigh`` measures rules again
    after they have given a verdict; ``sent_url(request, page)`` is the URL of a page as it is sent.
    """

    def __init__(
        self,
        stats: RepStats,
        overrides: AppliedOverrides,
        signals: SignalSender,
        agent_of: Callable[[Request], tuple[str, ...]],
        weigh: Callable[[Authority, CachedRules], None],
        sent_url: Callable[[Request, str], str],
    ):
        self._stats = stats
        self._overrides = overrides
        self._signals = signals
        self._agent_of = agent_of
        self._weigh = weigh
        self._sent_url = sent_url
        self._rules: WeakKeyDictionary[Exception, RulesInForce] = WeakKeyDictionary()
        """The rules in force at each refusal, from :meth:`refused` until :meth:`ended`."""

    # --- what goes on

    def passed(
        self, asked: Asked, cached: CachedRules, judgement: Judgement, requested: str | None = None
    ) -> None:
        """Tell of a request that goes on, and note what the site says about the use of its page.

        ``requested`` is given for a response of another page than was asked for: the URL of the
        request.
        """
        if self._signals.is_heard(robots_decided):
            verdict = judgement.verdict
            if verdict is None:
                verdict = cached.verdict(asked.authority, asked.url, asked.agent)
                if cached.count_verdict():
                    self._weigh(asked.authority, cached)
            delay = stated = None
            if requested is None:
                delay, stated = self._delay(asked, judgement), _preferences(asked, cached)
            self._tell(RobotsDecision(*asked, verdict, cached.in_force, requested, delay, stated))
        note(asked.request, judgement.noted)
        if judgement.verdict is not None:
            if judgement.override is not None:
                self._stats.overridden(asked.request.method, asked.url, judgement.verdict)
            self._overrides.count_used(asked, cached, judgement.override, judgement.pace)
        if cached.stale:
            self._stats.inc(names.STALE)

    def passed_without_rules(self, asked: Asked) -> None:
        """Tell of a request for the rules themselves, which waits for none.

        It is allowed by definition (RFC 9309 section 2.2.2).
        """
        if self._signals.is_heard(robots_decided):
            self._tell(RobotsDecision(*asked, Verdict(allowed=True, reason=ROBOTS_TXT_ITSELF)))

    def bypassed(self, request: Request) -> None:
        """Tell of and count a request that does not obey robots.txt: an override without a name."""
        if self._signals.is_heard(robots_decided):
            page = self._page_of(request)
            authority = usable_authority_of(page)
            verdict = Verdict(allowed=True, reason=BYPASSED, override=WITHOUT_A_NAME)
            agent = self._agent_of(request)
            self._tell(RobotsDecision(request, page, authority, agent, verdict))
        self._stats.inc(names.BYPASSED)

    # --- what is refused

    def refused(
        self,
        asked: Asked,
        cached: CachedRules,
        judgement: Judgement,
        refusal: RobotsForbidden | RobotsUnreachable,
    ) -> None:
        """Count and log a request that is refused; :meth:`ended` tells of its exception.

        The rules in force are noted here. By the time of :meth:`ended`, memory may hold other
        rules, or none.
        """
        request, url, *_ = asked
        if self._signals.is_heard(robots_decided):
            self._rules[refusal] = cached.in_force
        if isinstance(refusal, RobotsUnreachable):
            self._stats.unreachable(request.method, url, refusal.cause)
            return
        if cached.stale:
            self._stats.inc(names.STALE)
        if refusal.by == BY_USAGE_PREFERENCE:
            self._stats.inc(names.PREFERENCES_SKIPPED)
        self._overrides.count_used(asked, cached, judgement.override, judgement.pace)
        self._stats.forbidden(request.method, url, refusal.verdict, refusal.by)

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
        reason = f"{cause}: {detail}" if detail else str(cause)
        self._stats.unreachable(request.method, url or request.url, reason)
        return RobotsUnreachable(authority, cause, detail=detail)

    def ended(self, request: Request, error: Exception, final_url: str = "") -> None:
        """Tell listeners of the exception in which a request ended.

        ``final_url`` is given if its response was refused. An error that is not a refusal is
        ignored. If :meth:`refused` was not called for it, no rules decided: the crawler failed, or
        the page that the request was found on refused it.
        """
        if not isinstance(error, (RobotsForbidden, RobotsUnreachable)):
            return
        rules = self._rules.pop(error, RulesInForce())
        if not self._signals.is_heard(robots_decided):
            return
        statement, page = getattr(error, "statement", None), self._page_of(request)
        stated = None if statement is None else {str(statement.category): str(statement.answer)}
        decision = RobotsDecision(
            request,
            final_url or page,
            error.authority,
            self._agent_of(request),
            error.verdict,
            rules,
            requested=page if final_url else None,
            preferences=stated,
            error=error,
        )
        self._signals.send(robots_decided, decision=decision, request=request)

    # --- what listeners are told

    def _tell(self, decision: RobotsDecision) -> None:
        """Send that a request goes on; raise the ``IgnoreRequest`` of a listener."""
        request = decision.request
        refusal = self._signals.send(robots_decided, decision=decision, request=request)
        if refusal is not None:
            raise refusal

    def _page_of(self, request: Request) -> str:
        """Return the URL of the page that was asked for; that of the request if it names none."""
        try:
            return self._sent_url(request, page_of(request))
        except ValueError:
            return request.url

    def _delay(self, asked: Asked, judgement: Judgement) -> float | None:
        """Return the interval in seconds that the rules ask for; None if none, or overridden."""
        pace = None if judgement.pace is None else judgement.pace.requested
        if pace is None or asked.authority in self._overrides:
            return None
        return round(pace.interval, 3) or None


def _preferences(asked: Asked, cached: CachedRules) -> dict[str, str] | None:
    """Return what a robots.txt says about the use of a page, by category; None if nothing."""
    robots = cached.robots
    if robots is None or not speaks_of_use(robots):
        return None
    found = preferences(robots, asked.url, asked.agent)
    return None if found is None else found.answers or None
