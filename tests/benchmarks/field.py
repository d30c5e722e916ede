"""The sites of a broad crawl, by number: as many of each kind as there are on the web.

The shares are what the Web Almanac and Common Crawl count: one robots.txt in seven is missing, one
site in fifty is silent. Of 8,396 real files 4 to 12 % ask for a pace, most of them for 10 seconds.
All of it follows from the number of a site, so the sites are the same in every process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple, TypeVar

from tests.benchmarks.inputs import corpus

T = TypeVar("T")

FILES: Final = 400
"""How many different files there are."""

SILENT: Final = 0
"""The status of a site that accepts connections, and never answers."""

STATUSES: Final = ((0.02, SILENT), (0.025, 429), (0.035, 503), (0.055, 403), (0.195, 404))
"""The status of a robots.txt, up to each share of the sites; that of the others is 200."""

MOVED: Final = 0.245
"""Up to this share, the robots.txt is behind one redirect; beyond the last of the statuses."""

PACED: Final = 0.08
"""The share of the sites that ask for a pace, all of which have a robots.txt."""

PACES: Final = (
    (0.07, 1), (0.13, 2), (0.20, 3), (0.27, 4), (0.34, 5), (0.42, 8), (0.82, 10), (0.89, 20),
    (0.93, 30), (0.97, 60), (0.99, 120), (1.0, 500),
)  # fmt: skip
"""The Crawl-delay up to each share of the paced sites, in seconds."""

SECONDS: Final = (
    (0.1, 0.05), (0.3, 0.1), (0.5, 0.2), (0.7, 0.35), (0.85, 0.6), (0.95, 1.0), (0.99, 2.5),
    (1.0, 6.0),
)  # fmt: skip
"""How long a site takes to answer, up to each share of the sites."""


class Site(NamedTuple):
    """What a site answers."""

    status: int
    """That of its robots.txt."""
    has_moved: bool
    delay: int
    """Its Crawl-delay; 0 for none."""
    seconds: float
    """How long an answer takes."""
    file: int
    """Which of the files it has."""

    @property
    def robots_txt(self) -> bytes:
        """The body of its robots.txt."""
        if self.status != 200:
            return b"not here"
        asks = b"User-agent: *\nCrawl-delay: %d\n" % self.delay if self.delay else b""
        return asks + _files()[self.file]


def site(number: int) -> Site:
    """The site with a number."""
    share = _spread(number, 0x9E3779B97F4A7C15)
    status = _up_to(STATUSES, share, 200)
    others = 1 - STATUSES[-1][0]
    is_paced = status == 200 and _spread(number, 0xC2B2AE3D27D4EB4F) < PACED / others
    delay = _up_to(PACES, _spread(number, 0x165667B19E3779F9), 0) if is_paced else 0
    seconds = _up_to(SECONDS, _spread(number, 0xD6E8FEB86659FD93), 0.0)
    return Site(status, status == 200 and share < MOVED, delay, seconds, number % FILES)


def _spread(number: int, by: int) -> float:
    """A share from 0 to 1 for a number. Those of consecutive numbers are spread evenly."""
    return ((number + 1) * by % 2**64) / 2**64


def _up_to(table: Sequence[tuple[float, T]], share: float, other: T) -> T:
    return next((value for end, value in table if share < end), other)


@cache
def _files() -> list[bytes]:
    """Files as large as those of the web, none of which asks for a pace by itself."""
    rename = re.compile(b"(?i)crawl-delay|request-rate")
    return [rename.sub(b"X-Pace", file) for file in corpus(FILES, seed=31)]
