"""What is known of each request, from its queue to the end of its download.

It is kept beside the request and not in its meta, because meta is copied: a mark there would apply
to each copy as well. There is one exception: requests that are given back to a scheduler are
marked, so that no filter of duplicates drops them. The mark is removed as soon as they come out
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.frontier.states import Stage

_COMES_BACK: Final = "_scrapy_rep_again"
"""The meta key of a request that comes back. Its value is its former ``dont_filter``."""


def to_come_back(request: Request) -> Request:
    """Return a request that no filter of duplicates drops when it comes back."""
    request.meta.setdefault(_COMES_BACK, request.dont_filter)
    request.dont_filter = True
    return request


def comes_back(request: Request) -> bool:
    """Return whether a request is marked as one that comes back."""
    return _COMES_BACK in request.meta


def restored(request: Request) -> Request:
    """Return a request; if it is marked, remove the mark and restore ``dont_filter``."""
    if _COMES_BACK in request.meta:
        request.dont_filter = bool(request.meta.pop(_COMES_BACK))
    return request


@dataclass(eq=False, slots=True)
class RequestState:
    """The way of one request. The frontier, the gate and the turns each note their part."""

    stage: Stage
    url: str = ""
    """The URL of the page that the request is for, in the form in which it is sent."""
    authority: Authority | None = None
    """The authority of that page; None if no robots.txt governs it."""
    host: str = ""
    """The host of that authority; "" if there is none."""
    is_scheduled: bool = False
    """The scheduler has handed it out. All others are direct downloads."""
    is_looked_up: bool = False
    """Its rules were fetched on its behalf, so its check does not count as a hit."""
    was_just_fetched: bool = False
    """Its rules were fetched on its behalf, and it has not been judged by any since."""
    gave_turn_back: bool = False
    """It has given its turn back once, because its rules were missing when the turn came."""
    miss: Any = None
    """What the look-up of its rules found, until they are fetched: nothing is read twice."""
    judged: Any = None
    """What the gate keeps of its last judgement."""


class RequestStates(WeakKeyDictionary["Request", RequestState]):
    """What is known of the requests of a crawl, until nothing refers to a request any more."""

    def begin(self, request: Request, stage: Stage) -> RequestState:
        """Return a new state of a request, whatever is known of an earlier one."""
        state = self[request] = RequestState(stage)
        return state
