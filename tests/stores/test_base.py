"""The methods that a custom store may leave out."""

from __future__ import annotations

import pytest

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.access.policy import Policy, State
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.error import StoreError
from tests.stores.samples import NOW, authority, entry, gone

POLICY = Policy()


class GetAndPut(Store):
    """A custom store with the two methods that it must have."""

    def __init__(self) -> None:
        self.kept: dict[Authority, Entry] = {}

    def get(self, authority: Authority, crawler: str = "") -> Entry | None:
        """What the dictionary holds."""
        return self.kept.get(authority)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Into the dictionary."""
        self.kept[authority] = entry


class WithLeases(GetAndPut):
    """One that grants leases, and lists none."""

    def lease(self, authority: Authority, seconds: float) -> str | None:
        """Granted to everyone."""
        return "token"


@pytest.mark.parametrize("method", ["scan", "count", "forget", "prune", "export"])
def test_an_error_names_the_method_that_a_custom_store_lacks(method: str) -> None:
    """What the others are made of is named: `scan` and `forget`."""
    arguments = [authority()] if method == "forget" else []
    missing = "forget" if method == "forget" else "scan"
    with pytest.raises(StoreError, match=f"^GetAndPut has no method {missing}$"):
        getattr(GetAndPut(), method)(*arguments)


def test_a_custom_store_finds_expires_and_imports() -> None:
    """These need `get` and `put` alone; what is imported is merged, as the cache does."""
    store = GetAndPut()
    store._clock = lambda: NOW
    store.put(authority(), entry(1, at=NOW - 5))
    assert store.expire(authority())
    kept = store.find(authority())
    assert kept is not None
    assert kept.state(NOW, POLICY) is State.RULES_EXPIRED
    exported = [
        {"authority": str(authority()), "answer": {"status": 404, "fetched_at": NOW - 50}},
        {"authority": str(authority(1)), "answer": {"status": 404, "fetched_at": NOW - 50}},
    ]
    assert store.import_(exported) == 2
    assert store.find(authority()) == kept
    assert store.kept[authority(1)] == gone(at=NOW - 50)


def test_leases_of_a_custom_store_are_listed_if_it_grants_any() -> None:
    """Without leases none is held; with leases of its own it has to list them itself."""
    assert list(GetAndPut().leases()) == []
    GetAndPut().break_lease(authority())
    with pytest.raises(StoreError, match=r"^WithLeases has no method leases$"):
        WithLeases().leases()
    with pytest.raises(StoreError, match=r"^WithLeases has no method break_lease$"):
        WithLeases().break_lease(authority())
