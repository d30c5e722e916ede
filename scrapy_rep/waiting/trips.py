"""What is known of each request on its way from the scheduler to the downloader.

It is kept beside the request and not in its meta, because meta is copied: a mark there would make
of each copy what the request is. There is one mark, of requests that come again by way of a
scheduler that is not ours, or in another run. It is removed as soon as they come.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority


_AGAIN: Final = "_scrapy_rep_again"
"""The meta key of a request that comes again. Its value is ``dont_filter`` as it was."""


def to_come_again(request: Request) -> Request:
    """Return a request that no filter of duplicates drops when it comes again."""
    request.meta[_AGAIN] = request.dont_filter
    request.dont_filter = True
    return request


def restored(request: Request) -> Request:
    """Return a request that has come again as it was before."""
    if _AGAIN in request.meta:
        request.dont_filter = bool(request.meta.pop(_AGAIN))
    return request


class Trip:
    """The way of one request. The scheduler, the gate and the turns each note their part.

    ``number`` is its place in the order in which the base gave out requests. ``url`` and
    ``authority`` are those of the page that it is for, as the gate has found them; the authority is
    None if no robots.txt governs the page.

    ``is_handed_out``
        The scheduler has handed it out, and the gate has not seen it since.
    ``is_scheduled``
        When the gate saw it last, it came from the scheduler. Other requests are direct downloads.
    ``is_first``
        It was handed out to ask for the rules of its site, for which all others wait.
    ``is_returned``
        The gate has returned it, so that it is about to come back to the scheduler.
    ``is_offered``
        It is ready, and has the next turn of its host.
    ``is_looked_up``
        Its rules have been looked up, and that is counted.
    ``is_late``
        Its rules did not come in time, so that the gate refuses it when it comes again.
    ``comes_for_turn``
        It was returned when its turn came, and its passage through the gate is counted.
    ``is_beyond_limits``
        It came when the engine had no room for it, so that it is a direct download.
    ``is_sent``
        It has passed the last step, and its download has not ended.
    """

    __slots__ = (
        "authority",
        "comes_for_turn",
        "is_beyond_limits",
        "is_first",
        "is_handed_out",
        "is_late",
        "is_looked_up",
        "is_offered",
        "is_returned",
        "is_scheduled",
        "is_sent",
        "number",
        "url",
    )

    def __init__(self, number: int):
        self.number = number
        self.url = ""
        self.authority: Authority | None = None
        self.is_handed_out = self.is_scheduled = self.is_first = False
        self.is_returned = self.is_offered = self.is_looked_up = False
        self.is_late = self.comes_for_turn = self.is_beyond_limits = self.is_sent = False

    @property
    def host(self) -> str:
        """The host that the request is for; "" if no robots.txt governs its page."""
        return "" if self.authority is None else self.authority.host


class Trips(WeakKeyDictionary["Request", Trip]):
    """The trips of a crawl. One is forgotten when nothing refers to its request any more."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()

    def begin(self, request: Request) -> Trip:
        """Return a new trip of a request, whatever is known of an earlier one."""
        trip = self[request] = Trip(next(self._numbers))
        return trip
