"""Records that are not part of the protocol: when and how fast a crawler may come.

RFC 9309 section 2.2.4. Crawl-delay, Request-rate and Visit-time belong to a group. If values
disagree, the politest counts; an invalid value is ignored, and nothing is raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import zip_longest
from typing import Final, NamedTuple

from scrapy_rep.protocol import syntax
from scrapy_rep.protocol.syntax import Record

LONGEST_DELAY: Final = 31_536_000.0
"""Seconds of a year; a longer delay counts as this."""

_NUMBER: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_RATE: Final = re.compile(
    r"([0-9]{1,8})[ \t]*/[ \t]*([0-9]+)[ \t]*([smhdSMHD]?)(?:[ \t]+([0-9:]{4,5}-[0-9:]{4,5}))?"
)
_WINDOW: Final = re.compile(r"([0-9]{2}):?([0-9]{2})[ \t]*-[ \t]*([0-9]{2}):?([0-9]{2})")
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DAY: Final = 24 * 60
_MOST_RATES: Final = 24


class VisitTime(NamedTuple):
    """The minutes of the day, UTC, between which a crawler may come; it may span midnight."""

    start: int
    end: int

    @property
    def minutes(self) -> int:
        """The length of the window in minutes."""
        return (self.end - self.start) % _DAY or _DAY

    def covers(self, now: float) -> bool:
        """Return True if a time, in seconds since the epoch, is within the window.

        The minute that ends it is not. A rate that is asked for in a window still counts in it.
        """
        return (now / 60 - self.start) % _DAY < self.minutes

    def opening(self, now: float) -> float:
        """Return the time at which the window next opens, in seconds since the epoch."""
        return now + (self.start - now / 60) % _DAY * 60

    def __str__(self) -> str:
        return "{:02}{:02}-{:02}{:02} UTC".format(*divmod(self.start, 60), *divmod(self.end, 60))


class RequestRate(NamedTuple):
    """The most requests in a number of seconds, all day or in a window of it."""

    requests: int
    seconds: float
    window: VisitTime | None = None


class Pace(NamedTuple):
    """What the records of one group say about speed."""

    crawl_delay: float | None = None
    request_rate: RequestRate | None = None
    visit_time: VisitTime | None = None
    request_rates: tuple[RequestRate, ...] = ()
    """The slowest of each window: a group may have one rate by day and another by night."""


def pace_of(records: Iterable[Record]) -> Pace:
    """Return the politest values of the records of a group."""
    delays, rates, windows = [], [], []
    for record in records:
        if record.key == syntax.CRAWL_DELAY:
            delays.append(crawl_delay(record.value))
        elif record.key == syntax.REQUEST_RATE:
            rates.append(request_rate(record.value))
        elif record.key == syntax.VISIT_TIME:
            windows.append(visit_time(record.value))
    return politest(
        Pace(delay, None, window, (rate,) if rate is not None else ())
        for delay, rate, window in zip_longest(delays, rates, windows)
    )


def politest(paces: Iterable[Pace]) -> Pace:
    """Return the longest delay, the slowest rate of each window and the shortest window."""
    found = list(paces)
    delays = [pace.crawl_delay for pace in found if pace.crawl_delay is not None]
    windows = [pace.visit_time for pace in found if pace.visit_time is not None]
    slowest: dict[VisitTime | None, RequestRate] = {}
    for rate in (rate for pace in found for rate in pace.request_rates):
        other = slowest.get(rate.window, rate)
        slowest[rate.window] = max(rate, other, key=_interval)
    rates = sorted(slowest.values(), key=_interval, reverse=True)[:_MOST_RATES]
    return Pace(
        max(delays, default=None),
        rates[0] if rates else None,
        min(windows, key=lambda window: window.minutes, default=None),
        tuple(rates),
    )


def _interval(rate: RequestRate) -> float:
    return rate.seconds / rate.requests


def crawl_delay(value: str) -> float | None:
    """Return seconds between two requests, a year at most; None for an invalid value.

    A number too large for a float (``1e400``) is a year; text (``inf``, ``nan``) is invalid.
    """
    return min(float(value), LONGEST_DELAY) if _NUMBER.fullmatch(value) else None


def request_rate(value: str) -> RequestRate | None:
    """Return the rate of ``3/60``, ``1/10m`` or ``1/5 0600-0845``; seconds if without a unit.

    A rate slower than one request a year counts as one request a year.
    """
    found = _RATE.fullmatch(value)
    if found is None:
        return None
    requests = int(found.group(1))
    seconds = float(found.group(2)) * _UNITS[found.group(3).lower()]
    if not requests or not seconds:
        return None
    seconds = min(seconds, requests * LONGEST_DELAY)
    return RequestRate(requests, seconds, visit_time(found.group(4) or ""))


def visit_time(value: str) -> VisitTime | None:
    """Return the window of ``0600-0845``, which is from 6:00 to 8:45 UTC, in minutes of the day."""
    found = _WINDOW.fullmatch(value)
    if found is None:
        return None
    hours_minutes = [int(part) for part in found.groups()]
    start = hours_minutes[0] * 60 + hours_minutes[1]
    end = hours_minutes[2] * 60 + hours_minutes[3]
    if start >= _DAY or end > _DAY or hours_minutes[1] > 59 or hours_minutes[3] > 59:
        return None
    return VisitTime(start, end)
