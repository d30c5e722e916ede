"""The requests of a queue of another class under the same key, which are moved into this queue.

Workers with that class may push more, so each worker looks for them whenever nothing is due. Only a
request that was removed there is added here, so several workers may move them at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from scrapy_rep.redis_queue.scripts import MOVE, Keys, octets

logger = logging.getLogger("scrapy_rep")

_MOST: Final = 100
"""The most requests that are moved at once."""


class OlderRequests:
    """The list or the sorted set of an older class, which is at ``keys.older``."""

    def __init__(self, server: Any, keys: Keys, place_in: Callable[[bytes], str]):
        """``place_in()`` returns the place of a request; "" if it cannot be read."""
        self._server = server
        self._keys = keys
        self._place_in = place_in
        self._script = server.register_script(MOVE)
        self._has_moved = False

    def count(self, kind: bytes) -> int:
        """Return how many requests there are in a key of this type."""
        count = {b"list": self._server.llen, b"zset": self._server.zcard}.get(kind)
        return 0 if count is None else int(count(self._keys.older))

    def move(self, kind: bytes) -> bool:
        """Move some of the requests in a key of this type; return whether there were any."""
        key = self._keys.older
        found: list[bytes] = []
        if kind == b"list":
            found = octets(self._server.lrange(key, -_MOST, -1))[::-1]
        elif kind == b"zset":
            found = octets(self._server.zrange(key, 0, _MOST - 1))
        if found:
            places = [self._place_in(data) for data in found]
            pairs = zip(found, places, strict=True)
            self._script(self._keys, [each for pair in pairs for each in pair])
            if not self._has_moved:
                self._has_moved = True
                logger.info(
                    "Requests of another queue class are moved from %s. Workers with that class do "
                    "not see the requests of this one",
                    key,
                )
        return bool(found)
