"""What follows from what is known of an authority, and what a fetch adds (RFC 9309 2.3.1, 2.4).

The life of an entry. Nothing is known at first: requests wait for a fetch. A fetch that finds
rules, or finds that there are none, is *conclusive*: its answer is used while fresh, refreshed in
the background in the last tenth of its life, and waited for again once expired. A fetch that
fails concludes nothing: the entry is then *failing*. A failing entry keeps the last good copy of
the rules, if it has one, and the copy is followed for as long as
``Policy.stale_if_unreachable`` allows; without a copy all is disallowed. Either way the authority
is asked again only when the back-off is over.

An entry may come from a store, written by a crawler with other settings and another clock. The
settings of the reader apply: its times of life, its back-off, its limits. An answer that was read
under smaller limits than the reader's is fetched again in full. An answer dated in the future (a
clock stepped back, or a store lied) decides nothing, because its age is unknown; but it is still
the last good copy should the fetch fail.

:func:`state_of` names the state, :data:`DECISIONS` says what each state means for a request, and
:data:`TRANSITIONS` what each outcome makes of an entry. Both tables are total: there is no other
branch, so that no failure, on either side, can turn into permission.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from scrapy_rep.access.entry import CLOCK_TOLERANCE, REFUSALS, Answer, Entry, Failure, is_over
from scrapy_rep.access.outcome import TEMPORARY, Cause, Meaning, NotModified, Outcome, Unreachable

MIN_LIFETIME = 60.0
"""Seconds for which any answer is used: no authority is asked more often than once a minute."""

LONGEST_RETRY_AFTER = 86_400.0
"""Seconds up to which a server's ``Retry-After`` is honoured."""

OWN_BACK_OFF = 1.0
"""Seconds without an attempt after a first failure on the crawler's side, such as a proxy's.

A longer pause would spare no server, and one dead proxy of many would cost a site a minute.
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's choices where RFC 9309 leaves one; times in seconds.

    ``max_ttl`` is for how long an answer is used at most, ``unreachable_ttl`` the first and the
    longest back-off, and ``stale_if_unreachable`` for how long after its fetch the last good copy
    is followed. ``access_denied`` is what a refusal means: ``allow`` or ``disallow``.
    ``max_size`` is how many octets of a robots.txt are read, ``max_redirects`` how many hops are
    followed. ``temporary`` are the statuses that are failures because they mean "not now".
    """

    max_ttl: float = 86_400.0
    unreachable_ttl: tuple[float, float] = (60.0, 3_600.0)
    stale_if_unreachable: float = 30 * 86_400.0
    access_denied: str = "allow"
    max_size: int = 512_000
    max_redirects: int = 5
    temporary: AbstractSet[int] = TEMPORARY

    def denies(self, status: int) -> bool:
        """Return whether a status means disallow: a refusal does if the operator says so."""
        return status in REFUSALS and self.access_denied == "disallow"


class Decision(Enum):
    """What is done with a request."""

    FOLLOW = "follow the rules"
    ALLOW_ALL = "allow all"
    DISALLOW_ALL = "disallow all"
    WAIT = "wait for a fetch"


class Fetch(Enum):
    """Whether the robots.txt is to be fetched now."""

    NO = "no"
    BACKGROUND = "in the background"
    NOW = "now"


class EntryState(Enum):
    """What an entry is worth at a given time."""

    UNKNOWN = "nothing is known, or it is dated in the future"
    LIMITED = "read under smaller limits than yours"
    RULES_FRESH = "rules, fresh"
    RULES_AGEING = "rules, in the last tenth of their life"
    RULES_EXPIRED = "rules, expired"
    UNAVAILABLE_FRESH = "unavailable, fresh"
    UNAVAILABLE_AGEING = "unavailable, in the last tenth of its life"
    UNAVAILABLE_EXPIRED = "unavailable, expired"
    DENIED_FRESH = "access denied and taken as disallow, fresh"
    DENIED_AGEING = "access denied and taken as disallow, in the last tenth of its life"
    DENIED_EXPIRED = "access denied and taken as disallow, expired"
    FAILING_WITH_COPY = "unreachable, the last good copy stands, backing off"
    FAILING_WITH_COPY_DUE = "unreachable, the last good copy stands, next attempt due"
    FAILING = "unreachable, no copy that may be used, backing off"
    FAILING_DUE = "unreachable, no copy that may be used, next attempt due"


