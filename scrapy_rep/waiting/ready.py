"""The withheld requests that lack nothing any more, in the order in which they are handed out.

A downloader slot that has as many requests as it may send at once gets no more of them. Otherwise
the slot queues what it gets, and under asyncio Scrapy sends all that a slot has queued as soon as
one of its requests ends: it counts a request only when its download has begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.waiting.trips import Trips


class Item(NamedTuple):
    """A withheld request. Items compare by priority, then as the base gave them out."""

    order: int
    number: int
    request: Request
    slot: str


class ReadyQueue:
    """The most urgent request first. Downloader slots alternate among requests of one priority."""

    def __init__(self) -> None:
        # A heap for each slot; the slot that has waited longest comes first.
        self._of_slot: dict[str, list[Item]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_slot)

    def __iter__(self) -> Iterator[Item]:
        """Yield all items, in no order."""
        for items in self._of_slot.values():
            yield from items

    def push(self, item: Item) -> None:
        """Add a request."""
        heappush(self._of_slot.setdefault(item.slot, []), item)

    def first(self, but: Container[str] = ()) -> Item | None:
        """Return the request that is next, without those of some slots; None if there is none."""
        firsts = [items[0] for slot, items in self._of_slot.items() if slot not in but]
        return min(firsts, key=attrgetter("order"), default=None)

    def remove_first(self, slot: str) -> None:
        """Remove the first request of a slot; the other slots are next."""
        items = self._of_slot[slot]
        heappop(items)
        del self._of_slot[slot]
        if items:
            self._of_slot[slot] = items


def slot_of(request: Request) -> str:
    """Return the downloader slot of a request, as Scrapy names it."""
    slot: Any = request.meta.get("download_slot")
    if slot is not None:
        return str(slot)
    try:
        return urlsplit(request.url).hostname or ""
    except ValueError:
        return ""


class Slots:
    """How many requests each downloader slot has, and may send at once."""

    def __init__(self, settings: BaseSettings, scrapy: ScrapyNames, trips: Trips):
        self._scrapy = scrapy
        self._trips = trips
        self._of_some = settings.getdict("DOWNLOAD_SLOTS")
        of_ip = settings.getint("CONCURRENT_REQUESTS_PER_IP")
        self._of_each = of_ip or settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._just_out: set[Request] = set()

    def hand_out(self, request: Request) -> None:
        """Count a request until it has had the time to reach the last step."""
        if not self._just_out:
            call_later(0.0, self._just_out.clear)
        self._just_out.add(request)

    def crowded(self) -> frozenset[str]:
        """Return the slots that have as many requests as they may send at once.

        What another middleware holds up, before the last step or after it, does not count.
        """
        of_slot: Counter[str] = Counter()
        for request in self._scrapy.active:
            trip = self._trips.get(request)
            if request in self._just_out or (trip is not None and trip.is_sent):
                of_slot[slot_of(request)] += 1
        return frozenset(s for s, number in of_slot.items() if 0 < self._most(s) <= number)

    def _most(self, slot: str) -> int:
        """Return how many requests a slot sends at once; 0 if there is no limit."""
        most: int = self._of_some.get(slot, {}).get("concurrency", self._of_each)
        return most
