"""Entries in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy_rep.stores.memory import OVERHEAD, MemoryStore
from tests.stores.contract import StoreContract, now
from tests.stores.samples import NOW, authority, entry


class TestMemoryStore(StoreContract):
    """The memory store keeps the contract."""

    closes = False

    def make(self, place: Any, clock: Callable[[], float] = now) -> MemoryStore:
        """A store of the default size."""
        return MemoryStore(clock=clock)


def test_the_least_recently_used_go_first() -> None:
    """Past its bound a store drops what was neither put nor read for longest."""
    store = MemoryStore(10 * (OVERHEAD + 300), clock=now)
    for number in range(8):
        store.put(authority(number), entry(number))
    held = store.count()
    assert store.get(authority(0)) == entry(0)
    number = 8
    while store.evicted < 3:
        store.put(authority(number), entry(number))
        number += 1
    assert store.get(authority(0)) == entry(0)
    assert [store.get(authority(n)) for n in (1, 2, 3)] == [None] * 3
    assert held <= store.count() + 1


def test_memory_stays_within_its_bound() -> None:
    """10,000 puts of entries of all sizes never hold more octets than allowed."""
    store = MemoryStore(100_000, clock=now)
    for number in range(10_000):
        store.put(
            authority(number % 700), entry(number, at=NOW + number / 1000, body=b"#" * number)
        )
        assert store._size <= 100_000
    assert store._size == sum(
        OVERHEAD + sum(map(len, parts.values())) for parts in store._kept.values()
    )
    assert store.count() > 50


def test_an_entry_beyond_the_bound_is_not_kept() -> None:
    """What alone is larger than the bound leaves the store empty."""
    store = MemoryStore(OVERHEAD, clock=now)
    store.put(authority(), entry())
    assert store.get(authority()) is None
    assert store.count() == 0
