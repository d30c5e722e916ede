"""How many robots.txt files are fetched at once.

A crawl that meets hundreds of sites at once fetches hundreds of robots.txt files. They are spread
out a little, and each takes a file descriptor, of which a process often has no more than 1,024. A
fetch that takes longer than a quarter of a second no longer counts, so that sites which never
answer do not hold up the others for long.

Measured with 300 silent sites ahead of 100 pages of other sites, from the first fetch of all, on a
busy machine: 1.6 and 2.1 seconds with 512 at once, 1.7 and 2.9 seconds with 256. The pages alone
took 1.0 to 1.5 seconds. With 64 at once, each counted for a second, it took 4.5 seconds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredSemaphore

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

COUNTED_FOR = 0.25
"""Seconds for which a fetch counts."""

_LEAST = 64
_MOST = 512

_SHARE = 4
"""The part of the file descriptors that fetches may take: one of so many."""


def most_at_once(concurrent_requests: int) -> int:
    """Return how many fetches may be under way at once, not counting those that take longer."""
    descriptors = -1 if resource is None else resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    share = descriptors // _SHARE if descriptors > 0 else _MOST  # RLIM_INFINITY is negative
    return max(_LEAST, concurrent_requests, min(_MOST, share))


class AtOnce:
    """Lets up to ``limit`` fetches run at once, and no longer counts one after ``seconds``."""

    def __init__(self, limit: int, seconds: float = COUNTED_FOR):
        self._semaphore = DeferredSemaphore(limit)
        self._seconds = seconds

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Wait until the fetch may run, first come, first served, and count it meanwhile."""
        granted: list[DeferredSemaphore] = []

        def release() -> None:
            if granted:
                granted.pop().release()

        try:
            # A caller may be cancelled after this was granted, and before it could begin.
            await maybe_deferred_to_future(self._semaphore.acquire().addCallback(granted.append))
        except BaseException:
            release()
            raise
        timer = call_later(self._seconds, release)
        try:
            yield
        finally:
            timer.cancel()
            release()
