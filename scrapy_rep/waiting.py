"""How coroutines of this package wait, under an asyncio reactor, another reactor, or none.

And what waiting costs the crawl: nothing. A request that waits for a robots.txt, and a fetch of
one, stay among the downloader's active requests, so that the spider is not taken for idle; but
for as long as they do, the downloader may have one more of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from scrapy_rep import stats as names

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.stats import RepStats

T = TypeVar("T")


class DeadlineError(Exception):
    """The time given is over."""


class AbandonedError(Exception):
    """Something else cancelled the work."""


async def within(seconds: float, work: Coroutine[object, object, T]) -> T:
    """Return what ``work`` returns; raise :class:`DeadlineError` when ``seconds`` are over.

    The work is then cancelled and, should it not heed that, left alone. A cancellation from
    within it raises :class:`AbandonedError`, so that it is not taken for one of the caller.
    """
    done: Deferred[T] = Deferred()
    running = deferred_from_coro(work)

    def give_up() -> None:
        if not done.called:
            done.errback(DeadlineError(f"not done within {seconds:g} s"))

    def finish(result: T | Failure) -> None:
        if done.called:
            return
        if not isinstance(result, Failure):
            done.callback(result)
        elif isinstance(result.value, (asyncio.CancelledError, CancelledError)):
            done.errback(AbandonedError("cancelled by another component"))
        else:
            done.errback(result)

    running.addBoth(finish)
    timer = call_later(seconds, give_up)
    try:
        return await maybe_deferred_to_future(done)
    finally:
        timer.cancel()
        running.cancel()


async def pause(seconds: float) -> None:
    """Return after ``seconds``."""
    done: Deferred[None] = Deferred()
    timer = call_later(seconds, done.callback, None)
    try:
        await maybe_deferred_to_future(done)
    finally:
        timer.cancel()


async def settled(future: Future[T]) -> T:
    """Return the result of a future that another thread completes, or raise what it raises.

    A future that is cancelled raises :class:`concurrent.futures.CancelledError`.
    """
    done: Deferred[T] = Deferred()

    def fire() -> None:
        if done.called:
            return
        try:
            result = future.result()
        except Exception as error:  # noqa: BLE001  # it is handed on
            done.errback(error)
        else:
            done.callback(result)

    if is_asyncio_available():
        call = asyncio.get_running_loop().call_soon_threadsafe
    else:
        # Importing a reactor installs one, so that it must wait until one is running.
        from twisted.internet import reactor

        call = reactor.callFromThread
    future.add_done_callback(lambda _: call(fire))
    return await maybe_deferred_to_future(done)


class Parking:
    """Room beside ``CONCURRENT_REQUESTS`` for at most ``limit`` requests that wait."""

    def __init__(self, crawler: Crawler, limit: int, stats: RepStats):
        self._crawler = crawler
        self._limit = limit
        self._stats = stats
        self._parked = 0
        self.waiting = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place for a request that waits; past the limit it takes an ordinary one."""
        self.waiting += 1
        try:
            if self._parked >= self._limit:
                yield
                return
            self._parked += 1
            self._stats.inc(names.PARKED)
            self._stats.max(names.PARKED_MAX, self._parked)
            try:
                with self.lane():
                    self._pull()
                    yield
            finally:
                self._parked -= 1
        finally:
            self.waiting -= 1

    @contextmanager
    def lane(self) -> Iterator[None]:
        """Let the downloader have one more active request for as long as this lasts.

        For a request that is active already, and is not to count.
        """
        downloader: Any = getattr(self._crawler.engine, "downloader", None)
        # 0 means no limit; a downloader of the user's own may not know the attribute.
        if not getattr(downloader, "total_concurrency", 0):
            yield
            return
        downloader.total_concurrency += 1
        try:
            yield
        finally:
            downloader.total_concurrency -= 1

    def _pull(self) -> None:
        # The engine looks for requests when one ends; here is room although none did.
        slot = getattr(self._crawler.engine, "_slot", None)
        if slot is not None and slot.closing is None:
            slot.nextcall.schedule()
