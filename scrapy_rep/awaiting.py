"""How coroutines of this package wait, under an asyncio reactor, another reactor, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic
from typing import Any, Generic, TypeVar

from scrapy import exceptions
from scrapy.utils.asyncio import CallLaterResult, call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet import error as twisted_error
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

T = TypeVar("T")

_STALL = 0.1
"""Seconds by which a timer is late if the event loop stood still.

What came meanwhile is still to be read. A callback that blocks the loop for 5 seconds would
otherwise make every site unreachable whose robots.txt is being fetched.
"""


# Errbacks check for Scrapy's exception, or with Scrapy 2.14, which has none, for Twisted's.
_TimeoutError: Any = getattr(exceptions, "DownloadTimeoutError", twisted_error.TimeoutError)


class DeadlineError(_TimeoutError):  # type: ignore[misc]
    """The time limit has passed."""


class CancelledElsewhereError(Exception):
    """Something else cancelled the work."""


class _Race(Generic[T]):
    """Some work against a time limit; ``done`` has the result of what ends first.

    The timer refers to this object, and is forgotten at the end. Otherwise each race would leave a
    cycle behind: with three of them for each new site, collecting that garbage took a fifth of the
    time of a first request.
    """

    __slots__ = ("_end", "_seconds", "_timer", "done")

    def __init__(self, seconds: float):
        self.done: Deferred[T] = Deferred()
        self._seconds = seconds
        self._end = monotonic() + seconds
        self._timer: CallLaterResult | None = call_later(seconds, self._late)

    def finish(self, result: T | Failure) -> None:
        """Note that the work has ended."""
        if self.done.called:
            return
        if not isinstance(result, Failure):
            self.done.callback(result)
        elif isinstance(result.value, (asyncio.CancelledError, CancelledError)):
            self.done.errback(CancelledElsewhereError("cancelled by another component"))
        else:
            self.done.errback(result)

    def close(self) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self, last: bool = False) -> None:
        late = monotonic() - self._end
        if late > _STALL and not last:
            self._timer = call_later(min(late, self._seconds), self._late, True)
        elif not self.done.called:
            self.done.errback(DeadlineError(f"not done within {self._seconds:g} s"))


async def with_timeout(seconds: float, work: Awaitable[T]) -> T:
    """Return what ``work`` returns; raise :class:`DeadlineError` after ``seconds``.

    If the event loop stood still at the end, the work gets that time again, once. Then it is
    cancelled; if it ignores that, it is left running. A cancellation from inside the work raises
    :class:`CancelledElsewhereError`, so that it is not taken for one of the caller.
    """
    race: _Race[T] = _Race(seconds)
    running = deferred_from_coro(work)
    running.addBoth(race.finish)
    try:
        return await maybe_deferred_to_future(race.done)
    finally:
        race.close()
        running.cancel()


async def sleep(seconds: float) -> None:
    """Return after ``seconds``."""
    done: Deferred[None] = Deferred()
    timer = call_later(seconds, done.callback, None)
    try:
        await maybe_deferred_to_future(done)
    finally:
        timer.cancel()


async def from_thread(future: Future[T]) -> T:
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
        # This import installs a reactor, so it is made only when one is running.
        from twisted.internet import reactor

        call = reactor.callFromThread

    def fire_soon(_: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed, so nothing waits for the result
            call(fire)

    future.add_done_callback(fire_soon)
    return await maybe_deferred_to_future(done)
