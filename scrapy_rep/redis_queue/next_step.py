"""What a worker says in its next step."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

MICRO: Final = 1_000_000
"""Microseconds in a second: all times that are sent to Redis are in microseconds."""


class NextStep:
    """What is done, given back and advised, and not yet sent."""

    def __init__(self) -> None:
        self.done: list[bytes] = []
        self.back: list[bytes] = []
        self._advice: dict[str, tuple[float, float | None]] = {}

    def not_before(self, name: str, seconds: float, interval: float | None) -> None:
        """Advise not to ask a site for some seconds from now; say its interval if it is known.

        Advice without an interval never lets a site with a pace be asked earlier.
        """
        when = monotonic() + seconds
        if interval is None and name in self._advice:
            last, interval = self._advice[name]
            when = max(when, last) if interval else when
        self._advice[name] = when, interval

    def arguments(self) -> list[Any]:
        """Return all of this as arguments of the script, and forget it."""
        argv: list[Any] = []
        for entries in (self.done, self.back):
            argv += [len(entries), *entries]
        argv.append(len(self._advice))
        now = monotonic()
        for name, (when, interval) in self._advice.items():
            argv += [name, int(max(when - now, 0.0) * MICRO)]
            argv.append("" if interval is None else round(interval * MICRO))
        self.clear()
        return argv

    def clear(self) -> None:
        """Forget all of this."""
        for each in (self.done, self.back, self._advice):
            each.clear()
