"""One inquiry under way, and the requests that wait for it."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.awaiting import DeadlineError

if TYPE_CHECKING:
    from scrapy_rep.caching.cached_rules import Known


class Flight:
    """Brings one answer to many requests. It belongs to none, so that cancelling one ends nothing.

    ``started`` is a time of the monotonic clock; ``waiters`` holds a Deferred for each request that
    waits, and the request.
    """

    __slots__ = ("brought", "started", "task", "waiters")

    def __init__(self) -> None:
        self.started = monotonic()
        self.waiters: dict[Deferred[Known], Any] = {}
        self.brought: Known | None = None
        self.task: Deferred[None] | None = None

    async def wait(self, patience: float, page: Any) -> Known:
        """Return what the flight brings for ``page``; if it is cancelled, the others wait on.

        Raises :class:`DeadlineError` after ``patience`` seconds, so that a flight that was lost,
        by whatever fault, holds up no request for ever.
        """
        if self.brought is not None:  # without asyncio a flight may land before it is joined
            return self.brought
        waiter: Deferred[Known] = Deferred()
        timer = call_later(patience, _lose_patience, waiter)
        try:
            self.waiters[waiter] = page
            return await maybe_deferred_to_future(waiter)
        finally:
            timer.cancel()
            self.waiters.pop(waiter, None)

    def land(self, known: Known) -> None:
        """Give every waiter its answer."""
        self.brought = known
        waiters, self.waiters = self.waiters, {}
        for waiter in waiters:
            if not waiter.called:
                waiter.callback(known)


def _lose_patience(waiter: Deferred[Known]) -> None:
    if not waiter.called:
        waiter.errback(DeadlineError("no answer, although the time for all attempts is over"))
