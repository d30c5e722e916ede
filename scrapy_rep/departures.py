"""How many more requests a downloader slot can send, those who are on their way to it included."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.scrapy_internals import ScrapyInternals

_PATIENCE = 1.0
"""Seconds after which a request that was let go is no longer thought to be on its way."""

_MOST_SLOTS = 100
"""Slots to which requests may be on their way before those who have arrived are forgotten."""


class Departures:
    """The requests that were let go and have not arrived in their slots, by slot."""

    def __init__(self, inside: ScrapyInternals):
        self._inside = inside
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
        requests = self._inside.capacity.requests
        arrived = self._inside.download_slots.requests(key)
        # Who was let go is not in the slot yet, until it is, or ends or waits on the way.
        recent = monotonic() - _PATIENCE
        on_their_way = [
            (request, since)
            for request, since in self._on_their_way.pop(key, ())
            if since > recent and request in requests and request not in arrived
        ]
        if on_their_way:
            self._on_their_way[key] = on_their_way
        # One more may queue there, so that the slot is not idle until the next look.
        return self._inside.download_slots.most_at_once(key) + 1 - len(arrived) - len(on_their_way)
