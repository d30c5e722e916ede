"""Workers that share a store leave one another's rounds alone (RFC 9309 section 2.4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.defer import deferred_from_coro

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.access.outcome import Outcome
from scrapy_rep.sites.asking import requester_of
from scrapy_rep.sites.refresh import LEASE_TERM
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.stored import StoredEntry
from tests.crawl.leftovers import turn
from tests.scripted import DOWN, HERE, RULES, Bench, ask
from tests.stores.dictionary import DictionaryStore
from tests.stores.samples import told

DAY = 86_400.0


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[SqliteStore]]:
    """The stores of two workers, in one file."""
    both = [SqliteStore(tmp_path / "robots.db", clock=lambda: 1_700_000_000.0) for _ in range(2)]
    yield both
    for store in both:
        store.close()


async def test_ageing_rules_that_another_worker_refreshes_are_used_without_a_fetch(
    workers: list[SqliteStore],
) -> None:
    """RFC 9309 section 2.4: they are still fresh, so no request waits for the lease to end."""
    bench = Bench(RULES, store=workers[0])
    await ask(bench)
    workers[0].flush()
    assert told(workers[1].lease(HERE, LEASE_TERM))
    bench.clock.now += 0.95 * DAY
    used = await ask(bench)
    while bench.cache.flights:
        await turn(0.01)
    assert used.robots is not None
    assert (await ask(bench)).robots is used.robots
    assert bench.fetches == 1
    bench.store.close()


async def test_a_round_holds_a_lease_that_ends_with_it(
    workers: list[SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other worker may fetch after the round, and not before. A short one renews nothing."""
    during: list[Any] = []
    renewals: list[Any] = []
    monkeypatch.setattr(workers[0], "renew", lambda *lease: renewals.append(lease))

    async def fetch(*_: Any) -> Outcome:
        during.append(told(workers[1].lease(HERE, LEASE_TERM)))
        return RULES

    bench = Bench(fetch=fetch, store=workers[0])
    await ask(bench)
    workers[0].flush()
    assert (during, renewals) == ([None], [])
    assert told(workers[1].lease(HERE, LEASE_TERM))
    bench.store.close()


async def test_a_fault_of_the_renewal_leaves_no_lease_behind(
    workers: list[SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other worker need not wait until the lease lapses."""

    def no_timer(*_: Any) -> None:
        raise RuntimeError("no timer")

    monkeypatch.setattr("scrapy_rep.sites.refresh.create_looping_call", no_timer)
    bench = Bench(RULES, store=workers[0])
    assert (await ask(bench)).unreachable
    workers[0].flush()
    assert told(workers[1].lease(HERE, LEASE_TERM))
    bench.store.close()


async def test_a_refusal_to_many_names_ends_with_two_workers_too(
    workers: list[SqliteStore],
) -> None:
    """Each asks once for each User-Agent, however often the other one writes a newer refusal."""
    asked: list[Any] = []

    async def fetch(site: Authority, page: Request, _: Any) -> Outcome:
        asked.append(page)
        return Answer(403, refused_to=frozenset({requester_of(page, site)}))

    benches = [Bench(fetch=fetch, store=store) for store in workers]
    for number in range(24):
        bench = benches[number % 2]
        bench.clock.now += 1.0 + number % 2
        page = Request(f"{HERE}/", headers={"User-Agent": f"browser {number % 3}"})
        await deferred_from_coro(bench.cache.lookup(HERE, page))
    assert len(asked) == 2 * 3
    for bench in benches:
        bench.store.close()


@pytest.mark.parametrize("kind", ["answer", "refusal"])
async def test_what_a_wrong_clock_dates_anew_is_not_written(kind: str) -> None:
    """RFC 9309 section 2.3.1.4: the store has the true date, by which the others go on."""
    store = DictionaryStore()
    bench = Bench(DOWN, store=store)
    store._clock = bench.clock
    answer = Answer(200 if kind == "answer" else 403, fetched_at=bench.clock.now + 40 * DAY)
    known = Entry(answer) if kind == "answer" else Entry()
    refusals = {"0123456789abcdef": answer} if kind == "refusal" else {}
    store.kept[HERE] = StoredEntry(HERE, known, refusals)
    await ask(bench)
    kept = store.kept[HERE]
    assert (kept.entry.answer, kept.refusals) == (known.answer, refusals)
