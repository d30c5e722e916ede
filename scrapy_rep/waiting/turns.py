"""The turns of paced hosts: one request at a time, and an interval from its end to the next start.

A turn is taken at the last step, behind all other downloader middlewares, where Scrapy's own
DOWNLOAD_DELAY waits as well. So whatever holds up a request on its way there costs no turn, and
what is answered from a cache takes none. A host is busy from the moment of the grant, not from the
moment at which the coroutine of the request goes on; and until its response, or an error, comes by
the last step again.

Requests of the scheduler seldom wait here: it hands out only the next one of a host, when the host
is free (:meth:`Turns.reserve`). Direct downloads come whenever they like, and wait in place. So do
requests of the scheduler whose host was not known to ask for a pace, or served a request with
``dont_obey_robotstxt`` meanwhile. Such a request does not wait, but the next one waits for its end.

Nothing says that a request was answered from a cache, dropped or cancelled. What the downloader no
longer has is no longer under way (:meth:`Turns.look`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from heapq import heappop, heappush
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

from scrapy import signals
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.waiting.hosts import NEVER

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting.hosts import Asker, Hosts, PacedHost
    from scrapy_rep.waiting.places import Places

    Least = Callable[[Request, Authority], float]

_MOST_ENDS: Final = 10_000
"""Hosts of which the end of the last request is remembered, should they begin to ask for a pace."""

_STRAY: Final = 64
"""Requests past the last step, beyond those of the downloader, before they are compared with it."""

_UNCLAIMED: Final = 1.0
"""Seconds after which the turn of a request that was returned goes to the next one."""


class Waiters(Protocol):
    """The scheduler, as the turns see it."""

    is_open: bool
    """Whether it withholds requests. If not, all of them wait in place."""

    def has_waiting(self, host: str) -> bool:
        """Return whether a request waits for its turn at a host."""

    def is_free(self, host: str) -> None:
        """Have the next request to a host go on."""

    def asks_for_nothing(self, host: str) -> None:
        """Have all requests to a host go on."""

    def give_back(self, request: Request) -> Request:
        """Return a request that comes again."""

    def has_left(self) -> None:
        """Note that a download has ended."""


class Turns:
    """The turns of the hosts of one crawl. ``host_of(request)`` names the host of a request."""

    def __init__(
        self,
        crawler: Crawler,
        scrapy: ScrapyNames,
        hosts: Hosts,
        places: Places,
        waiters: Waiters,
        host_of: Callable[[Request], str],
        stats: RepStats,
    ):
        self._scrapy = scrapy
        self.hosts = hosts
        self._places = places
        self._waiters = waiters
        self._host_of = host_of
        self._stats = stats
        self._under_way: dict[Request, str] = {}
        self._ended: dict[str, float] = {}
        self._occupied: dict[str, PacedHost] = {}
        self._of_scheduler: WeakSet[Request] = WeakSet()
        self._returned: WeakSet[Request] = WeakSet()
        self._unclaimed: dict[str, CallLaterResult] = {}
        self._numbers = count()
        self._fault: Exception | None = None
        self._is_early = False
        self._signals = crawler.signals
        if hosts.shared is not None:
            hosts.shared.attach(self.offer, self._is_waited_for, self._distrust)

    @property
    def waiting(self) -> int:
        """How many requests wait at the last step."""
        return sum(len(host.arrived) for host in self._occupied.values())

    def take_early(self) -> None:
        """Note that turns are taken before the last step, because that is not enabled.

        A middleware may then download something of the same host for a request that has its turn.
        So the host is busy only when the request has reached the downloader, or the one would wait
        for the other; and the interval begins with the turn.
        """
        self._is_early = True
        self._signals.connect(self._reached, signal=signals.request_reached_downloader)
        self._signals.connect(self.left, signal=signals.request_left_downloader)

    # --- what a host asks for

    def ask(self, request: Request, asker: Asker, pace: RequestedPace, least: Least) -> float:
        """Have the host of a request keep a pace; return what ``asker`` asked for before.

        ``least(request, authority)`` is the operator's own delay.
        """
        if self._fault is not None:
            raise self._fault
        name = asker[0].host
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts.add(name, least(request, asker[0]), self._waiters.has_waiting)
            host.busy = {other for other, its in self._under_way.items() if its == name}
            host.ended = self._ended.get(name, NEVER)
            if host.busy:
                self._occupied[name] = host
            self._stats.paced_host()
        before = host.asked_by(asker)
        host.ask(asker, pace, idle=not (host.arrived or self._waiters.has_waiting(name)))
        self.hosts.touch(host)
        if pace.interval < before:
            self.offer(name)
        return before

    def withdraw(self, name: str, asker: Asker) -> None:
        """Have a host forget what ``asker`` asked for."""
        host = self.hosts.get(name)
        if host is not None:
            host.withdraw(asker)
            self.offer(name)
            if not (host.asks or host.in_use or self._waiters.has_waiting(name)):
                self._forget(host)

    # --- the way of a request of the scheduler

    def reserve(self, name: str, request: Request) -> bool:
        """Return whether a request may be handed out; no other one of its host is until it ends."""
        host = self.hosts.get(name)
        if host is None or not host.asks or host.coming is request:
            return True
        if host.coming is None and not host.arrived and host.has_room(monotonic()):
            host.coming = request
            self._occupied[name] = host
            return True
        self._hold_up(host)
        self._plan(host)
        return False

    def passes(self, request: Request) -> None:
        """Note that a request of the scheduler has passed the gate."""
        self._of_scheduler.add(request)

    def is_of_scheduler(self, request: Request) -> bool:
        """Return whether a request has passed the gate, and came from the scheduler."""
        return request in self._of_scheduler

    def has_returned(self, request: Request) -> bool:
        """Return whether a request was returned when its turn came, and has come again."""
        return request in self._returned

    def look(self) -> None:
        """Let go what the downloader no longer has."""
        if not self._occupied:
            return
        active = self._scrapy.active
        for name, host in list(self._occupied.items()):
            is_gone = host.coming is not None and host.coming not in active
            if is_gone and name not in self._unclaimed:  # else it is about to come again
                host.coming = None
                self.offer(name)
            for request in host.busy - active:
                self._end(host, request)
            if not host.in_use:
                self._occupied.pop(name, None)

    # --- the last step

    def arrive(self, request: Request) -> Awaitable[Request | None] | None:
        """Note that a request is about to be sent; return what it has to wait for first."""
        if request in self._places.fetches:
            return None
        name = self._host_of(request)
        host = self.hosts.get(name)
        if host is None or not host.asks:
            if not self._is_early:
                self._begin(request, name)
            return None
        if host.coming is request:
            host.coming = None
        is_bypassed = request.meta.get("dont_obey_robotstxt")
        if is_bypassed or (not host.arrived and host.has_room(monotonic())):
            self._grant(host, request)
            return None
        return self._wait(host, request)

    async def _wait(self, host: PacedHost, request: Request) -> Request | None:
        """Return when it is the turn of a request; return the request if it has to come again."""
        turn: Deferred[bool] = Deferred()
        self._hold_up(host)
        heappush(host.arrived, (-request.priority, next(self._numbers), request, turn))
        self._occupied[host.name] = host
        try:
            with self._places.lent(keeps_its_own=self._is_within_limits(request)) as take_back:
                turn.addCallback(_and_before(take_back))
                self._plan(host)
                if await maybe_deferred_to_future(turn):
                    return None
        except BaseException:  # it was cancelled, perhaps after the grant
            if request in host.busy:
                self._end(host, request)
            raise
        finally:
            if any(each[2] is request for each in host.arrived):
                host.arrived = sorted(each for each in host.arrived if each[2] is not request)
        return self._waiters.give_back(request)

    def _is_within_limits(self, request: Request) -> bool:
        """Return whether the engine has sent a request when it had room for it."""
        is_scheduled = self._waiters.is_open and request in self._of_scheduler
        return is_scheduled or request in self._returned

    def give_up(self) -> None:
        """Have the requests of the scheduler that wait here go back to it: the crawl closes."""
        for host in list(self._occupied.values()):
            for _, _, request, turn in list(host.arrived):
                if request in self._of_scheduler and not turn.called:
                    turn.callback(False)

    def close(self) -> None:
        """End everything: the crawl is over."""
        for host in self.hosts.values():
            if host.timer is not None:
                host.timer.cancel()
                host.timer = None
            for _, _, _, turn in host.arrived:
                if not turn.called:
                    turn.callback(False)
        for timer in self._unclaimed.values():
            timer.cancel()
        self._unclaimed.clear()
        if self.hosts.shared is not None:
            self.hosts.shared.close()
        self._under_way.clear()

    # --- turns begin and end

    def is_under_way(self, request: Request) -> bool:
        """Return whether a request is being sent, and its download has not ended."""
        return request in self._under_way

    def _begin(self, request: Request, name: str) -> None:
        self._under_way[request] = name
        if len(self._under_way) > _STRAY and len(self._under_way) > 2 * len(self._scrapy.active):
            active = self._scrapy.active
            self._under_way = {r: its for r, its in self._under_way.items() if r in active}

    def _grant(self, host: PacedHost, request: Request) -> None:
        """Have a host be busy with a request from now on."""
        if host.held_up_at is not None:
            self._stats.waited_for_pace(monotonic() - max(host.ended, host.held_up_at))
            host.held_up_at = None
        self._returned.discard(request)
        self.hosts.touch(host)
        if self._is_early:
            host.ended = monotonic()
            self.offer(host.name)
            return
        self._begin(request, host.name)
        host.busy.add(request)
        self._occupied[host.name] = host

    @staticmethod
    def _hold_up(host: PacedHost) -> None:
        if host.held_up_at is None:
            host.held_up_at = monotonic()

    def _reached(self, request: Request) -> None:
        """Note that a request has reached the downloader, where turns are taken early."""
        name = self._host_of(request)
        if not name or request in self._places.fetches:
            return
        self._begin(request, name)
        host = self.hosts.get(name)
        if host is not None:
            host.busy.add(request)
            self._occupied[host.name] = host

    def left(self, request: Request) -> None:
        """Note that the download of a request has ended."""
        name = self._under_way.pop(request, None)
        if name is None:
            return
        self._waiters.has_left()
        try:
            host = self.hosts.get(name)
            if host is not None:
                self._end(host, request)
            else:
                self._ended.pop(name, None)
                self._ended[name] = monotonic()
                if len(self._ended) > _MOST_ENDS:
                    del self._ended[next(iter(self._ended))]
        except Exception as error:  # noqa: BLE001
            self._distrust(error)

    def _end(self, host: PacedHost, request: Request) -> None:
        self._under_way.pop(request, None)
        if request not in host.busy:
            return
        host.end(request)
        if not host.in_use:
            self._occupied.pop(host.name, None)
        if not host.asks and not host.in_use and not self._waiters.has_waiting(host.name):
            self._forget(host)
            return
        self.offer(host.name)

    def _forget(self, host: PacedHost) -> None:
        self.hosts.remove(host)
        if host.timer is not None:
            host.timer.cancel()
            host.timer = None
        self._ended[host.name] = host.ended

    def _is_waited_for(self, name: str) -> bool:
        """Return whether a request waits for a host, in place or in the scheduler."""
        host = self.hosts.get(name)
        return self._waiters.has_waiting(name) or (
            host is not None and (bool(host.arrived) or host.coming is not None)
        )

    def _plan(self, host: PacedHost) -> None:
        """Look at a host again when its interval is over, if something waits for it then."""
        if host.timer is None and not host.busy:
            wait = max(host.due - monotonic(), 0.0)
            if wait or not host.asks or host.arrived:
                host.timer = call_later(wait, self._ring, host)

    def _ring(self, host: PacedHost) -> None:
        host.timer = None
        self.offer(host.name)

    def offer(self, name: str) -> None:
        """Grant a turn of a host, or have the scheduler hand out its next request, if it is due."""
        host = self.hosts.get(name)
        if host is None or not host.asks:
            self._waiters.asks_for_nothing(name)
        if host is not None:
            try:
                self._serve(host, monotonic())
            except Exception as error:  # noqa: BLE001  # a timer would swallow it, and the pace too
                self._distrust(error)

    def _serve(self, host: PacedHost, now: float) -> None:
        while host.arrived and host.has_room(now):
            _, _, request, turn = host.arrived[0]
            is_returned = not self._waiters.is_open and self._has_to_come_again(request)
            if is_returned and host.coming is not None:
                break
            heappop(host.arrived)
            if turn.called:
                continue
            if is_returned:
                self._return(host, request)
                turn.callback(False)
            else:
                self._grant(host, request)
                turn.callback(True)
        is_waited_for = self._waiters.has_waiting(host.name)
        if host.arrived or (is_waited_for and host.coming is None):
            if not host.is_due(now):
                self._hold_up(host)
                self._plan(host)
            elif not host.arrived and host.has_turn(now):
                self._waiters.is_free(host.name)
        elif not is_waited_for and self.hosts.shared is not None:
            self.hosts.shared.settle(now)  # gives back a turn that nothing will use

    def _has_to_come_again(self, request: Request) -> bool:
        """Return whether a request would be one too many, if it were sent from where it waits.

        It was lent a place while it waited. The engine sends it when there is room, and a direct
        download comes again at once. This happens once to a request: a middleware in front of the
        gate may have downloaded something of the same host each time, and take its turns.
        """
        return self._scrapy.is_full and request not in self._returned

    def _return(self, host: PacedHost, request: Request) -> None:
        """Keep the turn of a host for a request that is about to come again."""
        self._returned.add(request)
        host.coming = request
        self._occupied[host.name] = host
        if host.name in self._unclaimed:
            self._unclaimed.pop(host.name).cancel()
        self._unclaimed[host.name] = call_later(_UNCLAIMED, self._take_back, host, request)

    def _take_back(self, host: PacedHost, request: Request) -> None:
        """Have the next request to a host go on if the one that was returned has not come."""
        self._unclaimed.pop(host.name, None)
        if host.coming is request:
            host.coming = None
            self.offer(host.name)

    def _distrust(self, error: Exception) -> None:
        """From now on refuse requests to hosts that ask for a pace: it could not be kept."""
        if self._fault is None:
            self._fault = error
            self._stats.own_fault("The pace of a site", error)
        for host in list(self.hosts.values()):
            for _, _, _, turn in host.arrived:
                if not turn.called:
                    turn.errback(error)
            self._waiters.asks_for_nothing(host.name)


def _and_before(call: Callable[[], None]) -> Callable[[bool], bool]:
    """Return a callback that hands on its result when it has called ``call``."""

    def called(result: bool) -> bool:
        call()
        return result

    return called
