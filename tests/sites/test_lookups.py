"""What a miss costs."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from typing import Any

import pytest

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.sites.refresh import Miss
from tests.scripted import RULES, Bench, allows, ask, authority
from tests.stores.dictionary import DictionaryStore

DAY = 86_400.0


class CountingStore(DictionaryStore):
    """A store that counts how often each authority is read; `later` makes it answer later."""

    later = False

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[Authority] = Counter()

    def get(self, authority: Authority, crawler: str = "") -> Any:
        """Counted, and then as ever."""
        self.reads[authority] += 1
        found = super().get(authority, crawler)
        if not self.later:
            return found
        future: Future[Entry | None] = Future()
        future.set_result(found)
        return future


@pytest.mark.parametrize("later", [False, True])
async def test_a_miss_reads_the_store_once(later: bool) -> None:
    """RFC 9309 section 2.4: whether it answers at once or later; the fetch asks no further."""
    store = CountingStore()
    store.later = later
    bench = Bench(RULES, store=store)
    for number in range(3):
        await ask(bench, number)
    assert store.reads == {authority(number): 1 for number in range(3)}
    assert bench.fetches == 3


async def test_what_memory_holds_is_fetched_anew_though_the_store_has_it_ageing() -> None:
    """RFC 9309 section 2.4: a copy in the last tenth of its life is no refresh."""
    store = DictionaryStore()
    bench = Bench(RULES, store=store)
    await ask(bench)
    bench.clock.now += DAY
    ageing = Entry(Answer(200, b"", fetched_at=bench.clock.now - 0.95 * DAY))
    store.put(authority(), ageing)
    assert isinstance(bench.cache.consult(authority(), None), Miss)
    await ask(bench)
    assert bench.fetches == 2


async def test_a_store_may_answer_at_once_one_time_and_later_the_next() -> None:
    """The answer that comes later is waited for, as if none had come at once before."""
    store = CountingStore()
    bench = Bench(RULES, store=store)
    await ask(bench, 0)
    store.put(authority(1), Entry(Answer(200, b"", fetched_at=bench.clock.now)))
    store.later = True
    cached = await ask(bench, 1)
    assert cached.answer is not None
    assert cached.answer.body == b""
    assert bench.fetches == 1


async def test_a_store_that_fails_where_it_has_answered_at_once_is_done_without() -> None:
    """A store of one's own may raise anything: the robots.txt is fetched, and it is counted."""

    class FailingStore(CountingStore):
        fails = False

        def get(self, authority: Authority, crawler: str = "") -> Any:
            """As ever, or not at all."""
            if self.fails:
                raise ValueError("injected")
            return super().get(authority, crawler)

    store = FailingStore()
    bench = Bench(RULES, store=store)
    await ask(bench, 0)
    store.fails = True
    assert allows(await ask(bench, 1), "/open")
    assert bench.fetches == 2
    assert bench.counts["robotstxt/store/error"] >= 1