class Action(NamedTuple):
    """A row of :data:`DECISIONS`."""

    decision: Decision
    fetch: Fetch
    section: str


DECISIONS: dict[EntryState, Action] = {
    EntryState.UNKNOWN: Action(Decision.WAIT, Fetch.NOW, "1996 3: retrieve before visiting"),
    EntryState.LIMITED: Action(Decision.WAIT, Fetch.NOW, "RFC 9309 2.5"),
    EntryState.RULES_FRESH: Action(Decision.FOLLOW, Fetch.NO, "RFC 9309 2.3.1.1"),
    EntryState.RULES_AGEING: Action(Decision.FOLLOW, Fetch.BACKGROUND, "RFC 9309 2.4"),
    EntryState.RULES_EXPIRED: Action(Decision.WAIT, Fetch.NOW, "RFC 9309 2.4"),
    EntryState.UNAVAILABLE_FRESH: Action(Decision.ALLOW_ALL, Fetch.NO, "RFC 9309 2.3.1.3"),
    EntryState.UNAVAILABLE_AGEING: Action(Decision.ALLOW_ALL, Fetch.BACKGROUND, "RFC 9309 2.4"),
    EntryState.UNAVAILABLE_EXPIRED: Action(Decision.WAIT, Fetch.NOW, "RFC 9309 2.4"),
    EntryState.DENIED_FRESH: Action(Decision.DISALLOW_ALL, Fetch.NO, "1996 3.1"),
    EntryState.DENIED_AGEING: Action(Decision.DISALLOW_ALL, Fetch.BACKGROUND, "1996 3.1"),
    EntryState.DENIED_EXPIRED: Action(Decision.WAIT, Fetch.NOW, "1996 3.1"),
    EntryState.FAILING_WITH_COPY: Action(Decision.FOLLOW, Fetch.NO, "RFC 9309 2.3.1.4, 2.4"),
    EntryState.FAILING_WITH_COPY_DUE: Action(
        Decision.FOLLOW, Fetch.BACKGROUND, "RFC 9309 2.3.1.4, 2.4"
    ),
    EntryState.FAILING: Action(Decision.DISALLOW_ALL, Fetch.NO, "RFC 9309 2.3.1.4"),
    EntryState.FAILING_DUE: Action(Decision.WAIT, Fetch.NOW, "RFC 9309 2.3.1.4"),
}


class Standing(NamedTuple):
    """What an entry means to one crawler at one time.

    ``answer`` is the answer in force, ``failure`` what has failed since. Before ``until``, in
    seconds since the epoch, the entry need not be judged again; 0 if it must be each time.
    """

    decision: Decision
    fetch: Fetch
    answer: Answer | None
    failure: Failure | None
    until: float

    @property
    def body(self) -> bytes | None:
        """The octets of the rules that are followed, None if none are."""
        if self.decision is not Decision.FOLLOW or self.answer is None:
            return None
        return self.answer.body


def standing(entry: Entry | None, now: float, policy: Policy) -> Standing:
    """Return what ``entry`` means at ``now``, in seconds since the epoch."""
    answer, failure = in_force(entry, now, policy)
    decision, fetch, _ = DECISIONS[state_of(answer, failure, now, policy)]
    until = 0.0
    if fetch is Fetch.NO and failure is not None:
        until = retry_at(failure, policy)
        if decision is Decision.FOLLOW and answer is not None:
            until = min(until, answer.fetched_at + policy.stale_if_unreachable)
    elif fetch is Fetch.NO and answer is not None:
        until = refresh_at(answer, policy)
    return Standing(decision, fetch, answer, failure, until)


