"""What every store must do that keeps one pace for all workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import uniform
from secrets import token_hex
from typing import Any

import pytest

from scrapy_rep.stores import Store, Turn
from scrapy_rep.stores.base import RENEWED
from scrapy_rep.stores.sqlite import SqliteStore
from tests.polling import until
from tests.stores.samples import NOW, told

HOST = "slow.example"


def taken(store: Store, seconds: float = 30.0, interval: float = 0.1, host: str = HOST) -> Turn:
    """What the store says to a request for a turn."""
    turn = told(store.take_turn(host, seconds, interval, token_hex(8)))
    assert isinstance(turn, Turn)
    return turn


def granted(
    store: Store, seconds: float = 30.0, interval: float = 0.1, host: str = HOST, limit: float = 20
) -> str:
    """The token of a turn, once it is granted; it is asked for again as the store says."""
    end = time.monotonic() + limit
    while True:
        turn = taken(store, seconds, interval, host)
        if turn.token is not None:
            return turn.token
        assert time.monotonic() < end, "no turn is granted"
        assert turn.wait > 0
        time.sleep(turn.wait)


@contextmanager
def used_store(path: Path, interval: float) -> Iterator[SqliteStore]:
    """A store that has been in use for as long as an interval, so that it grants turns at once."""
    since = time.monotonic() - max(interval, RENEWED)
    store = SqliteStore(path, turn_clock=lambda: since)
    taken(store, interval=interval, host="in-use.example")
    store.close()
    store = SqliteStore(path)
    yield store
    store.close()


def together(*calls: Callable[[], object]) -> None:
    """Make calls in as many threads at once."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def refused_for(store: Store, seconds: float, interval: float) -> None:
    """Nobody else is granted the turn meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert taken(store, interval=interval).token is None
        time.sleep(0.02)


def renew_often(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.1) -> None:
    """Have stores without memory wait for that many seconds, and not for two.

    This is for stores alone: the workers of a crawl do not renew their turns as often.
    """
    for module in ("redis", "sqlite_turns"):
        monkeypatch.setattr(f"scrapy_rep.stores.{module}.RENEWED", seconds)


class TurnContract:
    """A test class inherits from this one and makes its store."""

    def make(self, place: Any, clock: Callable[[], float] = lambda: NOW) -> Store:
        """A store at `place`."""
        raise NotImplementedError

    def lose_memory(self, place: Any) -> None:
        """What is kept at `place` is gone."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _renewed_often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Turns are renewed more often than usual, so that no test has to wait for two seconds."""
        renew_often(monkeypatch)

    def test_a_new_store_waits_for_an_interval_first(self, store: Store) -> None:
        """It cannot know what was requested a moment before it was made."""
        assert store.keeps_pace
        begun = time.monotonic()
        turn = taken(store, interval=0.3)
        assert turn.token is None
        assert 0 < turn.wait <= 0.31
        granted(store, interval=0.3)
        assert time.monotonic() - begun >= 0.3

    def test_a_turn_is_held_by_one_worker(self, store: Store, other: Store) -> None:
        """While one holds it no other is granted it; other hosts are none of its business."""
        token = granted(store)
        for asking in (store, other):
            assert taken(asking).token is None
        assert granted(other, host="another.example")
        other.cancel_turn(HOST, "stranger")
        assert taken(other).token is None
        store.cancel_turn(HOST, token)

    def test_one_of_many_that_ask_at_once_gets_the_turn(self, store: Store, other: Store) -> None:
        """Taking a turn is one atomic step: of 16 threads over two stores one gets it."""
        store.cancel_turn(HOST, granted(store, interval=0.01))
        for number in range(10):
            tokens: list[str | None] = []
            barrier = threading.Barrier(16)

            def ask(asking: Store, tokens: Any = tokens, barrier: Any = barrier) -> None:
                barrier.wait(10)
                tokens.append(taken(asking, interval=0.01).token)

            stores = [store, other] * 8
            together(*(partial(ask, asking) for asking in stores))
            [token] = [token for token in tokens if token is not None]
            holder = stores[number % 2]
            holder.end_turn(HOST, token, 0.01)
            store.cancel_turn(HOST, granted(holder, interval=0.01))

    def test_a_turn_is_found_by_the_token_that_it_was_asked_for_with(
        self, store: Store, other: Store
    ) -> None:
        """The answer may be lost: the worker asks again, and no other one has the turn."""
        store.cancel_turn(HOST, granted(store, interval=0.1))
        until(lambda: told(store.take_turn(HOST, 30.0, 0.1, "mine")).token)
        for _ in range(2):
            assert told(store.take_turn(HOST, 30.0, 0.1, "mine")) == Turn("mine")
            assert taken(other, interval=0.1).token is None
        store.end_turn(HOST, "mine", 5.0)
        until(lambda: told(store.take_turn(HOST, 30.0, 0.1, "mine")).wait > 4.0)

    def test_a_refusal_says_when_the_next_turn_can_be(self, store: Store, other: Store) -> None:
        """While a turn is held it could end now; once it has ended, the time is known."""
        token = granted(store, interval=0.1)
        assert 4.9 < taken(other, interval=5.0).wait <= 5.0
        store.end_turn(HOST, token, 5.0)
        until(lambda: 0 < taken(other, interval=5.0).wait <= 4.9, 10)
        assert taken(store, interval=5.0).wait > 0

    def test_the_turn_of_a_worker_that_died_lapses(self, store: Store, other: Store) -> None:
        """Nobody is held up for longer than the lease and the interval, nor for less."""
        store.cancel_turn(HOST, granted(store, interval=0.15))
        before = time.monotonic()
        granted(other, seconds=0.2, interval=0.15)
        granted(store, interval=0.15, limit=5)
        assert time.monotonic() - before >= 0.35

    def test_a_turn_is_renewed_by_its_holder_alone(self, store: Store, other: Store) -> None:
        """While a request is under way its turn lasts; a stranger's token renews nothing."""
        mine = granted(store, seconds=0.5)
        store.renew_turn(HOST, mine, 30.0)
        granted(store, seconds=0.5, host="another.example")
        other.renew_turn("another.example", "stranger", 30.0)
        granted(other, host="another.example", limit=10)
        assert taken(other).token is None
        store.end_turn(HOST, mine, 0.1)
        granted(other, limit=10)

    def test_a_turn_that_nothing_used_costs_no_interval(self, store: Store, other: Store) -> None:
        """A request that a cache answered never reached the host."""
        token = granted(store, interval=2.0)
        store.cancel_turn(HOST, token)

        def is_granted() -> bool:
            turn = taken(other, interval=2.0)
            assert turn.token or turn.wait > 1.9, "an interval runs"
            return turn.token is not None

        until(is_granted)

    def test_a_request_without_a_turn_begins_the_interval(self, store: Store, other: Store) -> None:
        """It was made while the store failed, or its turn has lapsed; it was made all the same."""
        store.cancel_turn(HOST, granted(store, interval=0.1))
        store.end_turn(HOST, "", 30.0)
        taken(store, 1.0, 0.1, "another.example")
        assert 0 < taken(other, interval=30.0).wait <= 30.0

    def test_the_lapsed_turn_of_a_dead_worker_hides_no_request(
        self, store: Store, other: Store
    ) -> None:
        """One that was made without a turn begins the interval all the same."""
        granted(store, seconds=0.1, interval=0.1)
        taken(store, 1.0, 0.1, "another.example")
        time.sleep(0.2)
        other.end_turn(HOST, "", 60.0)
        until(lambda: taken(other, interval=0.1).wait > 30.0)

    def test_a_turn_is_ended_by_no_one_but_its_holder(self, store: Store, other: Store) -> None:
        """A worker that was stopped for long comes late: the turn is another one's by now."""
        late = granted(store, seconds=0.1, interval=0.1)
        holder = granted(other, interval=0.1)
        for token in (late, ""):
            store.end_turn(HOST, token, 0.1)
            store.cancel_turn(HOST, token)
        taken(store, 1.0, 0.1, "another.example")
        time.sleep(0.3)
        assert taken(store, interval=0.1).token is None
        other.end_turn(HOST, holder, 0.1)
        granted(store, interval=0.1, limit=10)

    def test_of_two_intervals_the_longer_one_is_kept(self, store: Store, other: Store) -> None:
        """One worker may know of a port of the host that asks for more."""
        store.end_turn(HOST, granted(store, interval=0.1), 0.1)
        assert taken(other, interval=60.0).wait > 30.0
        assert taken(store, interval=0.1).wait > 30.0

    def test_the_interval_of_the_worker_that_held_the_turn_counts(
        self, store: Store, other: Store
    ) -> None:
        """Also for workers that do not know of it."""
        store.end_turn(HOST, granted(store, interval=0.1), 60.0)
        until(lambda: taken(other, interval=0.1).wait > 30.0)

    def test_a_worker_that_waits_longer_gets_its_turns(self, store: Store, other: Store) -> None:
        """Another one may ask five times as often, and keeps the longer interval meanwhile."""
        end = time.monotonic() + 20.0
        counts = {0.05: 0, 0.25: 0}

        def work(worker: Store, interval: float) -> None:
            while min(counts.values()) < 2 and time.monotonic() < end:
                turn = taken(worker, interval=interval)
                if turn.token is None:
                    time.sleep(turn.wait + uniform(0.0, 0.02))
                    continue
                counts[interval] += 1
                worker.end_turn(HOST, turn.token, interval)
                time.sleep(interval)

        together(partial(work, store, 0.05), partial(work, other, 0.25))
        assert min(counts.values()) >= 2

    def test_the_longer_interval_is_forgotten_with_the_worker_that_knows_it(
        self, store: Store, other: Store
    ) -> None:
        """What a worker asked for in vain counts for the next turn."""
        token = granted(store, interval=0.1)
        before = time.monotonic()
        store.end_turn(HOST, token, 0.1)
        assert taken(other, interval=0.5).token is None
        token = granted(store, interval=0.1)
        assert time.monotonic() - before >= 0.5
        store.end_turn(HOST, token, 0.1)
        store.flush()
        assert taken(store, interval=0.1).wait <= 0.1

    def test_the_interval_begins_when_a_turn_ends_whatever_the_workers_clocks_say(
        self, store: Store, place: Any
    ) -> None:
        """Not when it was granted; one clock is an hour slow, one fast: the store's own counts."""
        with (
            closing(self.make(place, lambda: NOW - 3600)) as slow,
            closing(self.make(place, lambda: NOW + 3600)) as fast,
        ):
            for one, other in ((slow, fast), (fast, slow)):
                token = granted(one, interval=0.2)
                time.sleep(0.25)
                before = time.monotonic()
                one.end_turn(HOST, token, 0.2)
                token = granted(other, interval=0.2, limit=10)
                assert time.monotonic() - before >= 0.2
                other.end_turn(HOST, token, 0.1)

    def test_a_store_that_lost_its_memory_waits_an_interval(self, store: Store, place: Any) -> None:
        """A turn may have ended, or may be held, of which it knows nothing any more."""
        store.end_turn(HOST, granted(store, interval=0.2), 0.2)
        time.sleep(0.25)
        before = time.monotonic()
        self.lose_memory(place)
        granted(store, interval=0.2)
        assert time.monotonic() - before >= 0.2
        assert granted(store, interval=0.2, host="unheard-of.example")

    def test_a_store_that_lost_its_memory_gives_a_turn_in_use_to_its_holder(
        self, store: Store, other: Store, place: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The request is still under way, and the interval is shorter than a renewal takes."""
        token = granted(store, interval=0.05)
        renew_often(monkeypatch, 0.6)
        self.lose_memory(place)
        assert 0.05 < taken(other, interval=0.05).wait <= 0.61
        store.renew_turn(HOST, token, 30.0)
        refused_for(other, 0.8, interval=0.05)
        before = time.monotonic()
        store.end_turn(HOST, token, 0.2)
        granted(other, interval=0.05, limit=5)
        assert time.monotonic() - before >= 0.2

    def test_a_turn_that_was_taken_again_lapses_like_any_other(
        self, store: Store, other: Store, place: Any
    ) -> None:
        """Its holder died after the renewal."""
        token = granted(store, interval=0.1)
        self.lose_memory(place)
        before = time.monotonic()
        store.renew_turn(HOST, token, 0.4)
        granted(other, interval=0.1, limit=5)
        assert time.monotonic() - before >= 0.5

    def test_a_renewal_takes_no_turn_from_another_worker(
        self, store: Store, other: Store, place: Any
    ) -> None:
        """It came so late that another one has been granted the turn."""
        late = granted(store, interval=0.1)
        self.lose_memory(place)
        holder = granted(other, interval=0.1)
        store.renew_turn(HOST, late, 0.01)
        taken(store, 1.0, 0.1, "another.example")
        time.sleep(0.2)
        assert taken(store, interval=0.1).token is None
        other.end_turn(HOST, holder, 0.1)
        granted(store, interval=0.1, limit=5)

    def test_a_renewal_revives_no_turn_that_is_over(self, store: Store, other: Store) -> None:
        """It was ended or given back before."""
        for over in (
            lambda token: store.end_turn(HOST, token, 0.1),
            lambda token: store.cancel_turn(HOST, token),
        ):
            token = granted(store, interval=0.1)
            over(token)
            store.renew_turn(HOST, token, 30.0)
            taken(store, 1.0, 0.1, "another.example")
            other.cancel_turn(HOST, granted(other, interval=0.1))
