"""One refresh under way, and the requests that wait for it."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.awaiting import DeadlineError

if TYPE_CHECKING:
    from scrapy_rep.sites.cached_rules import CachedRules


class SingleFlight:
    """Brings one result to many requests. It belongs to none, so cancelling one ends nothing.

    ``started`` is a time of the monotonic clock. ``waiters`` maps a Deferred for each request that
    waits to that request. ``result`` is ``None`` until there is one.
    """

    __slots__ = ("result", "started", "task", "waiters")

    def __init__(self) -> None:
        self.started = monotonic()
        self.waiters: dict[Deferred[CachedRules], Any] = {}
        self.result: CachedRules | None = None
        self.task: Deferred[None] | None = None

    async def wait(self, seconds: float, page: Any) -> CachedRules:
        """Return the result for the request ``page``.

        Raises :class:`DeadlineError` after ``seconds``, so that a flight that is lost by some fault
        does not hold up a request for ever.
        """
        if self.result is not None:  # without asyncio a flight may end before it is joined
            return self.result
        waiter: Deferred[CachedRules] = Deferred()
        timer = call_later(seconds, _give_up, waiter)
        try:
            self.waiters[waiter] = page
            return await maybe_deferred_to_future(waiter)
        finally:
            timer.cancel()
            self.waiters.pop(waiter, None)

    def resolve(self, result: CachedRules) -> None:
        """Give every waiter the result."""
        self.result = result
        waiters, self.waiters = self.waiters, {}
        for waiter in waiters:
            if not waiter.called:
                waiter.callback(result)


def _give_up(waiter: Deferred[CachedRules]) -> None:
    if not waiter.called:
        waiter.errback(DeadlineError("no answer, although the time for all attempts is over"))
