"""The interval between two requests that a robots.txt asks for.

RFC 9309 section 2.2.4 leaves Crawl-delay and Request-rate open; sites write them (19 % and 0.4 % of
real files), and crawlers obey them. Both belong to a group. If values disagree, the politest
counts. An invalid value is void, and nothing is raised. What few sites write is read past: the
window of a rate (``1/5 0600-0845``; its rate counts all day) and Visit-time.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from scrapy_rep.robotstxt.lines import CRAWL_DELAY, REQUEST_RATE, SPELLINGS, Group, lines_of
from scrapy_rep.robotstxt.profiles import Profile

LONGEST_DELAY: Final = 31_536_000.0
"""Seconds of a year; a longer delay counts as this."""

PACE_KEYS: Final = (*SPELLINGS[CRAWL_DELAY], REQUEST_RATE)
"""A line with one of these ends the list of user-agent lines before it: one in three of the sites
that write Crawl-delay has such a line for one crawler right above the group of another."""

_SECONDS: Final = re.compile(
    r"((?:[0-9]+(?:\.[0-9]*|,[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)[ \t]*(?:s|secs?|seconds?)?",
    re.IGNORECASE,
)
_RATE: Final = re.compile(
    r"([0-9]{1,8})[ \t]*/[ \t]*([0-9]+)[ \t]*([smhdSMHD]?)(?:[ \t]+[0-9:]{4,5}-[0-9:]{4,5})?"
)
_MOST_SHOWN: Final = 80
"""Characters of a value that is not understood."""
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


class RequestRate(NamedTuple):
    """The most requests in a number of seconds."""

    requests: int
    seconds: float

    @property
    def interval(self) -> float:
        """Seconds from one request to the next."""
        return self.seconds / self.requests


class Pace(NamedTuple):
    """What a group says about speed: the longest Crawl-delay, and the slowest Request-rate.

    ``void`` is the first line that says neither, such as ``crawl-delay: 5m``.
    """

    crawl_delay: float | None = None
    request_rate: RequestRate | None = None
    void: str | None = None

    @property
    def interval(self) -> float:
        """Seconds between two requests, as the politer of the two asks; 0 if neither does."""
        of_rate = self.request_rate.interval if self.request_rate else 0.0
        return max(self.crawl_delay or 0.0, of_rate)


def speaks_of_pace(text: str) -> bool:
    """Return False if no line of a text is about pace, which is so for most files."""
    low = text.lower()
    return "delay" in low or "request-rate" in low


def pace_of(group: Group, profile: Profile) -> Pace:
    """Return the pace that a group asks for, to which :data:`PACE_KEYS` belong."""
    delays, rates, void = [], [], None
    for _, key, value in lines_of(group, PACE_KEYS, profile):
        if key == REQUEST_RATE and (rate := request_rate(value)) is not None:
            rates.append(rate)
        elif key != REQUEST_RATE and (delay := crawl_delay(value)) is not None:
            delays.append(delay)
        elif void is None:
            void = f"{key}: {value[:_MOST_SHOWN]}"
    slowest = max(rates, key=lambda rate: rate.interval, default=None)
    return Pace(max(delays, default=None), slowest, void)


def crawl_delay(value: str) -> float | None:
    """Return seconds between two requests, a year at most; None for an invalid value.

    The unit may be named, and a comma is a decimal one: ``10s`` is 10, ``1,5`` is 1.5, ``1,000`` is
    1. A number too large for a float (``1e400``) is a year; text (``inf``, ``nan``) is invalid.
    """
    found = _SECONDS.fullmatch(value)
    return min(float(found.group(1).replace(",", ".")), LONGEST_DELAY) if found else None


def request_rate(value: str) -> RequestRate | None:
    """Return the rate of ``3/60``, ``1/10m`` or ``1/5 0600-0845``.

    The unit is seconds if none is given. A rate slower than one request a year counts as one
    request a year.
    """
    found = _RATE.fullmatch(value)
    if found is None:
        return None
    requests = int(found.group(1))
    seconds = float(found.group(2)) * _UNITS[found.group(3).lower()]
    if not requests or not seconds:
        return None
    return RequestRate(requests, min(seconds, requests * LONGEST_DELAY))
