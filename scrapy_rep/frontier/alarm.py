"""One timer for the earliest of many times."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from scrapy.utils.asyncio import CallLaterResult, call_later


class Alarm:
    """Calls ``ring()`` once, at the earliest of the times for which it was set since."""

    def __init__(self, ring: Callable[[], None]):
        self._ring = ring
        self._timer: CallLaterResult | None = None
        self._when = 0.0

    def set(self, seconds: float) -> None:
        """Ring after so many seconds, if not before."""
        when = monotonic() + max(seconds, 0.0)
        if self._timer is not None:
            if self._when <= when:
                return
            self._timer.cancel()
        self._when = when
        self._timer = call_later(max(seconds, 0.0), self._time_has_come)

    def cancel(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def seconds_left(self) -> float | None:
        """The seconds until it rings; None if it is not set."""
        return None if self._timer is None else max(self._when - monotonic(), 0.0)

    def _time_has_come(self) -> None:
        self._timer = None
        self._ring()
