"""The turns of paced hosts: one request at a time, and an interval from its end to the next start.

A turn is taken at the last step, behind all other downloader middlewares, where Scrapy's own
DOWNLOAD_DELAY waits as well. So whatever holds up a request on its way there costs no turn, and
what is answered from a cache takes none. A host becomes busy when the turn is granted, not when the
coroutine of the request goes on. It is busy until the response, or an error, passes the last step.

Requests of the scheduler seldom wait here. The frontier keeps the sites of a host parked until the
host is due, and then one of them reserves the turn as it is handed out (:meth:`Turns.reserve`).
Direct downloads come whenever they like, and wait in place. So does a request of the scheduler
whose host is busy again by then, or that has lost its turn to another one because a middleware held
it up. A request with ``dont_obey_robotstxt`` does not wait, but the next one waits for its end.

Without the last step, the gate takes the turns before the other middlewares. It cannot know then
when a request is sent or ends, so each turn ends when the gate lets its request pass.

No event tells that a request was answered from a cache, dropped or cancelled. A request that the
downloader no longer has is no longer under way (:meth:`Turns.end_lost`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable
from itertools import count, islice
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from scrapy.exceptions import IgnoreRequest
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep import stats as names
from scrapy_rep.frontier.alarm import Agenda
from scrapy_rep.frontier.hosts import NEVER, PacedHost
from scrapy_rep.frontier.request_state import to_come_back
from scrapy_rep.frontier.shared_pace import SharedPace

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.frontier.places import Places
    from scrapy_rep.frontier.request_state import RequestState, RequestStates
    from scrapy_rep.frontier.shared_pace import SharedTurns
    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_MOST_HOSTS, _MOST_ENDS = 10_000, 10_000
"""Hosts whose pace is remembered: beyond that, a few of those used least recently are looked at,
and forgotten if nothing waits for them and no interval runs. And hosts for which the end of the
last request is remembered, in case they begin to ask for a pace."""

_MOST_LOOKED_AT: Final = 10
"""Hosts that are looked at for each new one, to find some that can be forgotten."""

_UNCLAIMED: Final = 1.0
"""Seconds for which a request keeps the next turn without reaching the last step. It may have been
dropped, or a middleware may hold it up until another request to the host is done."""


class PacedFrontier(Protocol):
    """The frontier, as the turns see it."""

    states: RequestStates
    """What is known of each request."""

    def ask_again(self, host: str) -> None:
        """Ask a site that waits for the turn of a host once more, if that may be of use."""

    def is_wanted(self, host: str) -> bool:
        """Return whether a site is parked for the turn of a host, or was woken for it."""

    def sent(self, request: Request) -> None:
        """Note that a request has passed the last step."""

    def left(self, request: Request, *, was_sent: bool) -> None:
        """Note that the download of a request has ended, or that it was not sent after all."""


class Turns:
    """The turns of the hosts of one crawl; ``shared`` is None unless workers share their pace."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        scrapy: ScrapyNames,
        places: Places,
        frontier: PacedFrontier,
        stats: RepStats,
        shared: SharedTurns | None,
        unshared: str,
    ):
        self._crawler = crawler
        self._longest = settings.max_crawl_delay
        self._concurrent = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._scrapy = scrapy
        self._places = places
        self._frontier = frontier
        self._stats = stats
        self.hosts: OrderedDict[str, PacedHost] = OrderedDict()
        """The hosts that ask for a pace, and those that did and are still in use or waited for."""
        self._unshared = unshared
        """The store that does not let workers share a pace; empty once that is logged."""
        self._shared = None
        if shared is not None:
            self._shared = SharedPace(shared, stats, offer=self.offer, fail=self._distrust)
        self._ended: OrderedDict[str, float] = OrderedDict()
        """When the last request to a host ended, for hosts that ask for no pace."""
        self._sent: dict[Request, str] = {}
        """The requests that are under way, with their hosts: from the last step to their end."""
        self.awaited: dict[str, PacedHost] = {}
        """The hosts whose next turn is reserved, or whose requests wait at the last step."""
        self._numbers = count()
        self.agenda = Agenda(self.offer, self._distrust)
        """When to look at hosts again."""
        self._is_offering = False
        self._fault: Exception | None = None

    # --- what a host asks for

    def keep(
        self,
        request: Request,
        authority: Authority,
        pace: RequestedPace | None,
        agent: tuple[str, ...],
    ) -> None:
        """Keep the pace that an authority asks of ``agent``; None if it asks for none."""
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
            host = self._begin_to_pace(authority.host, self._own_delay(request, authority))
        before, interval = host.asked_by(asker), pace.kept(self._longest)
        host.heed(asker, interval)
        if interval < before:
            self.offer(host.name)
        if interval != before:
            self._stats.paced(authority, interval)
            if interval < pace.interval:
                self._stats.capped(authority, pace.interval, interval)

    def _begin_to_pace(self, name: str, own_delay: float) -> PacedHost:
        if len(self.hosts) >= _MOST_HOSTS:
            self._forget_some()
        host = self.hosts[name] = PacedHost(name, own_delay, self._frontier.is_wanted)
        host.busy = list(self._sent.values()).count(name)
        host.ended = self._ended.get(name, NEVER)
        self._stats.inc(names.CRAWL_DELAY_HOSTS)
        if self._unshared:
            self._stats.paces_unshared(self._unshared)
            self._unshared = ""
        return host

    def _forget_some(self) -> None:
        """Look for hosts that can be forgotten: nothing waits for them, and no interval runs.

        The others go to the end, so that the next look is at different ones: a hundred hosts whose
        requests wait for hours do not keep the rest from being forgotten.
        """
        now = monotonic()
        for host in list(islice(self.hosts.values(), _MOST_LOOKED_AT)):
            if host.busy or host.is_waited_for or host.due > now:
                self.hosts.move_to_end(host.name)
            else:
                self._forget(host)

    def _own_delay(self, request: Request, authority: Authority) -> float:
        """Return the operator's own delay for the slot of a request."""
        settings = self._crawler.settings
        key = request.meta.get("download_slot") or authority.host
        own = settings.getdict("DOWNLOAD_SLOTS").get(key, {}).get("delay")
        return settings.getfloat("DOWNLOAD_DELAY") if own is None else float(own)

    # --- what the frontier asks

    def reserve(self, request: Request, state: RequestState) -> bool:
        """Return whether a request may be handed out; if so, it has the next turn.

        If it may not, :meth:`PacedFrontier.ask_again` is called as soon as one to the host may.
        """
        host = self.hosts.get(state.host)
        if host is None or not host.asks or self._fault is not None:
            return True
        now = monotonic()
        if self._is_unreserved(host, now) and self._may_start(host, now):
            host.reserved_for, host.reserved_until = request, now + _UNCLAIMED
            self.awaited[host.name] = host
            return True
        self._plan(host, now)
        return False

    def is_due(self, name: str) -> bool:
        """Return whether a request to a host may be handed out, as far as this crawl knows."""
        host = self.hosts.get(name)
        if host is None or not host.asks or self._fault is not None:
            return True
        now = monotonic()
        return self._is_unreserved(host, now) and host.is_due(now)

    def _is_unreserved(self, host: PacedHost, now: float) -> bool:
        """Return whether no request has the next turn, or waits for it at the last step.

        Whether the downloader has lost the request that has it is checked by :meth:`end_lost`, not
        here: when the turn is reserved, the downloader does not have the request yet.
        """
        is_reserved = host.reserved_for is not None and now < host.reserved_until
        return not (host.in_place or is_reserved)

    def end_lost(self) -> bool:
        """Free turns of requests that do not come; end requests that the downloader no longer has.

        Return whether there were any.
        """
        now = monotonic()
        lost = self._sent.keys() - self._scrapy.active
        for request in lost:
            self.left(request)
        late = [host.name for host in self.awaited.values() if self._is_late(host, now)]
        for name in late:
            self.offer(name)
        for host in list(self.awaited.values()):
            if not host.in_place and host.reserved_for is None:
                del self.awaited[host.name]
        return bool(lost or late)

    def _is_late(self, host: PacedHost, now: float) -> bool:
        """Return whether the request with the next turn was answered or dropped, or is held up."""
        if host.reserved_for is None:
            return False
        return now >= host.reserved_until or host.reserved_for not in self._scrapy.active

    # --- the last step

    def arrive(self, request: Request) -> Awaitable[Request | None] | None:
        """Note that a request is about to be sent; return what it has to wait for first.

        Raises the fault because of which the pace of its host cannot be kept.
        """
        state = self._frontier.states.get(request)
        if state is None:
            return None  # it is for a robots.txt, so the gate has not seen it
        if len(self._sent) > len(self._scrapy.active):  # without a scheduler nothing else looks
            self.end_lost()
        self.left(request)  # if it was cancelled, and the same object is downloaded again
        host = self.hosts.get(state.host)
        if host is not None and host.asks:
            if self._fault is not None:
                raise self._fault
            is_bypassed = request.meta.get("dont_obey_robotstxt")
            if not is_bypassed and (host.in_place or not self._may_start(host, monotonic())):
                return self._wait(host, request, state)
        self._begin(request, state.host)
        return None

    async def _wait(self, host: PacedHost, request: Request, state: RequestState) -> Request | None:
        """Wait until it is the turn of a request; return the request if it has to come back."""
        turn: Deferred[bool] = Deferred()
        waiter = -request.priority, next(self._numbers), request, turn
        host.in_place = (*host.in_place, waiter)
        if host.reserved_for is request:
            host.reserved_for = None
        self.awaited[host.name] = host
        try:
            # A request that the engine has sent within its limits keeps its own place for a short
            # wait. For a long one it is lent another, and may be one too many when its turn comes,
            # so no more are lent than the engine may send.
            wait = max(host.due - monotonic(), host.interval if host.busy else 0.0)
            is_short = wait <= _UNCLAIMED or self._places.waiting >= self._concurrent
            keeps_its_own = state.is_scheduled and is_short
            with self._places.lent(keeps_its_own=keeps_its_own) as take_back:
                turn.addCallback(take_back)
                if not host.busy:
                    self.agenda.set(host.name, max(host.due, monotonic()))
                if await maybe_deferred_to_future(turn):
                    return None
        except BaseException:  # it was cancelled, perhaps after the grant
            self.left(request)
            raise
        finally:
            host.in_place = tuple(each for each in host.in_place if each is not waiter)
        return to_come_back(request)

    def return_all(self, *, is_over: bool = False) -> None:
        """Return the scheduled requests that wait here to the scheduler: the crawl is closing.

        If the crawl ``is_over``, direct downloads stop waiting as well.
        """
        for host in list(self.awaited.values()):
            for _, _, request, turn in host.in_place:
                if (is_over or self._frontier.states[request].is_scheduled) and not turn.called:
                    turn.callback(False)

    def close(self) -> None:
        """End everything: the crawl is over."""
        self.agenda.alarm.cancel()
        self.return_all(is_over=True)
        if self._shared is not None:
            self._shared.close()
            # A listener of ``spider_closed`` may still download something, but gets no turn.
            self._fault = IgnoreRequest("the crawl is over")

    # --- turns begin and end

    def _begin(self, request: Request, name: str) -> None:
        """Note that a request is sent: its host is busy from now on."""
        if request in self._sent:  # one object has waited twice, and the pace has been withdrawn
            return
        self._sent[request] = name
        host = self.hosts.get(name)
        if host is not None:
            host.busy += 1
            if host.reserved_for is request:
                host.reserved_for = None
            self.hosts.move_to_end(host.name)
        self._frontier.sent(request)

    def left(self, request: Request, *, was_sent: bool = True) -> None:
        """Note that the download of a request has ended.

        If it was not sent after all, no interval follows its turn.
        """
        try:
            name = self._sent.pop(request, None)
            if name is None:
                return
            host = self.hosts.get(name)
            if host is not None:
                self._end(host, was_sent)
            elif was_sent:
                self._note_end(name, monotonic())
        except Exception as error:  # noqa: BLE001
            self._distrust(error)
        self._frontier.left(request, was_sent=was_sent)

    def _end(self, host: PacedHost, was_sent: bool) -> None:
        host.busy -= 1
        if was_sent:
            host.ended = monotonic()
            if self._shared is not None:
                self._shared.ended(host)
        self._forget_if_unused(host)
        self.offer(host.name)

    def interval_of(self, name: str) -> float:
        """Return the interval that is kept at a host; 0 if none is."""
        host = self.hosts.get(name)
        return 0.0 if host is None else host.interval

    def wait_for(self, name: str) -> float:
        """Return after how many seconds a host may be due, as far as this crawl knows."""
        host = self.hosts.get(name)
        if host is None or not host.asks:
            return 0.0
        is_in_use = host.busy or host.in_place or host.reserved_for is not None
        return max(host.due - monotonic(), host.interval if is_in_use else 0.0)

    def is_kept_by_store(self, name: str) -> bool:
        """Return whether a store that answers grants the turns of a host to all workers."""
        host = self.hosts.get(name)
        return self._shared is not None and host is not None and host.failing_since is None

    def _forget_if_unused(self, host: PacedHost) -> None:
        if not (host.asks or host.busy or host.is_waited_for):
            self._forget(host)

    def _forget(self, host: PacedHost) -> None:
        """Forget what a host asks for, but not when its last request ended."""
        self.hosts.pop(host.name, None)
        self._note_end(host.name, host.ended)

    def _note_end(self, name: str, when: float) -> None:
        self._ended.pop(name, None)
        self._ended[name] = when
        if len(self._ended) > _MOST_ENDS:
            self._ended.popitem(last=False)

    def _may_start(self, host: PacedHost, now: float) -> bool:
        """Return whether a request to a host may start; ask the store for a turn if need be."""
        if not host.is_due(now):
            return False
        return self._shared is None or not host.interval or self._shared.has_turn(host, now)

    def offer(self, name: str) -> None:
        """Grant the turn of a host, or let a site that waits for it be asked, if it is due."""
        host = self.hosts.get(name)
        if host is None:
            return
        if self._is_offering:
            # A request that gets its turn may give it back at once, and so call this from within.
            self.agenda.set(name, monotonic())
            return
        self._is_offering = True
        try:
            now = monotonic()
            if self._is_late(host, now):
                host.reserved_for = None
            self._serve(host, now)
        except Exception as error:  # noqa: BLE001  # a timer would only log it
            self._distrust(error)
        finally:
            self._is_offering = False

    def _serve(self, host: PacedHost, now: float) -> None:
        for _, _, request, turn in sorted(host.in_place):
            if turn.called:
                continue
            if not self._may_start(host, now):
                break
            self._begin(request, host.name)
            turn.callback(True)
        if host.is_waited_for:
            self._plan(host, now)
            self._frontier.ask_again(host.name)
        elif self._shared is not None:
            self._shared.settle(now)  # gives back a turn that nothing will use

    def _plan(self, host: PacedHost, now: float) -> None:
        """Look at a host again when its interval is over and its reservation, if any, has lapsed.

        Nothing has to be planned for a host that is due: if a request to it is under way, its end
        is an event, and if the store is asked for a turn, so is the answer. ``now`` is the time at
        which the host was looked at; by a later one it might be due, and nothing would be planned.
        """
        reserved_until = NEVER if host.reserved_for is None else host.reserved_until
        when = max(host.due, reserved_until)
        if when > now:
            self.agenda.set(host.name, when)

    def _distrust(self, error: Exception) -> None:
        """From now on refuse requests to hosts that ask for a pace: it could not be kept."""
        if self._fault is None:
            self._fault = error
            self._stats.own_fault("The pace of a site", error)
        for host in list(self.hosts.values()):
            for _, _, _, turn in host.in_place:
                if not turn.called:
                    turn.errback(error)
            self._frontier.ask_again(host.name)
