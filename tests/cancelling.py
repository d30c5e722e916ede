"""A thousand requests wait for one fetch, and some are cancelled at any point.

`python -m tests.cancelling COUNT SEED...` plays it with plain Deferreds under Twisted's select
reactor; under the asyncio reactor of the tests the same lines run with tasks and futures.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from scrapy_rep import RobotsTxt
from scrapy_rep.access.policy import Decision
from scrapy_rep.sites.cached_rules import CachedRules
from tests.crawl.leftovers import turn
from tests.scripted import RULES, Bench, authority

TURNS = 12


class Waiter:
    """One request; `end` is what it got: an answer, or why not."""

    def __init__(self, bench: Bench) -> None:
        self.end: Any = None
        self.cancelled = False
        self._running = deferred_from_coro(bench.cache.lookup(authority(), self))
        self._running.addBoth(self._ended)

    def cancel(self) -> None:
        """The request is given up by whoever made it."""
        if self.end is None:
            self.cancelled = True
            self._running.cancel()

    def _ended(self, result: CachedRules | Failure) -> None:
        assert self.end is None, "two ends"
        self.end = result.value if isinstance(result, Failure) else result


async def play(seed: int, waiters: int) -> None:
    """The leader is cancelled at the point that the seed says; everyone else gets the rules."""
    chance = random.Random(seed)
    fetched: Deferred[Any] = Deferred()
    announced: Deferred[None] = Deferred()

    async def announce(_robots: RobotsTxt, _page: Any) -> None:
        await maybe_deferred_to_future(announced)

    bench = Bench(fetched, announce=announce)
    arrivals = sorted(chance.randrange(TURNS) for _ in range(waiters - 1))
    point, fetched_at = chance.randrange(TURNS + 2), chance.randrange(1, TURNS)
    announced_at = chance.randrange(fetched_at, TURNS)
    everyone = [Waiter(bench)]
    for now in range(TURNS + 2):
        # What comes first within a turn is left to chance, too.
        events = [lambda: everyone.extend(Waiter(bench) for _ in range(arrivals.count(now)))]  # noqa: B023
        if now == point:
            events.append(everyone[0].cancel)
        if now == fetched_at:
            events.append(lambda: fetched.callback(RULES))
        if now == announced_at:
            events.append(lambda: announced.callback(None))
        if chance.random() < 0.3:
            events.append(lambda: [w.cancel() for w in chance.sample(everyone, len(everyone) // 9)])
        chance.shuffle(events)
        for event in events:
            event()
            if chance.random() < 0.5:
                await turn()
    for _ in range(3):
        await turn()
    _judge(bench, everyone, waiters)


def _judge(bench: Bench, everyone: list[Waiter], waiters: int) -> None:
    assert len(everyone) == waiters
    assert [w for w in everyone if w.end is None] == [], "some wait for ever"
    for waiter in everyone:
        if isinstance(waiter.end, CachedRules):
            assert waiter.end.decision is Decision.FOLLOW
        else:  # nobody pays for another's cancellation
            assert waiter.cancelled
            assert type(waiter.end).__name__ == CancelledError.__name__
    assert bench.fetches == 1
    assert bench.cache.flights == 0
    assert bench.script.under_way == 0


async def play_all(seeds: range, waiters: int) -> None:
    """One after another."""
    for seed in seeds:
        await play(seed, waiters)


def main(waiters: int, first: int, last: int) -> None:
    """Under a reactor that knows nothing of asyncio."""
    from scrapy.utils.reactor import install_reactor

    install_reactor("twisted.internet.selectreactor.SelectReactor")
    from twisted.internet.task import react

    react(lambda _: Deferred.fromCoroutine(play_all(range(first, last), waiters)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
