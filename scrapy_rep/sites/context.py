"""What the parts of this package share, for one crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from scrapy_rep.access.entry import Entry
    from scrapy_rep.access.policy import Policy
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.robotstxt.robotstxt import RobotsTxt
    from scrapy_rep.sites.store_adapter import StoreAdapter
    from scrapy_rep.stats import RepStats

NOT_SHARED = ""
"""Returned by a store that is not shared: the caller may always fetch."""


@dataclass(frozen=True)
class AccessContext:
    """The store, the policy, the stats, and a clock in seconds since the epoch."""

    store: StoreAdapter
    policy: Policy
    stats: RepStats
    clock: Callable[[], float]


@dataclass(frozen=True)
class RulesReader:
    """How octets become rules, and what of the pace that rules ask of an agent is to be kept.

    ``pace`` returns ``None`` if that is nothing.
    """

    parse: Callable[[bytes], RobotsTxt]
    pace: Callable[[RobotsTxt, tuple[str, ...]], RequestedPace | None]


class RulesSignal(Protocol):
    """Sent whenever rules come into force, before any request is judged by them."""

    @property
    def is_heard(self) -> bool:
        """Whether anything listened when it was last sent, or it was not sent yet."""

    async def send(self, robots: RobotsTxt, page: Any) -> None:
        """Return when the listeners are done, or too slow. ``page`` is the request that asked."""


class Miss(NamedTuple):
    """What a look-up found of an authority that may not be used as it is.

    ``is_resident`` says that memory holds it, so that it is fetched anew even if the store has it;
    ``is_complete`` that there is nothing more in the store.
    """

    entry: Entry | None = None
    is_resident: bool = False
    is_complete: bool = False
