"""What is known ages, is refreshed, and fails (RFC 9309 sections 2.3.1.4 and 2.4)."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from scrapy_rep.access.entry import Answer
from scrapy_rep.access.outcome import Cause, Unreachable
from scrapy_rep.access.policy import Decision
from scrapy_rep.sites.refresh import Miss
from tests.crawl.leftovers import turn
from tests.scripted import DOWN, HERE, OTHER_RULES, RULES, Bench, allows, ask, authority, settle

DAY = 86_400.0

# --- expiry and refresh


async def test_the_last_tenth_is_refreshed_in_the_background_once() -> None:
    """A hundred requests in the last tenth go on by the old rules and cause one fetch."""
    gate: Deferred[Any] = Deferred()
    bench = Bench(RULES, gate)
    old = await ask(bench)
    rests_on = old.in_force
    bench.clock.now += 0.95 * DAY
    seen = set()
    for _ in range(100):
        known = bench.cache.consult(HERE, None)
        assert not isinstance(known, Miss)
        assert known.robots is old.robots
        assert known.in_force is rests_on
        seen.add(known)
        await turn()
    assert bench.fetches == 2
    assert len(seen) == 1  # what was noted of it, such as the pace, stays known
    gate.callback(OTHER_RULES)
    await settle()
    new = await ask(bench)
    assert (allows(new, "/private"), allows(new, "/other")) == (True, False)
    bench.clock.now += 0.5 * DAY
    assert bench.cache.consult(HERE, None) is new
    assert bench.fetches == 2


async def test_what_may_be_used_is_said_without_a_fetch() -> None:
    """In its last tenth, and while it is unreachable, too; not when it has expired."""
    bench = Bench(RULES)
    assert not bench.cache.has_usable(HERE)
    await ask(bench)
    for days, is_usable in ((0.0, True), (0.95, True), (0.1, False)):
        bench.clock.now += days * DAY
        assert bench.cache.has_usable(HERE) is is_usable
    assert bench.fetches == 1


@pytest.mark.parametrize("fails", [1, 2, 3])
async def test_a_site_without_rules_is_closed_after_all_attempts_in_the_background(
    fails: int,
) -> None:
    """As many as if requests waited for them. Until then the answer that is fresh counts."""
    none = Answer(404)
    bench = Bench(none, *[DOWN] * fails, none, retry_delays=(0.01, 0.01))
    await ask(bench)
    bench.clock.now += 0.95 * DAY
    await ask(bench)
    while bench.cache.flights:
        known = bench.cache.consult(HERE, None)
        assert not isinstance(known, Miss)
        assert known.decision is Decision.ALLOW_ALL
        await turn(0.001)
    assert ((await ask(bench)).decision is Decision.ALLOW_ALL) is (fails < 3)
    assert bench.fetches == 1 + min(fails + 1, 3)


async def test_a_fault_in_the_background_leaves_a_good_copy_in_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It closes no site. The next attempt is made later, as after any failure."""
    bench = Bench(RULES, OTHER_RULES)
    old = await ask(bench)
    bench.clock.now += 0.95 * DAY

    def fail(*args: Any, **more: Any) -> Any:
        raise ArithmeticError("injected")

    with monkeypatch.context() as patch:
        patch.setattr("scrapy_rep.sites.refresh.Refresher.refresh", fail)
        bench.cache.consult(HERE, None)
        await settle()
        known = await ask(bench)
    assert (known.decision, known.robots, bench.fetches) == (Decision.FOLLOW, old.robots, 1)
    bench.clock.now += 0.04 * DAY
    bench.cache.consult(HERE, None)
    await settle()
    assert not allows(await ask(bench), "/other")


async def test_what_was_evicted_in_its_last_tenth_is_used_and_refreshed_at_once() -> None:
    """By the request that brings it back; no later one is needed for that."""
    bench = Bench(RULES, RULES, OTHER_RULES, memory_limit=1_000)
    await ask(bench)
    await ask(bench, 1)
    assert bench.kept == [authority(1)]
    bench.clock.now += 0.95 * DAY
    old = await ask(bench)
    assert (allows(old, "/private"), allows(old, "/other")) == (False, True)
    await settle()
    assert bench.fetches == 3
    known = bench.cache.held(HERE)
    assert known is not None
    assert not allows(known, "/other")


async def test_what_is_evicted_again_after_a_fetch_is_the_newer_copy() -> None:
    """The older one, which was evicted before, is replaced."""
    bench = Bench(RULES, RULES, OTHER_RULES, RULES, memory_limit=1_000)
    for _ in range(2):
        await ask(bench)
        await ask(bench, 1)
        bench.clock.now += DAY
    bench.clock.now -= DAY
    assert bench.kept == [authority(1)]
    known = await ask(bench)
    assert (allows(known, "/private"), allows(known, "/other")) == (True, False)
    assert bench.fetches == 4


# --- unreachable


async def test_an_unreachable_authority_is_asked_again_only_after_its_back_off() -> None:
    """60 s, then 120 s, up to an hour; every request in between is refused without a fetch."""
    bench = Bench(DOWN)
    asked = []
    start = bench.clock.now
    for _ in range(6 * 3_600 // 10):
        known = await ask(bench)
        assert (known.decision, known.unreachable) == (Decision.DISALLOW_ALL, True)
        if not asked or bench.fetches > len(asked):
            asked.append(bench.clock.now - start)
        bench.clock.now += 10
    gaps = [late - early for early, late in pairwise(asked)]
    assert gaps == [60, 120, 240, 480, 960, 1_920, *[3_600] * (len(gaps) - 6)]
    assert len(gaps) > 8


@pytest.mark.parametrize(("asked", "delays"), [(0.2, (0.01, 0.02)), (0.1, (0.3,)), (0.2, (0.0,))])
async def test_the_next_attempt_is_no_sooner_than_the_server_asks(
    asked: float, delays: tuple[float, ...]
) -> None:
    """RFC 9110 section 10.2.3: a delay is as long as that, if a fetch may take as long."""
    busy = Unreachable(Cause.STATUS, 503, retry_after=asked)
    bench = Bench(busy, RULES, retry_delays=delays)
    began = time.monotonic()
    assert (await ask(bench)).decision is Decision.FOLLOW
    assert time.monotonic() - began >= max(asked, delays[0])
    assert bench.fetches == 2


@pytest.mark.parametrize(("delays", "fetches"), [((0.01, 0.02, 0.3), 2), ((0.01, 0.02), 1)])
async def test_a_delay_that_is_far_too_short_is_passed_over(
    delays: tuple[float, ...], fetches: int
) -> None:
    """If the server asks for more than a fetch may take, the first delay counts that is enough."""
    busy = Unreachable(Cause.STATUS, 503, retry_after=0.2)
    bench = Bench(busy, RULES, retry_delays=delays, timeout=0.1)
    began = time.monotonic()
    await ask(bench)
    assert bench.fetches == fetches
    assert fetches == 1 or time.monotonic() - began >= 0.3


HOPELESS = [
    Unreachable(Cause.STATUS, 429, retry_after=30.0),
    *map(Unreachable, (Cause.REDIRECT, Cause.DROPPED, Cause.URL)),
]


@pytest.mark.parametrize("outcome", HOPELESS, ids=lambda outcome: outcome.cause.value)
async def test_no_attempt_is_made_that_cannot_help(outcome: Unreachable) -> None:
    """The server asked for more time, or the same would come of it."""
    bench = Bench(outcome, RULES, retry_delays=(0.01,))
    assert (await ask(bench)).decision is Decision.DISALLOW_ALL
    assert bench.fetches == 1
