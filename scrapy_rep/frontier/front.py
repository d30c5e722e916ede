"""Requests that were read ahead from a scheduler that cannot be asked for those of one site."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request


class Front:
    """Requests by site. Within a site their order is that of the base, and by priority."""

    def __init__(self) -> None:
        self.requests: dict[Request, None] = {}
        """All of them, heads included, as the base gave them out."""
        self._numbers = count()
        self._of_site: dict[str, list[tuple[int, int, Request]]] = {}

    def push(self, key: str, request: Request) -> None:
        """Add a request that is among :attr:`requests`."""
        item = -request.priority, next(self._numbers), request
        heappush(self._of_site.setdefault(key, []), item)

    def take(self, key: str) -> Request | None:
        """Return the next request of a site."""
        items = self._of_site.get(key)
        if not items:
            return None
        request = heappop(items)[2]
        if not items:
            del self._of_site[key]
        return request

    def top(self, key: str) -> int | None:
        """Return the priority of the next request of a site, None if there is none."""
        items = self._of_site.get(key)
        return -items[0][0] if items else None
