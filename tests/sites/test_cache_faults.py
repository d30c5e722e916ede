"""A fault of ours is no permission, and memory has its bound."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

from scrapy_rep import RobotsTxt
from scrapy_rep.access.entry import Answer
from scrapy_rep.access.policy import Decision, Policy
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.sites.refresh import Miss
from tests.scripted import DOWN, HERE, OTHER_RULES, RULES, Bench, allows, ask, authority, settle

DAY = 86_400.0

# --- memory


def big_rules(octets: int) -> Answer:
    """Rules of about that many octets."""
    line = b"Disallow: /some/longer/path/%06d\n"
    return Answer(200, b"User-agent: *\n" + b"".join(line % n for n in range(octets // 38)))


async def test_memory_is_bounded_in_octets_least_recently_used_first_out() -> None:
    """What was asked for a moment ago stays; what was evicted and not stored is fetched again."""
    limit = 1 << 20
    bench = Bench(big_rules(50_000), memory_limit=limit, evicted_limits=(0, 0))
    for number in range(200):
        await ask(bench, number)
        await ask(bench, 0)
        assert bench.cache.octets <= limit
    assert bench.fetches == 200
    kept = bench.kept
    assert authority(0) in kept
    assert kept[-2:] == [authority(199), authority(0)]
    assert bench.counts["robotstxt/cache/evicted"] == 200 - len(kept)
    assert bench.cache.octets == sum(bench.cache.held(who).size for who in kept)
    await ask(bench, 1)
    assert bench.fetches == 201


@pytest.mark.parametrize("heard", [False, True], ids=["unheard", "heard"])
async def test_what_was_evicted_comes_back_without_a_fetch(heard: bool) -> None:
    """It awaits nothing, and is not announced again."""
    told: list[bool] = []

    async def announce(robots: RobotsTxt, page: Any) -> None:
        told.append(robots.allowed(f"{HERE}/some", "mybot"))

    bench = Bench(big_rules(50_000), announce=announce, heard=heard, memory_limit=1 << 20)
    for number in range(100):
        await ask(bench, number)
    assert authority(1) not in bench.kept
    assert not isinstance(bench.cache.consult(authority(1), None), Miss)
    assert (await ask(bench, 1)).decision is Decision.FOLLOW
    assert bench.fetches == 100
    assert len(told) == 100


async def test_what_came_back_and_was_dropped_meanwhile_is_kept_again() -> None:
    """While it was in memory the second level dropped it as the oldest; it is evicted once more."""
    bench = Bench(big_rules(200_000), memory_limit=1 << 20, evicted_limits=(0, 300_000))
    await ask(bench, 0)
    for number in range(1, 8):
        await ask(bench, number)
    assert not isinstance(bench.cache.consult(HERE, None), Miss)
    for number in range(8, 40):
        await ask(bench, number)
        assert not isinstance(bench.cache.consult(HERE, None), Miss)
    for number in range(40, 48):
        await ask(bench, number)
    assert HERE not in bench.kept
    assert not isinstance(bench.cache.consult(HERE, None), Miss)
    assert bench.fetches == 48


async def test_what_was_evicted_is_the_last_good_copy_when_the_fetch_fails() -> None:
    """RFC 9309 section 2.3.1.4: evicted, expired, unreachable: its rules are followed."""
    bench = Bench(RULES, memory_limit=1 << 20)
    await ask(bench)
    bench.script.steps = [big_rules(500_000)]
    for number in range(1, 4):
        await ask(bench, number)
    assert HERE not in bench.kept
    bench.clock.now += 2 * DAY
    bench.script.steps = [DOWN]
    known = await ask(bench)
    assert (known.stale, allows(known, "/private")) == (True, False)


async def test_texts_and_bodies_that_are_not_parsed_count() -> None:
    """Redirects, validators and a copy that is not in force take memory as well."""
    hops = tuple(f"https://host{n}.example/{'x' * 5_000}" for n in range(3))
    long = Answer(200, RULES.body, redirects=hops, etag=b"e" * 1_000, last_modified=b"m" * 1_000)
    bench = Bench(long)
    known = await ask(bench)
    assert known.size > 17_000
    bench = Bench(big_rules(50_000), DOWN, policy=Policy(stale_if_unreachable=0.0))
    await ask(bench)
    bench.clock.now += 2 * DAY
    known = await ask(bench)
    assert (known.unreachable, known.size > 40_000) == (True, True)


async def test_rules_count_as_they_grow() -> None:
    """Each new agent may add an index to a file; weighing it again keeps to the bound."""
    body = b"".join(b"User-agent: bot%d\nDisallow: /%d*/x\n" % (n, n) for n in range(2_000))
    bench = Bench(Answer(200, body), memory_limit=1 << 20)
    known = await ask(bench)
    before = bench.cache.octets
    for number in range(200):
        known.verdict(HERE, f"{HERE}/{number}", (f"bot{number}",))
    bench.cache.weigh(HERE, known)
    assert bench.cache.octets >= before
    assert bench.cache.octets == known.size
    bench.cache.weigh(authority(99), known)
    assert bench.cache.octets == known.size
    assert sum(known.count_verdict() for _ in range(1_280)) == 10  # as often they are weighed


async def test_rules_of_few_sites_stay_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others free the memory, and are compiled again when they are asked for."""
    monkeypatch.setattr("scrapy_rep.sites.cache.MOST_COMPILED", 2)
    bench = Bench(big_rules(50_000), memory_limit=1 << 30)

    def judge(number: int) -> CachedRules:
        who = authority(number)
        known = bench.cache.held(who)
        assert known.allows(who, f"{who}/some/longer/path/x", ("mybot",))
        assert not known.allows(who, f"{who}/some/longer/path/000007", ("mybot",))
        assert known.note_agent(("mybot",))  # so the gate has it weighed
        bench.cache.weigh(who, known)
        assert known.count_verdict()  # a verdict may read lines: it is weighed again after that
        return known

    for number in range(4):
        await ask(bench, number)
        judge(number)
    sizes = [bench.cache.held(authority(number)).size for number in range(4)]
    assert sizes[0] == sizes[1] < sizes[2] / 2
    assert sizes[2] == sizes[3]
    assert bench.cache.octets == sum(sizes)
    again = judge(0)
    assert again.size == sizes[3]
    assert bench.cache.held(authority(2)).size == sizes[1]
    assert bench.cache.octets == sum(sizes)
    assert bench.fetches == 4


