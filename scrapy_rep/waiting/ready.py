"""The withheld requests that lack nothing any more, in the order in which they are handed out."""

from __future__ import annotations

from collections.abc import Container, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy import Request

_SlotTurn = tuple[int, int, str]


class Item(NamedTuple):
    """A withheld request. Items compare by priority, then as the base gave them out."""

    order: int
    number: int
    request: Request
    slot: str


class ReadyQueue:
    """The most urgent request first. Downloader slots take turns at requests of one priority."""

    def __init__(self) -> None:
        self._of_slot: dict[str, list[Item]] = {}
        self._turns: list[_SlotTurn] = []
        self._turn_of: dict[str, _SlotTurn] = {}
        self._numbers = count()

    def __bool__(self) -> bool:
        return bool(self._of_slot)

    def __iter__(self) -> Iterator[Item]:
        """Yield all items, in no order."""
        for items in self._of_slot.values():
            yield from items

    def push(self, item: Item) -> None:
        """Add a request."""
        items = self._of_slot.setdefault(item.slot, [])
        heappush(items, item)
        turn = self._turn_of.get(item.slot)
        if turn is None or item.order < turn[0]:
            self._queue(item.slot, next(self._numbers) if turn is None else turn[1])

    def first(self, but: Container[str] = ()) -> Item | None:
        """Return the request that is next, without those of some slots; None if there is none."""
        passed = []
        found = None
        while self._turns and found is None:
            turn = self._turns[0]
            if self._turn_of.get(turn[2]) is not turn:
                heappop(self._turns)
            elif turn[2] in but:
                passed.append(heappop(self._turns))
            else:
                found = self._of_slot[turn[2]][0]
        for turn in passed:
            heappush(self._turns, turn)
        return found

    def remove_first(self, slot: str) -> None:
        """Remove the first request of a slot; the other slots are next."""
        items = self._of_slot[slot]
        heappop(items)
        if items:
            self._queue(slot, next(self._numbers))
        else:
            del self._of_slot[slot], self._turn_of[slot]

    def _queue(self, slot: str, number: int) -> None:
        turn = self._turn_of[slot] = (self._of_slot[slot][0].order, number, slot)
        heappush(self._turns, turn)


def slot_of(request: Request) -> str:
    """Return the downloader slot of a request, as Scrapy names it."""
    slot: Any = request.meta.get("download_slot")
    if slot is not None:
        return str(slot)
    try:
        return urlsplit(request.url).hostname or ""
    except ValueError:
        return ""
