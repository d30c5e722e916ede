"""What is known of each request on its way from the scheduler to the downloader.

It is kept beside the request and not in its meta, because meta is copied: a mark there would apply
to each copy as well. There is one exception: requests that come back through a scheduler that is
not ours, or in another run, are marked. The mark is removed as soon as they come.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority


_AGAIN: Final = "_scrapy_rep_again"
"""The meta key of a request that comes back. Its value is ``dont_filter`` as it was."""


def to_come_back(request: Request) -> Request:
    """Return a request that no filter of duplicates drops when it comes back."""
    request.meta[_AGAIN] = request.dont_filter
    request.dont_filter = True
    return request


def restored(request: Request) -> Request:
    """Return a request, without its mark if it has come back: ``dont_filter`` is as it was."""
    if _AGAIN in request.meta:
        request.dont_filter = bool(request.meta.pop(_AGAIN))
    return request


@dataclass(eq=False, slots=True)
class Trip:
    """The way of one request. The scheduler, the gate and the turns each note their part."""

    number: int
    """Its place in the order in which the base gave out requests."""
    url: str = ""
    """The URL of the page that it is for, as the gate has found it."""
    authority: Authority | None = None
    """The authority of that page; None if no robots.txt governs it."""
    host: str = ""
    """The host of that authority; "" if there is none."""
    is_handed_out: bool = False
    """The scheduler has handed it out, and the gate has not seen it since."""
    is_scheduled: bool = False
    """When the gate saw it last, it came from the scheduler. Others are direct downloads."""
    is_first: bool = False
    """It was handed out to ask for the rules of its site, for which all others wait."""
    first_until: float = 0.0
    """When others stop waiting for that if the gate has not seen it, by the monotonic clock."""
    is_returned: bool = False
    """The gate has returned it, so that it is about to come back to the scheduler."""
    is_offered: bool = False
    """It is ready, and has the next turn of its host."""
    is_looked_up: bool = False
    """Its rules have been looked up, and that is counted."""
    has_lost_turn: bool = False
    """It had the next turn and did not come, so that it has to wait for another one."""
    judged_until: float = 0.0
    """Until when the rules hold by which it was judged last, in seconds since the epoch."""
    gave_way: bool = False
    """It gave its turn back once, because it had to wait for rules by then."""
    has_waited: bool = False
    """It was withheld, and that is counted."""
    is_late: bool = False
    """Its rules did not come in time, so that the gate refuses it when it comes back."""
    comes_for_turn: bool = False
    """It was returned when its turn came, and its passage through the gate is counted."""
    is_beyond_limits: bool = False
    """It came when the engine had no room, so it must be a direct download."""
    is_sent: bool = False
    """It has passed the last step, and its download has not ended."""


class Trips(WeakKeyDictionary["Request", Trip]):
    """The trips of a crawl. One is forgotten when nothing refers to its request any more."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()

    def begin(self, request: Request) -> Trip:
        """Return a new trip of a request, whatever is known of an earlier one."""
        trip = self[request] = Trip(next(self._numbers))
        return trip
