"""One inquiry about an authority: the store first, then up to a few fetches.

Where several processes share a store, one of them fetches and the others wait for what it puts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from scrapy_rep import stats as names
from scrapy_rep.protocol.entry import Answer, Entry, merge
from scrapy_rep.protocol.outcome import Cause, NotModified, Outcome, Unreachable
from scrapy_rep.protocol.policy import (
    Decision,
    Fetch,
    Policy,
    confirmable,
    decide,
    learn,
    retry_at,
)
from scrapy_rep.shelf import NOT_SHARED
from scrapy_rep.waiting import pause

if TYPE_CHECKING:
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.shelf import Shelf
    from scrapy_rep.stats import RepStats

_TURN = 0.1
"""Seconds between two looks at the store while another process fetches."""

# What another attempt may mend; a redirect that is refused will be refused again.
_WORTH_RETRYING = frozenset(
    {Cause.STATUS, Cause.DNS, Cause.CONNECTION, Cause.TLS, Cause.TIMEOUT, Cause.ERROR}
)


class Inquiry:
    """Finds out what is to be known of an authority from now on.

    ``fetch(authority, page, copy)`` returns an outcome, ``clock()`` seconds since the epoch.
    ``timeout`` is what one fetch may take, ``retry_delays`` the pauses before further attempts,
    all in seconds.
    """

    def __init__(
        self,
        *,
        fetch: Callable[[Authority, Any, Answer | None], Awaitable[Outcome]],
        shelf: Shelf,
        clock: Callable[[], float],
        policy: Policy,
        stats: RepStats,
        timeout: float = 15.0,
        retry_delays: tuple[float, ...] = (),
    ):
        self._fetch = fetch
        self._shelf = shelf
        self._clock = clock
        self._policy = policy
        self._stats = stats
        self._timeout = timeout
        self._retry_delays = retry_delays

    @property
    def patience(self) -> float:
        """The seconds after which an inquiry must be over, with some to spare."""
        attempts = 1 + len(self._retry_delays)
        return 2.0 * (attempts * self._timeout + sum(self._retry_delays)) + 1.0

    async def ask(
        self,
        authority: Authority,
        page: Any,
        resident: Entry | None,
        waiting: Callable[[], Sequence[Any]],
    ) -> Entry:
        """Return the newest entry there is, after a fetch if one is due.

        ``page`` is the request that asks, ``resident`` what memory holds. ``waiting()`` returns
        the requests that wait, for whom further attempts are worth while: each is made by the
        proxy of another of them, as it may have been the proxy that failed.
        """
        delays = iter(self._retry_delays)
        attempt = 0
        while True:
            entry, lease = await self._turn(authority, resident)
            if lease is None and entry is not None:
                return entry
            try:
                outcome = await self._fetch(authority, page, confirmable(entry, self._policy))
                learnt = learn(entry, outcome, self._clock(), self._policy)
                delay = next(delays, None)
                if delay is None or not waiting() or not self._again(outcome, learnt, delay):
                    if not (isinstance(outcome, Unreachable) and outcome.ours):
                        self._shelf.keep(authority, learnt)
                    self._report(authority, outcome, learnt)
                    return learnt
            finally:
                self._shelf.release(authority, lease or NOT_SHARED)
            await pause(delay)
            attempt += 1
            pages = [other for other in waiting() if other is not None] or [page]
            page = pages[attempt % len(pages)]

    async def _turn(
        self, authority: Authority, resident: Entry | None
    ) -> tuple[Entry | None, str | None]:
        """Return what is known, and a lease if it is this process's turn to fetch."""
        while True:
            entry = await self._newest(authority, resident)
            if self._will_do(entry, resident):
                return entry, None
            lease = await self._shelf.lease(authority, self._timeout)
            if lease == NOT_SHARED:
                return entry, lease
            if lease is not None:
                # Whoever held it before may have put meanwhile.
                entry = await self._newest(authority, resident)
                if not self._will_do(entry, resident):
                    return entry, lease
                self._shelf.release(authority, lease)
                return entry, None
            if self._decision(entry) is not Decision.WAIT:
                return entry, None  # another process refreshes what may still be used
            await pause(_TURN)

    async def _newest(self, authority: Authority, resident: Entry | None) -> Entry | None:
        stored = await self._shelf.recall(authority)
        if stored is None or resident is None:
            return stored or resident
        return merge(resident, stored, self._clock())

    def _will_do(self, entry: Entry | None, resident: Entry | None) -> bool:
        """Return whether no fetch is due, or only one that can be made in the background."""
        answer = decide(entry, self._clock(), self._policy)
        return answer.fetch is Fetch.NO or (
            resident is None and answer.decision is not Decision.WAIT
        )

    def _decision(self, entry: Entry | None) -> Decision:
        return decide(entry, self._clock(), self._policy).decision

    def _again(self, outcome: Outcome, learnt: Entry, delay: float) -> bool:
        """Return whether another attempt, after ``delay``, is worth the waiting."""
        return (
            isinstance(outcome, Unreachable)
            and outcome.cause in _WORTH_RETRYING
            and (outcome.retry_after or 0.0) <= delay
            and self._decision(learnt) is not Decision.FOLLOW
        )

    def _report(self, authority: Authority, outcome: Outcome, learnt: Entry) -> None:
        failure = learnt.failure
        if failure is None:
            if isinstance(outcome, NotModified):
                self._stats.inc(names.REVALIDATED)
        elif isinstance(outcome, Unreachable):
            retry_in = retry_at(failure, self._policy) - self._clock()
            stale = self._decision(learnt) is Decision.FOLLOW
            self._stats.fetch_failed(authority, outcome, retry_in, stale)
