"""The turns of a store, awaited under any reactor."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

from scrapy_rep.caching.merging import in_time
from scrapy_rep.stores import StoreError, Turn

if TYPE_CHECKING:
    from scrapy_rep.stores import Store


class StoreTurns:
    """The turns of ``store``; each method raises what the store raises."""

    def __init__(self, store: Store):
        self.renew = store.renew_turn
        self.end = store.end_turn
        self.cancel = store.cancel_turn
        self._take = store.take_turn

    async def take(self, host: str, seconds: float, interval: float) -> Turn:
        """Return a turn, or how long to wait."""
        answer = self._take(host, seconds, interval)
        turn = await in_time(answer) if isinstance(answer, Future) else answer
        if not isinstance(turn, Turn):
            raise StoreError(f"it returned {type(turn).__name__} where a Turn was expected")
        return turn
