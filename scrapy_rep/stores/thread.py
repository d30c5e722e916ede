"""A thread that makes the blocking calls of a store, so that the crawl need not wait for them.

- Calls are answered in the order in which they came. So another worker sees what the holder of a
  lease has put before it sees the lease end.
- All calls that wait are answered together, up to :attr:`StoreThread.together` of them.
- A call may take some seconds. The crawl may give up its answer earlier
  (:mod:`scrapy_rep.sites.outage`), but the call goes on. So the connection to a distant server,
  which takes four round trips, is made in the end, and the next call finds it.
- The timeout of a socket does not help against a server that sends a byte now and then. So what has
  taken longer than :data:`CUT_AFTER` is cut when the next call comes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from math import inf
from typing import Any, ClassVar

from scrapy_rep.stores.stored import StoreError, store_error

QUEUE_LIMIT = 10_000
"""Calls that may wait. It bounds the memory that a store takes while it hangs."""

CUT_AFTER = 5.0
"""Seconds after which calls that are not answered are cut."""


class StoreThread:
    """Answers calls: functions, unless a subclass defines what a call is.

    :meth:`ask`, :meth:`wait_until_idle`, :meth:`close` and :meth:`cut` may be called from any
    thread.
    """

    together: ClassVar[int] = 1
    """How many calls are answered together, at most."""

    again: float | None = None
    """Seconds after which :meth:`answer` is called even if no call waits; None for never."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Any, Future[Any]]] = deque()
        self._under_way: list[tuple[Any, Future[Any]]] = []
        self._began = inf
        self._closed = False
        self._change = threading.Condition()
        # A daemon, so that a call that hangs does not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="robots.txt store", daemon=True)

    def answer(self, calls: list[Any]) -> list[Any]:
        """Return the answer to each call, or the error that it failed with; raise nothing."""
        return [answer_of(call) for call in calls]

    def cut(self) -> None:
        """Let what hangs fail, if there is a way to do so."""

    def end(self) -> None:
        """Close what the thread has opened, before it ends."""

    def ask(self, call: Any) -> Future[Any]:
        """Queue a call; return a Future of its answer. Raises ``StoreError`` if too many wait."""
        future: Future[Any] = Future()
        with self._change:
            if self._closed:
                raise StoreError("the store is closed")
            if len(self._waiting) >= QUEUE_LIMIT:
                raise StoreError(f"{QUEUE_LIMIT} calls wait for the store")
            if self._thread.ident is None:  # a crawl that does not start leaves no thread
                self._thread.start()
            self._waiting.append((call, future))
            self._change.notify_all()
            now = time.monotonic()
            hangs = now > self._began + CUT_AFTER
            if hangs:
                self._began = now
        if hangs:
            self.cut()
        return future

    def wait_until_idle(self, timeout: float) -> bool:
        """Wait until all calls are answered. Return False if that took too long."""
        with self._change:
            return self._change.wait_for(lambda: not self._waiting and not self._under_way, timeout)

    def close(self, timeout: float) -> None:
        """Answer what waits, if that ends within ``timeout`` seconds, and end the thread."""
        if self._closed:
            return
        self.wait_until_idle(timeout)
        with self._change:
            self._closed = True
            left = [*self._under_way, *self._waiting]
            self._waiting.clear()
            self._change.notify_all()
        for _, future in left:
            with suppress(InvalidStateError):  # it was cancelled, or has just been answered
                future.set_exception(StoreError("the store was closed"))
        if left:
            self.cut()
        if self._thread.ident is not None:
            self._thread.join(min(timeout, 1.0))

    def _run(self) -> None:
        while self._take():
            answers = self.answer([call for call, _ in self._under_way])
            for (_, future), answer in zip(self._under_way, answers, strict=True):
                with suppress(InvalidStateError):  # the store was closed meanwhile
                    if isinstance(answer, Exception):
                        future.set_exception(store_error(answer))
                    else:
                        future.set_result(answer)
            with self._change:  # after all that waits for these calls has heard of it
                self._under_way, self._began = [], inf
                self._change.notify_all()
        self.end()

    def _take(self) -> bool:
        """Wait for calls and take them, except for cancelled ones. Return False at the end."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._closed, self.again)
            count = min(self.together, len(self._waiting))
            taken = [self._waiting.popleft() for _ in range(count)]
            self._under_way = [one for one in taken if one[1].set_running_or_notify_cancel()]
            self._began = time.monotonic()
            return not self._closed


def answer_of(call: Callable[..., Any], *args: Any) -> Any:
    """Return what a call returns, or a ``StoreError`` if it raises: that ends no thread."""
    try:
        return call(*args)
    except BaseException as error:  # noqa: BLE001
        return store_error(error)
