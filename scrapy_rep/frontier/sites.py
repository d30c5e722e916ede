"""Which sites are ready, and which ones wait for what.

The frontiers of this field (Mercator, Heritrix, BUbiNG, URLFrontier) keep state by site, not by
request, and so does this one: a site that has to wait costs one entry, and its requests stay in
their queue, in memory or on disk. :mod:`scrapy_rep.frontier.states` has the table of the states and
events, which this module follows. It knows nothing of Scrapy, of clocks or of sockets: it asks an
:class:`Admission`, and takes requests out of :class:`SiteQueues`.

**A call** (:meth:`Sites.next`) asks one ready site after another for its head, until one is blocked
by nothing. :mod:`scrapy_rep.frontier.order` says which one is next. If no site is ready, those
whose slot is busy, but not full, are asked. So a slot gets a second request only if no other slot
could take it: two slow sites would otherwise take the whole downloader (beside two sites whose
pages take 2 s, ten sites whose pages take 50 ms give 40 pages a second with 16 concurrent requests,
instead of all that they can). A site that has handed a request out goes to the end of the ring, or
of the line of those whose last request was refused.

**No event walks all sites.** It looks only at those that it wakes, and a call asks
:data:`MOST_ASKED` at most. If none of these can go, it returns None and wakes the engine for the
next iteration of the event loop, so that responses are not kept waiting.

**What is freed wakes the site that has waited longest**, one for each :class:`Block`. When that one
is asked, whatever it does, the event is passed on to the next one, so that it wakes as many sites
as it can serve. There is one exception: if the site is blocked by the same again, another event is
still to come. (Passed on without this exception, two sites of one host whose store grants no turn
ask each other for ever.) Without passing on, a wake-up is lost whenever a woken site turns out to
wait for something else. The invariant: if something is free and a site is parked for it, one site
that was woken for it has not been asked yet.

**A site keeps its place** if it has waited for a turn or for a slot, was asked, and has to wait
once more: for the turn that a store has to grant, for rules that have expired meanwhile, or for the
slot again. It is ahead of all others in the line that it comes to, but for a turn only if it has
waited for one. At the end of a line, it might never get through: a turn of a store is held for four
seconds, rules may live for a minute, and a line may take longer. Known sites whose rules have
expired wait for a fetch in a line of their own (``AGAIN``), which alternates with that of new ones.

**The head** stays in memory while its site is parked. If the queue gets a more urgent request
meanwhile, that becomes a second head. A site whose rules are not known is parked at the push, by
its key, without a head: what waits for a fetch stays in its queue.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict, deque
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from scrapy_rep.frontier.order import Line, ReadySites
from scrapy_rep.frontier.states import (
    AGAIN,
    FETCH,
    GIVEN_BACK,
    READY,
    REFUSED,
    SITE,
    WAITING,
    Block,
    Event,
    State,
    Unblocked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_ASKED: Final = 50
"""How many sites one call asks before it lets the event loop go on: about half a millisecond."""

MOST_HEADS: Final = 3
"""How many requests of a site may ask for its rules. Each may go by a proxy of its own."""


class SiteQueues(Protocol):
    """The requests of many sites, in memory or on disk."""

    def take(self, key: str) -> Any:
        """Return the next request of a site, and remove it.

        None if there is none, or if the queue has lost them: then :meth:`top` is None, too.
        """

    def top(self, key: str) -> int | None:
        """Return the priority of the next request of a site; None if there is none."""


class Admission(Protocol):
    """The frontier, as the sites see it."""

    def hand_out(self, request: Any, may_share: bool) -> Block | Unblocked | None:
        """Hand out a request unless something blocks it; return what does.

        If nothing does, return None, ``REFUSED`` if the gate will refuse it, or ``GIVEN_BACK`` if
        it is not handed out, but is gone. ``may_share`` says that no other site is ready, so the
        slot need not be idle.
        """

    def lacks_rules(self, key: str) -> bool:
        """Return whether a site, given by its key, is governed by rules that are not known."""

    def begin(self, request: Any, block: Block) -> None:
        """Begin to fetch the rules that block a request, or join the fetch that is under way."""

    def is_free(self, block: Block) -> bool:
        """Return whether a site that is blocked should be asked once more.

        It has to be True whenever :meth:`hand_out` would not return the block.
        """

    def is_full(self, block: Block) -> bool:
        """Return whether a slot has as many requests as it may send."""


class Head(NamedTuple):
    """A request that was taken out of its queue. Heads compare by priority, then by age."""

    order: int
    number: int
    request: Any


@dataclass(eq=False, slots=True)
class Site:
    """The requests of one key."""

    key: str
    size: int
    """Its requests, heads included."""
    state: State = State.GONE
    block: Block | None = None
    """What it is parked for."""
    woken_by: Block | None = None
    """What it was woken for, until it is asked."""
    has_waited_for: State | None = None
    """``TURN`` or ``ROOM``, if it has waited for that, was asked, and has to wait once more."""
    heads: list[Head] | tuple[()] = ()
    counted: int = 0
    """How many of its requests have waited, and are counted."""


class Sites:
    """All sites that have requests.

    ``wake()`` is called when a site becomes ready between two calls of :meth:`next`.
    ``by_priority`` is for queues that have one order for all sites. Then the most urgent ready site
    is next, and slots are shared.
    """

    def __init__(self, admission: Admission, wake: Callable[[], None], *, by_priority: bool):
        self._admission = admission
        self._wake = wake
        self._queues: list[SiteQueues] = []
        self.by_key: dict[str, Site] = {}
        """The sites that have requests."""
        self._numbers = count()
        self._parked: dict[Block, OrderedDict[Site, None]] = {}
        """The sites that are parked for each block. The first one has waited longest.

        It would take long to take the first of a hundred thousand out of a plain dict.
        """
        self._woken_for: set[Block] = set()
        """The blocks for which a site was woken that has not been asked yet."""
        self._busy_slots: OrderedDict[Block, None] = OrderedDict()
        """The blocks of slots that are busy, but not full. The first one has waited longest."""
        self._ready: ReadySites[Site] = ReadySites(self._order_of if by_priority else None)
        self._freed_into: dict[State, Line[Site]] = {
            State.FETCH: self._ready.for_fetch,
            State.TURN: self._ready.due,
            State.ROOM: self._ready.woken,
        }
        self._is_asking = self._is_new_next = False
        self.sites_waiting = self.sites_paced = 0
        """How many sites are parked, except for ``ROOM``; and how many of them for a turn."""
        self.requests_waiting = self.requests_paced = 0
        """How many requests these sites have, heads and queued ones."""
        self.waited = 0
        """How many requests have begun to wait since they were last counted; each counts once."""

    def join(self, queues: SiteQueues, sizes: dict[str, int]) -> None:
        """Add queues, and their sites, with the number of requests by key.

        Among requests of one priority, those of the queues that joined first go first.
        """
        self._queues.append(queues)
        self._is_asking = True  # the engine is not ready to be woken, and asks when it starts
        try:
            for key, size in sizes.items():
                self.pushed(key, size)
        finally:
            self._is_asking = False

    @property
    def unasked(self) -> int:
        """How many sites have their rules, and have not been asked since.

        By priority there is one line for all ready sites, so all of them count.
        """
        return len(self._ready.with_rules)

    @property
    def is_ready(self) -> bool:
        """Whether a site is ready."""
        return bool(self._ready)

    def is_parked_for(self, block: Block) -> bool:
        """Return whether a site is parked for something."""
        return block in self._parked

    def is_wanted(self, block: Block) -> bool:
        """Return whether a site is parked for something, or was woken for it."""
        return block in self._parked or block in self._woken_for

    # --- events

    def pushed(self, key: str, more: int = 1) -> None:
        """Note that a queue has got requests of a site."""
        site = self.by_key.get(key)
        if site is not None:
            site.size += more
            if site.state in WAITING:
                self._count(site, 0, more)
            return
        site = self.by_key[key] = Site(key, more)
        if self._admission.lacks_rules(key):
            self._park(site, Event.PUSHED, FETCH)
            self.freed(FETCH)
        else:
            self._make_ready(site, Event.PUSHED, self._ready.ring)

    def freed(self, block: Block) -> None:
        """Wake the site that has waited longest for something, if that is free."""
        parked_for = block
        if block == FETCH:
            first, second = (FETCH, AGAIN) if self._is_new_next else (AGAIN, FETCH)
            parked_for = first if first in self._parked else second
        if parked_for not in self._parked or block in self._woken_for:
            return
        if not self._admission.is_free(block):
            return
        if block == FETCH:
            self._is_new_next = parked_for == AGAIN
        site = self._woken(parked_for, block)
        self._make_ready(site, Event.FREED, self._freed_into[block.state])

    def slot_freed(self, block: Block) -> None:
        """Note that a slot has one request fewer, so that it may have room, or be idle."""
        if block in self._parked:
            self._busy_slots[block] = None
            self.freed(block)
            self._wake()

    def arrived(self, block: Block) -> None:
        """Wake all sites that wait for rules: those with heads, and the one with this key."""
        sites = list(self._parked.get(block, ()))
        own = self.by_key.get(str(block.what))
        if own is not None and own.state in (State.FETCH, State.UNTIL):
            sites.append(own)
        for site in sites:
            self._unpark(site)
            self._make_ready(site, Event.ARRIVED, self._ready.with_rules)
        self.freed(FETCH)

    def time_has_come(self, block: Block) -> None:
        """Wake all sites that are parked until a time."""
        for site in list(self._parked.get(block, ())):
            self._unpark(site)
            self._make_ready(site, Event.TIME, self._ready.woken)

    # --- between the states

    def _move(self, site: Site, event: Event, state: State) -> None:
        assert state in SITE[site.state, event], (site.state, event, state)  # noqa: S101
        if site.state in WAITING:
            self._count(site, -1, -site.size)
        site.state = state
        if state in WAITING:
            self._count(site, 1, site.size)

    def _count(self, site: Site, sites: int, requests: int) -> None:
        """Add to the numbers of sites and of requests that wait in the state of ``site``."""
        self.sites_waiting += sites
        self.requests_waiting += requests
        if site.state is State.TURN:
            self.sites_paced += sites
            self.requests_paced += requests
        self.waited += site.size - site.counted
        site.counted = site.size

    def _make_ready(self, site: Site, event: Event, line: Line[Site]) -> None:
        self._move(site, event, READY)
        waited = site.has_waited_for
        is_ahead = waited is State.TURN or (waited is not None and line is not self._ready.due)
        if is_ahead and isinstance(line, deque):
            line.appendleft(site)
        else:
            line.append(site)
        if not self._is_asking:
            self._wake()

    def _park(self, site: Site, event: Event, block: Block) -> None:
        self._move(site, event, block.state)
        site.block = block
        parked = self._parked.setdefault(block, OrderedDict())
        parked[site] = None
        if site.has_waited_for is not None and block.state in (State.ROOM, site.has_waited_for):
            parked.move_to_end(site, last=False)
        if block.state is State.ROOM:
            if self._admission.is_full(block):
                self._busy_slots.pop(block, None)
            else:
                self._busy_slots[block] = None

    def _unpark(self, site: Site) -> None:
        block = site.block
        assert block is not None  # noqa: S101
        site.block = None
        parked = self._parked[block]
        del parked[site]
        if not parked:
            del self._parked[block]
            self._busy_slots.pop(block, None)

    def _woken(self, parked_for: Block, woken_by: Block) -> Site:
        """Unpark the site that has waited longest for something, and note what it is woken by."""
        site = next(iter(self._parked[parked_for]))
        self._unpark(site)
        self._woken_for.add(woken_by)
        site.woken_by = woken_by
        return site

    # --- requests

    def next(self) -> Head | None:
        """Return the next request that is blocked by nothing; None if there is none for now."""
        self._is_asking = True
        try:
            for _ in range(MOST_ASKED):
                site, may_share = self._chosen()
                if site is None:
                    return None
                head = self._ask(site, may_share)
                if head is not None:
                    return head
        finally:
            self._is_asking = False
        self._wake()
        return None

    def _chosen(self) -> tuple[Site | None, bool]:
        """Return the site that is asked next, and whether it may share its slot."""
        ready = self._ready
        site = ready.next()
        if site is not None:
            if ready.asked_of is ready.with_rules:
                self.freed(FETCH)  # as it no longer counts as unasked
            return site, ready.is_by_priority or not (ready or self._busy_slots)
        if not self._busy_slots:
            return ready.next_refused(), True
        block = next(iter(self._busy_slots))
        self._busy_slots.move_to_end(block)
        site = self._woken(block, block)
        self._move(site, Event.FREED, READY)
        return site, True

    def _ask(self, site: Site, may_share: bool) -> Head | None:
        """Return the head of a site if it is handed out; park the site if something blocks it."""
        head = self._head(site)
        woken_by = site.woken_by
        block: Block | Unblocked | None = None
        if head is not None:
            block = self._admission.hand_out(head.request, may_share)
        if woken_by is not None:
            self._woken_for.remove(woken_by)
            site.woken_by = None
            if woken_by.state is State.TURN:
                site.has_waited_for = State.TURN
            elif woken_by.state is State.ROOM:
                site.has_waited_for = site.has_waited_for or State.ROOM
        if head is None or not isinstance(block, Block):
            self._note_out(site, head, is_refused=block is REFUSED)
        elif block.state is not State.RULES:
            self._park(site, Event.ASKED, block)
        else:
            self._ready.lacked_rules()
            if block in self._parked or self._admission.is_free(FETCH):
                self._park(site, Event.ASKED, block)
                self._admission.begin(head.request, block)
            else:
                self._park(site, Event.ASKED, AGAIN)
        if woken_by is not None and woken_by != block:
            self.freed(woken_by)
        return None if isinstance(block, Block) or block is GIVEN_BACK else head

    def _note_out(self, site: Site, head: Head | None, *, is_refused: bool) -> None:
        """Note that the head of a site is gone, or that the site has no request after all."""
        site.has_waited_for = None
        if head is not None:
            del site.heads[0]  # type: ignore[union-attr]
            site.size -= 1
            site.counted = max(site.counted - 1, 0)
            self._ready.handed_out()
        if head is not None and site.size > 0:
            line = self._ready.refused if is_refused else self._ready.ring
            self._make_ready(site, Event.ASKED, line)
        else:
            self._move(site, Event.ASKED, State.GONE)
            del self.by_key[site.key]

    def _head(self, site: Site) -> Head | None:
        """Return the most urgent request of a site; it stays in memory until it is handed out."""
        if site.heads:
            head = site.heads[0]
            if all(-top >= head.order for _, top in self._tops(site)):
                return head
        self._take(site)
        return site.heads[0] if site.heads else None

    def _tops(self, site: Site) -> Iterator[tuple[SiteQueues, int]]:
        """Yield each of the queues that has requests of a site, and their highest priority."""
        for queues in self._queues:
            top = queues.top(site.key)
            if top is not None:
                yield queues, top

    def _take(self, site: Site) -> None:
        """Take the most urgent request of a site out of its queue."""
        while tops := list(self._tops(site)):
            queues, _ = max(tops, key=itemgetter(1))
            request = queues.take(site.key)
            if request is not None:
                site.heads = site.heads or []
                insort(site.heads, Head(-request.priority, next(self._numbers), request))
                return

    def _order_of(self, site: Site) -> int:
        orders = [-top for _, top in self._tops(site)]
        return min([*orders, *(head.order for head in site.heads)], default=0)

    # --- what others ask for

    def heads_for(self, block: Block) -> list[Any]:
        """Return the heads of the sites that wait for rules; each call takes one more of each site.

        A fetch that has failed asks for them, as the proxy of the first one may be at fault. No
        more are taken of a site that has :data:`MOST_HEADS`.
        """
        sites = list(self._parked.get(block, ()))
        for site in sites:
            if len(site.heads) < MOST_HEADS:
                self._take(site)
        return [head.request for site in sites for head in site.heads]
