"""Sites in random worlds: after each event everything holds that :meth:`Bench.check` says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from scrapy_rep.frontier.states import Event, State
from tests.frontier.bench import ALL_MOVES, Bench
from tests.rows import deep

AUTHORITIES = ["a", "a:81", "b", "c", "d", "e"]
SLOTS = ["", "", "service"]
OLD = ["old-1", "old-2"]
KEYS = [*AUTHORITIES, "-a", "-service", *OLD]
MOST_ASKS = 6
"""How often a site is asked for each thing that happens, at most, on average."""

SEEN: set[tuple[State, Event, State]] = set()


class World(RuleBasedStateMachine):
    """Events in any order."""

    by_priority = False

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(by_priority=self.by_priority)
        self.happened = 0

    @initialize(
        known=st.sets(st.sampled_from(AUTHORITIES), max_size=3),
        paced=st.fixed_dictionaries(
            {"a": st.sampled_from([0.0, 1.0, 5.0])}, optional={"b": st.just(1.0), "c": st.just(2.0)}
        ),
        until=st.dictionaries(
            st.sampled_from(AUTHORITIES), st.sampled_from([2.0, 9.0]), max_size=2
        ),
        at_once=st.sets(st.sampled_from(AUTHORITIES), max_size=1),
        places=st.integers(1, 2),
        most=st.integers(1, 3),
    )
    def begin(self, places: int, most: int, **sets: Any) -> None:
        """The limits, what is known and asked for, and a site that is unreachable."""
        gate = self.bench.gate
        gate.places, gate.most = places, most
        gate.known, gate.paced, gate.at_once = sets["known"], sets["paced"], sets["at_once"]
        gate.until = sets["until"]
        self.push_several("e", 1)

    @rule(
        key=st.sampled_from(KEYS),
        authority=st.sampled_from(AUTHORITIES),
        slot=st.sampled_from(SLOTS),
        priority=st.sampled_from([0, 0, 0, 1, -1, 5]),
        queue=st.integers(0, 1),
        is_refused=st.sampled_from([False, False, False, True]),
    )
    def push(self, key: str, authority: str, **kwargs: Any) -> None:
        """A queue gets a request; one of a queue of another class may be of any authority."""
        if key.startswith("old"):
            kwargs["authority"] = authority
        self.happened += 1
        self.bench.push(key, **kwargs)

    @rule(key=st.sampled_from(AUTHORITIES), count=st.integers(2, 4))
    def push_several(self, key: str, count: int) -> None:
        """A queue gets requests of one authority."""
        for _ in range(count):
            self.happened += 1
            self.bench.push(key)

    @rule(authority=st.sampled_from(AUTHORITIES), count=st.integers(1, 2))
    def push_old(self, authority: str, count: int) -> None:
        """The queues of a job of another class have requests of one authority."""
        for key in OLD[:count]:
            self.happened += 1
            self.bench.push(key, authority=authority)

    @rule(times=st.sampled_from([1, 1, 5]))
    def ask(self, times: int) -> None:
        """The engine asks."""
        for _ in range(times):
            self.happened += 1
            self.bench.next()

    @precondition(lambda self: self.bench.under_way)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        """A download ends."""
        self.happened += 2
        self.bench.end(data.draw(st.sampled_from(self.bench.under_way)))

    @rule(slot=st.sampled_from(["a", "b", "service"]))
    def download_directly(self, slot: str) -> None:
        """A slot has a request that no one has asked about."""
        self.bench.gate.loads[slot] += 1
        self.bench.direct.append(slot)

    @precondition(lambda self: self.bench.direct)
    @rule(data=st.data())
    def end_directly(self, data: st.DataObject) -> None:
        """It ends."""
        self.happened += 1
        slot = data.draw(st.sampled_from(self.bench.direct))
        self.bench.direct.remove(slot)
        self.bench.leave(slot)

    @precondition(lambda self: self.bench.gate.young | self.bench.gate.old)
    @rule(data=st.data(), wait=st.sampled_from([None, None, None, 2.0, 9.0]))
    def arrive(self, data: st.DataObject, wait: float | None) -> None:
        """A fetch ends; its rules hold, or it is tried again later."""
        self.happened += 3
        gate = self.bench.gate
        authority = data.draw(st.sampled_from(sorted(gate.young | gate.old)))
        self.bench.arrive(authority, until=None if wait is None else gate.now + wait)

    @rule(data=st.data())
    def arrive_for_another(self, data: st.DataObject) -> None:
        """A direct download has fetched rules."""
        self.happened += 3
        authorities = [*AUTHORITIES, *sorted(self.bench.gate.until)]
        self.bench.arrive(data.draw(st.sampled_from(authorities)))

    @precondition(lambda self: self.bench.gate.young)
    @rule(data=st.data())
    def age(self, data: st.DataObject) -> None:
        """A fetch is young no longer."""
        self.happened += 1
        self.bench.age(data.draw(st.sampled_from(sorted(self.bench.gate.young))))

    @precondition(lambda self: self.bench.gate.known)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        """Rules expire, which nothing tells of."""
        known = self.bench.gate.known
        known.discard(data.draw(st.sampled_from(sorted(known))))

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        until = sum(site.state is State.UNTIL for site in self.bench.sites.by_key.values())
        self.happened += until + len(self.bench.gate.due_at)
        self.bench.advance(seconds)

    @rule(host=st.sampled_from("abc"))
    def refuse(self, host: str) -> None:
        """The store grants no turn of a host from now on."""
        self.bench.gate.withheld.add(host)

    @precondition(lambda self: self.bench.gate.withheld)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        """It grants one again."""
        self.happened += 1
        self.bench.answer(data.draw(st.sampled_from(sorted(self.bench.gate.withheld))))

    @precondition(lambda self: self.bench.gate.young | self.bench.gate.old)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        """A fetch that has failed asks which requests wait for it."""
        gate = self.bench.gate
        self.bench.heads_for(data.draw(st.sampled_from(sorted(gate.young | gate.old))))

    @precondition(lambda self: len(self.bench.sites.by_key) > 1)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """The files of a site cannot be read any more."""
        self.bench.lose(data.draw(st.sampled_from(sorted(self.bench.sites.by_key))), 0, 1)

    @invariant()
    def holds(self) -> None:
        """Everything holds, and what is asked is asked because of something."""
        self.bench.check()
        assert len(self.bench.gate.asked) <= MOST_ASKS * (self.happened + 1)

    def teardown(self) -> None:
        """Whatever is under way ends, and the engine asks until it has got every request."""
        bench = self.bench
        gate = bench.gate
        for _ in range(4 * len(bench.pages) + 10):
            bench.all()
            for authority in [*sorted(gate.young | gate.old), *sorted(gate.until)[:1]]:
                bench.arrive(authority)
            for slot in bench.direct:
                bench.leave(slot)
            bench.direct.clear()
            for host in sorted(gate.withheld):
                bench.answer(host)
            for page in list(bench.under_way):
                bench.end(page)
            bench.advance(10.0)
            self.happened += 10
            bench.check()
        assert not bench.sites.by_key
        assert set(bench.ended) | bench.lost_pages == set(bench.pages)
        assert len(gate.asked) <= MOST_ASKS * (self.happened + len(bench.pages))
        SEEN.update(bench.sites.moves)


class WorldByPriority(World):
    """The same where the queues have one order for all sites."""

    by_priority = True


def run(world: type[World], examples: int, steps: int, *, derandomize: bool = True) -> None:
    """Try so many worlds."""
    run_state_machine_as_test(
        world,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=derandomize,
            database=None,
            phases=[Phase.generate],  # to shrink one takes minutes
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_everything_holds_after_each_event() -> None:
    """And every state that may follow an event follows it in some world."""
    SEEN.clear()
    run(World, 80, 40)
    assert SEEN == ALL_MOVES


def test_everything_holds_where_the_queues_have_one_order() -> None:
    """That of a front."""
    run(WorldByPriority, 10, 40)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("world", [World, WorldByPriority])
def test_everything_holds_in_many_worlds(world: type[World]) -> None:
    """New ones each time."""
    run(world, deep(100, 5_000), 80, derandomize=False)
