"""The turns of one worker, taken from a real store; another worker looks at the same file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from math import inf, nan
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.access.authority import Authority
from scrapy_rep.awaiting import sleep
from scrapy_rep.frontier import shared_pace
from scrapy_rep.frontier.hosts import PacedHost
from scrapy_rep.sites.outage import Outage
from scrapy_rep.sites.store_adapter import StoreTurns
from scrapy_rep.stats import RepStats
from scrapy_rep.stores import Store, StoreError, Turn
from scrapy_rep.stores.sqlite import SqliteStore
from tests.crawl.leftovers import turn
from tests.crawl.sharing import CustomStore
from tests.polling import until
from tests.scripted import Counts
from tests.stores.turn_contract import granted, taken, used_store

NAME = "a.example"
INTERVAL = 0.2
ASKER = Authority("http", NAME, 80), ("mybot",)


class Worker:
    """A worker whose requests to one host need turns."""

    def __init__(self, store: Store, turns: type[StoreTurns] = StoreTurns) -> None:
        self.faults: list[Exception] = []
        stats = RepStats(Counts())
        of_store = turns(store, Outage(store.answer_timeout, stats))
        self.pace = shared_pace.SharedPace(of_store, stats, lambda _: None, self.faults.append)
        self.host = self.asking()

    def asking(self) -> PacedHost:
        """The host, which asks for an interval from now on; a request waits for its turn."""
        host = PacedHost(NAME, 0.0, lambda name: False)
        host.heed(ASKER, INTERVAL)
        host.reserved_for = Request(f"http://{NAME}/waits")
        return host

    def has_turn(self) -> bool:
        """Whether a request may start now; otherwise a turn is asked for when one may be had."""
        now = monotonic()
        return self.host.is_due(now) and self.pace.has_turn(self.host, now)

    async def ask_in_vain(self) -> None:
        """Ask for a turn, and wait until the store says when to ask again."""
        assert not self.has_turn()
        while self.host.not_before < 0.0:
            await turn(0.01)

    async def take(self) -> None:
        """Take a turn, asking again as the store says."""
        while not self.has_turn():
            await turn(0.01)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteStore]:
    """What another worker sees of the store; it has been in use for a while."""
    with used_store(tmp_path / "robots.db", 0.1) as store:
        yield store


@pytest.fixture
def worker(tmp_path: Path, other: SqliteStore) -> Iterator[Worker]:
    """One worker."""
    store = SqliteStore(tmp_path / "robots.db")
    made = Worker(store)
    yield made
    made.pace.close()
    store.close()
    assert made.faults == []


def is_free(other: SqliteStore) -> bool:
    """Whether another worker has a turn at once."""
    return taken(other, 1.0, INTERVAL, NAME).token is not None


def comes_back(other: SqliteStore) -> None:
    """Another worker has a turn long before a lease would be over."""
    until(lambda: is_free(other), shared_pace.TURN_TERM / 2)


async def test_a_turn_goes_back_as_soon_as_no_request_waits(worker: Worker, other: Store) -> None:
    """Another worker has it then, and not before."""
    await worker.take()
    worker.pace.settle(monotonic())
    assert not is_free(other)
    worker.host.reserved_for = None
    worker.pace.settle(monotonic())
    comes_back(other)


async def test_an_unused_turn_is_given_back_in_a_second(worker: Worker, other: Store) -> None:
    """A request waits, but no place is free for it."""
    await worker.take()
    worker.pace.settle(monotonic() + shared_pace.UNUSED)
    comes_back(other)


async def test_a_turn_ends_with_its_request_though_its_host_asks_for_nothing_any_more(
    worker: Worker, other: Store
) -> None:
    """A new robots.txt came meanwhile: no other worker waits for the end of a lease."""
    await worker.take()
    worker.host.withdraw(ASKER)
    worker.pace.ended(worker.host)
    comes_back(other)


async def test_a_worker_asks_a_fiftieth_of_the_interval_later_at_most(worker: Worker) -> None:
    """Later than it has to, so that the nearest worker is not always first."""
    late = []
    for _ in range(20):
        worker.host.ended = monotonic()
        worker.pace.ended(worker.host)
        late.append(worker.host.not_before - worker.host.ended - INTERVAL)
    assert min(late) >= 0.0
    assert max(late) <= shared_pace.SPREAD * INTERVAL + 1e-6
    assert len(set(late)) > 1


async def test_a_turn_stays_in_use_if_its_host_asks_anew(worker: Worker, other: Store) -> None:
    """The robots.txt stops asking for a delay, and asks for one again, while a turn is held.

    The host is forgotten in between, and another object takes its place.
    """
    await worker.take()
    worker.host = worker.asking()
    assert worker.has_turn()
    worker.host.busy = 1
    worker.pace.settle(monotonic() + shared_pace.UNUSED)
    await turn(0.2)  # a turn that is given back is free a moment later
    assert not is_free(other)
    worker.host.busy = 0
    worker.pace.ended(worker.host)
    assert granted(other, 1.0, INTERVAL, NAME)


async def test_a_wait_is_counted_from_the_question_on(tmp_path: Path, other: SqliteStore) -> None:
    """The store is far away: counted from the answer, its question would always come too late."""

    class Late(StoreTurns):
        """Its answers take their time."""

        async def take(self, *args: Any) -> Turn:
            """A turn, late."""
            turn = await super().take(*args)
            await sleep(2 * INTERVAL)
            return turn

    token = granted(other, 10.0, INTERVAL, NAME)
    with closing(SqliteStore(tmp_path / "robots.db")) as store:
        worker = Worker(store, Late)
        await worker.ask_in_vain()
        assert worker.host.not_before <= monotonic() + shared_pace.SOONEST + shared_pace.SPREAD
        worker.pace.close()
    other.end_turn(NAME, token, INTERVAL)


class ScriptedStore(CustomStore):
    """It answers as it is told."""

    keeps_pace = True

    def __init__(self, answer: Callable[[str], Turn]) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[str] = []

    def take_turn(self, host: str, seconds: float, interval: float, token: str) -> Turn:
        """The answer to the question for that token."""
        self.asked.append(token)
        return self.answer(token)


def down(_: str) -> Turn:
    """The answer of a store that fails."""
    raise StoreError("down")


WAITS = [
    (5.0, 5.0),
    (inf, shared_pace.LATEST),
    (1e15, shared_pace.LATEST),
    (nan, shared_pace.SOONEST),
    (-1e15, shared_pace.SOONEST),
    (-0.0, shared_pace.SOONEST),
]
"""What a store may say, in seconds, and how long a worker waits."""


@pytest.mark.parametrize(("wait", "seconds"), WAITS)
async def test_no_wait_is_shorter_or_longer_than_reason_has_it(wait: float, seconds: float) -> None:
    """Whatever is read from a store: it is asked neither without end nor in years."""
    worker = Worker(ScriptedStore(lambda _: Turn(None, wait)))
    asked = monotonic()
    await worker.ask_in_vain()
    last = monotonic() + seconds + shared_pace.MOST_SPREAD
    assert asked + seconds <= worker.host.not_before <= last
    worker.pace.close()


async def test_after_a_lost_answer_the_same_turn_is_asked_for(constants: Any) -> None:
    """It may have been granted. The next turn has another token."""
    constants("frontier.shared_pace", RETRY=0.05)
    store = ScriptedStore(lambda token: Turn(token) if len(store.asked) > 2 else down(token))
    worker = Worker(store)
    await worker.take()
    assert len(set(store.asked)) == 1
    worker.host.ended = monotonic()
    worker.pace.ended(worker.host)
    await worker.take()
    assert len(store.asked) == 4
    assert len(set(store.asked)) == 2
    worker.pace.close()


async def test_a_store_that_is_back_is_not_used_before_all_know_of_it(constants: Any) -> None:
    """A worker that asked just before makes one more request without it.

    Intervals may be shorter.
    """
    constants("frontier.shared_pace", TURN_TERM=0.4, RETRY=0.05)
    store = ScriptedStore(down)
    worker = Worker(store)
    await worker.take()
    store.answer = Turn
    back = worker.host.ended = monotonic()
    worker.pace.ended(worker.host)
    await worker.take()
    assert monotonic() - back >= shared_pace.SETTLED > INTERVAL
    worker.pace.close()


@pytest.mark.parametrize("answer", [down, Turn])
async def test_an_outage_is_not_taken_for_the_end_of_an_earlier_one(
    constants: Any, answer: Callable[[str], Turn]
) -> None:
    """What waited has gone to another worker, and this one asks again when a lease is over.

    If the store fails by then, others may hold turns; if it answers, its turn is used.
    """
    constants("frontier.shared_pace", TURN_TERM=0.4, RETRY=0.05)
    store = ScriptedStore(down)
    worker = Worker(store)
    await worker.ask_in_vain()
    waits, worker.host.reserved_for = worker.host.reserved_for, None
    await turn(0.5)
    store.answer, worker.host.reserved_for = answer, waits
    asked = monotonic()
    await worker.take()
    assert (monotonic() - asked < shared_pace.TURN_TERM) == (answer is Turn)
    worker.pace.close()
