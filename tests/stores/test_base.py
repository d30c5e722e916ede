"""The methods that a custom store may leave out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_rep.access.entry import Entry
from scrapy_rep.stores import base
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.stored import StoredEntry, StoreError
from tests.stores.dictionary import DictionaryStore
from tests.stores.samples import NOW, authority, entry, failure, gone


class GetAndPut(DictionaryStore):
    """A custom store with the two methods that it must have."""

    forget = Store.forget


@pytest.mark.parametrize("method", ["scan", "find", "forget", "export"])
def test_an_error_names_the_method_that_a_custom_store_lacks(method: str) -> None:
    """An export is made of a scan."""
    arguments = [authority()] if method in ("find", "forget") else []
    missing = "scan" if method == "export" else method
    with pytest.raises(StoreError, match=f"^GetAndPut has no method {missing}$"):
        getattr(GetAndPut(), method)(*arguments)


def test_a_custom_store_imports() -> None:
    """It needs `put` alone; what is imported is merged, as what a crawl puts is."""
    store = GetAndPut(lambda: NOW)
    store.put(authority(), entry(1, at=NOW - 5))
    exported = [
        {"site": str(authority(number)), "answer": {"status": 404, "fetched_at": NOW - 50}}
        for number in range(2)
    ]
    assert store.import_(exported) == 2
    assert store.get(authority()) == entry(1, at=NOW - 5)
    assert store.get(authority(1)) == gone(at=NOW - 50)


def test_what_is_written_late_replaces_nothing_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk was full for longer than clocks may differ, and another worker was first."""
    times = iter([0.0, 100.0])
    monkeypatch.setattr(base, "time", SimpleNamespace(monotonic=lambda: next(times)))
    failing = Entry(entry(1, at=NOW - 50).answer, None, failure(at=NOW).failure)
    change = base.merging(authority(), failing, "", NOW)
    newer = StoredEntry(authority(), entry(2, at=NOW + 80), {})
    changed = change(newer)
    assert changed.entry == newer.entry
