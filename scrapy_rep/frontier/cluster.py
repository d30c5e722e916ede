"""The front of a worker whose queue in Redis gives out no request before its site is due.

The workers of a crawl share the queue, so a request should wait there, in its place, and not in the
memory of one worker. A worker keeps one request of each site whose robots.txt it fetches or for
which it asks the store for a turn, and the requests that wait for room in a downloader slot. All
others go back, with advice for the queue: how long no worker should ask their site.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from scrapy_rep.frontier.front import Front
from scrapy_rep.frontier.limits import slot_of
from scrapy_rep.frontier.states import Block, State

if TYPE_CHECKING:
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.frontier.request_state import RequestState
    from scrapy_rep.frontier.sites import Site
    from scrapy_rep.frontier.turns import Turns
    from scrapy_rep.stats import RepStats

UNDER_WAY: Final = 5.0
"""Seconds for which a site is left alone while its robots.txt is fetched; and, on top of its
interval, while a request to it is under way."""

_ENOUGH: Final = 1.0
"""Seconds for which a site is left alone when this worker has enough of its requests."""

_SHORT_WAIT: Final = 0.3
"""Seconds for which a request waits for its turn here rather than in the queue."""

EARLY: Final = 0.1
"""Seconds before a site with a pace is due from which on a worker may take its next request, and
keep it until its turn comes. Otherwise the time until a worker makes its next step is lost for the
site: of 100 hosts that ask for two seconds, the one with the fewest pages got 94.9 % of those that
its pace allows instead of 93.5 %, and with Redis 20 ms away 94.8 instead of 93.0 %."""

_LONGEST: Final = 60.0
"""Seconds after which the requests to an unreachable site are looked at again at the latest."""

_RULES: Final = Block(State.RULES)
"""What blocks a request that lacks rules, whatever its authority."""

_START_LIST: Final = 1.0
"""Seconds between two looks at the start list of a spider."""


class SharedQueue(Protocol):
    """The queue that workers share. Each number of seconds is advice to all workers."""

    def give_back(self, request: Request, seconds: float, interval: float | None = None) -> None:
        """Put a request back in its place, and do not ask its site for some seconds."""

    def not_before(self, name: str, seconds: float) -> None:
        """Do not ask a site for some seconds."""

    def handed_out(self, request: Request, interval: float | None) -> None:
        """Note that a request is handed out; ``interval`` is None if it will be refused."""

    def ended(self, request: Request, seconds: float) -> None:
        """Note that the download of a request has ended: its site is due in some seconds."""

    def rest(self) -> None:
        """Give out nothing for a moment, except what was taken already."""

    def check(self) -> bool:
        """Return whether this worker counts as alive. If not, others may get what it has."""


class ClusterFront(Front):
    """What a worker has taken out of the queue and not handed out.

    If workers do not share a pace, the queue knows of none, and one request of each host waits
    here.
    """

    def __init__(
        self,
        crawler: Crawler,
        queue: SharedQueue,
        turns: Turns,
        clock: Callable[[], float],
        stats: RepStats,
    ):
        super().__init__(crawler.settings)
        self._crawler = crawler
        self.queue = queue
        self._turns = turns
        self._clock = clock
        self._stats = stats
        self._shares_pace = crawler.settings.getbool("REP_SHARED_PACE", True)
        self._most_of_a_site = max(self._most // 8, 1)
        self._put_off: dict[str, str] = {}
        """By slot, the site of which no more is taken until this worker can use more."""
        self._start_list_at = 0.0
        self._has_failed = False

    def is_full(self) -> bool:
        """Return False: requests for which there is no room go back."""
        return False

    @property
    def _is_crowded(self) -> bool:
        """Whether as many requests wait here as are allowed, besides the one that is looked at.

        Then only sites whose rules are known are of use.
        """
        return len(self.requests) > self._most

    def admit(self, request: Request, key: str, site: Site | None, lacks_rules: bool) -> bool:
        """Admit a request that was read ahead, or give it back; return whether it stays.

        ``site`` is that of the request; None if this worker has no other request to it.
        """
        if site is None:
            return not lacks_rules or self.keep(request, _RULES, False)
        block: Any = site.block
        if site.state is State.TURN:
            return self.keep(request, block, True)
        wait = _SHORT_WAIT
        if site.state is State.ROOM:
            if site.size < self._most_of_a_site and not self._is_crowded:
                return True
            self._put_off[block.what] = key
            wait = _ENOUGH
        self._give_back(request, wait)
        return False

    def keep(self, request: Request, block: Block, has_another: bool) -> bool:
        """Keep a request that waits for something, or give it back; return whether it stays.

        ``has_another`` says whether another request waits for the same turn, rules or time.
        """
        wait, interval = _ENOUGH, None
        if block.state is State.TURN:
            if not (has_another or self.returns(block.what)):
                return True
            if self._shares_pace:
                interval = self._turns.interval_of(block.what)
                wait = self._turns.wait_for(block.what)
                wait = wait if wait > _SHORT_WAIT else interval
        elif block.state is State.UNTIL:
            wait = min(max(block.what - self._clock(), _ENOUGH), _LONGEST)
        elif not self._is_crowded:
            return True
        elif block.state is State.RULES:
            wait = UNDER_WAY
        self._give_back(request, wait, interval)
        return False

    def returns(self, host: str) -> bool:
        """Return whether requests that wait for a turn of a host should go back."""
        return self._shares_pace and self._turns.wait_for(host) > _SHORT_WAIT

    def _give_back(self, request: Request, seconds: float, interval: float | None = None) -> None:
        if self._is_crowded:
            self.queue.rest()
        del self.requests[request]
        self.queue.give_back(request, seconds, interval)

    def handed_out(
        self, request: Request, state: RequestState, *, is_refused: bool = False
    ) -> None:
        """Note that a request is handed out; ask for more of a site if too few are left here."""
        self.queue.handed_out(request, None if is_refused else self._interval_of(state))
        slot = slot_of(request)
        key = self._put_off.get(slot)
        if key is not None and len(self._of_site.get(key, ())) <= self._most_of_a_site // 2:
            del self._put_off[slot]
            self.queue.not_before(key, 0.0)

    def ended(self, request: Request, state: RequestState) -> None:
        """Note that the download of a request has ended."""
        if self._interval_of(state):
            wait = self._turns.wait_for(state.host)
            if self._turns.is_kept_by_store(state.host):  # otherwise the queue alone keeps the pace
                wait = max(wait - EARLY, 0.0)
            self.queue.ended(request, wait)

    def _interval_of(self, state: RequestState) -> float:
        return self._turns.interval_of(state.host) if self._shares_pace else 0.0

    def read_start_list(self) -> None:
        """Let a spider whose start requests are a list in Redis read on, as no request can go now.

        scrapy-redis reads on only when the crawl is idle, which it never is while a site waits.
        """
        read = getattr(self._crawler.spider, "schedule_next_requests", None)
        if read is None or monotonic() < self._start_list_at:
            return
        self._start_list_at = monotonic() + _START_LIST
        try:
            read()
            self._has_failed = False
        except Exception as error:  # noqa: BLE001  # it is the spider's
            if not self._has_failed:
                self._stats.own_fault("Reading the start list", error, "it is tried again")
            self._has_failed = True
