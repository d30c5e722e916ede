"""A monotonic clock and timers that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(eq=False)
class Timer:
    """A call that is still to come."""

    when: float
    call: Callable[[], Any]
    is_cancelled: bool = False

    def cancel(self) -> None:
        """Do not make the call."""
        self.is_cancelled = True


class VirtualTime:
    """The time, and what is to be called when it comes."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._timers: list[Timer] = []

    def __call__(self) -> float:
        """The monotonic clock."""
        return self.now

    def call_later(self, delay: float, function: Callable[..., Any], *args: Any) -> Timer:
        """Call a function later."""
        assert delay >= 0.0
        timer = Timer(self.now + delay, lambda: function(*args))
        self._timers.append(timer)
        return timer

    @property
    def timers(self) -> list[float]:
        """In how many seconds something is called."""
        return sorted(timer.when - self.now for timer in self._timers if not timer.is_cancelled)

    def advance(self, seconds: float = 0.0) -> None:
        """Let time pass, and make the calls whose time comes."""
        end = self.now + seconds
        while True:
            due = [each for each in self._timers if each.when <= end and not each.is_cancelled]
            if not due:
                break
            timer = min(due, key=lambda each: each.when)
            self._timers.remove(timer)
            self.now = max(self.now, timer.when)
            timer.call()
        self.now = end

    @classmethod
    def of(cls, monkeypatch: pytest.MonkeyPatch, *modules: str) -> VirtualTime:
        """The time of these modules of the frontier."""
        time = cls()
        for module in ("alarm", *modules):
            name = f"scrapy_rep.frontier.{module}"
            monkeypatch.setattr(f"{name}.monotonic", time, raising=False)
            monkeypatch.setattr(f"{name}.call_later", time.call_later, raising=False)
        return time
