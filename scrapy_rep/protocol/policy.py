"""What is known of an authority, what to do with it, and what a fetch adds (RFC 9309 2.3.1, 2.4).

The life of an entry. Nothing is known at first: requests wait for a fetch. A fetch that finds
rules, or finds that there are none, is *conclusive*: its answer is used while fresh, refreshed in
the background in the last tenth of its life, and waited for again once expired. A fetch that
fails concludes nothing: the entry is then *failing*. A failing entry keeps the last good copy of
the rules, if it has one, and the copy is followed for as long as
``Policy.stale_if_unreachable`` allows; without a copy all is disallowed. Either way the authority
is asked again only when the back-off is over. An entry dated in the future (a clock stepped
back, or a store lied) is worth nothing: it is as if it were not there.

:func:`state_of` names the state, :data:`DECISIONS` says what each state means for a request, and
:data:`LESSONS` what each outcome makes of an entry. Both tables are total: there is no other
branch, so that no failure, ours or theirs, can turn into permission.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from scrapy_rep.protocol.outcome import (
    Cause,
    NotModified,
    Outcome,
    Success,
    Unavailable,
    Unreachable,
)

CLOCK_TOLERANCE = 60.0
"""Seconds by which an entry may be dated ahead of the clock and still be believed."""

MIN_LIFETIME = 60.0
"""Seconds for which any answer is used: no authority is asked more often than once a minute."""

RETRY_AFTER_BOUNDS = (1.0, 86_400.0)
"""Seconds within which a server's ``Retry-After`` is honoured."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's choices where RFC 9309 leaves one; all times in seconds."""

    max_ttl: float = 86_400.0
    unreachable_ttl: tuple[float, float] = (60.0, 3_600.0)
    stale_if_unreachable: float = 30 * 86_400.0
    access_denied: str = "allow"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one authority; times are seconds since the epoch.

    ``body`` holds the octets of the last good copy, ``None`` if there is none. ``fetched_at`` is
    when it was fetched or last confirmed, ``expires_at`` until when it is fresh. While fetches
    fail, ``failing_since`` is when that began, ``failed_at`` the last attempt, and ``retry_at``
    when the next one is due.
    """

    status: int = 0
    body: bytes | None = None
    uri: str = ""
    redirects: tuple[str, ...] = ()
    etag: bytes | None = None
    last_modified: bytes | None = None
    fetched_at: float = 0.0
    expires_at: float = 0.0
    failing_since: float | None = None
    failed_at: float = 0.0
    failures: int = 0
    retry_at: float = 0.0
    cause: str = ""


class Decision(Enum):
    """What policy says to a request."""

    FOLLOW = "follow the rules"
    ALLOW_ALL = "allow all"
    DISALLOW_ALL = "disallow all"
    WAIT = "wait for a fetch"


class Fetch(Enum):
    """Whether the robots.txt is to be fetched now."""

    NO = "no"
    BACKGROUND = "in the background"
    NOW = "now"


class State(Enum):
    """What an entry is worth at a given time."""

    UNKNOWN = "nothing is known, or it is dated in the future"
    RULES_FRESH = "rules, fresh"
    RULES_AGEING = "rules, in the last tenth of their life"
    RULES_EXPIRED = "rules, expired"
    UNAVAILABLE_FRESH = "unavailable, fresh"
    UNAVAILABLE_AGEING = "unavailable, in the last tenth of its life"
    UNAVAILABLE_EXPIRED = "unavailable, expired"
    DENIED_FRESH = "access denied (401, 403) and taken as disallow, fresh"
    DENIED_AGEING = "access denied and taken as disallow, in the last tenth of its life"
    DENIED_EXPIRED = "access denied and taken as disallow, expired"
    FAILING_WITH_COPY = "unreachable, the last good copy stands, backing off"
    FAILING_WITH_COPY_DUE = "unreachable, the last good copy stands, next attempt due"
    FAILING = "unreachable, no copy or too old a one, backing off"
    FAILING_DUE = "unreachable, no copy or too old a one, next attempt due"


