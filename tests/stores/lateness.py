"""How late the machine itself is, so that bounds on time can allow for it."""

from __future__ import annotations

import threading
import time


class Lateness:
    """How much later than it asked to be a thread was woken, at worst: the machine's own share."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._measure)

    @property
    def slack(self) -> float:
        """What three threads, each woken by the one before, may be late in all, in seconds."""
        return 3 * self.worst

    def __enter__(self) -> Lateness:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _measure(self) -> None:
        before = time.monotonic()
        while not self._done.wait(0.005):
            now = time.monotonic()
            self.worst = max(self.worst, now - before - 0.005)
            before = now
