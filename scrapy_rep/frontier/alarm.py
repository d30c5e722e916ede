"""One timer for many times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from time import monotonic
from typing import Any

from scrapy.utils.asyncio import CallLaterResult, call_later


class Alarm:
    """Calls ``ring()`` once, at the earliest of the times that it is set for."""

    def __init__(self, ring: Callable[[], None]):
        self._ring = ring
        self._timer: CallLaterResult | None = None
        self._when = 0.0

    def set(self, seconds: float) -> None:
        """Ring in ``seconds`` from now, unless it is set to ring earlier."""
        when = monotonic() + seconds
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


class Agenda:
    """Calls ``due(what)`` once for each thing, at the earliest of the times that it was set for.

    ``fail(error)`` is called if ``due`` raises: a timer would only log the error, and the times
    that remain would be missed. Things for which the same time may be set have to be comparable.
    """

    def __init__(self, due: Callable[[Any], None], fail: Callable[[Exception], None]):
        self._due = due
        self._fail = fail
        self._when: dict[Any, float] = {}
        self._times: list[tuple[float, Any]] = []
        self.alarm = Alarm(self._time_has_come)

    def set(self, what: Any, when: float) -> None:
        """Call ``due(what)`` at ``when``, by the monotonic clock, unless it is set for earlier."""
        if when < self._when.get(what, inf):
            self._when[what] = when
            heappush(self._times, (when, what))
            self.alarm.set(when - monotonic())

    def _time_has_come(self) -> None:
        try:
            now = monotonic()
            for _ in range(len(self._times)):
                if self._times[0][0] > now:
                    break
                when, what = heappop(self._times)
                if self._when.get(what) == when:
                    del self._when[what]
                    self._due(what)
            if self._times:
                self.alarm.set(self._times[0][0] - monotonic())
        except Exception as error:  # noqa: BLE001
            self._fail(error)
