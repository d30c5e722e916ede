"""A bench for :class:`Sites`: a scripted gate and a virtual clock, over queues in memory.

The gate is the only fake. Nothing happens by itself: each event is a call of a method here, and the
gate refuses to be asked for anything that the documentation of the frontier rules out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from scrapy_rep.frontier.sites import MOST_ASKED, Site, Sites
from scrapy_rep.frontier.states import FETCH, REFUSED, SITE, WAITING, Block, Event, State, Unblocked

PARKED = frozenset(State) - {State.GONE, State.READY}

ALL_MOVES = {(state, event, then) for (state, event), after in SITE.items() for then in after}
"""Every state of a site, what may happen to it, and every state that may follow."""


@dataclass(eq=False)
class Page:
    """A request. Its site is ``key``, its rules are those of ``authority``, if there is one."""

    number: int
    key: str
    authority: str = ""
    slot: str = ""
    priority: int = 0
    is_refused: bool = False
    is_looked_up: bool = False

    def __repr__(self) -> str:
        return f"{self.key}/{self.number}"

    @property
    def host(self) -> str:
        """The host of its authority."""
        return self.authority.partition(":")[0]


@dataclass(eq=False)
class Queue:
    """Requests by site, in memory: by priority, then the first or the last one."""

    is_last_first: bool = False
    pages: dict[str, list[Page]] = field(default_factory=dict)
    takes: int = 0
    broken: set[str] = field(default_factory=set)
    """The sites of which no request can be read, which shows when one is taken."""
    of_job: list[Queue] = field(default_factory=list)
    """All queues of the crawl: what cannot be read is gone from all of them at once."""

    def push(self, page: Page) -> None:
        """Add a request."""
        self.pages.setdefault(page.key, []).append(page)

    def top(self, key: str) -> int | None:
        """Return the priority of the next request of a site; None if there is none."""
        return max((page.priority for page in self.pages.get(key, ())), default=None)

    def take(self, key: str) -> Page | None:
        """Return the next request of a site, and remove it; None if there is none."""
        self.takes += 1
        if key in self.broken:
            for queue in self.of_job:
                if key in queue.broken:
                    queue.broken.discard(key)
                    queue.pages.pop(key, None)
            return None
        pages, top = self.pages.get(key, []), self.top(key)
        if not pages:
            return None
        page = next(
            page
            for page in (reversed(pages) if self.is_last_first else pages)
            if page.priority == top
        )
        pages.remove(page)
        if not pages:
            del self.pages[key]
        return page


class ScriptedGate:
    """What blocks each request, by what the test has said and by what is under way."""

    def __init__(self, bench: Bench):
        self._bench = bench
        self.now = 0.0
        self.known: set[str] = set()
        self.at_once: set[str] = set()
        """Authorities whose rules come before the call returns that begins their fetch."""
        self.young: set[str] = set()
        self.old: set[str] = set()
        self.places = 2
        self.until: dict[str, float] = {}
        self.paced: dict[str, float] = {}
        """The interval of each paced host."""
        self.due_at: dict[str, float] = {}
        self.turns: dict[str, Page] = {}
        self.withheld: set[str] = set()
        """Hosts that are due, and whose turn the store does not grant."""
        self.promised: set[str] = set()
        """Those that were refused: the store says when to ask again."""
        self.loads: Counter[str] = Counter()
        self.refused: set[Page] = set()
        """The requests that need no room, as they are refused."""
        self.most = 2
        self.asked: list[tuple[Page, bool]] = []
        self.begun: list[tuple[Page, str]] = []

    def lacks_rules(self, key: str) -> bool:
        """Return whether a site lacks rules. Keys that are no authority's begin with - or old."""
        return not (key.startswith(("-", "old")) or key in self.known)

    def hand_out(self, page: Page, may_share: bool) -> Block | Unblocked | None:
        """Hand out a request unless something blocks it; return what does."""
        self._bench.check_asked(page)
        self.asked.append((page, may_share))
        block = self._block(page, may_share)
        if block is REFUSED:
            self.refused.add(page)
        if block is None:
            self.loads[page.slot] += 1
            if page.host in self.paced and page.authority in self.known:
                assert page.host not in self.turns
                self.turns[page.host] = page
        return block

    def _block(self, page: Page, may_share: bool) -> Block | Unblocked | None:
        room = Block(State.ROOM, page.slot)
        has_room = not self.is_full(room) if may_share else not self.loads[page.slot]
        if page.authority:
            until = self.until.get(page.authority)
            if until is not None and self.now < until:
                return Block(State.UNTIL, until)
            if page.authority not in self.known:
                if page.is_looked_up:
                    return None if has_room else room
                return Block(State.RULES, page.authority)
            if page.is_refused:
                return REFUSED
        if not has_room:
            return room
        if page.authority and page.host in self.paced:
            turn = Block(State.TURN, page.host)
            if not self.is_free(turn):
                return turn
            if page.host in self.withheld:
                self.promised.add(page.host)
                return turn
        return None

    def begin(self, page: Page, block: Block) -> None:
        """Begin a fetch, or join the one that is under way."""
        assert block == Block(State.RULES, page.authority)
        page.is_looked_up = True
        self.begun.append((page, page.authority))
        if page.authority not in self.old:
            self.young.add(page.authority)
        if page.authority in self.at_once:
            self._bench.arrive(page.authority)

    def is_free(self, block: Block) -> bool:
        """Return whether a site that is blocked should be asked once more."""
        what: Any = block.what
        if block.state is State.FETCH:
            return len(self.young) + self._bench.sites.unasked < self.places
        if block.state is State.TURN:
            return what not in self.turns and self.now >= self.due_at.get(what, 0.0)
        assert block.state is State.ROOM
        return not (self.is_full(block) if self._bench.by_priority else self.loads[what])

    def is_full(self, block: Block) -> bool:
        """Return whether a slot has as many requests as it may send."""
        what: Any = block.what
        return self.loads[what] >= self.most


