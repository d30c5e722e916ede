"""How coroutines of this package wait, under an asyncio reactor, another reactor, or none."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from scrapy.utils.asyncio import CallLaterResult, call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

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


@contextmanager
def repeated(seconds: float, call: Callable[[], object]) -> Iterator[None]:
    """Call ``call``, which must not raise, every ``seconds`` until the context ends."""
    timer: CallLaterResult

    def fire() -> None:
        nonlocal timer
        timer = call_later(seconds, fire)
        call()

    timer = call_later(seconds, fire)
    try:
        yield
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


class Turns:
    """Up to ``most`` turns at once. A turn that takes over ``patience`` seconds no longer counts.

    So a burst is spread out, and turns that hang do not hold up the others for long.
    """

    def __init__(self, most: int, patience: float):
        self._most = most
        self._patience = patience
        self._taken = 0
        self._queue: deque[Deferred[None]] = deque()

    @property
    def crowded(self) -> bool:
        """Whether as many wait for a turn as may have one."""
        return len(self._queue) >= self._most

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, first come first served, and hold it."""
        if self._taken < self._most:
            self._taken += 1
        else:
            await self._handed_on()
        free = _once(self._free)
        timer = call_later(self._patience, free)
        try:
            yield
        finally:
            timer.cancel()
            free()

    async def _handed_on(self) -> None:
        turn: Deferred[None] = Deferred()
        self._queue.append(turn)
        handed: list[bool] = []
        turn.addCallback(lambda _: handed.append(True))
        try:
            await maybe_deferred_to_future(turn)
        except BaseException:
            if handed:  # cancelled after the turn came, and before it could be used
                self._free()
            raise

    def _free(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.called:
                turn.callback(None)
                return
        self._taken -= 1


def _once(call: Callable[[], None]) -> Callable[[], None]:
    """Return what does ``call`` the first time, and nothing from then on."""
    calls = [call]

    def first() -> None:
        if calls:
            calls.pop()()

    return first
