"""A `RobotsCache` whose fetches and clock are scripted: those two are the only fakes."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep import RobotsTxt
from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.access.outcome import Cause, Outcome, Unreachable
from scrapy_rep.access.policy import Policy, standing
from scrapy_rep.sites.cache import RobotsCache
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.sites.refresh import Refresher
from scrapy_rep.sites.store_adapter import StoreAdapter
from scrapy_rep.stats import RepStats
from scrapy_rep.stores import Store
from tests.crawl.leftovers import turn

RULES = Answer(200, b"User-agent: *\nDisallow: /private\n")
OTHER_RULES = Answer(200, b"User-agent: *\nDisallow: /other\n")
DOWN = Unreachable(Cause.STATUS, 503)

Step = Outcome | BaseException | Deferred[Any]


class Clock:
    """Seconds since the epoch, moved by hand."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time."""
        return self.now


class Script:
    """A fetch that comes to one outcome after another, the last again and again.

    A step is an outcome, an exception, or a Deferred to wait for; what that brings is a step too.
    """

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.calls: list[tuple[Authority, Any, Answer | None]] = []
        self.under_way = 0
        self.most_under_way: Counter[Authority] = Counter()
        self._under_way: Counter[Authority] = Counter()

    async def __call__(self, authority: Authority, page: Any, copy: Answer | None) -> Outcome:
        """One fetch."""
        self.calls.append((authority, page, copy))
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        self._under_way[authority] += 1
        self.under_way += 1
        self.most_under_way |= self._under_way
        try:
            while isinstance(step, Deferred):
                step = await maybe_deferred_to_future(step)
        finally:
            self._under_way[authority] -= 1
            self.under_way -= 1
        if isinstance(step, BaseException):
            raise step
        return step


class Counts(dict[str, Any]):
    """A stats collector."""

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None:
        """Add to a stat."""
        self[key] = self.get(key, start) + count

    def max_value(self, key: str, value: Any) -> None:
        """Keep the larger."""
        self[key] = max(self.get(key, value), value)


class Announced:
    """The signal that rules come into force, of which the test makes what it likes."""

    def __init__(self, send: Callable[[RobotsTxt, Any], Any] | None, heard: bool) -> None:
        self._send = send
        self.is_heard = heard

    async def send(self, robots: RobotsTxt, page: Any) -> None:
        """Hand it on, if there is anything to hand it to."""
        if self._send is not None:
            await self._send(robots, page)


class Bench:
    """A cache, and the script, clock and stats that it was given."""

    def __init__(
        self,
        *steps: Step,
        fetch: Callable[..., Any] | None = None,
        parse: Callable[[bytes], RobotsTxt] = RobotsTxt.parse,
        announce: Callable[[RobotsTxt, Any], Any] | None = None,
        policy: Policy | None = None,
        retry_delays: tuple[float, ...] = (),
        timeout: float = 15.0,
        memory_limit: int = 64 << 20,
        store: Store | None = None,
        evicted_limits: tuple[int, int] = (1 << 20, 1 << 30),
        heard: bool = False,
    ) -> None:
        self.clock = Clock()
        self.script = Script(*steps)
        self.counts = Counts()
        self.parsed: list[bytes] = []
        self._parse = parse
        stats, policy = RepStats(self.counts), policy or Policy()
        self.store = store_adapter = StoreAdapter(
            store,
            stats,
            crawler=lambda: "0123456789abcdef",
            memory_limit=evicted_limits[0],
            disk_limit=evicted_limits[1],
        )
        # A test need not close its cache: that is what Python 3.13 would warn of, in a later test.
        weakref.finalize(self, store_adapter._evicted.close)
        known_by = store_adapter, policy, stats, self.clock
        self.cache = RobotsCache(
            Refresher(*known_by, fetch or self.script, timeout, retry_delays, lambda: None),
            Announced(announce, heard),
            parse=self._counted,
            started=lambda: None,
            ended=lambda authority: None,
            waiting=lambda authority: [],
            memory_limit=memory_limit,
        )

    @property
    def fetches(self) -> int:
        """How many fetches there were."""
        return len(self.script.calls)

    @property
    def kept(self) -> list[Authority]:
        """What is in memory, least recently used first."""
        return list(self.cache._resident)

    def _counted(self, body: bytes) -> RobotsTxt:
        self.parsed.append(body)
        return self._parse(body)


def authority(number: int = 0) -> Authority:
    """One of many."""
    return Authority("https", f"host{number}.example", 443)


HERE = authority()
"""The first of them, of which the tests ask most."""


def known_by(entry: Entry, now: float, robots: RobotsTxt | None = None) -> CachedRules:
    """What a crawl knows of a site with this entry."""
    return CachedRules(entry, standing(entry, now, Policy()), robots, now)


def rules_of(body: bytes, now: float) -> CachedRules:
    """The same of a site with these rules."""
    return known_by(Entry(Answer(200, body, fetched_at=now)), now, RobotsTxt.parse(body))


def ask(bench: Bench, number: int = 0) -> Deferred[CachedRules]:
    """What one more request is told."""
    return deferred_from_coro(bench.cache.lookup(authority(number), None))


async def settle(turns: int = 5) -> None:
    """What can go on without being waited for, goes on."""
    for _ in range(turns):
        await turn()


def allows(known: CachedRules, path: str) -> bool:
    """Whether a request for that path may be made."""
    return known.verdict(authority(), f"{authority()}{path}", ("mybot",)).allowed