async def test_rules_larger_than_the_bound_are_followed_all_the_same() -> None:
    """The newest stays until another comes."""
    bench = Bench(big_rules(500_000), memory_limit=1 << 18)
    assert (await ask(bench)).decision is Decision.FOLLOW
    await ask(bench)
    assert bench.fetches == 1
    await ask(bench, 1)
    assert bench.kept == [authority(1)]


async def test_dead_hosts_are_bounded_too() -> None:
    """An authority without rules takes memory as well."""
    bench = Bench(DOWN, memory_limit=1 << 20)
    for number in range(1_500):
        await ask(bench, number)
    assert bench.cache.octets <= 1 << 20
    assert len(bench.kept) < 1_500
    assert bench.cache.flights == 0


# --- faults


class FaultError(Exception):
    """Something that is not foreseen."""


def broken(*_: Any) -> Any:
    """What always fails."""
    raise FaultError("at its worst")


async def broken_listener(*_: Any) -> None:
    """What always fails when it is awaited."""
    raise FaultError("at its worst")


@pytest.mark.parametrize(
    ("part", "failing"),
    [
        *(("fetch", broken), ("announce", broken), ("parse", broken)),
        *(("fetch", broken_listener), ("announce", broken_listener)),
    ],
)
async def test_a_fault_disallows_all_and_keeps_nobody_waiting(part: str, failing: Any) -> None:
    """A failure of ours is never permission; it backs off, though briefly at first."""
    bench = Bench(RULES, **{part: failing})
    asking = [ask(bench) for _ in range(20)]
    answers = [await one for one in asking]
    assert {known.decision for known in answers} == {Decision.DISALLOW_ALL}
    assert not allows(answers[0], "/open")
    assert answers[0].until == bench.clock.now + 1
    assert bench.cache.flights == 0


@pytest.mark.parametrize("error", [CancelledError, asyncio.CancelledError, SystemError])
async def test_a_fetch_cancelled_from_elsewhere_keeps_nobody_waiting(
    error: type[BaseException],
) -> None:
    """Whoever cancels what is under the fetch: those who wait are told, and nothing hangs."""
    bench = Bench(error(), RULES)
    asking = [ask(bench) for _ in range(5)]
    await settle()
    ended = [one.called for one in asking]
    for one in asking:
        one.addErrback(lambda _: None)
        one.cancel()
    assert ended == [True] * 5
    assert bench.cache.flights == 0


async def test_a_fault_after_success_leaves_the_last_good_copy() -> None:
    """While our own parser fails on the new file, the old rules hold or nothing is allowed."""

    def parse(body: bytes) -> RobotsTxt:
        if body == OTHER_RULES.body:
            raise FaultError("cannot read that")
        return RobotsTxt.parse(body)

    bench = Bench(RULES, OTHER_RULES, parse=parse)
    await ask(bench)
    bench.clock.now += 2 * DAY
    assert not allows(await ask(bench), "/private")
    assert not allows(await ask(bench), "/private")
    assert bench.fetches == 2


async def test_rules_are_announced_before_anyone_is_told() -> None:
    """A listener may set a delay from the rules before the first page."""
    told: list[Any] = []
    gate: Deferred[None] = Deferred()

    async def announce(robots: RobotsTxt, page: Any) -> None:
        told.append((robots.allowed(f"{HERE}/private", "mybot"), page))
        await maybe_deferred_to_future(gate)

    bench = Bench(RULES, announce=announce)
    asking = deferred_from_coro(bench.cache.lookup(HERE, "the page"))
    late = ask(bench)
    await settle()
    assert told == [(False, "the page")]
    assert not asking.called
    gate.callback(None)
    assert (await asking) is (await late)
    await ask(bench)
    assert len(told) == 1
