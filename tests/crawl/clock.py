"""The clock of the package, moved by the test: one of the two things that may be faked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scrapy_rep.frontier.alarm import Agenda

DAY = 86_400.0

_MOMENT = 0.02


class Ahead:
    """The time at which it was made, plus seconds: only the test moves it."""

    def __init__(self) -> None:
        self._start = time.time()
        self.seconds = 0.0

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._start + self.seconds

    def through(self, times: Sequence[float]) -> Callable[[int], None]:
        """A `tick` of a spider: it is each of these times for one request after another."""

        def tick(ended: int) -> None:
            if ended < len(times):
                self.seconds = times[ended]

        tick(0)
        return tick


def take_over(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """From here on the package goes by this clock."""
    clock = Ahead()
    monkeypatch.setattr("scrapy_rep.parts.time", clock)
    monkeypatch.setattr("scrapy_rep.extensions.time", clock)
    return clock


def pass_quickly(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """From here on the package goes by a clock on which all that the frontier waits for is near."""
    clock = take_over(monkeypatch)

    class QuickAgenda(Agenda):
        """The first time for which it is set passes in a moment."""

        def set(self, what: Any, when: float) -> None:
            now = time.monotonic()
            if self.alarm.seconds_left is None:
                self._passes = when - now + 0.001  # the call took a moment
            super().set(what, min(when, now + _MOMENT))

        def _time_has_come(self) -> None:
            clock.seconds += self._passes
            super()._time_has_come()

    monkeypatch.setattr("scrapy_rep.frontier.frontier.Agenda", QuickAgenda)
    return clock
