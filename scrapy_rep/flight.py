"""One inquiry under way, and those who wait for it."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy_rep.known import Known


class Flight:
    """Brings one answer to many; it belongs to none of them, so that none can take it along.

    ``started`` is a time of the monotonic clock.
    """

    __slots__ = ("brought", "started", "task", "waiters")

    def __init__(self) -> None:
        self.started = monotonic()
        self.waiters: list[Deferred[Known]] = []
        self.brought: Known | None = None
        self.task: Deferred[None] | None = None

    async def wait(self) -> Known:
        """Return what the flight brings; a cancelled waiter leaves the others alone."""
        if self.brought is not None:  # without asyncio a flight may land before it is joined
            return self.brought
        waiter: Deferred[Known] = Deferred()
        self.waiters.append(waiter)
        try:
            return await maybe_deferred_to_future(waiter)
        finally:
            if waiter in self.waiters:
                self.waiters.remove(waiter)

    def land(self, known: Known) -> None:
        """Give every waiter its answer."""
        self.brought = known
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            if not waiter.called:
                waiter.callback(known)
