"""How many more requests a downloader slot can send, those who are on their way to it included."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy_rep.engine import downloader_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_PATIENCE = 1.0
"""Seconds after which a request that was let go is no longer thought to be on its way."""

_MOST_SLOTS = 100
"""Slots to which requests may be on their way before those who have arrived are forgotten."""


class Departures:
    """The requests that were let go and have not arrived in their slots, by slot."""

    def __init__(self, crawler: Crawler):
        self._crawler = crawler
        self._on_their_way: dict[str, list[tuple[Request, float]]] = {}

    def add(self, key: str, request: Request) -> None:
        """A request sets off for the slot of that name."""
        self._on_their_way.setdefault(key, []).append((request, monotonic()))
        if len(self._on_their_way) > _MOST_SLOTS:
            for name in list(self._on_their_way):
                self.room(name)  # forgets those who have arrived

    def came_back(self, key: str, request: Request) -> None:
        """A request waits again, as its rules have expired meanwhile."""
        others = [(r, since) for r, since in self._on_their_way.pop(key, ()) if r is not request]
        if others:
            self._on_their_way[key] = others

    def clear(self) -> None:
        """Nobody waits any more."""
        self._on_their_way.clear()

    def room(self, key: str) -> int:
        """Return how many more requests the slot of that name can send at once."""
        downloader = downloader_of(self._crawler)
        slot = getattr(downloader, "slots", {}).get(key)
        active = getattr(slot, "active", ())
        # Who was let go is not in the slot yet, until it is, or ends or waits on the way.
        recent = monotonic() - _PATIENCE
        on_their_way = [
            (request, since)
            for request, since in self._on_their_way.pop(key, ())
            if since > recent and request in downloader.active and request not in active
        ]
        if on_their_way:
            self._on_their_way[key] = on_their_way
        # One more may queue there, so that the slot is not idle until the next look.
        return _concurrency(downloader, key, slot) + 1 - len(active) - len(on_their_way)


def _concurrency(downloader: Any, key: str, slot: Any) -> int:
    """Return how many requests a slot sends at once, be it there or not."""
    own = getattr(downloader, "per_slot_settings", {}).get(key, {}).get("concurrency")
    usual = own or getattr(downloader, "domain_concurrency", 0)
    return max(1, getattr(slot, "concurrency", 0) or usual)
