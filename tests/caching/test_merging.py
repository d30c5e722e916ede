"""Puts to a custom store are merged by the cache: in order, and whatever the store does."""

from __future__ import annotations

import itertools
import pickle
import threading
from concurrent.futures import Future
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, merge
from scrapy_rep.caching.context import Miss
from scrapy_rep.caching.merging import Merging, checked
from scrapy_rep.stores import Store, StoreError
from tests.crawl.leftovers import turn
from tests.crawl.sharing import CustomStore
from tests.scripted import RULES, Bench, ask, authority
from tests.stores.samples import NOW, entry, failure, gone, refused


class SlowStore(Store):
    """A custom store whose look-ups are answered when the test says so."""

    def __init__(self) -> None:
        self.entries: dict[Authority, Entry] = {}
        self.asked: list[tuple[Authority, Future[Any]]] = []
        self.threads: set[str] = set()

    def get(self, authority: Authority) -> Future[Entry | None]:  # type: ignore[override]
        """A Future, without an answer yet."""
        self.asked.append((authority, Future()))
        return self.asked[-1][1]

    def put(self, authority: Authority, entry: Entry) -> None:  # type: ignore[override]
        """Here it is."""
        self.threads.add(threading.current_thread().name)
        self.entries[authority] = entry

    def answer(self, number: int) -> None:
        """What is kept by now, from a thread of the store's own."""
        key, future = self.asked[number]
        found = self.entries.get(key)
        thread = threading.Thread(target=future.set_result, args=[found])
        thread.start()
        thread.join()


class Failures(list[Exception]):
    """What was said to have failed."""

    def __call__(self, error: Exception) -> None:
        """One more."""
        self.append(error)


def merging(store: Store) -> tuple[Merging, Failures]:
    """Puts to that store."""
    failed = Failures()
    return Merging(store, clock=lambda: NOW, failed=failed), failed


async def soon() -> None:
    """What another thread has handed over is done."""
    for _ in range(5):
        await turn(0.01)


PUTS = [entry(at=NOW - 50), failure(at=NOW - 40), gone(at=NOW - 30), failure(at=NOW - 20)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4), 3)), ids=str)
@ensureDeferred
async def test_puts_of_one_authority_do_not_overtake_each_other(order: tuple[int, ...]) -> None:
    """However late each look-up is answered, the store has all of them merged, in order."""
    store = SlowStore()
    puts, failed = merging(store)
    expected = None
    for number in order:
        puts.put(authority(), PUTS[number])
        expected = merge(expected, PUTS[number], NOW)
    assert len(store.asked) == 1
    store.answer(0)
    await soon()
    assert store.entries == {authority(): expected}
    puts.put(authority(), PUTS[3])
    store.answer(1)
    await soon()
    assert expected
    assert store.entries == {authority(): merge(expected, PUTS[3], NOW)}
    assert store.threads == {threading.current_thread().name}
    assert failed == []


@ensureDeferred
async def test_one_authority_does_not_wait_for_another() -> None:
    """Each has a look-up of its own."""
    store = SlowStore()
    puts, _ = merging(store)
    puts.put(authority(0), entry(0))
    puts.put(authority(1), entry(1))
    store.answer(1)
    await soon()
    assert store.entries == {authority(1): entry(1)}
    store.answer(0)
    await soon()
    assert len(store.entries) == 2


@ensureDeferred
async def test_refusals_are_left_out() -> None:
    """A custom store does not keep the crawlers apart."""
    CustomStore.entries.clear()
    puts, _ = merging(CustomStore())
    puts.put(authority(), refused())
    puts.put(authority(1), Entry(entry().answer, refused().refusal))
    assert CustomStore.entries == {authority(1): entry()}
    assert checked(Entry(entry().answer, refused().refusal)) == entry()


@ensureDeferred
async def test_what_waits_when_the_crawl_closes_is_written() -> None:
    """As far as the store answers soon; without an answer only an answer is."""
    store = SlowStore()
    puts, failed = merging(store)
    puts.put(authority(0), failure(at=NOW))
    puts.put(authority(1), failure(at=NOW))
    puts.put(authority(2), entry(2))
    store.entries[authority(0)] = entry(0)
    store.asked[0][1].set_result(store.entries[authority(0)])
    puts.close()
    assert store.entries == {
        authority(0): Entry(entry(0).answer, None, failure(at=NOW).failure),
        authority(2): entry(2),
    }
    assert len(failed) == 2
    store.answer(1)
    await soon()
    assert authority(1) not in store.entries


