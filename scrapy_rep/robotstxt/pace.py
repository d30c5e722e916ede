"""The interval between two requests that a robots.txt asks for.

RFC 9309 section 2.2.4 leaves Crawl-delay and Request-rate open; sites write them (19 % and 0.4 % of
real files), and crawlers obey them. Both belong to a group. If values disagree, the politest
counts. An invalid value is void, and nothing is raised. What few sites write is ignored: Visit-time
and the window of a rate (``1/5 0600-0845`` applies all day).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple

from scrapy_rep.robotstxt.lines import CRAWL_DELAY, REQUEST_RATE, SPELLINGS, Group, lines_of
from scrapy_rep.robotstxt.profiles import Profile

LONGEST_DELAY: Final = 31_536_000.0
"""A year, in seconds; a longer delay counts as a year."""

_SECONDS: Final = re.compile(
    r"((?:[0-9]+(?:\.[0-9]*|,[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)[ \t]*(?:s|secs?|seconds?)?",
    re.IGNORECASE,
)
_RATE: Final = re.compile(
    r"([0-9]{1,8})[ \t]*/[ \t]*([0-9]+)(?:[ \t]*([smhdSMHD]))?(?:[ \t]+[0-9:]{4,5}-[0-9:]{4,5})?"
)
_MOST_SHOWN: Final = 80
"""The most characters shown of a value that is not understood."""
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class RequestRate(NamedTuple):
    """The most requests in a number of seconds."""

    requests: int
    seconds: float

    @property
    def interval(self) -> float:
        """Seconds from one request to the next."""
        return self.seconds / self.requests


class Pace(NamedTuple):
    """What a group says about speed: the slowest rate that each key of :data:`PACE` gives.

    ``void`` is the first line whose value is invalid, such as ``crawl-delay: 5m``.
    """

    rates: Mapping[str, RequestRate] = MappingProxyType({})
    void: str | None = None

    @property
    def crawl_delay(self) -> float | None:
        """The longest Crawl-delay, in seconds."""
        rate = self.rates.get(CRAWL_DELAY)
        return None if rate is None else rate.seconds

    @property
    def request_rate(self) -> RequestRate | None:
        """The slowest Request-rate."""
        return self.rates.get(REQUEST_RATE)

    @property
    def interval(self) -> float:
        """Seconds between two requests, as the politest key asks; 0 if none does."""
        return max([rate.interval for rate in self.rates.values()], default=0.0)


def speaks_of_pace(text: str) -> bool:
    """Return False if no line of a text is about pace, as in most files."""
    low = text.lower()
    return any(spelling in low for spelling in PACE_SPELLINGS)


def pace_of(group: Group, profile: Profile) -> Pace:
    """Return the pace of a group; :data:`PACE_SPELLINGS` must be among its ``members``."""
    rates: dict[str, list[RequestRate]] = {key: [] for key in PACE}
    void = None
    for _, spelling, value in lines_of(group, PACE_SPELLINGS, profile):
        key = _KEY_OF[spelling]
        rate = PACE[key].read(value)
        if rate is not None:
            rates[key].append(rate)
        elif void is None:
            void = f"{spelling}: {value[:_MOST_SHOWN]}"
    interval = attrgetter("interval")
    return Pace({key: max(of_key, key=interval) for key, of_key in rates.items() if of_key}, void)


def _crawl_delay(value: str) -> RequestRate | None:
    """Return the rate of one request per delay, a year at most; None for an invalid value.

    The unit may be named, and a comma is a decimal point: ``10s`` is 10, ``1,5`` is 1.5, ``1,000``
    is 1. A number too large for a float (``1e400``) is a year; text (``inf``, ``nan``) is invalid.
    """
    found = _SECONDS.fullmatch(value)
    if found is None:
        return None
    return RequestRate(1, min(float(found.group(1).replace(",", ".")), LONGEST_DELAY))


def _request_rate(value: str) -> RequestRate | None:
    """Return the rate of ``3/60``, ``1/10m`` or ``1/5 0600-0845``.

    The unit is seconds if none is given. A rate slower than one request a year counts as one
    request a year.
    """
    found = _RATE.fullmatch(value)
    if found is None:
        return None
    requests = int(found.group(1))
    seconds = float(found.group(2)) * _UNITS[(found.group(3) or "s").lower()]
    if not requests or not seconds:
        return None
    return RequestRate(requests, min(seconds, requests * LONGEST_DELAY))


class PaceKey(NamedTuple):
    """How a pace is written with one key."""

    read: Callable[[str], RequestRate | None]
    """Reads a value; returns None if it is invalid."""
    wanted: str
    """What a valid value is, with an example."""
    shown: str
    """The format string of a rate; its arguments are the requests and the seconds."""


PACE: Final = {
    CRAWL_DELAY: PaceKey(_crawl_delay, "a number of seconds: Crawl-delay: 10", "{1:g} s"),
    REQUEST_RATE: PaceKey(_request_rate, "requests/seconds: Request-rate: 1/10", "{0}/{1:g} s"),
}
"""The keys that ask for a pace. Whatever reads, searches, checks or shows a pace uses this."""

_KEY_OF: Final = {spelling: key for key in PACE for spelling in SPELLINGS[key]}

PACE_SPELLINGS: Final = tuple(_KEY_OF)
"""All their spellings. A line with one of them ends the list of user-agent lines before it: one in
three of the sites that write Crawl-delay has such a line for one crawler right above the group of
another."""
