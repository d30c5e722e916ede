"""A circuit breaker: a server or a file that keeps failing is left alone for a while.

After a few failures in a row the breaker opens and refuses all attempts at once. After a pause it
lets one attempt through. If that fails, the next pause begins; if it succeeds, the breaker closes.
With a short first pause, as for Redis, a restart or a failover costs a second. The pauses double,
so that a server that hangs costs two slow look-ups a minute, not one for each request.

The breaker also counts the look-ups that failed or were refused during an outage, for the line in
the log when it is over. It writes no log itself: :meth:`CircuitBreaker.failed` and
:meth:`CircuitBreaker.succeeded` tell their caller when there is something to say. That is when the
breaker opens, or at the very first failure of what has never succeeded: a short crawl may make no
further attempt.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Opens after ``failures`` failures in a row, for ``pause`` seconds.

    If ``first`` is given, the first pause takes that long, and each further one twice as long as
    the one before, up to ``pause``.
    """

    def __init__(
        self,
        failures: int = 3,
        pause: float = 30.0,
        first: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed = failures
        self._longest = pause
        self._first = pause if first is None else first
        self._clock = clock
        self._failures = 0
        self._lost = 0
        self._pause = self._first
        self._until = 0.0
        self._is_open = False
        self._has_succeeded = False
        self._is_said = False
        self._lock = threading.Lock()

    @property
    def open(self) -> bool:
        """True while nothing is to be attempted."""
        return self._is_open and self._clock() < self._until

    def admits(self, lookups: int = 1) -> bool:
        """Return True if an attempt may be made now. After a pause, only the first one may.

        ``lookups`` are counted as failed if it may not.
        """
        if not self._is_open:
            return True
        with self._lock:
            now = self._clock()
            if self._is_open and now < self._until:
                self._lost += lookups
                return False
            self._pause = min(2 * self._pause, self._longest)
            self._until = now + self._pause
            return True

    def failed(self, lookups: int = 0) -> bool:
        """Record an attempt that failed ``lookups`` look-ups.

        Return True if the log is to say that an outage begins, once for each.
        """
        with self._lock:
            self._failures += 1
            self._lost += lookups
            if self._is_open:
                # The pause after an attempt begins when the attempt ends.
                self._until = max(self._until, self._clock() + self._pause)
            elif self._failures >= self._allowed:
                self._is_open = True
                self._pause = self._first
                self._until = self._clock() + self._pause
            begins = not self._is_said and (self._is_open or not self._has_succeeded)
            self._is_said = self._is_said or begins
            return begins

    def succeeded(self) -> int | None:
        """Record a success, which closes the breaker.

        Return how many look-ups failed in the outage that this ends, None if :meth:`failed` did not
        have the log say that one began.
        """
        self._has_succeeded = True
        if not self._failures:
            return None
        with self._lock:
            ended = self._lost if self._is_said else None
            self._failures = self._lost = 0
            self._is_open = self._is_said = False
            return ended