class Answer(NamedTuple):
    """A row of :data:`DECISIONS`."""

    decision: Decision
    fetch: Fetch
    section: str


DECISIONS: dict[State, Answer] = {
    State.UNKNOWN: Answer(Decision.WAIT, Fetch.NOW, "1996 3: retrieve before visiting"),
    State.RULES_FRESH: Answer(Decision.FOLLOW, Fetch.NO, "RFC 9309 2.3.1.1"),
    State.RULES_AGEING: Answer(Decision.FOLLOW, Fetch.BACKGROUND, "RFC 9309 2.4"),
    State.RULES_EXPIRED: Answer(Decision.WAIT, Fetch.NOW, "RFC 9309 2.4"),
    State.UNAVAILABLE_FRESH: Answer(Decision.ALLOW_ALL, Fetch.NO, "RFC 9309 2.3.1.3"),
    State.UNAVAILABLE_AGEING: Answer(Decision.ALLOW_ALL, Fetch.BACKGROUND, "RFC 9309 2.4"),
    State.UNAVAILABLE_EXPIRED: Answer(Decision.WAIT, Fetch.NOW, "RFC 9309 2.4"),
    State.DENIED_FRESH: Answer(Decision.DISALLOW_ALL, Fetch.NO, "1996 3.1"),
    State.DENIED_AGEING: Answer(Decision.DISALLOW_ALL, Fetch.BACKGROUND, "1996 3.1"),
    State.DENIED_EXPIRED: Answer(Decision.WAIT, Fetch.NOW, "1996 3.1"),
    State.FAILING_WITH_COPY: Answer(Decision.FOLLOW, Fetch.NO, "RFC 9309 2.3.1.4, 2.4"),
    State.FAILING_WITH_COPY_DUE: Answer(Decision.FOLLOW, Fetch.BACKGROUND, "RFC 9309 2.3.1.4, 2.4"),
    State.FAILING: Answer(Decision.DISALLOW_ALL, Fetch.NO, "RFC 9309 2.3.1.4"),
    State.FAILING_DUE: Answer(Decision.WAIT, Fetch.NOW, "RFC 9309 2.3.1.4"),
}


def state_of(entry: Entry | None, now: float, policy: Policy) -> State:
    """Return what ``entry`` is worth at ``now``, in seconds since the epoch."""
    if entry is None or max(entry.fetched_at, entry.failed_at) > now + CLOCK_TOLERANCE:
        return State.UNKNOWN
    if entry.failing_since is not None:
        due = now >= entry.retry_at
        if entry.body is not None and now - entry.fetched_at < policy.stale_if_unreachable:
            return State.FAILING_WITH_COPY_DUE if due else State.FAILING_WITH_COPY
        return State.FAILING_DUE if due else State.FAILING
    if entry.body is not None:
        states = State.RULES_FRESH, State.RULES_AGEING, State.RULES_EXPIRED
    elif entry.status in (401, 403) and policy.access_denied == "disallow":
        states = State.DENIED_FRESH, State.DENIED_AGEING, State.DENIED_EXPIRED
    else:
        states = State.UNAVAILABLE_FRESH, State.UNAVAILABLE_AGEING, State.UNAVAILABLE_EXPIRED
    return states[(now >= refresh_at(entry)) + (now >= entry.expires_at)]


def decide(entry: Entry | None, now: float, policy: Policy) -> Answer:
    """Return what to do with a request, and whether to fetch, at ``now``."""
    return DECISIONS[state_of(entry, now, policy)]


def refresh_at(entry: Entry) -> float:
    """Return when the last tenth of a conclusive entry's life begins, never within a minute."""
    life = entry.expires_at - entry.fetched_at
    return min(entry.expires_at, entry.fetched_at + max(MIN_LIFETIME, 0.9 * life))


