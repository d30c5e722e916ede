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
