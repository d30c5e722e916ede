"""The rules of one authority in memory: an entry, what it means now, and its rules parsed."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from sys import getsizeof
from typing import TYPE_CHECKING

from scrapy_rep.access.entry import CLOCK_TOLERANCE, Answer, Entry, date_of
from scrapy_rep.access.in_force import Basis, RulesInForce
from scrapy_rep.access.outcome import Cause
from scrapy_rep.access.policy import Decision, Standing
from scrapy_rep.robotstxt.verdict import (
    LAST_GOOD_COPY,
    ROBOTS_TXT_ITSELF,
    UNAVAILABLE,
    UNDEFINED,
    Verdict,
)

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt

_WEIGHED_AFTER = 128
"""Verdicts after which rules are measured again: 3,000 rules take 70 us, even if they have not
grown."""

_ENTRY_SIZE = 1_000
"""Octets that an authority costs besides its rules: measured, rounded up."""

_REQUESTER_SIZE = 200
"""Octets of a request that was refused, besides its User-Agent, with its place in the set."""

_TEXT_SIZE = 100
"""Octets of a text where Python cannot say: PyPy's ``getsizeof`` raises without a default."""


class CachedRules:
    """What decides about the requests to one authority from ``since`` until ``until``.

    ``standing`` is what ``entry`` means at ``now``, in seconds since the epoch; ``robots`` are the
    rules of its answer, ``None`` if it has none that are in force.

    An instance also keeps notes: its ``size``, which the cache measures; the last ``agent`` that it
    was asked for, and the number of ``verdicts``.
    """

    def __init__(
        self, entry: Entry, standing: Standing, robots: ParsedRobotsTxt | None, now: float
    ):
        self.entry = entry
        self.decision, _, self.answer, self.failure, self.until = standing
        self.body = standing.body
        """The octets of the rules that are followed, None if none are."""
        self.robots = robots
        in_force = [part for part in (self.answer, self.failure) if part is not None]
        newest = max(map(date_of, in_force), default=now)
        self.since = min(now, newest) - CLOCK_TOLERANCE
        self.stale = robots is not None and self.failure is not None
        """Whether the rules are a last good copy, followed while the authority is unreachable."""
        self.interrupted = self.failure is not None and self.failure.cause == Cause.CLOSING
        """Whether nothing was learnt because the crawl is closing."""
        self.refusal = self.answer
        """The refusal that decides, if it does not hold for all requests."""
        if self.failure is not None or self.answer is None or self.answer.holds_for_all:
            self.refusal = None
        self._fixed_size = _size_of(entry, None if robots is None else self.answer)
        self.size = 0
        self.verdicts = 0
        self.agent: tuple[str, ...] | None = None

    @cached_property
    def in_force(self) -> RulesInForce:
        """The rules in force, as listeners and the decision log see them."""
        answer, failure = self.answer, self.failure
        cause = None if failure is None else str(failure.cause)
        failed = "" if failure is None else failure.exchange
        if answer is None or self.unreachable:  # a copy that is too old is not followed
            since = None if failure is None else failure.since
            return RulesInForce("unreachable", since, cause=cause, failed_exchange=failed)
        outcome: Basis
        if self.robots is not None:
            outcome = "stale" if self.stale else "rules"
        else:
            outcome = "unavailable" if self.decision is Decision.ALLOW_ALL else "denied"
        return RulesInForce(
            outcome,
            answer.fetched_at,
            answer.status,
            cause,
            self.body,
            answer.exchange,
            failed,
        )

    @property
    def unreachable(self) -> bool:
        """Whether all is disallowed because the rules are undefined (RFC 9309 2.3.1.4)."""
        return self.robots is None and self.failure is not None

    @property
    def cause(self) -> str:
        """Why the authority is unreachable, if it is."""
        return self.failure.cause if self.failure is not None else Cause.ERROR.value

    def note_agent(self, agent: tuple[str, ...]) -> bool:
        """Note the agent that rules are asked for; return whether it is another one than before.

        The rules for an agent are compiled when they are first asked for.
        """
        is_new = self.agent != agent
        self.agent = agent
        return is_new

    def count_verdict(self) -> bool:
        """Count a verdict; return whether the rules are to be measured again after it.

        Verdicts make rules grow in a few steps, the largest one when lines are read for the first.
        """
        self.verdicts += 1
        return self.verdicts % _WEIGHED_AFTER == 1

    def drop_compiled(self) -> None:
        """Free the compiled rules; they are measured again after the next verdict."""
        if self.robots is not None:
            self.robots.drop_compiled()
        self.agent, self.verdicts = None, 0

    def weigh(self) -> int:
        """Measure the memory that this takes; return by how many octets it has grown."""
        before = self.size
        self.size = self._fixed_size + (self.robots.size if self.robots is not None else 0)
        return self.size - before

    def allows(self, authority: Authority, url: str, agent: tuple[str, ...]) -> bool:
        """Return True if ``agent`` may request ``url``, and False if not, or if that is unknown."""
        if self.robots is not None:
            return self.robots.allowed(url, agent)
        return self.decision is Decision.ALLOW_ALL or authority.has_its_rules_at(url)

    def verdict(self, authority: Authority, url: str, agent: tuple[str, ...]) -> Verdict:
        """Return what :meth:`allows` returns, and why."""
        if self.robots is not None:
            verdict = self.robots.verdict(url, agent)
            if self.stale:
                return replace(verdict, reason=verdict.reason + LAST_GOOD_COPY)
            return verdict
        if authority.has_its_rules_at(url):
            return Verdict(allowed=True, reason=ROBOTS_TXT_ITSELF)
        if self.decision is Decision.ALLOW_ALL:
            return Verdict(allowed=True, reason=UNAVAILABLE)
        if self.unreachable or self.answer is None:
            return UNDEFINED
        return Verdict(allowed=False, reason=f"access denied ({self.answer.status})")


def _size_of(entry: Entry, parsed: Answer | None) -> int:
    """Return the octets of memory that an entry takes, without the body of the answer ``parsed``.

    The rules parsed from that body include its octets in their own size.
    """
    size = _ENTRY_SIZE
    if entry.failure is not None:
        size += getsizeof(entry.failure.detail, _TEXT_SIZE)
    for answer in (entry.answer, entry.refusal):
        if answer is not None:
            texts = (answer.uri, *answer.redirects, answer.etag, answer.last_modified)
            size += sum(getsizeof(text, _TEXT_SIZE) for text in texts)
            user_agents = [requester.user_agent for requester in answer.refused_to]
            size += sum(_REQUESTER_SIZE + getsizeof(each, _TEXT_SIZE) for each in user_agents)
            if answer is not parsed and answer.body is not None:
                size += len(answer.body)
    return size
