"""The requests that a scheduler withholds, because their site is not ready.

``next_request()`` of a scheduler is documented to return None while no request is ready. So a
request whose rules are being fetched, or whose host is not free, need not wait in the downloader:
it stays in the scheduler, and limits, priorities, stops and job directories are Scrapy's own.

A request is in one of these states:

- *handed out*: the engine has it, and the gate has not seen it yet. The gate takes it over
  (:meth:`Withheld.take_over`). What was not handed out is a direct download: the file of a media
  pipeline, or what a callback or a middleware downloads.
- *returned*: the gate has returned it, as ``process_request`` may, because it lacks something. It
  is about to come back through ``enqueue_request``.
- *withheld*: it waits for rules, in the list of its authority; or for its turn, in the list of its
  host (:class:`~scrapy_rep.waiting.turns.Turns`).
- *ready*: it lacks nothing any more (:class:`ReadyQueue`), and goes before what the base has. Of a
  host that asks for a pace only one is ready at a time.

Of a site whose rules are not in memory, one request is handed out, the *first* one. The others are
withheld until the gate has answered for that one, or the downloader no longer has it. If it does
not reach the gate, a middleware holds it up, perhaps until another request is done: then the next
one goes first.

A fault here must lose no request. After one, nothing is withheld any more: all requests are handed
out, and wait in the downloader.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol
from weakref import ReferenceType, WeakKeyDictionary, ref

from scrapy.core.scheduler import Scheduler
from scrapy.utils.misc import load_object

from scrapy_rep import stats as names
from scrapy_rep.access.authority import Authority
from scrapy_rep.waiting.ready import Item, ReadyQueue, Slots, slot_of
from scrapy_rep.waiting.stop import put_back
from scrapy_rep.waiting.trips import Trip, Trips, restored, to_come_back

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.stats import RepStats
    from scrapy_rep.waiting.turns import Turns

MOST: Final = 1_000
"""The most requests that are withheld. At this number, the base is not asked for more."""

MOST_OF_A_SLOT: Final = 100
"""The number of withheld requests of a downloader slot at which its queue passes over the slot.

With fewer, a silent port would hold up the other ports of its host: they share a slot.
"""

MOST_AT_ONCE: Final = 50
"""How many requests one call looks at before it lets the event loop go on."""

_HELD_UP_AFTER: Final = 1.0
"""Seconds in which a first request reaches the gate if no middleware holds it up."""

_SHARE: Final = 4
"""Over a scheduler that is not Scrapy's, at most this many times CONCURRENT_REQUESTS are withheld.

