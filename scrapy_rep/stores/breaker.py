"""A server that fails again and again is left alone for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Breaker:
    """Opens after so many failures in a row, for so many seconds; then one attempt decides."""

    def __init__(
        self,
        failures: int = 3,
        seconds: float = 30.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed = failures
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._closed_at = 0.0
        self._lock = threading.Lock()

    @property
    def open(self) -> bool:
        """Whether nothing is to be attempted now."""
        return self._failures >= self._allowed and self._clock() < self._closed_at

    def admits(self) -> bool:
        """Whether an attempt may be made now; after a pause, only the first of many may."""
        if self._failures < self._allowed:
            return True
        with self._lock:
            now = self._clock()
            if now < self._closed_at:
                return False
            self._closed_at = now + self._seconds
            return True

    def failed(self) -> None:
        """An attempt failed."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._allowed:
                self._closed_at = self._clock() + self._seconds

    def succeeded(self) -> None:
        """An attempt succeeded: all is well."""
        if self._failures:
            with self._lock:
                self._failures = 0
