"""The turns of a store, awaited under any reactor."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

from scrapy_rep.stores.error import LoggedError, StoreError
from scrapy_rep.stores.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy_rep.stores import Store


class StoreTurns:
    """The turns of ``store``, each awaited by ``in_time``; raises what the store raises."""

    def __init__(self, store: Store, in_time: Callable[[Future[Turn]], Awaitable[Turn]]):
        self._in_time = in_time
        self.renew = store.renew_turn
        self.end = store.end_turn
        self.cancel = store.cancel_turn
        self._take = store.take_turn

    def is_logged(self, error: Exception) -> bool:
        """Return whether the store itself logs when such failures begin and end."""
        return isinstance(error, LoggedError)

    async def take(self, host: str, seconds: float, interval: float, token: str) -> Turn:
        """Return a turn with ``token``, or how long to wait."""
        answer = self._take(host, seconds, interval, token)
        turn = await self._in_time(answer) if isinstance(answer, Future) else answer
        if not isinstance(turn, Turn):
            raise StoreError(f"it returned {type(turn).__name__} where a Turn was expected")
        return turn