def state_of(
    answer: Answer | None, failure: Failure | None, now: float, policy: Policy
) -> EntryState:
    """Return the state of an entry at ``now``, by the answer and the failure that are in force."""
    if failure is not None:
        due = now >= retry_at(failure, policy)
        if _is_usable_copy(answer, now, policy):
            return EntryState.FAILING_WITH_COPY_DUE if due else EntryState.FAILING_WITH_COPY
        return EntryState.FAILING_DUE if due else EntryState.FAILING
    if answer is None or answer.fetched_at > now + CLOCK_TOLERANCE:
        return EntryState.UNKNOWN
    if is_limited(answer, policy):
        return EntryState.LIMITED
    if answer.body is not None:
        states = EntryState.RULES_FRESH, EntryState.RULES_AGEING, EntryState.RULES_EXPIRED
    elif policy.denies(answer.status):
        states = EntryState.DENIED_FRESH, EntryState.DENIED_AGEING, EntryState.DENIED_EXPIRED
    else:
        states = (
            EntryState.UNAVAILABLE_FRESH,
            EntryState.UNAVAILABLE_AGEING,
            EntryState.UNAVAILABLE_EXPIRED,
        )
    return states[(now >= refresh_at(answer, policy)) + (now >= expires_at(answer, policy))]


def in_force(
    entry: Entry | None, now: float, policy: Policy
) -> tuple[Answer | None, Failure | None]:
    """Return the answer that counts for this crawler, and the failure since, if there is one.

    That is the refusal while it counts, and otherwise the answer.
    """
    if entry is None:
        return None, None
    answer, failure = entry.answer, entry.failure
    if entry.refusal is not None and _counts(entry.refusal, answer, failure, now, policy):
        answer = entry.refusal
    if answer is not None and answer.status in policy.temporary:
        answer = None  # stored by a crawler that does not count it as a failure
    if failure is not None and is_over(failure, answer, now):
        failure = None
    return answer, failure


def _counts(
    refusal: Answer, answer: Answer | None, failure: Failure | None, now: float, policy: Policy
) -> bool:
    """Return whether a refusal counts, and not the answer that stands beside it.

    It does until it expires, or until this crawler is answered otherwise: what other crawlers were
    served since then was not served to this one. A refusal through a proxy gives way to the answer
    of the site once the site cannot be reached.
    """
    if answer is None:
        return True
    if refusal.proxied and failure is not None and failure.failed_at >= refusal.fetched_at:
        return False
    return refusal.fetched_at >= answer.fetched_at or now < expires_at(refusal, policy)


def is_limited(answer: Answer, policy: Policy) -> bool:
    """Return whether an answer was read under smaller limits than those of ``policy``.

    Rules may stand behind the cut, or behind the next redirect (RFC 9309 sections 2.5, 2.3.1.2).
    """
    if answer.body is not None:
        return answer.cut_at is not None and answer.cut_at < policy.max_size
    return 300 <= answer.status <= 399 and len(answer.redirects) < policy.max_redirects


def confirmable(entry: Entry | None, policy: Policy) -> Answer | None:
    """Return the copy that a conditional request may confirm (RFC 9110 section 13.1).

    Without a validator, no conditional request can be made.
    """
    answer = None if entry is None else entry.answer
    if answer is None or answer.body is None or is_limited(answer, policy):
        return None
    if not (answer.etag or answer.last_modified):
        return None
    return answer if answer.status not in policy.temporary else None


def expires_at(answer: Answer, policy: Policy) -> float:
    """Return until when an answer is fresh: the response may shorten its life, never lengthen it.

    Seconds since the epoch (RFC 9309 section 2.4).
    """
    life = policy.max_ttl
    if answer.lifetime is not None:
        life = min(life, max(MIN_LIFETIME, answer.lifetime))
    return answer.fetched_at + life


def refresh_at(answer: Answer, policy: Policy) -> float:
    """Return when the last tenth of an answer's life begins, a minute after its fetch or later."""
    end = expires_at(answer, policy)
    return min(end, answer.fetched_at + max(MIN_LIFETIME, 0.9 * (end - answer.fetched_at)))


def retry_at(failure: Failure, policy: Policy) -> float:
    """Return when an authority is asked again after a failure, in seconds since the epoch.

    The back-off doubles with each failed round of attempts, and ``Retry-After`` lengthens it. It is
    short at first if the failure is not the server's.
    """
    first, longest = policy.unreachable_ttl
    if failure.ours:
        first = min(first, OWN_BACK_OFF)
    # The exponent is bounded so that a long outage does not overflow the float.
    delay = min(longest, first * 2.0 ** min(failure.count - 1, 30))
    if failure.retry_after is not None:
        delay = max(delay, min(LONGEST_RETRY_AFTER, failure.retry_after))
    return failure.failed_at + delay


