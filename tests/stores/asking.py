"""A store, asked as a crawl asks it: by the policy for outages."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_rep.access.entry import Entry
from scrapy_rep.awaiting import sleep
from scrapy_rep.sites.outage import GET, LEASE, Outage
from scrapy_rep.stats import RepStats
from scrapy_rep.stores import Store, StoreError
from tests.scripted import Counts
from tests.stores.samples import authority


class Asker:
    """Asks a store. A question that fails is a miss, and says why in one line."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.outage = Outage(store.answer_timeout, RepStats(Counts()), clock)

    def get(self, number: int = 0) -> Deferred[tuple[Entry | None, float]]:
        """What is kept of an authority, and the seconds that the answer took."""
        return deferred_from_coro(self._ask(GET, (Entry, type(None)), self.store.get, number))

    def lease(self) -> Deferred[tuple[str | None, float]]:
        """A lease, and the seconds that it took."""
        return deferred_from_coro(self._ask(LEASE, (str,), self.store.lease, 0, 15.0))

    async def _ask(
        self, question: str, kinds: Any, ask: Callable[..., Any], number: int, *args: Any
    ) -> tuple[Any, float]:
        start = time.monotonic()
        try:
            found = await self.outage.ask(question, kinds, ask, authority(number), *args)
        except StoreError as error:
            if not str(error).isprintable():
                raise
            found = None
        return found, time.monotonic() - start


def nap(seconds: float) -> Deferred[None]:
    """Wait without holding up the event loop."""
    return deferred_from_coro(sleep(seconds))
