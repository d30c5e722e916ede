"""One refresh of what is known of an authority: the store first, then a round of fetches.

Where several workers share a store, one of them makes all attempts of a round, and the pauses
between them, under one lease. The others read the outcome from the store, a failure as well as an
answer, so that an authority that is down is asked as often by a hundred workers as by one. A lease
lasts for :data:`LEASE_TERM` and is renewed while the round lasts. So a round may take a minute, but
a worker that is killed holds up the others for no longer than the term. If a lease never ends,
because the store or its holder is at fault, they wait for the term and one round, and then fetch
for themselves.

The crawler's own failures (of a proxy, or a fault) say nothing about the authority. They are not
stored, and the next worker tries.

The store may have failed at the first look-up, or another worker may have put something since. So
after a failed fetch the store is asked once more, and the last good copy that it keeps is followed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.utils.asyncio import create_looping_call

from scrapy_rep import stats as names
from scrapy_rep.access.entry import Answer, Entry, Requester, merge, without_proxied
from scrapy_rep.access.outcome import Cause, NotModified, Outcome, Unreachable
from scrapy_rep.access.policy import (
    Decision,
    Fetch,
    confirmable,
    learn,
    refresh_at,
    retry_at,
    standing,
)
from scrapy_rep.awaiting import sleep
from scrapy_rep.stores.base import NOT_SHARED

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.policy import Policy
    from scrapy_rep.sites.store_adapter import StoreAdapter
    from scrapy_rep.stats import RepStats

LEASE_TERM = 10.0
"""Seconds after which a lease that is not renewed ends; it is renewed every third of that."""

_POLL = (0.1, 0.5)
"""Seconds between two looks at the store while another worker fetches: at first, and at most."""

# The failures that the next attempt would repeat: a refused redirect will be refused again.
_NOT_WORTH_RETRYING = frozenset({Cause.REDIRECT, Cause.DROPPED, Cause.URL, Cause.CLOSING})


_ANYONE = Requester()


class Miss(NamedTuple):
    """What a look-up found of an authority that may not be used as it is.

    ``is_resident`` says that memory holds it, so that it is fetched anew even if the store has it;
    ``is_complete`` that there is nothing more in the store. ``requester`` is set if the entry is a
    refusal that does not hold for the request.
    """

    entry: Entry | None = None
    is_resident: bool = False
    is_complete: bool = False
    requester: Requester = _ANYONE


class Refresher:
    """Finds out what is to be known of an authority from now on.

    ``fetch(authority, request, copy)`` returns an outcome within ``timeout`` seconds. ``delays``
    are the seconds before further attempts while an authority is unreachable. If the server asks
    for more with ``Retry-After``, a delay is as long as that, up to ``timeout``. Beyond that a
    shorter delay is passed over. ``paused()`` is called when a refresh begins to pause between two
    attempts.
    """

    def __init__(
        self,
        store: StoreAdapter,
        policy: Policy,
        stats: RepStats,
        clock: Callable[[], float],
        fetch: Callable[[Authority, Any, Answer | None], Awaitable[Outcome]],
        timeout: float,
        delays: tuple[float, ...],
        paused: Callable[[], None],
    ):
        self.store = store
        self.policy = policy
        self.stats = stats
        self.clock = clock
        self._fetch = fetch
        self._delays = delays
        self.pauses = 0
        """How many refreshes pause between two attempts."""
        self._paused = paused
        self._timeout = timeout
        self._longest_round = timeout + sum(timeout + max(timeout, delay) for delay in delays)
        term = LEASE_TERM if self.store.has_store else 0.0
        self.longest = 2.0 * self._longest_round + term + 1.0
        """The seconds after which a refresh must be over, with some to spare.

        With a store, this worker may wait for the term of a lease and for a whole round of another
        worker before it makes its own.
        """

    async def refresh(
        self,
        authority: Authority,
        request: Any,
        miss: Miss,
        waiting: Callable[[], Sequence[Any]],
    ) -> Entry:
        """Return the newest entry there is, after a round of fetches if one is due.

        ``request`` is the request that asks, ``miss`` what was found without waiting. ``waiting()``
        returns the requests that wait; without any, no further attempt is made, unless the failure
        would close a site that is open meanwhile. Each attempt goes through the proxy of another of
        them, because the proxy may be what failed.
        """
        entry, lease = await self._acquire(authority, miss)
        if lease is None and entry is not None:
            return entry
        if lease is None or lease == NOT_SHARED:
            return await self._round(authority, request, entry, waiting)
        try:
            renewal = create_looping_call(self.store.renew, authority, lease, LEASE_TERM)
            renewal.start(LEASE_TERM / 3, now=False)
            try:
                return await self._round(authority, request, entry, waiting)
            finally:
                if renewal.running:  # otherwise a fault has ended it
                    renewal.stop()
        finally:  # after a fault of the renewal, too
            self.store.release(authority, lease)

    async def _round(
        self,
        authority: Authority,
        request: Any,
        entry: Entry | None,
        waiting: Callable[[], Sequence[Any]],
    ) -> Entry:
        """Fetch, again after each delay while that may help, and store what was learnt."""
        delays = iter(self._delays)
        attempt = 0
        while True:
            outcome = await self._fetch(authority, request, confirmable(entry, self.policy))
            if isinstance(outcome, Unreachable):
                entry = await self._newest(authority, entry)
            learnt = learn(entry, outcome, self.clock(), self.policy)
            delay = self._next_delay(delays, outcome, learnt)
            is_open = self._decision(entry) is Decision.ALLOW_ALL  # then nothing has to wait
            if delay is None or not (is_open or waiting()):
                if _is_for_others(outcome):
                    self.store.write_through(authority, _undated(learnt, entry))
                self._report(authority, outcome, learnt)
                return learnt
            self.pauses += 1
            self._paused()
            try:
                await sleep(delay)
            finally:
                self.pauses -= 1
            attempt += 1
            requests = [other for other in waiting() if other is not None] or [request]
            request = requests[attempt % len(requests)]

    async def _acquire(self, authority: Authority, miss: Miss) -> tuple[Entry | None, str | None]:
        """Return what is known, and a lease if this worker is to fetch.

        The lease is ``None`` if what is known will do, and :data:`NOT_SHARED` if this worker is to
        fetch without one.
        """
        known, refresh = miss.entry, miss.is_resident
        first = entry = known if miss.is_complete else await self._newest(authority, known)
        if self._suffices(entry, refresh, miss.requester):
            return entry, None
        wait, longest = _POLL
        end = monotonic() + LEASE_TERM + self._longest_round
        while True:
            lease = await self.store.lease(authority, LEASE_TERM)
            if lease == NOT_SHARED:
                return entry, lease
            if lease is None:
                if self._suffices(entry, False, miss.requester):
                    return entry, None  # another worker refreshes what may still be used
                if monotonic() > end:
                    return entry, NOT_SHARED
                await sleep(wait)
                wait = min(longest, 1.5 * wait)
            try:
                entry = await self._newest(authority, known)
            except BaseException:
                self.store.release(authority, lease)
                raise
            entry = self._redated(entry, first)
            if self._suffices(entry, refresh, miss.requester):  # another worker has put meanwhile
                self.store.release(authority, lease)
                return entry, None
            if lease is not None:
                return entry, lease

    async def _newest(self, authority: Authority, known: Entry | None) -> Entry | None:
        """Return ``known`` merged with what the store keeps."""
        stored = await self.store.get(authority)
        if stored is None or known is None:
            return stored or known
        merged = merge(known, stored, self.clock())
        mine, its = known.refusal, merged.refusal
        if mine is None or its is None or mine.fetched_at > its.fetched_at:
            return merged
        # The store does not know for whom a refusal holds. Workers with many User-Agents that took
        # each newer one would forget whom they have asked for, and ask without end.
        is_fresh = not mine.proxied and self.clock() < refresh_at(mine, self.policy)
        is_kept = is_fresh or mine.fetched_at == its.fetched_at
        return replace(merged, refusal=mine) if is_kept else merged

    def _redated(self, entry: Entry | None, first: Entry | None) -> Entry | None:
        """Return ``entry`` with a failure that came after ``first`` dated by this worker's clock.

        Whatever the clock of the worker that failed says, its round has only just ended.
        """
        if entry is None or entry.failure is None or self._suffices(entry, refresh=True):
            return entry
        if first is not None and first.failure == entry.failure:
            return entry
        return replace(entry, failure=replace(entry.failure, failed_at=self.clock()))

    def _suffices(self, entry: Entry | None, refresh: bool, requester: Requester = _ANYONE) -> bool:
        """Return whether ``entry`` is good enough without a fetch.

        It is if it holds for ``requester``, and no fetch is due or, unless this is a ``refresh``,
        only one in the background.
        """
        current = standing(entry, self.clock(), self.policy)
        if current.answer is not None and not current.answer.holds_for(requester):
            return False
        return current.fetch is Fetch.NO or (not refresh and current.decision is not Decision.WAIT)

    def _decision(self, entry: Entry | None) -> Decision:
        return standing(entry, self.clock(), self.policy).decision

    def _next_delay(self, delays: Iterator[float], outcome: Outcome, learnt: Entry) -> float | None:
        """Return the pause before another attempt, ``None`` if none is worth waiting for.

        A delay becomes as long as the server asks for, if a fetch may take that long. Otherwise
        those that are too short are passed over.
        """
        if not isinstance(outcome, Unreachable) or outcome.cause in _NOT_WORTH_RETRYING:
            return None
        if self._decision(learnt) is Decision.FOLLOW:
            return None
        least = outcome.retry_after or 0.0
        if least <= self._timeout:
            delay = next(delays, None)
            return None if delay is None else max(delay, least)
        return next((delay for delay in delays if delay >= least), None)

    def _report(self, authority: Authority, outcome: Outcome, learnt: Entry) -> None:
        if isinstance(outcome, NotModified):
            self.stats.inc(names.REVALIDATED)
        elif isinstance(outcome, Unreachable) and learnt.failure is not None:
            retry_in = retry_at(learnt.failure, self.policy) - self.clock()
            stale = self._decision(learnt) is Decision.FOLLOW
            self.stats.fetch_failed(authority, outcome, retry_in, stale)


def _undated(learnt: Entry, before: Entry | None) -> Entry:
    """Return what is to be stored of what was ``learnt``.

    A copy that the policy has dated anew, because it lay in the future by this worker's clock, is
    left out. The clock may be the one that is wrong, and the store has the true date. A refusal
    through a proxy is left out, too: a store does not know for whom it holds.
    """
    learnt, before = without_proxied(learnt), without_proxied(before or Entry())
    if learnt.failure is None and learnt.refusal is None:
        return learnt
    answer = learnt.answer if learnt.answer == before.answer else None
    if learnt.failure is not None and learnt.refusal != before.refusal:
        return Entry(answer, None, learnt.failure)
    return replace(learnt, answer=answer)


def _is_for_others(outcome: Outcome) -> bool:
    """Return whether an outcome is valid for other crawlers, too, so that it is stored."""
    if isinstance(outcome, Unreachable):
        return not outcome.ours
    return not (isinstance(outcome, Answer) and outcome.proxied)
