"""The requests that were let go: on their way to a slot, with their host, or leaving.

The last step of the downloader middlewares says when a request is sent, a public signal when it has
left the downloader. No signal says that a cache answered a request, or that a middleware dropped
it: such a request is one that the downloader no longer has.

A request that was let go has the turn of its host for a moment. If another middleware holds it up
for longer, the turn is over, and the next request of the host may go. The late one has to take
another turn at the last step. So a slow middleware costs a host a moment, but never its pace, and
it may itself download other pages of that host.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from scrapy import signals

from scrapy_rep.scheduling.hosts import NEVER, Hosts, PacedHost, host_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.scheduling.places import Places
    from scrapy_rep.scheduling.queues import ReadyQueues, Slot, Waiting
    from scrapy_rep.scrapy_internals import ScrapyInternals
    from scrapy_rep.stats import RepStats

_MOMENT = 1.0
"""Seconds for which a request in transit has the turn of its host, at least."""

_PASSES = 6
"""Passes of the waiting room for which it has that turn, at least.

The event loop may be busy for all of that second, so that the request could not move on. Each pass
is another iteration of the loop. A request in :class:`_Doubt` that is in its slot after as many
passes is being downloaded.
"""


class _Doubt(NamedTuple):
    """A request that a slot had when its host began to ask for a pace."""

    host: str
    since_pass: int


class _Transit(NamedTuple):
    """A request that was let go and has yet to reach its slot."""

    slot: Slot
    host: str
    since: float
    since_pass: int


class Released:
    """Follows the requests that were let go, and knows which of them each host is busy with.

    ``look()`` has the next pass run at once; ``fail(error)`` is told of a fault, after which no
    pace could be kept. If the crawl is ``resumed``, an earlier run may have made requests up to its
    start. ``moved`` is when a request was last let go or ended. ``listening`` is true for as long
    as a host asks for a pace or there is a request to follow.
    """

    def __init__(
        self,
        crawler: Crawler,
        inside: ScrapyInternals,
        hosts: Hosts,
        ready: ReadyQueues,
        places: Places,
        look: Callable[[], None],
        fail: Callable[[Exception], None],
        resumed: bool,
        stats: RepStats,
    ):
        self._signals = crawler.signals
        self._inside = inside
        self._hosts = hosts
        self._ready = ready
        self._places = places
        self._look = look
        self._fail = fail
        self._stats = stats
        self._transit: dict[Request, _Transit] = {}
        self._leaving: dict[Request, str] = {}
        self._doubtful: dict[Request, _Doubt] = {}
        self.listening = False
        self._passes = 0
        self._began = monotonic() if resumed else NEVER
        self.moved = 0.0
        if hosts.shared is not None:
            hosts.shared.attach(self.open_host, ready.has_host, fail)

    def __bool__(self) -> bool:
        return bool(self._transit or self._leaving or self._doubtful)

    @property
    def in_transit(self) -> int:
        """How many requests are on their way to their slots."""
        return len(self._transit)

    def add(self, waiting: Waiting, host: PacedHost | None) -> None:
        """Follow a request that goes now."""
        if host is not None:
            self._stats.waited_for_pace(host.begin(waiting))
        self._transit[waiting.request] = _Transit(
            waiting.slot, waiting.host, monotonic(), self._passes
        )
        self.listen()

    def arrive(self, request: Request) -> bool:
        """Note that a request is about to be sent, unless it has to wait for a turn of its host.

        Returns ``False`` in that case. A request that does not obey robots.txt never waits.
        """
        name = host_of(request) if self._hosts and request not in self._places.fetches else ""
        host = self._hosts.get(name)
        obeys = not request.meta.get("dont_obey_robotstxt")
        if obeys and host is not None and host.asks and request not in host.busy:
            return False
        transit = self._transit.pop(request, None)
        if transit is not None:
            if transit.slot.key != self._inside.download_slots.of(request).key:
                transit.slot.leave(request)  # another component has chosen another one
                self._ready.open_slot(transit.slot.key)
            if transit.host != name:
                self._not_busy(transit.host, request)
        if host is not None:
            host.busy.add(request)
        return True

    def take_back(self, request: Request) -> None:
        """Follow a request no longer, as it waits at the gate.

        Its rules have expired on the way, or it has to wait for another turn before it is sent.
        """
        transit = self._transit.get(request)
        if transit is not None:
            self._end_transit(request, transit)
            if self._ready:
                self._look()  # no signal says that its place and its room are free

    def begin_pace(self, name: str, least: float, held: set[Request]) -> PacedHost:
        """Return a host that keeps a pace from now on; what is under way there is found out.

        ``held`` are requests that have yet to go.
        """
        host = self._hosts.add(name, least, self._ready.has_host)
        self._stats.paced_host()
        host.ended = self._began
        slots = self._inside.download_slots.requests & self._inside.capacity.requests
        others = slots - held - self._transit.keys() - self._places.fetches
        host.busy = {request for request in others if host_of(request) == name}
        # They may have been downloaded already, and then no signal comes.
        self._doubtful.update(dict.fromkeys(host.busy, _Doubt(name, self._passes)))
        if not host.busy and self._inside.download_slots.has_sent(name):
            host.ended = monotonic()  # when the last request ended is not known
        self.listen()
        return host

    def left(self, request: Request) -> None:
        """The download of a request has ended."""
        try:
            self.moved = monotonic()
            self._transit.pop(request, None)
            if self._hosts and request not in self._places.fetches:
                self._end_at(host_of(request), request)
            if self._ready:
                self._leaving[request] = request.meta.get("download_slot", "")
                self._look()
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    def open_host(self, name: str) -> None:
        """Look again at the requests that wait for a host."""
        if self._ready.has_host(name):
            self._ready.open_host(name)
            self._look()

    def settle(self, now: float) -> None:
        """Find out what has ended without a signal, and what has left the downloader since."""
        self._passes += 1
        requests = self._inside.capacity.requests
        for request, transit in list(self._transit.items()):
            # What the downloader no longer has was answered from a cache, or dropped. What is late
            # is held up by a middleware, which may wait for another request of the host or slot.
            if request not in requests or self._is_late(transit, now):
                self._end_transit(request, transit)
        in_slots = self._inside.download_slots.requests if self._doubtful else ()
        for request, doubt in list(self._doubtful.items()):
            if request not in in_slots:
                self._end_at(doubt.host, request)
            elif self._passes - doubt.since_pass >= _PASSES:
                del self._doubtful[request]  # it is being downloaded: a signal says when it ends
        if not self._ready:
            self._leaving.clear()
        for request, key in list(self._leaving.items()):
            if request not in requests:
                del self._leaving[request]
            self._ready.open_slot(key)

    def look_again(self) -> None:
        """Look at everything, as nothing has moved for a while.

        What a host is busy with and the downloader no longer has is over.
        """
        for name in self._ready.blocked_hosts:
            host = self._hosts.get(name)
            gone = host.busy - self._inside.capacity.requests if host is not None else set()
            if host is not None and gone:
                host.busy -= gone
                host.ended = monotonic()
            if host is None or gone:
                self._ready.open_host(name)
        self._ready.open_slots()

    def listen(self) -> None:
        """Listen to the downloader from now on."""
        if not self.listening:
            self.listening = True
            self._signals.connect(self.left, signals.request_left_downloader)

    def rest(self) -> None:
        """Listen no longer: there is nothing to follow."""
        if self.listening:
            self.listening = False
            self._signals.disconnect(self.left, signals.request_left_downloader)

    def close(self) -> None:
        """Forget everything: the crawl is over."""
        for request, transit in self._transit.items():
            transit.slot.leave(request)
        self._transit.clear()
        self._leaving.clear()
        self._doubtful.clear()
        if self._hosts.shared is not None:
            self._hosts.shared.close()
        self.rest()

    def _is_late(self, transit: _Transit, now: float) -> bool:
        return now - transit.since > _MOMENT and self._passes - transit.since_pass >= _PASSES

    def _not_busy(self, name: str, request: Request) -> None:
        """Note that a request has not begun: another one of its host may go."""
        host = self._hosts.get(name)
        if host is not None and request in host.busy:
            host.busy.discard(request)
            self.open_host(name)

    def _end_transit(self, request: Request, transit: _Transit) -> None:
        """Follow a request no longer: others may have its room in the slot, and its host's turn."""
        del self._transit[request]
        transit.slot.leave(request)
        self._ready.open_slot(transit.slot.key)
        self._not_busy(transit.host, request)

    def _end_at(self, name: str, request: Request) -> None:
        """Note that a request to a host has ended: the interval begins."""
        self._doubtful.pop(request, None)
        host = self._hosts.get(name)
        if host is not None:
            host.end(request)
            self.open_host(name)