class WatchedSites(Sites):
    """Sites that keep a list of the states that they have moved between."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.moves: list[tuple[State, Event, State]] = []
        self.moved: set[Site] = set()

    def _move(self, site: Site, event: Event, state: State) -> None:
        self.moves.append((site.state, event, state))
        self.moved.add(site)
        super()._move(site, event, state)


class Bench:
    """Sites over two queues: one gives out the last request first, the other one the first."""

    def __init__(self, *, by_priority: bool = False) -> None:
        self.by_priority = by_priority
        self.gate = ScriptedGate(self)
        self.wakes = 0
        self.will_ask = False
        """The engine asks again: it was woken, or has just got a request."""
        self.sites = WatchedSites(self.gate, self._wake, by_priority=by_priority)
        self.queues = [Queue(is_last_first=True), Queue()]
        for queue in self.queues:
            queue.of_job = self.queues
            self.sites.join(queue, {})
        self.pages: list[Page] = []
        self.under_way: list[Page] = []
        self.ended: list[Page] = []
        self.lost: Counter[str] = Counter()
        """Requests that cannot be read, by site. Its size counts them until it is gone."""
        self.lost_pages: set[Page] = set()
        self.direct: list[str] = []
        self.have_waited: set[Page] = set()

    def _wake(self) -> None:
        self.wakes += 1
        self.will_ask = True

    # --- what happens

    def page(self, key: str, **kwargs: Any) -> Page:
        """A request that no queue has yet."""
        governed = "" if key.startswith("-") else key
        page = Page(len(self.pages), key, kwargs.pop("authority", governed), **kwargs)
        page.slot = page.slot or page.host or key
        self.pages.append(page)
        return page

    def push(self, key: str, queue: int = 0, **kwargs: Any) -> Page:
        """A queue gets a request."""
        page = self.page(key, **kwargs)
        self.queues[queue].push(page)
        if key in self.queues[queue].broken:
            self._is_lost(page)
        self.sites.pushed(key)
        return page

    def push_all(self, words: str, **kwargs: Any) -> list[Page]:
        """A queue gets requests: ``a/1`` has a slot of its own, and ``a!`` will be refused."""
        pushed = []
        for word in words.split():
            key, _, slot = word.rstrip("!").partition("/")
            own: dict[str, Any] = {"slot": slot, "is_refused": word.endswith("!"), **kwargs}
            pushed.append(self.push(key, **own))
        return pushed

    def next(self) -> Page | None:
        """The engine asks for a request. Before that everything holds."""
        self.check()
        before = len(self.gate.asked)
        self.will_ask = False
        head = self.sites.next()
        assert len(self.gate.asked) - before <= MOST_ASKED
        if head is None:
            return None
        self.will_ask = True
        page: Page = head.request
        self.under_way.append(page)
        return page

    def all(self) -> list[Page]:
        """The engine asks until there is nothing to be had. Then everything holds."""
        found: list[Page] = []
        for _ in range(10 * len(self.pages) + 100):
            page = self.next()
            if page is not None:
                found.append(page)
            elif not self.will_ask:
                self.check()
                return found
        raise AssertionError("the engine is woken for ever")

    def arrive(self, *authorities: str, until: float | None = None) -> None:
        """Rules come; or with ``until``, it turns out that they cannot be had before that time."""
        for authority in authorities:
            self.gate.young.discard(authority)
            self.gate.old.discard(authority)
            self.gate.until.pop(authority, None)
            if until is None:
                self.gate.known.add(authority)
            else:
                self.gate.until[authority] = until
            self.sites.arrived(Block(State.RULES, authority))

    def age(self, authority: str) -> None:
        """A fetch is under way for a second."""
        self.gate.young.remove(authority)
        self.gate.old.add(authority)
        self.sites.freed(FETCH)

    def end(self, page: Page) -> None:
        """The download of a request ends."""
        self.under_way.remove(page)
        self.ended.append(page)
        host = page.host
        if self.gate.turns.get(host) is page:
            del self.gate.turns[host]
            self.gate.due_at[host] = self.gate.now + self.gate.paced[host]
            self.advance(0.0)
        if page not in self.gate.refused:
            self.leave(page.slot)

    def leave(self, slot: str) -> None:
        """A slot has one request less."""
        self.gate.loads[slot] -= 1
        self.sites.slot_freed(Block(State.ROOM, slot))

    def advance(self, seconds: float) -> None:
        """Time passes. The timers of the hosts, and that of the sites that wait for a time."""
        gate = self.gate
        gate.now += seconds
        for host in [host for host, when in gate.due_at.items() if when <= gate.now]:
            del gate.due_at[host]
            self.sites.freed(Block(State.TURN, host))
        for block in [*self.sites._parked]:
            if block.state is State.UNTIL and block.what <= gate.now:
                self.sites.time_has_come(block)

    def answer(self, host: str) -> None:
        """The store says that a turn may be had."""
        self.gate.withheld.discard(host)
        self.gate.promised.discard(host)
        self.sites.freed(Block(State.TURN, host))

    def heads_for(self, authority: str) -> list[Page]:
        """A fetch that has failed asks which requests wait for it."""
        heads: list[Page] = self.sites.heads_for(Block(State.RULES, authority))
        return heads

    def lose(self, key: str, *queues: int) -> None:
        """The requests of a site in these queues cannot be read any more."""
        for queue in queues:
            if key not in self.queues[queue].broken:
                self.queues[queue].broken.add(key)
                for page in self.queues[queue].pages.get(key, ()):
                    self._is_lost(page)

    def _is_lost(self, page: Page) -> None:
        self.lost[page.key] += 1
        self.lost_pages.add(page)

    # --- what has to hold

    def state(self, key: str) -> State:
        """The state of a site."""
        site = self.sites.by_key.get(key)
        return State.GONE if site is None else site.state

    def queued(self, key: str) -> list[Page]:
        """The requests of a site that its queues have, and that can be read."""
        whole = [queue.pages for queue in self.queues if key not in queue.broken]
        return [page for pages in whole for page in pages.get(key, ())]

    def check_asked(self, page: Page) -> None:
        """The request is the most urgent one of its site; of equal ones, the oldest head."""
        heads = self.sites.by_key[page.key].heads
        assert heads[0].request is page
        others = [*(head.request for head in heads), *self.queued(page.key)]
        assert page.priority == max(other.priority for other in others)
        numbers = [head.number for head in heads if head.request.priority == page.priority]
        assert numbers == sorted(numbers)

    def check(self) -> None:
        """All that has to hold between two calls."""
        self._check_requests()
        self._check_places()
        self._check_counts()
        for block in self.sites._parked:
            self._check_block(block)
        sites = self.sites
        is_ready = sites.is_ready or bool(sites._busy_slots or sites._ready.refused)
        assert self.will_ask or not is_ready, "the engine is not woken"

    def _check_requests(self) -> None:
        """Each request is in one place."""
        queued = [page for queue in self.queues for of in queue.pages.values() for page in of]
        heads = [head.request for site in self.sites.by_key.values() for head in site.heads]
        places = Counter([*queued, *heads, *self.under_way, *self.ended])
        assert set(places) | self.lost_pages == set(self.pages)
        assert max(places.values(), default=1) == 1
        for key in {page.key for page in self.pages} - set(self.sites.by_key):
            assert not self.queued(key), f"{key} is gone, and has requests"
            self.lost[key] = 0

    def _check_places(self) -> None:
        """Each site is in one place, that of its state."""
        sites = self.sites
        ready = sites._ready
        lines = [ready.for_fetch, ready.ring]
        if not self.by_priority:
            lines += [ready.with_rules, ready.due, ready.woken, ready.refused]
        in_line = Counter(site for line in lines for site in _sites_in(line))
        parked = Counter(site for each in sites._parked.values() for site in each)
        assert max([*in_line.values(), *parked.values()], default=1) == 1
        assert set(in_line) | set(parked) == set(sites.by_key.values())
        assert all(site.state is State.READY and site.block is None for site in in_line)
        gone = sites.moved - set(sites.by_key.values())
        assert all(site.state is State.GONE for site in gone)
        for block, each in sites._parked.items():
            assert each
            assert all(site.block == block and site.state is block.state for site in each)
        woken_for = Counter(site.woken_by for site in sites.by_key.values() if site.woken_by)
        assert woken_for == Counter(sites._woken_for)
        assert all(site.state is State.READY for site in sites.by_key.values() if site.woken_by)

    def _check_counts(self) -> None:
        """The counters are what a recount comes to."""
        sites = self.sites
        of_state: dict[State, list[Site]] = {state: [] for state in State}
        for key, site in sites.by_key.items():
            of_state[site.state].append(site)
            assert site.size == len(site.heads) + len(self.queued(key)) + self.lost[key]
            assert 0 <= site.counted <= site.size
            if site.state in WAITING:
                assert site.counted == site.size
                self.have_waited.update(head.request for head in site.heads)
                self.have_waited.update(self.queued(key))
        paced = of_state[State.TURN]
        assert sites.sites_paced == len(paced)
        assert sites.requests_paced == sum(site.size for site in paced)
        assert sites.sites_waiting == sum(len(of_state[state]) for state in WAITING)
        assert sites.requests_waiting == sum(s.size for state in WAITING for s in of_state[state])
        assert len(self.have_waited) <= sites.waited <= len(self.pages)

    def _check_block(self, block: Block) -> None:
        """What the sites are parked for will come; if it is there, one is woken for it."""
        gate, sites, what = self.gate, self.sites, block.what
        freed = FETCH if block.state is State.FETCH else block
        is_woken, is_in_line = freed in sites._woken_for, block in sites._busy_slots
        assert sites.is_wanted(block)
        if block.state is State.FETCH:
            assert is_woken if gate.is_free(block) else gate.young or sites.unasked
        elif block.state is State.RULES:
            assert what in gate.young | gate.old
        elif block.state is State.TURN:
            if gate.is_free(block):
                assert is_woken or what in gate.promised
            else:
                assert what in gate.turns or what in gate.due_at
        elif block.state is State.ROOM:
            if gate.is_free(block):
                assert is_woken or is_in_line
            elif not gate.is_full(block):
                assert is_in_line
            assert is_woken or is_in_line or gate.loads[str(what)]
        else:
            assert block.state is State.UNTIL
            assert what > gate.now


def _sites_in(line: Any) -> list[Site]:
    """The sites of a line, which may be a heap."""
    return [each[2] for each in line._heap] if hasattr(line, "_heap") else list(line)
