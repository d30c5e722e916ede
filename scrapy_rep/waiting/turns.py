"""The turns of paced hosts: one request at a time, and an interval from its end to the next start.

A turn is taken at the last step, behind all other downloader middlewares, where Scrapy's own
DOWNLOAD_DELAY waits as well. So whatever holds up a request on its way there costs no turn, and
what is answered from a cache takes none. A host becomes busy when the turn is granted, not when the
coroutine of the request goes on. It is busy until the response, or an error, passes the last step.

Requests of the scheduler seldom wait here: it hands out only the next one of a host, when the host
is free (:meth:`Turns.reserve`). Direct downloads come whenever they like, and wait in place. So do
requests of the scheduler whose host was not known to ask for a pace, or is busy again by then. A
request with ``dont_obey_robotstxt`` does not wait, but the next one waits for its end.

Nothing says that a request was answered from a cache, dropped or cancelled. What the downloader no
longer has is no longer under way (:meth:`Turns.look`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Iterable
from heapq import heappop, heappush
from itertools import count, islice
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from scrapy import signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.waiting.hosts import NEVER, PacedHost
from scrapy_rep.waiting.shared_pace import SharedPace

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting.places import Places
    from scrapy_rep.waiting.ready import Item
    from scrapy_rep.waiting.shared_pace import SharedTurns
    from scrapy_rep.waiting.trips import Trip, Trips

_MOST_HOSTS, _MOST_ENDS = 10_000, 10_000
"""Hosts whose pace is remembered, beyond which the least recently used one is forgotten; and hosts
of which is remembered when a request ended last, in case they begin to ask for a pace."""

_MOST_LOOKED_AT: Final = 100
"""Hosts that are looked at for one that can be forgotten."""

_UNCLAIMED: Final = 1.0
"""Seconds after which the next turn goes to another request: the one that has it was dropped, or a
middleware holds it up, perhaps until that other one is done."""


class Waiters(Protocol):
    """The scheduler, as the turns see it."""

    is_open: bool
    """Whether it withholds requests. If not, all of them wait in place."""

    trips: Trips
    """What is known of each request."""

    def make_ready(self, items: Iterable[Item]) -> None:
        """Queue withheld requests to be handed out."""

    def give_back(self, request: Request) -> Request:
        """Return a request that comes back."""

    def has_left(self) -> None:
        """Note that a download has ended."""


class Turns:
    """The turns of the hosts of one crawl; ``shared`` is there if other workers keep their pace."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        scrapy: ScrapyNames,
        places: Places,
        waiters: Waiters,
        stats: RepStats,
        *,
        shared: SharedTurns | None = None,
    ):
        self._crawler = crawler
        self._longest = settings.max_crawl_delay
        self._scrapy = scrapy
        self._places = places
        self._waiters = waiters
        self._trips = waiters.trips
        self._stats = stats
        self.hosts: OrderedDict[str, PacedHost] = OrderedDict()
        """The hosts that ask for a pace."""
        self._shared = None
        if shared is not None:
            self._shared = SharedPace(shared, stats, offer=self.offer, fail=self._distrust)
        self._ended: dict[str, float] = {}
        """When the last request to a host ended, for hosts that ask for no pace."""
        self.occupied: dict[str, PacedHost] = {}
        """The hosts of requests that are under way, have a turn next, or wait at the last step."""
        self._numbers = count()
        self._is_offering = False
        self._fault: Exception | None = None
        self.is_early = False
        """Whether turns are taken before the last step."""

    def take_early(self) -> None:
        """Note that turns are taken before the last step, because that is not enabled.

        A middleware may then download something of the same host for a request that has its turn,
        and must not wait for it. So the host is busy only when the request has reached the
        downloader, and the interval begins with the turn.
        """
        self.is_early = True
        connect = self._crawler.signals.connect
        connect(self._begin, signal=signals.request_reached_downloader)
        connect(self.left, signal=signals.request_left_downloader)

    # --- what a host asks for

    def keep(
        self,
        request: Request,
        authority: Authority,
        pace: RequestedPace | None,
        agent: tuple[str, ...],
    ) -> None:
        """Keep a pace that was asked of ``agent`` at the host of a request; None for no pace."""
        asker = authority, agent
        host = self.hosts.get(authority.host)
        if pace is None:
            if host is not None:
                host.withdraw(asker)
                self.offer(host.name)
                self._forget_if_unused(host)
            return
        if self._fault is not None:
            raise self._fault
        if host is None:
            host = self._begin_to_pace(authority.host, self._least(request, authority))
        before, interval = host.asked_by(asker), pace.kept(self._longest)
        host.ask(asker, interval)
        self.hosts.move_to_end(host.name)
        if interval < before:
            self.offer(host.name)
        if interval != before:
            self._stats.paced(authority, interval)
            if interval < pace.interval:
                self._stats.capped(authority, pace.interval, interval, said=before > 0)

    def _begin_to_pace(self, name: str, least: float) -> PacedHost:
        if len(self.hosts) >= _MOST_HOSTS:
            for other in islice(self.hosts.values(), _MOST_LOOKED_AT):
                if not (other.in_use or other.withheld):
                    self._forget(other)
                    break
        host = self.hosts[name] = PacedHost(name, least)
        for request in self._scrapy.active:
            trip = self._trips.get(request)
            if trip is not None and trip.is_sent and trip.host == name:
                host.busy.add(request)
        host.ended = self._ended.get(name, NEVER)
        if host.busy:
            self.occupied[name] = host
        self._stats.paced_host()
        return host

    def _least(self, request: Request, authority: Authority) -> float:
        """Return the operator's own delay for the slot of a request."""
        settings = self._crawler.settings
        key = request.meta.get("download_slot") or authority.host
        own = settings.getdict("DOWNLOAD_SLOTS").get(key, {}).get("delay")
        return settings.getfloat("DOWNLOAD_DELAY") if own is None else float(own)

    # --- the way of a request of the scheduler

    def reserve(self, request: Request, trip: Trip) -> bool:
        """Return whether a request may be handed out; if so, it has the next turn."""
        host = self.hosts.get(trip.host)
        if host is None or not host.asks:
            return True
        if trip.has_lost_turn:  # from the scheduler it would come as late again
            trip.has_lost_turn = False
            return True
        if host.coming is request:
            if not trip.is_offered:
                return True
            host.coming = None  # the turn may have been used since it was offered
        may_come = host.coming is None and not host.arrived and self._has_room(host)
        if may_come:
            self._let_come(host, request)
        if host.withheld or not may_come:
            self._plan(host)
        return may_come

    def withhold(self, host: str, item: Item) -> None:
        """Withhold a request until its turn at a host comes."""
        heappush(self.hosts[host].withheld, item)

    def clear(self) -> list[Item]:
        """Forget the requests that are withheld, and return them."""
        items: list[Item] = []
        for host in self.hosts.values():
            items += host.withheld
            host.withheld = []
            if host.coming is not None and self._trips[host.coming].is_offered:
                host.coming = None
        return items

    def look(self) -> None:
        """End the requests that the downloader no longer has, and free the turns of lost ones."""
        active = self._scrapy.active
        for name, host in list(self.occupied.items()):
            if self._is_late(host):
                self.offer(name)
            for request in host.busy - active:
                self._end(host, request)
            if not host.in_use:
                self.occupied.pop(name, None)

    def _is_late(self, host: PacedHost) -> bool:
        """Return whether the request with the next turn was answered or dropped, or is held up."""
        if host.coming is None or self._trips[host.coming].is_offered:
            return False
        is_gone = host.coming not in self._scrapy.active
        comes_back = self._trips[host.coming].comes_for_turn  # and is not active until then
        return monotonic() >= host.claim_until or (is_gone and not comes_back)

    # --- the last step

    def arrive(self, request: Request) -> Awaitable[Request | None] | None:
        """Note that a request is about to be sent; return what it has to wait for first."""
        trip = self._trips.get(request)
        if trip is None:
            return None  # it is for a robots.txt, so the gate has not seen it
        host = self.hosts.get(trip.host)
        if host is None or not host.asks:
            trip.is_sent = not self.is_early
            return None
        is_bypassed = request.meta.get("dont_obey_robotstxt")
        is_next = trip.comes_for_turn or not host.arrived
        if is_bypassed or (is_next and self._has_room(host)):
            self._grant(host, request)
            return None
        return self._wait(host, request, trip)

    async def _wait(self, host: PacedHost, request: Request, trip: Trip) -> Request | None:
        """Wait until it is the turn of a request; return the request if it has to come back."""
        turn: Deferred[bool] = Deferred()
        # Without the scheduler, requests before this one may wait for a place in the downloader.
        trip.is_beyond_limits = not self._waiters.is_open and self._scrapy.is_over_full
        goes_first = trip.comes_for_turn or trip.is_beyond_limits
        rank = NEVER if goes_first else -request.priority
        heappush(host.arrived, (rank, next(self._numbers), request, turn))
        if host.coming is request:
            host.coming = None
        self.occupied[host.name] = host
        # The engine sent it when it had room for it.
        is_within_limits = trip.comes_for_turn or (self._waiters.is_open and trip.is_scheduled)
        try:
            with self._places.lent(keeps_its_own=is_within_limits) as take_back:
                turn.addCallback(take_back)
                self._plan(host)
                if await maybe_deferred_to_future(turn):
                    return None
        except BaseException:  # it was cancelled, perhaps after the grant
            if request in host.busy:
                self._end(host, request)
            raise
        finally:
            host.arrived = sorted(each for each in host.arrived if each[2] is not request)
        return self._waiters.give_back(request)

    def return_all(self) -> None:
        """Return the requests of the scheduler that wait here to it: the crawl is closing."""
        for host in list(self.occupied.values()):
            for _, _, request, turn in list(host.arrived):
                if self._trips[request].is_scheduled and not turn.called:
                    turn.callback(False)

    def close(self) -> None:
        """End everything: the crawl is over."""
        for host in self.hosts.values():
            self._stop_timer(host)
            for _, _, _, turn in host.arrived:
                if not turn.called:
                    turn.callback(False)
        if self._shared is not None:
            self._shared.close()

    # --- turns begin and end

    def _grant(self, host: PacedHost, request: Request) -> None:
        """Give a request its turn: its host is busy from now on."""
        if host.held_up_at is not None:
            self._stats.waited_for_pace(monotonic() - max(host.ended, host.held_up_at))
            host.held_up_at = None
        self._trips[request].comes_for_turn = False
        if host.coming is request:
            host.coming = None
        self.hosts.move_to_end(host.name)
        if self.is_early:
            host.ended = monotonic()
            self.offer(host.name)
        else:
            self._begin(request)

    def _begin(self, request: Request) -> None:
        """Note that a request is under way: it has its turn or, if that is early, is sent."""
        trip = self._trips.get(request)
        if trip is None:
            return  # it is for a robots.txt
        trip.is_sent = True
        host = self.hosts.get(trip.host)
        if host is not None:
            host.busy.add(request)
            self.occupied[host.name] = host

    def left(self, request: Request) -> None:
        """Note that the download of a request has ended."""
        try:
            trip = self._trips.get(request)
            if trip is None or not trip.is_sent:
                return
            self._waiters.has_left()
            host = self.hosts.get(trip.host)
            if host is not None:
                self._end(host, request)
            else:
                trip.is_sent = False
                self._note_end(trip.host, monotonic())
        except Exception as error:  # noqa: BLE001
            self._distrust(error)

    def interval_for(self, request: Request) -> float:
        """Return the interval that is kept at the host of a request; 0 if none is."""
        host = self.hosts.get(self._trips[request].host)
        return 0.0 if host is None else host.interval

    def not_sent(self, request: Request) -> None:
        """End the turn of a request that is not sent after all: no interval follows it."""
        host = self.hosts.get(self._trips[request].host)
        if host is not None:
            self._end(host, request, was_sent=False)

    def _end(self, host: PacedHost, request: Request, *, was_sent: bool = True) -> None:
        self._trips[request].is_sent = False
        if request not in host.busy:
            return
        host.busy.discard(request)
        if was_sent:
            host.ended = monotonic()
            if self._shared is not None:
                self._shared.ended(host)
        if not host.in_use:
            self.occupied.pop(host.name, None)
        self._forget_if_unused(host)
        self.offer(host.name)

    def _forget_if_unused(self, host: PacedHost) -> None:
        if not (host.asks or host.in_use or host.withheld):
            self._forget(host)

    def _forget(self, host: PacedHost) -> None:
        """Forget what a host asks for, but not when its last request ended."""
        self.hosts.pop(host.name, None)
        self._stop_timer(host)
        self._note_end(host.name, host.ended)

    def _note_end(self, name: str, when: float) -> None:
        self._ended.pop(name, None)
        self._ended[name] = when
        if len(self._ended) > _MOST_ENDS:
            del self._ended[next(iter(self._ended))]

    def _has_room(self, host: PacedHost) -> bool:
        """Return whether a request to a host may start; ask for a turn of the store if need be."""
        now = monotonic()
        if not host.is_due(now):
            return False
        return self._shared is None or not host.interval or self._shared.has_turn(host, now)

    def _plan(self, host: PacedHost) -> None:
        """Look at a host again when its interval is over, because a request waits for that."""
        if host.held_up_at is None:
            host.held_up_at = monotonic()
        if host.timer is None and not host.busy:
            comes_until = NEVER if host.coming is None else host.claim_until
            wait = max(host.due - monotonic(), comes_until - monotonic(), 0.0)
            if wait or not host.asks or host.arrived:
                host.timer = call_later(wait, self.offer, host.name)

    @staticmethod
    def _stop_timer(host: PacedHost) -> None:
        if host.timer is not None:
            host.timer.cancel()
            host.timer = None

    def offer(self, name: str) -> None:
        """Grant a turn of a host, or make its next withheld request ready, if the host is due."""
        host = self.hosts.get(name)
        if host is None:
            return
        self._stop_timer(host)
        if self._is_offering:
            # A request that gets its turn may give it back at once, one within the other.
            host.timer = call_later(0.0, self.offer, name)
            return
        self._is_offering = True
        try:
            if host.coming is not None and self._is_late(host):
                self._trips[host.coming].has_lost_turn = True
                host.coming = None
            if not host.asks:
                self._stop_withholding(host)
            self._serve(host)
        except Exception as error:  # noqa: BLE001  # a timer would swallow it, and the pace too
            self._distrust(error)
        finally:
            self._is_offering = False

    def _stop_withholding(self, host: PacedHost) -> None:
        """Make all withheld requests to a host ready."""
        # The one that has the next turn is ready already.
        self._waiters.make_ready([each for each in host.withheld if each[2] is not host.coming])
        host.withheld = []

    def _serve(self, host: PacedHost) -> None:
        while host.arrived and self._has_room(host):
            _, _, request, turn = host.arrived[0]
            comes_back = not self._waiters.is_open and self._has_to_come_back(request)
            if comes_back and host.coming is not None:
                break
            heappop(host.arrived)
            if turn.called:
                continue
            try:
                if comes_back:
                    self._trips[request].comes_for_turn = True
                    self._let_come(host, request)
                else:
                    self._grant(host, request)
            except Exception as error:
                turn.errback(error)  # it has left the queue, so nothing else would
                raise
            turn.callback(not comes_back)
        if host.arrived or (host.withheld and host.coming is None):
            if not host.is_due(monotonic()):
                self._plan(host)
            elif not host.arrived and self._has_room(host):
                self._offer_next(host)
        elif not host.is_waited_for and self._shared is not None:
            self._shared.settle(monotonic())  # gives back a turn that nothing will use

    def _offer_next(self, host: PacedHost) -> None:
        """Make the next request to a host ready, and reserve its turn."""
        items = host.withheld
        request = items[0].request
        trip = self._trips[request]
        # A fault before this loses no request, and one behind it hands none out twice.
        self._waiters.make_ready(items[:1])
        host.coming, trip.is_offered = request, True
        self.occupied[host.name] = host
        heappop(items)

    def _has_to_come_back(self, request: Request) -> bool:
        """Return whether a request would exceed the limits of the engine if it were sent now.

        It was lent a place while it waited. This happens once to a request: a middleware in front
        of the gate may download something of the same host each time, and take its turns.
        """
        trip = self._trips[request]
        return self._scrapy.is_full and not (trip.comes_for_turn or trip.is_beyond_limits)

    def _let_come(self, host: PacedHost, request: Request) -> None:
        """Give a request the next turn of a host, which it may claim for a moment."""
        host.coming, host.claim_until = request, monotonic() + _UNCLAIMED
        self.occupied[host.name] = host

    def _distrust(self, error: Exception) -> None:
        """From now on refuse requests to hosts that ask for a pace: it could not be kept."""
        if self._fault is None:
            self._fault = error
            self._stats.own_fault("The pace of a site", error)
        for host in list(self.hosts.values()):
            for _, _, _, turn in host.arrived:
                if not turn.called:
                    turn.errback(error)
            self._stop_withholding(host)
