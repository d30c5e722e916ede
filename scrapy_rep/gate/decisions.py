"""Tells listeners of each decision about a request: the signal ``robots_decided``."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from scrapy_rep.access.authority import usable_authority_of
from scrapy_rep.access.in_force import RulesInForce
from scrapy_rep.exceptions import BY_PAGE_DIRECTIVE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.page_url import page_of
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
    from scrapy_rep.access.requested_pace import PacePolicy
    from scrapy_rep.gate.judge import Judgement
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.sites.cached_rules import CachedRules


class Decisions:
    """Sends a decision if anything listens, and otherwise does nothing.

    ``agent_of(request)`` returns the names that a request goes by; ``known(authority)`` what memory
    holds, usable or not; ``weigh`` measures rules again that were asked for a verdict.
    ``overridden`` are the authorities with overrides, and ``sent(request, page)`` is a page as it
    is sent.

    The methods for requests that go on raise the ``IgnoreRequest`` of a listener.
    """

    def __init__(
        self,
        signals: SignalSender,
        agent_of: Callable[[Request], tuple[str, ...]],
        known: Callable[[Authority], CachedRules | None],
        weigh: Callable[[Authority, CachedRules], None],
        paces: PacePolicy,
        overridden: Container[Authority],
        sent: Callable[[Request, str], str],
    ):
        self._signals = signals
        self._agent_of = agent_of
        self._known = known
        self._weigh = weigh
        self._paces = paces
        self._overridden = overridden
        self._sent = sent

    def passed(
        self, asked: Asked, cached: CachedRules, judgement: Judgement, requested: str | None = None
    ) -> None:
        """Send that a request goes on.

        ``requested`` is given for the final URL of a response: the page that was asked for.
        """
        if not self._signals.is_heard(robots_decided):
            return
        verdict = judgement.verdict
        if verdict is None:
            verdict = cached.verdict(asked.authority, asked.url, asked.agent)
            if cached.count_verdict():
                self._weigh(asked.authority, cached)
        is_page = requested is None
        self._send(
            RobotsDecision(
                *asked,
                verdict,
                cached.in_force,
                requested,
                self._delay(asked, cached) if is_page else None,
                _preferences(asked, cached) if is_page else None,
            )
        )

    def passed_without_rules(self, asked: Asked) -> None:
        """Send that a request for rules that are not known goes on; it rests on nothing."""
        if self._signals.is_heard(robots_decided):
            self._send(RobotsDecision(*asked, Verdict(allowed=True, reason=ROBOTS_TXT_ITSELF)))

    def bypassed(self, request: Request) -> None:
        """Send that a request goes on that does not obey: an override without a name."""
        if not self._signals.is_heard(robots_decided):
            return
        page = self._page_of(request)
        authority = usable_authority_of(page)
        verdict = Verdict(allowed=True, reason=BYPASSED, override=WITHOUT_A_NAME)
        agent = self._agent_of(request)
        self._send(RobotsDecision(request, page, authority, agent, verdict))

    def refused(self, request: Request, error: Exception, final_url: str = "") -> None:
        """Send the refusal of a request, or of a response by its final URL.

        An error that is not a refusal is ignored.
        """
        if not isinstance(error, (RobotsForbidden, RobotsUnreachable)):
            return
        if not self._signals.is_heard(robots_decided):
            return
        cached = None if error.authority is None else self._known(error.authority)
        if cached is None or not _rests_on(cached, error):
            rules = RulesInForce()
        else:
            rules = cached.in_force
        statement, page = getattr(error, "statement", None), self._page_of(request)
        said = None if statement is None else {str(statement.category): str(statement.answer)}
        decision = RobotsDecision(
            request,
            final_url or page,
            error.authority,
            self._agent_of(request),
            error.verdict,
            rules,
            requested=page if final_url else None,
            preferences=said,
            error=error,
        )
        self._signals.send(robots_decided, decision=decision, request=request)

    def _send(self, decision: RobotsDecision) -> None:
        """Send that a request goes on, unless a listener raises ``IgnoreRequest``."""
        request = decision.request
        refusal = self._signals.send(robots_decided, decision=decision, request=request)
        if refusal is not None:
            raise refusal

    def _page_of(self, request: Request) -> str:
        """Return the URL of the page that was asked for; that of the request if it names none."""
        try:
            return self._sent(request, page_of(request))
        except ValueError:
            return request.url

    def _delay(self, asked: Asked, cached: CachedRules) -> float | None:
        """Return the interval in seconds that the rules ask for; None if none, or overridden."""
        if cached.robots is None or asked.authority in self._overridden:
            return None
        pace = self._paces.read(cached.robots, asked.agent)
        return None if pace is None else round(pace.interval, 3) or None


def _preferences(asked: Asked, cached: CachedRules) -> dict[str, str] | None:
    """Return what a robots.txt says about the use of a page, by category; None if nothing."""
    robots = cached.robots
    if robots is None or not speaks_of_use(robots):
        return None
    said = preferences(robots, asked.url, asked.agent)
    return None if said is None else said.answers or None


def _rests_on(cached: CachedRules, error: RobotsForbidden | RobotsUnreachable) -> bool:
    """Return whether a refusal follows from what is known of the site.

    Otherwise the crawler failed, or the page that the request was found on refused it.
    """
    if isinstance(error, RobotsUnreachable):
        return cached.unreachable and cached.cause == error.cause
    return error.by != BY_PAGE_DIRECTIVE
