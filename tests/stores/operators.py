"""What every store must offer to its operator: look, forget, carry over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.stored import StoredEntry
from tests.stores.samples import (
    NOW,
    authority,
    entry,
    failure,
    full_entry,
    gone,
    listed,
    refused,
    told,
)


class OperatorsContract:
    """The part of the contract that no crawl needs; :class:`StoreContract` inherits it."""

    def fill(self, store: Store) -> None:
        """One entry of each kind, of which the last two hold nothing but refusals and failures."""
        store.put(authority(0), entry(0, at=NOW - 500))
        store.put(authority(1), full_entry(1, at=NOW - 400))
        store.put(authority(2), gone(at=NOW - 300))
        store.put(authority(2), refused(at=NOW - 200), "aa")
        store.put(authority(2), refused(at=NOW - 100), "bb")
        store.put(authority(3), refused(at=NOW - 50), "aa")
        store.put(authority(4), failure(at=NOW - 10, count=2))

    def test_a_scan_shows_the_refusals_of_all_crawlers(self, store: Store) -> None:
        """RFC 9309 section 2.3.1.3: a refusal was for one crawler; an operator sees whose.

        The age is that of the newest part.
        """
        self.fill(store)
        kept = {stored.authority: stored for stored in store.scan()}
        assert set(kept) == {authority(number) for number in range(5)}
        ages = [kept[authority(number)].age(NOW) for number in range(5)]
        assert ages == [500, 400, 100, 50, 10]
        both = {"aa": refused(at=NOW - 200).refusal, "bb": refused(at=NOW - 100).refusal}
        assert kept[authority(2)] == StoredEntry(authority(2), gone(at=NOW - 300), both)
        only = {"aa": refused(at=NOW - 50).refusal}
        assert kept[authority(3)] == StoredEntry(authority(3), Entry(), only)

    def test_one_authority_is_found_with_all_its_parts(self, store: Store) -> None:
        """What `find` returns is what a scan yields, and of another authority nothing."""
        self.fill(store)
        for stored in store.scan():
            assert store.find(stored.authority) == stored
        assert store.find(authority(9)) is None
        assert store.find(authority(1)._replace(port=8443)) is None

    def test_an_export_is_lines_of_json_that_an_import_reads(
        self, store: Store, place: Any
    ) -> None:
        """Every octet, date and refusal survives."""
        self.fill(store)
        before = {stored.authority: stored for stored in store.scan()}
        lines = [json.dumps(plain) for plain in store.export()]
        # In any order: a Redis server may rearrange its keys between two scans.
        assert sorted(json.loads(line)["site"] for line in lines) == sorted(map(str, before))
        for number in range(5):
            store.forget(authority(number))
        store.flush()
        assert listed(store) == {}
        assert store.import_(map(json.loads, lines)) == 5
        assert {stored.authority: stored for stored in store.scan()} == before

    def test_an_import_never_replaces_what_is_newer(self, store: Store) -> None:
        """RFC 9309 section 2.3.1.4: what comes is merged with what is kept, part by part."""
        store.put(authority(0), entry(0, at=NOW - 500))
        store.put(authority(1), failure(at=NOW - 500, count=1))
        store.put(authority(2), refused(at=NOW - 500), "aa")
        exported = list(store.export())
        store.put(authority(0), entry(7, at=NOW - 100))
        store.put(authority(1), gone(at=NOW - 100))
        store.put(authority(2), entry(2, at=NOW - 900))
        store.put(authority(2), refused(at=NOW - 100), "aa")
        store.flush()
        assert store.import_(exported) == 3
        assert told(store.get(authority(0))) == entry(7, at=NOW - 100)
        assert told(store.get(authority(1))) == gone(at=NOW - 100)
        both = Entry(entry(2, at=NOW - 900).answer, refused(at=NOW - 100).refusal)
        assert told(store.get(authority(2), "aa")) == both

    def test_an_import_tells_which_entry_is_malformed(self, store: Store) -> None:
        """Those before it are kept; the error is one line with its number."""
        good = [
            {"site": str(authority(n)), "answer": {"status": 404, "fetched_at": NOW}}
            for n in range(3)
        ]
        with pytest.raises(ValueError, match=r"^entry 3: an entry is not an object$"):
            store.import_([*good[:2], "nonsense", good[2]])
        assert set(listed(store)) == {authority(0), authority(1)}

    def test_an_import_tells_which_line_is_no_json(self, store: Store) -> None:
        """The reader of the lines fails then, and what it has read is kept, too."""
        line = json.dumps({"site": str(authority(0)), "answer": {"status": 404, "fetched_at": NOW}})
        with pytest.raises(ValueError, match=r"^entry 2: Expecting value"):
            store.import_(map(json.loads, [line, "nonsense"]))
        assert set(listed(store)) == {authority(0)}
