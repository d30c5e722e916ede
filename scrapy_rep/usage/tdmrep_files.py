"""The tdmrep.json of each site, fetched and kept as robots.txt is, under a separate key.

A second :class:`~scrapy_rep.caching.cache.RobotsCache` holds them: the same fetcher, freshness,
back-off and store serve both files. The key differs from that of the robots.txt in its scheme, so
that neither file is mistaken for the other, in memory or in a store. Fetches are counted under the
names of robots.txt with ``tdmrep/`` in them.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy_rep.caching.context import RulesReader
from scrapy_rep.preferences.tdmrep import PATH, TdmRules
from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.printable import printable
from scrapy_rep.protocol.usage import FORM
from scrapy_rep.stats import Collector, RepStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_rep.protocol.outcome import Unreachable
    from scrapy_rep.protocol.robotstxt import RobotsTxt

logger = logging.getLogger("scrapy_rep")

MEMORY_SHARE = 8
"""One part in this many of the memory for rules is for tdmrep.json files, if they are fetched."""

_SCHEME = "tdmrep+"
_FAMILY = "robotstxt/"


class TdmrepKey(Authority):
    """The key of the tdmrep.json of an authority; as text ``tdmrep+https://example.org``."""

    __slots__ = ()

    @classmethod
    def of(cls, authority: Authority) -> TdmrepKey:
        """Return the key of the tdmrep.json that an authority serves."""
        return cls(_SCHEME + authority.scheme, authority.host, authority.port)

    @property
    def origin(self) -> str:
        """The authority itself, as text."""
        return str(Authority(self.scheme.removeprefix(_SCHEME), self.host, self.port))

    @property
    def robots_uri(self) -> str:
        """The URI of the file that is fetched for this key."""
        return self.origin + PATH

    def __str__(self) -> str:
        """Return the text under which a store keeps the file."""
        return _SCHEME + self.origin


class TdmrepStats(RepStats):
    """Counts the fetches of these files separately, and names the file in a warning."""

    def __init__(self, collector: Collector):
        super().__init__(collector)
        self.inc = partial(_inc, self.inc)

    def fetch_failed(
        self, authority: Authority, outcome: Unreachable, retry_in: float, stale: bool
    ) -> None:
        """Log in one line that a fetch failed."""
        logger.warning(
            "%s is unreachable (%s%s): %s; next attempt in %.0f s",
            authority.robots_uri,
            outcome.cause,
            f": {printable(outcome.detail)}" if outcome.detail else "",
            "the last good copy is followed" if stale else "its reservations are unknown",
            retry_in,
        )


def _inc(inc: Callable[..., None], key: str, count: int = 1) -> None:
    inc(key.replace(_FAMILY, f"{_FAMILY}tdmrep/", 1), count)


def _parse(body: bytes) -> Any:
    return TdmRules.parse(body, FORM)


READER = RulesReader(_parse, lambda rules, agent: None)
"""Reads a tdmrep.json: its rules are used like a RobotsTxt, and ask for no pace."""


class Silence:
    """Replaces the signal ``robots_parsed``, which is sent for robots.txt files only."""

    has_listeners = False

    async def send(self, robots: RobotsTxt, page: Any) -> None:
        """Send nothing."""