There each request may be a round trip, and a worker that is killed loses what it withholds.
"""

Lack = Authority | str
"""What a request lacks: the rules of an authority, or its turn at a host, given by its name."""


class Readiness(Protocol):
    """The gate, as the scheduler sees it."""

    def lacks(self, request: Request, trip: Trip, *, waited: bool) -> Lack | None:
        """Return what a request lacks before it may be handed out; None if nothing.

        ``waited`` says that the request was withheld. If that was for its rules, the pace which
        they ask for may not be known yet.
        """

    def is_fetching(self, authority: Authority) -> bool:
        """Return whether the rules of an authority are being fetched."""


_OF_CRAWL: WeakKeyDictionary[Crawler, ReferenceType[Withheld]] = WeakKeyDictionary()
"""What is withheld in each crawl. It refers to its crawler, which would not be freed otherwise."""


def withheld_of(crawler: Crawler) -> Withheld | None:
    """Return what is withheld in a crawl; None if no gate was built for it."""
    return _OF_CRAWL.get(crawler, lambda: None)()


class _BaseFailedError(Exception):
    """The base raised the exception that is the cause of this one."""


class Withheld:
    """The requests that one scheduler withholds."""

    _gate: Readiness
    _turns: Turns

    def __init__(self, crawler: Crawler, scrapy: ScrapyNames, stats: RepStats):
        self._crawler = crawler
        self._scrapy = scrapy
        self._stats = stats
        self.trips = Trips()
        """What is known of the requests of the crawl."""
        self.is_open = False
        """Whether a scheduler uses this object, so that a request can be returned to it.

        It is False before the scheduler is opened, after it is closed, and after a fault here.
        """
        self.count = 0
        """How many requests are withheld."""
        self.full_slots: set[str] = set()
        """The downloader slots that are passed over: they have reached :data:`MOST_OF_A_SLOT`."""
        self._first: dict[Authority, Request] = {}
        """The request that was handed out to ask for the rules of each authority."""
        self._for_rules: dict[Authority, list[Item]] = {}
        self._ready = ReadyQueue()
        self._of_slot: Counter[str] = Counter()
        """How many requests of each downloader slot are withheld."""
        self._held_back: set[Request] = set()
        """Requests of the base that are ready, but whose slot is crowded."""
        self._in_base = 0
        """How many requests the base has, as far as they came this way."""
        self._urgent: int | None = None
        """The highest priority that the base got while requests were withheld, or None."""
        self._in_hand: Request | None = None
        """The request that a call is about; a fault in that call must not lose it."""
        self._after_fault: deque[Request] = deque()
        """The requests that were withheld when a fault ended the withholding."""
        settings = crawler.settings
        self._slots = Slots(settings, scrapy, self.trips)
        concurrent = settings.getint("CONCURRENT_REQUESTS")
        self._most_held_back = concurrent or MOST
        base = load_object(settings["SCHEDULER"])
        is_scrapys = Scheduler in getattr(base, "__mro__", ())
        persists = not is_scrapys and settings.getbool("SCHEDULER_PERSIST")
        self.keeps = bool(settings["JOBDIR"]) or persists
        """Whether what the scheduler has at a stop is there in the next run."""
        self._most = MOST if is_scrapys or not concurrent else min(MOST, _SHARE * concurrent)

    def connect(self, gate: Readiness, turns: Turns) -> None:
        """Set the gate and the turns, which say what a request lacks.

        From now on :func:`withheld_of` finds this object, so the scheduler can use it.
        """
        self._gate = gate
        self._turns = turns
        _OF_CRAWL[self._crawler] = ref(self)

    def open(self) -> None:
        """Note that a scheduler uses this object from now on."""
        self.is_open = True

    # --- what the gate and the turns call

    def take_over(self, request: Request) -> Trip:
        """Return the trip of a request at the gate, which no longer counts as handed out."""
        trip = self.trips.get(request)
        if trip is None:
            trip = self.trips.begin(request)
        if not self.is_open:  # otherwise it was restored when the base gave it out
            restored(request)
        trip.is_scheduled, trip.is_handed_out = trip.is_handed_out, False
        trip.is_returned = False
        return trip

    def answered(self, request: Request, authority: Authority) -> None:
        """Note that the request which was handed out first for an authority has its answer."""
        try:
            if self._first.get(authority) is request:
                del self._first[authority]
                if not self._gate.is_fetching(authority):
                    self.landed(authority)
        except Exception as error:  # noqa: BLE001
            self._give_up(error)

    def landed(self, authority: Authority) -> None:
        """Make the requests ready that wait for the rules of an authority."""
        try:
            if authority not in self._first:
                self.make_ready(self._for_rules.get(authority, ()))
                self._for_rules.pop(authority, None)
        except Exception as error:  # noqa: BLE001
            self._give_up(error)

    def give_back(self, request: Request) -> Request:
        """Return a request that comes back: it lacks something, or has waited in place.

        Without a scheduler that withholds it, the engine sends it within its limits, or at once if
        it is a direct download.
        """
        if self.is_open:
            self.trips[request].is_returned = True
        else:
            to_come_back(request)
        return request

    def waiting_for(self, authority: Authority) -> list[Request]:
        """Return the requests that wait for the rules of an authority."""
        return [item.request for item in self._for_rules.get(authority, ())]

    def make_ready(self, items: Iterable[Item]) -> None:
        """Queue withheld requests to be handed out before those of the base."""
        items = list(items)
        try:
            for item in items:
                self._ready.push(item)
            if items:
                self._scrapy.wake()
        except Exception as error:  # noqa: BLE001
            self._give_up(error, items)

    def has_left(self) -> None:
        """Note that a download has ended: there may be room for another one of its slot."""
        if self.count and self._ready:
            self._scrapy.wake()

    @property
    def is_closing(self) -> bool:
        """Whether the crawl is being closed."""
        return self._scrapy.is_closing

    @property
    def holds_back_start(self) -> bool:
        """Whether ``start()`` of a spider should wait, because enough requests wait already."""
        many = self.count > 0 and self.count + self._in_base >= self._most
        return many and not self.is_closing

    # --- what the scheduler calls

    @property
    def has_requests(self) -> bool:
        """Whether there are requests that the base does not have."""
        return self.count > 0 or bool(self._after_fault)

    def enqueue(self, request: Request, enqueue: Callable[[Request], bool]) -> bool:
        """Withhold a request that the gate returned; hand any other one to the base."""
        self._in_hand, has_come_back = request, False
        try:
            trip = self.trips.get(request)
            if trip is not None and trip.is_returned:
                trip.is_returned, has_come_back = False, True
                self._take_back(request)
        except Exception as error:  # noqa: BLE001
            has_come_back = True
            self._give_up(error)
        self._in_hand = None
        if has_come_back:
            return True
        is_kept = enqueue(request)
        if is_kept:
            self._in_base += 1
            if self.count and (self._urgent is None or request.priority > self._urgent):
                self._urgent = request.priority
        return is_kept

    def _take_back(self, request: Request) -> None:
        if not self.is_open:  # a fault has ended the withholding since
            self._after_fault.append(request)
            return
        # What it lacked may be there already, so that it is asked about once more.
        self._count_wait(self.trips[request])
        self._admit(self._item(request))

    def next(self, pop: Callable[[], Request | None]) -> Request | None:
        """Return the request that is handed out next; None if none is ready."""
        if not self.is_open:
            request = self._after_fault.popleft() if self._after_fault else pop()
            return None if request is None else restored(request)
        try:
            if self._first:
                self._look()
            if self._turns.occupied:
                self._turns.look()
            request = self._next(pop)
            if request is not None and self.count and self._ready:
                self._slots.hand_out(request)
        except _BaseFailedError as error:
            raise error.__cause__ or error from None
        except Exception as error:  # noqa: BLE001
            self._give_up(error)
            return self.next(pop)
        self._in_hand = None
        return request

    def _look(self) -> None:
        """Forget first requests that the downloader no longer has, or that are held up."""
        active = self._scrapy.active
        for authority, request in list(self._first.items()):
            trip = self.trips[request]
            is_held_up = trip.is_handed_out and monotonic() >= trip.first_until
            if is_held_up or request not in active:
                self.answered(request, authority)

    def put_back(self, enqueue: Callable[[Request], bool]) -> None:
        """Give everything back to the base, which is about to close."""
        self.is_open = False
        requests = [*self._after_fault, *[item.request for item in self._clear()]]
        self._after_fault.clear()
        put_back(requests, enqueue, self._crawler, self._stats)

    def _clear(self, also: Iterable[Item] = ()) -> list[Item]:
        """Forget all that is withheld, and return it in the order in which the base gave it out."""
        items = {*also, *self._ready, *self._turns.clear()}
        for several in self._for_rules.values():
            items.update(several)
        self._ready = ReadyQueue()
        self._for_rules.clear()
        self._of_slot.clear()
        self._held_back.clear()
        self.full_slots.clear()
        self.count = 0
        return sorted(items, key=lambda item: item.number)

    def _give_up(self, error: Exception, also: Iterable[Item] = ()) -> None:
        """Withhold nothing from now on, after a fault of ours: all requests go to the gate."""
        self.is_open = False
        requests = [item.request for item in self._clear(also)]
        if self._in_hand is not None and self._in_hand not in requests:
            requests.append(self._in_hand)
        self._in_hand = None
        self._after_fault.extend(requests)
        then = "requests wait in the downloader from now on"
        self._stats.own_fault("The withholding of requests", error, then)
        self._scrapy.wake()

    # --- one by one

    def _next(self, pop: Callable[[], Request | None]) -> Request | None:
        """Return the first request that lacks nothing, and withhold those before it.

        Ready requests go before those of the base, but none to a slot that is crowded. As many of
        the base are held back for such slots as the downloader would have of them otherwise.
        """
        crowded: frozenset[str] = frozenset()
        if self.count and self._ready:
            crowded = self._slots.crowded()
        else:
            self._urgent = None
        for _ in range(MOST_AT_ONCE):
            ready = self._ready.first(crowded) if self.count else None
            if ready is not None and self._is_overtaken(ready):
                self._make_urgent_ready(pop, ready)
                continue
            if ready is not None:
                request = self._in_hand = ready.request
                self._ready.remove_first(ready.slot)
                self._forget(ready)
            elif self.count >= self._most or len(self._held_back) >= self._most_held_back:
                return None
            else:
                found = self._pop(pop)
                if found is None:
                    return None
                request = found
                if crowded and slot_of(request) in crowded:
                    # It goes after those of its slot that have waited for longer.
                    self._held_back.add(request)
                    self._admit(self._item(request))
                    continue
            trip = self.trips[request]
            lack = self._ask(request, trip, waited=ready is not None)
            trip.is_offered = False
            if lack is None:
                trip.is_handed_out = True
                return request
            self._count_wait(trip)
            self._wait(self._item(request), lack)
        self._scrapy.wake()
        return None

    def _is_overtaken(self, ready: Item) -> bool:
        """Return whether the base may have, and be asked for, something more urgent."""
        may_be = self._urgent is not None and self._urgent > ready.request.priority
        return may_be and self.count < self._most

    def _make_urgent_ready(self, pop: Callable[[], Request | None], ready: Item) -> None:
        """Make the next request of the base ready, too. If it is not urgent, no other one is."""
        request = self._pop(pop)
        if request is None or request.priority <= ready.request.priority:
            self._urgent = None
        if request is not None:
            self._admit(self._item(request))

    def _ask(self, request: Request, trip: Trip, *, waited: bool) -> Lack | None:
        """Return what a request lacks; None after a fault: the gate decides then.

        The first request of a site whose rules are not known lacks nothing: it asks for them.
        """
        try:
            lack = self._gate.lacks(request, trip, waited=waited)
            if lack is None or isinstance(lack, str):
                return lack
            if lack in self._first or self._gate.is_fetching(lack):
                return lack
        except Exception as error:  # noqa: BLE001
            self._stats.own_fault("The look at a request", error)
            return None
        self._first[lack] = request
        trip.is_first, trip.first_until = True, monotonic() + _HELD_UP_AFTER
        return None

    def _pop(self, pop: Callable[[], Request | None]) -> Request | None:
        """Return the next request of the base, whose trip begins."""
        try:
            request = self._in_hand = pop()
        except Exception as error:
            raise _BaseFailedError from error
        if request is None:
            return None
        self._in_base = max(self._in_base - 1, 0)
        self.trips.begin(request)
        return restored(request)

    def _item(self, request: Request) -> Item:
        """Return a request with its place among the others: as the base gave it out."""
        number = self.trips[request].number
        return Item(-request.priority, number, request, slot_of(request))

    def _count_wait(self, trip: Trip) -> None:
        """Count a request that has to wait, once."""
        if not trip.has_waited:
            trip.has_waited = True
            self._stats.inc(names.WAITING)

    def _wait(self, item: Item, lack: Lack) -> None:
        self._admit(item, to_ready=False)
        if isinstance(lack, str):
            self._turns.withhold(lack, item)
        else:
            self._for_rules.setdefault(lack, []).append(item)

    def _admit(self, item: Item, *, to_ready: bool = True) -> None:
        self.count += 1
        self._stats.max(names.WAITING_MAX, self.count)
        self._of_slot[item.slot] += 1
        if self._of_slot[item.slot] >= MOST_OF_A_SLOT:
            self.full_slots.add(item.slot)
        if to_ready:
            self._ready.push(item)

    def _forget(self, item: Item) -> None:
        self.count -= 1
        self._held_back.discard(item.request)
        self._of_slot[item.slot] -= 1
        if self._of_slot[item.slot] < MOST_OF_A_SLOT:
            self.full_slots.discard(item.slot)
        if not self._of_slot[item.slot]:
            del self._of_slot[item.slot]
