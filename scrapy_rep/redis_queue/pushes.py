"""The requests that a worker has to push, and their places in Redis."""

from __future__ import annotations

from collections import deque
from time import time
from typing import TYPE_CHECKING, Any, Final

from scrapy_rep.gate.gate import Gate
from scrapy_rep.redis_queue.next_step import MICRO
from scrapy_rep.redis_queue.scripts import PUSH, Keys

if TYPE_CHECKING:
    from scrapy import Request

MOST: Final = 100
"""The most requests that are pushed at once, after an outage."""


class Pushes:
    """The requests that have to be pushed, or were pushed without an answer.

    A batch is kept unchanged until it is answered, so that it takes effect once, however often it
    is sent. Its number is higher than all before it, and is the time when it was made, because
    Redis forgets old numbers.
    """

    def __init__(self, server: Any, keys: Keys):
        self._keys = keys
        self._script = server.register_script(PUSH)
        self._requests: deque[tuple[str, bytes]] = deque()
        self._batch: list[Any] = []
        """The arguments of a push whose answer has not come."""
        self._number = 0

    def __len__(self) -> int:
        return len(self._requests) + len(self._batch[2::2])

    def add(self, place: str, data: bytes) -> None:
        """Add a request with its place."""
        self._requests.append((place, data))

    def send(self, worker: str) -> None:
        """Push all of them."""
        while self:
            if not self._batch:
                self._number = max(self._number + 1, int(time() * MICRO))
                self._batch = [worker, self._number]
                for _ in range(min(len(self._requests), MOST)):
                    self._batch += self._requests.popleft()
            self._script(self._keys, self._batch)
            self._batch = []

    def clear(self) -> None:
        """Drop all requests."""
        self._requests.clear()
        self._batch = []


def place_of(request: Request) -> str:
    """Return the part of a member before the time of the push: the site's name and the priority."""
    name = name_of(Gate.key_of(request))
    rank = min(max(5_000_000_000 - request.priority, 0), 9_999_999_999)
    return f"{name}\0{rank:010}"


def name_of(key: str) -> str:
    """Return the name of a site from its key: a slot may hold characters that no name may."""
    return key.replace("\0", "").encode("utf-8", "replace").decode()
