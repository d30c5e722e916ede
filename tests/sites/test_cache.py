"""One fetch per authority, whoever asks or gives up (RFC 9309 section 2.3)."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from scrapy_rep.access.policy import Decision
from tests.cancelling import Waiter, play_all
from tests.crawl.leftovers import Leftovers, turn
from tests.processes import fresh_python
from tests.scripted import DOWN, HERE, RULES, Bench, allows, ask, settle

DAY = 86_400.0

# --- single flight


async def test_a_fetch_that_is_lost_holds_up_no_request() -> None:
    """What waits for it is refused when it has taken longer than any should; nothing else is."""
    lost: Deferred[Any] = Deferred()
    bench = Bench(lost, Deferred(), RULES)
    asking, later = ask(bench), ask(bench, 1)
    await settle()
    bench.cache._flights[HERE].started -= 3_600.0
    bench.cache.end_lost()
    known = await asking
    assert (known.decision, known.cause) == (Decision.DISALLOW_ALL, "timeout")
    assert (bench.cache.flights, later.called) == (1, False)
    lost.callback(RULES)
    await settle()
    assert await ask(bench) is known
    bench.cache.interrupt()
    await later


# --- cancelled requests

SEEDS = 200


@pytest.mark.slow
@pytest.mark.parametrize("waiters", [100, 300])
async def test_a_cancelled_leader_takes_nobody_along_with_tasks(waiters: int) -> None:
    """200 seeded points, under asyncio: none pending, none lost."""
    before = Leftovers.now()
    await play_all(range(SEEDS), waiters)
    await before.cleared()


@pytest.mark.slow
def test_a_cancelled_leader_takes_nobody_along_with_deferreds() -> None:
    """The same in a process whose reactor knows nothing of asyncio."""
    words = ("-m", "tests.cancelling", "200", "0", str(SEEDS))
    assert fresh_python(*words, options=["-Werror"], timeout=100) == ""


async def test_a_fetch_that_nobody_waits_for_any_more_is_finished_and_kept() -> None:
    """All who asked are gone; the next one needs no fetch of its own."""
    gate: Deferred[Any] = Deferred()
    bench = Bench(gate)
    waiters = [Waiter(bench) for _ in range(3)]
    await settle()
    for waiter in waiters:
        waiter.cancel()
    await settle()
    gate.callback(RULES)
    await settle()
    assert (await ask(bench)).decision is Decision.FOLLOW
    assert bench.fetches == 1


async def test_no_further_attempt_is_made_when_nobody_waits() -> None:
    """Attempts after a failure are for those who wait; then the back-off counts."""
    gate: Deferred[Any] = Deferred()
    bench = Bench(gate, RULES, retry_delays=(0.01, 0.01))
    waiter = Waiter(bench)
    await settle()
    waiter.cancel()
    gate.callback(DOWN)
    await settle()
    await turn(0.05)
    assert (bench.fetches, bench.cache.flights) == (1, 0)
    assert (await ask(bench)).decision is Decision.DISALLOW_ALL


# --- interruption


async def test_an_interrupted_fetch_disallows_all_and_is_not_remembered() -> None:
    """Who waits is told that the crawl is closing; nothing was learnt of the authority."""
    before = Leftovers.now()
    bench = Bench(Deferred(), RULES)
    asking = [ask(bench) for _ in range(10)]
    await settle()
    bench.cache.interrupt()
    answers = [await one for one in asking]
    assert all(known.interrupted for known in answers)
    assert {known.decision for known in answers} == {Decision.DISALLOW_ALL}
    assert not allows(answers[0], "/")
    assert (bench.cache.flights, bench.script.under_way) == (0, 0)
    assert bench.kept == []
    await before.cleared()
    assert (await ask(bench)).decision is Decision.FOLLOW


async def test_an_interruption_spares_the_fetches_that_set_off_later() -> None:
    """`started_before` is a time of the monotonic clock."""
    late: Deferred[Any] = Deferred()
    bench = Bench(Deferred(), late)
    old = ask(bench, 0)
    await turn(0.02)
    between = monotonic()
    await turn(0.02)
    young = ask(bench, 1)
    await settle()
    bench.cache.interrupt(between)
    assert (await old).interrupted
    assert bench.cache.flights == 1
    late.callback(RULES)
    assert (await young).decision is Decision.FOLLOW


async def test_an_interruption_ends_the_pause_between_two_attempts() -> None:
    """No delayed call is left behind."""
    before = Leftovers.now()
    bench = Bench(DOWN, retry_delays=(100.0,))
    asking = ask(bench)
    await settle()
    assert bench.fetches == 1
    bench.cache.interrupt()
    assert (await asking).interrupted
    await before.cleared()


async def test_an_interrupted_refresh_leaves_the_rules_as_they_are() -> None:
    """A fetch in the background that is ended is no failure of the authority."""
    bench = Bench(RULES, Deferred())
    await ask(bench)
    bench.clock.now += 0.95 * DAY
    await ask(bench)
    await settle()
    bench.cache.interrupt()
    await settle()
    known = await ask(bench)
    assert (known.decision, known.stale) == (Decision.FOLLOW, False)
    bench.cache.interrupt()
