"""The methods that a custom store may leave out."""

from __future__ import annotations

import pytest

from scrapy_rep.stores.base import Store
from scrapy_rep.stores.stored import StoreError
from tests.stores.dictionary import DictionaryStore
from tests.stores.samples import NOW, authority, entry, gone


class GetAndPut(DictionaryStore):
    """A custom store with the two methods that it must have."""

    forget = Store.forget


@pytest.mark.parametrize("method", ["scan", "count", "forget", "export"])
def test_an_error_names_the_method_that_a_custom_store_lacks(method: str) -> None:
    """What the others are made of is named: `scan` and `forget`."""
    arguments = [authority()] if method == "forget" else []
    missing = "forget" if method == "forget" else "scan"
    with pytest.raises(StoreError, match=f"^GetAndPut has no method {missing}$"):
        getattr(GetAndPut(), method)(*arguments)


def test_a_custom_store_finds_and_imports() -> None:
    """These need `get` and `put` alone; what is imported is merged, as the cache does."""
    store = GetAndPut(lambda: NOW)
    store.put(authority(), entry(1, at=NOW - 5))
    kept = store.find(authority())
    assert kept is not None
    assert kept.entry == entry(1, at=NOW - 5)
    exported = [
        {"site": str(authority()), "answer": {"status": 404, "fetched_at": NOW - 50}},
        {"site": str(authority(1)), "answer": {"status": 404, "fetched_at": NOW - 50}},
    ]
    assert store.import_(exported) == 2
    assert store.find(authority()) == kept
    assert store.get(authority(1)) == gone(at=NOW - 50)