def learn(entry: Entry | None, outcome: Outcome, now: float, policy: Policy) -> Entry:
    """Return what is known after ``outcome``, fetched at ``now``."""
    if isinstance(outcome, NotModified):
        meaning = Meaning.NOT_MODIFIED
    elif isinstance(outcome, Unreachable):
        meaning = Meaning.UNREACHABLE
    else:
        meaning = Meaning.UNAVAILABLE if outcome.body is None else Meaning.SUCCESS
    return TRANSITIONS[meaning].apply(entry or Entry(), outcome, now, policy)


def _learn_success(_: Entry, outcome: Answer, now: float, policy: Policy) -> Entry:
    return Entry(replace(outcome, fetched_at=now))


def _learn_unavailable(entry: Entry, outcome: Answer, now: float, policy: Policy) -> Entry:
    answer = replace(outcome, fetched_at=now)
    if answer.status in REFUSALS:
        before = entry.refusal
        if before is not None and now < expires_at(before, policy):
            life = answer.lifetime
            if not before.refused_to <= answer.refused_to:
                # Others that were refused before may be served by now: it lives no longer for them.
                left = expires_at(before, policy) - now
                life = left if life is None else min(life, left)
            refused = answer.refused_to | before.refused_to
            answer = replace(answer, refused_to=refused, lifetime=life)
        return Entry(_not_in_future(entry.answer, now), answer)
    return Entry(answer)


def _learn_not_modified(entry: Entry, outcome: NotModified, now: float, policy: Policy) -> Entry:
    answer = confirmable(entry, policy)
    if answer is None:  # a 304 to a question that was never asked
        unasked = Unreachable(Cause.STATUS, 304, exchange=outcome.exchange)
        return _learn_unreachable(entry, unasked, now, policy)
    lifetime = answer.lifetime if outcome.lifetime is None else outcome.lifetime
    return Entry(replace(answer, fetched_at=now, lifetime=lifetime, exchange=outcome.exchange))


def _learn_unreachable(entry: Entry, outcome: Unreachable, now: float, policy: Policy) -> Entry:
    _, before = in_force(entry, now, policy)
    # Failures on the crawler's own side follow each other within seconds. Were they counted for the
    # server as well, its first failure could cost an hour.
    failure = Failure(
        since=now if before is None else before.since,
        failed_at=now,
        count=1 if before is None or (before.ours and not outcome.ours) else before.count + 1,
        retry_after=outcome.retry_after,
        cause=f"{outcome.cause} {outcome.status}" if outcome.status else str(outcome.cause),
        exchange=outcome.exchange,
        ours=outcome.ours,
        detail=outcome.detail,
        error=outcome.error,
    )
    return Entry(_not_in_future(entry.answer, now), _not_in_future(entry.refusal, now), failure)


def _not_in_future(answer: Answer | None, now: float) -> Answer | None:
    """Return an answer; if it is dated in the future, date it back before a failure at ``now``."""
    if answer is None or answer.fetched_at <= now + CLOCK_TOLERANCE:
        return answer
    return replace(answer, fetched_at=now - CLOCK_TOLERANCE)


def _is_usable_copy(answer: Answer | None, now: float, policy: Policy) -> bool:
    if answer is None or answer.body is None:
        return False
    return now - answer.fetched_at < policy.stale_if_unreachable


class Transition(NamedTuple):
    """A row of :data:`TRANSITIONS`."""

    effect: str
    apply: Callable[[Entry, Any, float, Policy], Entry]
    section: str


TRANSITIONS: dict[Meaning, Transition] = {
    Meaning.SUCCESS: Transition(
        "what was known is replaced; the octets are the last good copy from now on",
        _learn_success,
        "RFC 9309 2.3.1.1",
    ),
    Meaning.NOT_MODIFIED: Transition(
        "the copy is renewed; without one it is as if unreachable",
        _learn_not_modified,
        "RFC 9111 4.3.4",
    ),
    Meaning.UNAVAILABLE: Transition(
        "what was known is replaced; there is no copy any more (a refusal: for this crawler)",
        _learn_unavailable,
        "RFC 9309 2.3.1.3",
    ),
    Meaning.UNREACHABLE: Transition(
        "the copy stays; the back-off doubles, and Retry-After lengthens it",
        _learn_unreachable,
        "RFC 9309 2.3.1.4",
    ),
}
