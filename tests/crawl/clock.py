"""The clock of the package, moved by the test: one of the two things that may be faked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from scrapy.utils.asyncio import CallLaterResult, call_later

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


class Passing(Ahead):
    """The time for which a crawl sets a timer passes in a moment."""

    def call_later(self, seconds: float, do: Callable[[], None]) -> CallLaterResult:
        """Call a function when so many seconds have passed."""

        def passed() -> None:
            self.seconds += seconds
            do()

        return call_later(min(seconds, _MOMENT), passed)


def take_over(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """From here on the package goes by this clock."""
    clock = Ahead()
    monkeypatch.setattr("scrapy_rep.parts.time", clock)
    return clock


def pass_quickly(monkeypatch: pytest.MonkeyPatch) -> Passing:
    """From here on the package goes by a clock on which what sites wait for comes at once."""
    clock = Passing()
    monkeypatch.setattr("scrapy_rep.parts.time", clock)
    monkeypatch.setattr("scrapy_rep.frontier.frontier.call_later", clock.call_later)
    return clock
