"""What the frontier asks of the gate, of the turns, and of the queues of a scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Protocol

from scrapy_rep.frontier.sites import SiteQueues

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.frontier.request_state import RequestState
    from scrapy_rep.frontier.states import Block


class SchedulerQueues(SiteQueues, Sized, Protocol):
    """The queues of a scheduler, which have all its requests and say how many there are."""


class Readiness(Protocol):
    """The gate, as the frontier sees it."""

    def key_of(self, request: Request) -> str:
        """Return the key of the site that a request belongs to."""

    def knows(self, authority: Authority) -> bool:
        """Return whether the rules of an authority are in memory, and may be used now."""

    def blocked_by(self, request: Request, state: RequestState, room: Block | None) -> Block | None:
        """Return what blocks a request: ``room``, for example, if its slot has none.

        If nothing does, return None, or ``REFUSED`` if the gate will refuse it.
        """

    def begin(self, request: Request, state: RequestState) -> None:
        """Begin to fetch the rules that a request lacks, or join the fetch that is under way."""


class Politeness(Protocol):
    """The turns, as the frontier sees them."""

    @property
    def occupied(self) -> Mapping[str, object]:
        """The hosts of requests that are under way, have a turn next, or wait at the last step."""

    def is_due(self, name: str) -> bool:
        """Return whether a request to a host may be handed out, as far as this crawl knows."""

    def end_lost(self) -> bool:
        """Free the turns of requests that do not come, and end those that were cancelled.

        Return whether there were any.
        """

    def left(self, request: Request) -> None:
        """Note that the download of a request has ended."""

    def interval_of(self, name: str) -> float:
        """Return the interval that is kept at a host; 0 if none is."""

    def wait_for(self, name: str) -> float:
        """Return after how many seconds a host may be due, as far as this crawl knows."""

    @property
    def seconds_left(self) -> float | None:
        """The seconds until a host is looked at again; None if none waits for a time."""
