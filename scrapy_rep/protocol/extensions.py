"""Records that are not part of the protocol: how fast a crawler may come.

RFC 9309 section 2.2.4. Crawl-delay and Request-rate belong to a group. If values disagree, the
politest counts; an invalid value is ignored, and nothing is raised. A Request-rate may name hours
of the day; they are read past, and the rate counts all day. Visit-time is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from scrapy_rep.protocol import syntax
from scrapy_rep.protocol.syntax import Record

LONGEST_DELAY: Final = 31_536_000.0
"""Seconds of a year; a longer delay counts as this."""

_NUMBER: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_RATE: Final = re.compile(
    r"([0-9]{1,8})[ \t]*/[ \t]*([0-9]+)[ \t]*([smhdSMHD]?)(?:[ \t]+[0-9:]{4,5}-[0-9:]{4,5})?"
)
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


class RequestRate(NamedTuple):
    """The most requests in a number of seconds."""

    requests: int
    seconds: float

    @property
    def interval(self) -> float:
        """The seconds from one request to the next."""
        return self.seconds / self.requests


class Pace(NamedTuple):
    """What the records of one group say about speed."""

    crawl_delay: float | None = None
    request_rate: RequestRate | None = None

    @property
    def interval(self) -> float:
        """The seconds from one request to the next: the longer of the two; 0 for no pace."""
        rate = self.request_rate
        return max(self.crawl_delay or 0.0, 0.0 if rate is None else rate.interval)


def pace_of(records: Iterable[Record]) -> Pace:
    """Return the longest delay and the slowest rate of the records of a group."""
    paces = []
    for record in records:
        if record.key == syntax.CRAWL_DELAY:
            paces.append(Pace(crawl_delay(record.value)))
        elif record.key == syntax.REQUEST_RATE:
            paces.append(Pace(None, request_rate(record.value)))
    return politest(paces)


def politest(paces: Iterable[Pace]) -> Pace:
    """Return the longest delay and the slowest rate."""
    found = list(paces)
    delays = [pace.crawl_delay for pace in found if pace.crawl_delay is not None]
    rates = [pace.request_rate for pace in found if pace.request_rate is not None]
    slowest = max(rates, key=lambda rate: rate.interval, default=None)
    return Pace(max(delays, default=None), slowest)


def crawl_delay(value: str) -> float | None:
    """Return seconds between two requests, a year at most; None for an invalid value.

    A number too large for a float (``1e400``) is a year; text (``inf``, ``nan``) is invalid.
    """
    return min(float(value), LONGEST_DELAY) if _NUMBER.fullmatch(value) else None


def request_rate(value: str) -> RequestRate | None:
    """Return the rate of ``3/60`` or ``1/10m``; seconds if without a unit. None if it is invalid.

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
    return RequestRate(requests, seconds)
