"""What the lines of one run say of the time: each is compared with those before it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import inf
from typing import Any

_ROUNDING = 0.004
"""Seconds by which the dates of one fetch may differ: times and ages are in milliseconds."""


class Chronology:
    """The times of the lines of a run, in the order of the log.

    A run is one process, so its times never go back, unless its clock was set back. What was
    fetched once was fetched at one time: a time less the age is the same for all that follows a
    record, whatever was done to the clock.
    """

    def __init__(self) -> None:
        self.is_set_back = False
        """Whether the time has gone back in any line so far."""
        self._last = ""
        self._dates: dict[str, tuple[float, float]] = {}

    def goes_back(self, line: Mapping[str, Any]) -> str:
        """Note the time of the next line; return how it goes back, "" if it does not."""
        before, self._last = self._last, line["time"]
        if self._last >= before:
            return ""
        self.is_set_back = True
        by = seconds(before) - seconds(self._last)
        return (
            f"its time is {by:,.3f} s before that of the line before it in its run, {before}: the "
            "clock of the crawler was set back, or a time was changed"
        )

    def fault(self, line: Mapping[str, Any]) -> str:
        """Return in what the age of a line contradicts the lines before it, "" if in nothing."""
        if line["type"] == "run" or line["age"] is None:
            return ""
        is_failure = line["outcome"] == "unreachable"
        record = line["failure_record" if is_failure else "record"]
        if record is None:
            return ""
        since = seconds(line["time"]) - line["age"]
        earliest, latest = self._dates.get(record, (-inf, inf))
        earliest = max(earliest, since)
        if line["age"]:  # else by a clock that is ahead, it may be of a later date
            latest = min(latest, since)
        if earliest > latest + _ROUNDING:
            return f"its time and its age contradict an earlier line that follows {record}"
        self._dates[record] = earliest, latest
        return ""


def seconds(time: str) -> float:
    """Return a time of a log in seconds since the epoch."""
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
