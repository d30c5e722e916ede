"""The clock of the package, moved by the test: one of the two things that may be faked."""

from __future__ import annotations

import time

import pytest


class Ahead:
    """The time at which it was made, plus seconds: only the test moves it."""

    def __init__(self) -> None:
        self._start = time.time()
        self.seconds = 0.0

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._start + self.seconds


def take_over(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """From here on the package goes by this clock."""
    clock = Ahead()
    monkeypatch.setattr("scrapy_rep.parts.time", clock)
    return clock