def good_until(entry: Entry, now: float, policy: Policy) -> float:
    """Return until when the answer at ``now`` can be given again without asking, else 0."""
    answer = decide(entry, now, policy)
    if answer.fetch is not Fetch.NO or answer.decision is Decision.WAIT:
        return 0.0
    if entry.failing_since is None:
        return refresh_at(entry)
    if answer.decision is Decision.FOLLOW:
        return min(entry.retry_at, entry.fetched_at + policy.stale_if_unreachable)
    return entry.retry_at


def learn(entry: Entry | None, outcome: Outcome, now: float, policy: Policy) -> Entry:
    """Return what is known after ``outcome``, fetched at ``now``."""
    if state_of(entry, now, policy) is State.UNKNOWN:
        entry = None
    return LESSONS[type(outcome)].apply(entry, outcome, now, policy)


def _learn_success(_: Entry | None, outcome: Success, now: float, policy: Policy) -> Entry:
    return Entry(
        status=outcome.status,
        body=outcome.body,
        uri=outcome.uri,
        redirects=outcome.redirects,
        etag=outcome.etag,
        last_modified=outcome.last_modified,
        fetched_at=now,
        expires_at=now + _lifetime(outcome.lifetime, policy),
    )


def _learn_unavailable(_: Entry | None, outcome: Unavailable, now: float, policy: Policy) -> Entry:
    return Entry(
        status=outcome.status,
        uri=outcome.uri,
        redirects=outcome.redirects,
        fetched_at=now,
        expires_at=now + _lifetime(outcome.lifetime, policy),
    )


def _learn_not_modified(
    entry: Entry | None, outcome: NotModified, now: float, policy: Policy
) -> Entry:
    if entry is None or entry.body is None:  # a 304 to a question that was never asked
        return _learn_unreachable(entry, Unreachable(Cause.STATUS, 304), now, policy)
    return replace(
        entry,
        fetched_at=now,
        expires_at=now + _lifetime(outcome.lifetime, policy),
        failing_since=None,
        failed_at=0.0,
        failures=0,
        retry_at=0.0,
        cause="",
    )


def _learn_unreachable(
    entry: Entry | None, outcome: Unreachable, now: float, policy: Policy
) -> Entry:
    entry = entry or Entry()
    first, longest = policy.unreachable_ttl
    # The exponent is bounded so that a long outage does not overflow the float.
    delay = min(longest, first * 2.0 ** min(entry.failures, 30))
    if outcome.retry_after is not None:
        shortest, furthest = RETRY_AFTER_BOUNDS
        delay = max(delay, min(furthest, max(shortest, outcome.retry_after)))
    cause = f"{outcome.cause} {outcome.status}" if outcome.status else str(outcome.cause)
    return replace(
        entry,
        failing_since=now if entry.failing_since is None else entry.failing_since,
        failed_at=now,
        failures=entry.failures + 1,
        retry_at=now + delay,
        cause=cause,
    )


class Lesson(NamedTuple):
    """A row of :data:`LESSONS`."""

    effect: str
    apply: Callable[[Entry | None, Any, float, Policy], Entry]
    section: str


LESSONS: dict[type[Outcome], Lesson] = {
    Success: Lesson(
        "what was known is replaced; the octets are the last good copy from now on",
        _learn_success,
        "RFC 9309 2.3.1.1",
    ),
    NotModified: Lesson(
        "the copy is renewed; without one it is as if unreachable",
        _learn_not_modified,
        "RFC 9111 4.3.4",
    ),
    Unavailable: Lesson(
        "what was known is replaced; there is no copy any more",
        _learn_unavailable,
        "RFC 9309 2.3.1.3",
    ),
    Unreachable: Lesson(
        "the copy stays; the back-off doubles, and Retry-After lengthens it",
        _learn_unreachable,
        "RFC 9309 2.3.1.4",
    ),
}


def _lifetime(said: float | None, policy: Policy) -> float:
    """Return the life of an answer: a response may shorten it, never lengthen it."""
    return policy.max_ttl if said is None else min(policy.max_ttl, max(MIN_LIFETIME, said))
