"""What a crawl may have at once: requests of a downloader slot, and fetches of robots.txt."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from scrapy.utils.asyncio import call_later

from scrapy_rep.frontier.alarm import Alarm

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

    from scrapy_rep.access.authority import Authority

_TICK: Final = 1 / 16
_YOUNG: Final = 16
"""Seconds of a tick, and the ticks for which a fetch counts as young: a second. Most sites have
answered by then. A loop that is busy makes fetches slow, and its ticks are late as well."""

_MOST_YOUNG: Final = 256
"""Young fetches at once, or CONCURRENT_REQUESTS if that is more.

Measured with 300 silent sites ahead of 100 pages of other sites: 1.7 and 2.9 seconds with 256 at
once, 4.5 with 64. The pages alone took 1.0 to 1.5 seconds.
"""

_MOST_OLD: Final = 4_000
"""Older fetches at once, or half of the files that the process may open if that is less."""


def slot_of(request: Request) -> str:
    """Return the downloader slot of a request, as Scrapy names it without a limit for each IP."""
    try:
        slot: Any = request.meta.get("download_slot")
        return (urlsplit(request.url).hostname or "") if slot is None else str(slot)
    except Exception:  # noqa: BLE001  # neither a bad URL nor a fault may lose the request
        return ""


class SlotLoads:
    """How many requests each downloader slot has, and may send at once.

    A request counts from the last step to the end of its download. Unless it will be refused, it
    also counts when it is handed out, for one iteration of the event loop: the time in which it
    reaches the last step if no other middleware holds it up. Under asyncio Scrapy sends at once all
    that a slot has queued, because it counts a request only when its download has begun. So a slot
    must not get more than it may send. ``has_left(slot)`` is called when a request no longer
    counts.
    """

    def __init__(self, settings: BaseSettings, has_left: Callable[[str], None]):
        self._has_left = has_left
        self._of_some = settings.getdict("DOWNLOAD_SLOTS")
        of_ip = settings.getint("CONCURRENT_REQUESTS_PER_IP")
        self._of_each = of_ip or settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._loads: Counter[str] = Counter()
        self._on_their_way: dict[Request, str] = {}
        self._sent: dict[Request, str] = {}

    @property
    def are_idle(self) -> bool:
        """Whether no slot has requests."""
        return not self._loads

    def is_idle(self, slot: str) -> bool:
        """Return whether a slot has no requests."""
        return slot not in self._loads

    def is_full(self, slot: str) -> bool:
        """Return whether a slot has as many requests as it may send at once."""
        load = self._loads.get(slot)
        if load is None:
            return False
        most: int = self._of_some.get(slot, {}).get("concurrency", self._of_each)
        return 0 < most <= load

    def handed_out(self, request: Request, slot: str) -> None:
        """Count a request until it has had the time to reach the last step."""
        if not self._on_their_way:
            call_later(0.0, self._stop_counting)
        self._on_their_way[request] = slot
        self._loads[slot] += 1

    def sent(self, request: Request) -> None:
        """Count a request until its download ends."""
        slot = self._on_their_way.pop(request, None)
        if slot is None:
            slot = slot_of(request)
            self._loads[slot] += 1
        self._sent[request] = slot

    def left(self, request: Request) -> None:
        """Note that the download of a request has ended."""
        slot = self._sent.pop(request, None)
        if slot is not None:
            self._less(slot)

    def _stop_counting(self) -> None:
        """Stop counting requests that are not at the last step yet: a middleware holds them up."""
        held_up, self._on_their_way = self._on_their_way, {}
        for slot in held_up.values():
            self._less(slot)

    def _less(self, slot: str) -> None:
        self._loads[slot] -= 1
        if not self._loads[slot]:
            del self._loads[slot]
        self._has_left(slot)


class FetchDemand:
    """Whether another fetch may begin: fetches follow the demand of the engine.

    Without a bound each of 100,000 sites would be fetched at once, long before their pages can be
    requested; the rules of most would have expired by then. So the *young* fetches and the sites
    that have their rules and have not been asked since are bounded together. A fetch that takes
    longer counts towards a second bound, so that silent sites do not hold up the others. One that
    pauses between two attempts counts towards none. ``freed()`` is called when a fetch is no longer
    young, so that another one may begin.
    """

    def __init__(self, concurrent: int, pauses: Callable[[], int], freed: Callable[[], None]):
        self._pauses = pauses
        self._most_young = max(_MOST_YOUNG, concurrent)
        self._most_old = min(_MOST_OLD, most_files() // 2)
        self._freed = freed
        self._young: OrderedDict[Authority, int] = OrderedDict()
        """The tick at which each young fetch began, the oldest first."""
        self._old: set[Authority] = set()
        self._ticks = 0
        self._alarm = Alarm(self._tick)

    def begins(self, authority: Authority) -> None:
        """Count a fetch that begins, unless it is counted already."""
        if authority not in self._old:
            self._young.setdefault(authority, self._ticks)
            self._alarm.set(_TICK)

    def ended(self, authority: Authority) -> None:
        """Stop counting a fetch."""
        self._young.pop(authority, None)
        self._old.discard(authority)

    def may_another_begin(self, unasked: int) -> bool:
        """Return whether a fetch may begin.

        ``unasked`` is the number of sites that have their rules, and have not been asked since.
        """
        if len(self._old) - self._pauses() >= self._most_old:
            return False
        return len(self._young) + unasked < self._most_young

    def close(self) -> None:
        """Stop the timer."""
        self._alarm.cancel()

    def _tick(self) -> None:
        self._ticks += 1
        young, before = self._young, len(self._old)
        while young and next(iter(young.values())) <= self._ticks - _YOUNG:
            self._old.add(young.popitem(last=False)[0])
        if young:
            self._alarm.set(_TICK)
        if len(self._old) > before:
            self._freed()


def most_files() -> int:
    """Return how many files the process may open."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit  # not on Windows
    except ImportError:
        return 2 * _MOST_OLD
    most = getrlimit(RLIMIT_NOFILE)[0]
    return 2 * _MOST_OLD if most == RLIM_INFINITY else most
