"""SIGINT while lines are read and written, with a crawl and without."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class Interrupts:
    """A context in which SIGINT only sets :attr:`seen`, so that no line is cut in two."""

    def __init__(self) -> None:
        self.seen = False
        self._raises = False

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Let SIGINT raise KeyboardInterrupt in this context, as a read may never return."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._raises or self.seen:  # a second SIGINT does not wait for a full pipe
            raise KeyboardInterrupt
        self.seen = True


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Return what ``work`` will return in a thread that does not hold up the end of the process."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is handed on
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, daemon=True).start()
    return future
