"""One call in the future, at the earliest of several times."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from scrapy.utils.asyncio import CallLaterResult, call_later


class Alarm:
    """Calls ``ring()`` at the earliest time that was set.

    ``ring`` has to set ``is_set`` to ``False`` itself: the timer calls it directly.
    """

    def __init__(self, ring: Callable[[], None]):
        self._ring = ring
        self._when = 0.0
        self._call: CallLaterResult | None = None
        self.is_set = False

    def set(self, seconds: float) -> None:
        """Ring in so many seconds, unless it is set to ring earlier."""
        when = monotonic() + seconds
        if self.is_set and self._when <= when:
            return
        self.cancel()
        self._when = when
        self._call = call_later(seconds, self._ring)
        self.is_set = True

    def cancel(self) -> None:
        """Cancel the call."""
        if self.is_set and self._call is not None:
            self._call.cancel()
        self.is_set = False