@ensureDeferred
async def test_a_crawl_that_closes_waits_for_a_store_that_answers_soon() -> None:
    """A failure alone would replace a good copy, so it is written only with what was read."""
    store = SlowStore()
    puts, failed = merging(store)
    store.entries[authority()] = entry()
    puts.put(authority(), failure(at=NOW))
    timer = threading.Timer(0.05, store.answer, [0])
    timer.start()
    puts.close()
    timer.join()
    assert store.entries == {authority(): Entry(entry().answer, None, failure(at=NOW).failure)}
    assert failed == []


class Anything(Store):
    """A custom store that does whatever it is told to."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.puts = 0

    def get(self, authority: Authority) -> Any:  # type: ignore[override]
        """It returns or raises it, at once or in a Future."""
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def put(self, authority: Authority, entry: Entry) -> None:  # type: ignore[override]
        """It cannot."""
        self.puts += 1
        raise ZeroDivisionError("broken")


def late(found: Any) -> Future[Any]:
    """A Future that ends so."""
    future: Future[Any] = Future()
    if isinstance(found, Exception):
        future.set_exception(found)
    else:
        future.set_result(found)
    return future


def of_another_version() -> Entry:
    """An entry that was pickled when it had other fields."""
    state = [200, b"User-agent: *\n", "https://host.example/robots.txt"]
    empty = object.__new__(Entry)
    for name, value in zip(("answer", "refusal", "failure"), state, strict=True):
        object.__setattr__(empty, name, value)
    unpickled: Entry = pickle.loads(pickle.dumps(empty))
    return unpickled


NONSENSE = [
    {"body": b""},
    b"octets",
    7,
    Answer(200),
    object.__new__(Entry),
    of_another_version(),
    ZeroDivisionError("broken"),
    StoreError("out of order"),
]


@pytest.mark.parametrize("found", NONSENSE, ids=lambda found: type(found).__name__)
@pytest.mark.parametrize("wrap", [lambda found: found, late], ids=["at once", "later"])
@ensureDeferred
async def test_whatever_a_custom_store_returns_harms_nothing(found: Any, wrap: Any) -> None:
    """It is fetched as if nothing were stored; that is counted."""
    store = Anything(found if isinstance(found, Exception) and wrap is not late else wrap(found))
    bench = Bench(RULES, store=store)
    for number in range(3):
        known = await ask(bench, number)
        assert known.robots is not None
    await soon()
    bench.store.close()
    assert bench.fetches == 3
    assert store.puts == 3
    assert bench.counts["robotstxt/store/error"] >= 6


def test_an_entry_is_taken_as_it_is() -> None:
    """Nothing but a refusal is left out."""
    assert checked(None) is None
    for kept in (entry(), gone(), failure(), Entry()):
        assert checked(kept) == kept


class AtTimesLate(CustomStore):
    """A store that is slow at times, as a file on a slow disk is."""

    slow = True
    asked = 0

    def get(self, authority: Authority) -> Any:
        """What there is, at once or in a Future."""
        self.asked += 1
        found = self.entries.get(authority)
        return late(found) if self.slow else found


@ensureDeferred
async def test_a_store_that_is_slow_at_times_is_asked_at_once_when_it_is_not() -> None:
    """While it answers at once nothing is awaited; while it does not, no look-up is wasted."""
    CustomStore.entries.clear()
    for number in range(10):
        CustomStore.entries[authority(number)] = entry(number, at=1_700_000_000.0 - 5)
    store = AtTimesLate()
    bench = Bench(RULES, store=store)
    for number in range(4):
        assert isinstance(bench.cache.consult(authority(number), None), Miss)
        assert (await ask(bench, number)).robots is not None
    assert store.asked == 4
    store.slow = False
    assert isinstance(bench.cache.consult(authority(4), None), Miss)
    assert (await ask(bench, 4)).robots is not None
    for number in range(5, 10):
        assert not isinstance(bench.cache.consult(authority(number), None), Miss)
    assert store.asked == 10
    assert bench.fetches == 0
    store.slow = True
    assert (await ask(bench, 10)).robots is not None
    assert bench.fetches == 1
