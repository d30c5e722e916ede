"""What every store must do, whatever it keeps its entries in."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.access.entry import Entry, merge
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.codec import MAX_INFLATED
from scrapy_rep.stores.stored import PREFIX, StoredEntry, StoreError
from tests.polling import until
from tests.stores.samples import (
    NOW,
    authority,
    entry,
    failure,
    full_entry,
    gone,
    keep,
    listed,
    refused,
    told,
)
from tests.stores.turn_contract import granted, together


def now() -> float:
    """The stores' clock stands still."""
    return NOW


class StoreContract:
    """A test class inherits from this one and makes its store."""

    closes = True

    def make(self, place: Any, clock: Callable[[], float] = now) -> Store:
        """A store at `place`."""
        raise NotImplementedError

    @pytest.fixture
    def place(self, tmp_path: Path) -> Any:
        """Where the store is; a second one in the same place sees the same entries."""
        return tmp_path

    @pytest.fixture
    def store(self, place: Any) -> Iterator[Store]:
        """An empty store."""
        with closing(self.make(place)) as store:
            yield store

    @pytest.fixture
    def other(self, place: Any) -> Iterator[Store]:
        """Another worker's store in the same place."""
        with closing(self.make(place)) as other:
            yield other

    @pytest.mark.parametrize("kept", [entry(1), full_entry(), gone(), entry(body=b"")])
    def test_an_entry_comes_back_as_it_was_put(self, store: Store, kept: Any) -> None:
        """All fields of an entry survive, with and without a body, with an empty one."""
        keep(store, kept, 1)
        assert told(store.get(authority(1))) == kept

    def test_schemes_hosts_and_ports_are_kept_apart(self, store: Store) -> None:
        """RFC 9309 section 2.3: the scope is scheme, host and port."""
        others = [
            authority(1)._replace(scheme="http", port=80),
            authority(1)._replace(scheme="http"),
            authority(1)._replace(port=8443),
            authority(1)._replace(host="::1"),
        ]
        for number, other in enumerate(others):
            store.put(other, entry(number))
        store.flush()
        assert [told(store.get(other)) for other in others] == [entry(n) for n in range(4)]
        assert told(store.get(authority(1))) is None

    def test_of_two_with_one_date_the_later_put_is_kept(self, store: Store) -> None:
        """Equal dates do not keep an entry from being put."""
        keep(store, entry(1))
        keep(store, entry(2))
        assert told(store.get(authority())) == entry(2)

    def test_forgetting_drops_one_entry(self, store: Store) -> None:
        """A forgotten authority is a miss, the others are not, and it may come back older."""
        for number in range(3):
            store.put(authority(number), entry(number))
        store.forget(authority(1))
        store.flush()
        store.forget(authority(2))
        keep(store, entry(2, at=NOW - 500), 2)
        assert told(store.get(authority(0))) == entry(0)
        assert told(store.get(authority(1))) is None
        assert told(store.get(authority(2))) == entry(2, at=NOW - 500)

    def test_a_scan_lists_what_was_put(self, store: Store) -> None:
        """Each authority comes once, with its newest entry, whether it was flushed or not."""
        for number in range(700):
            store.put(authority(number), entry(number, at=NOW - 1))
        store.put(authority(3), gone())
        expected = {authority(n): entry(n, at=NOW - 1) for n in range(700)}
        assert listed(store) == {**expected, authority(3): gone()}

    def test_a_large_entry_comes_back_and_one_too_large_is_refused(self, store: Store) -> None:
        """A body of half a mebibyte is kept; one past the codec's bound is a StoreError."""
        large = entry(body=b"".join(b"Disallow: /%d\n" % n for n in range(30_000)))
        keep(store, large, 1)
        assert told(store.get(authority(1))) == large
        with pytest.raises(StoreError, match="larger"):  # at once, or by a flush
            keep(store, entry(body=bytes(MAX_INFLATED)), 2)
        assert told(store.get(authority(2))) is None

    def test_threads_may_share_a_store(self, store: Store) -> None:
        """Four threads put and get at once, and each reads what it put."""

        def work(start: int) -> None:
            for number in range(start, start + 100):
                store.put(authority(number), entry(number))
                with suppress(StoreError):  # on a busy machine it may be more than a reader waits
                    store.get(authority(number))
            store.flush()

        together(*(partial(work, 100 * n) for n in range(4)))
        assert [told(store.get(authority(n))) for n in range(400)] == [*map(entry, range(400))]

    def test_a_lease_is_granted_and_may_be_released(self, store: Store) -> None:
        """Who asks first is granted a token; releasing it, or a stranger's, harms nothing."""
        token = told(store.lease(authority(), 5.0))
        assert token is not None
        store.release(authority(), token)
        store.release(authority(), "stranger")
        assert told(store.lease(authority(), 5.0)) is not None

    @pytest.mark.parametrize("clock", [-3600.0, -120.0, 0.0, 120.0, 3600.0])
    def test_puts_in_any_order_and_by_any_clock_are_merged(self, place: Any, clock: float) -> None:
        """RFC 9309 section 2.3.1.4: a failure costs no copy, whoever writes it, and when.

        Each pair of an answer, a missing robots.txt, a failure, a refusal, and a failure beside an
        answer is put, older and newer, by two writers, one of whose clocks is wrong.
        """
        clocks = [0.0]
        kinds: list[Callable[[float], Entry]] = [
            lambda at: entry(1, at=at),
            lambda at: gone(at=at),
            lambda at: failure(at=at, count=3),
            lambda at: refused(at=at),
            lambda at: full_entry(2, at=at),
        ]
        cases = list(itertools.product(kinds, kinds, (-30.0, 30.0), (False, True)))
        expected = []
        with closing(self.make(place, lambda: NOW + clocks[0])) as store:
            for by_wrong_clock in (False, True):
                clocks[0] = clock if by_wrong_clock else 0.0
                for number, (first, second, later, wrong_first) in enumerate(cases):
                    offset, age = (0.0, 100.0) if not by_wrong_clock else (clock, 100.0 - later)
                    kind = first if by_wrong_clock is wrong_first else second
                    put = kind(NOW + offset - age)
                    kept = expected[number] if by_wrong_clock else None
                    merged = merge(kept, put, NOW + offset)
                    store.put(authority(number), put, "crawler")
                    if by_wrong_clock:
                        expected[number] = merged
                    else:
                        expected.append(merged)
                store.flush()
            for number, merged in enumerate(expected):
                kept = told(store.get(authority(number), "crawler"))
                assert kept == (merged if merged != Entry() else None)

    def test_refusals_of_several_crawlers_are_kept_apart(self, store: Store) -> None:
        """RFC 9309 section 2.3.1.3: a 403 was for one crawler; another may have been served."""
        store.put(authority(), entry(1, at=NOW - 50))
        store.put(authority(), refused(at=NOW - 40), "a")
        store.put(authority(), refused(at=NOW - 30), "b")
        keep(store, refused(at=NOW - 20))
        answer = entry(1, at=NOW - 50).answer
        assert told(store.get(authority())) == Entry(answer)
        assert told(store.get(authority(), "a")) == Entry(answer, refused(at=NOW - 40).refusal)
        assert told(store.get(authority(), "b")) == Entry(answer, refused(at=NOW - 30).refusal)
        assert told(store.get(authority(), "c")) == Entry(answer)
        keep(store, entry(2, at=NOW), crawler="a")
        assert told(store.get(authority(), "a")) == entry(2, at=NOW)
        both = Entry(entry(2, at=NOW).answer, refused(at=NOW - 30).refusal)
        assert told(store.get(authority(), "b")) == both
        store.forget(authority())
        store.flush()
        assert told(store.get(authority(), "b")) is None

    def test_an_answer_ends_a_refusal_though_another_crawler_was_faster(self, store: Store) -> None:
        """RFC 9309 section 2.3.1.3: a 403 allows all, so none outlives the rules that followed."""
        store.put(authority(), refused(at=NOW - 40), "a")
        keep(store, entry(1, at=NOW - 20), crawler="b")
        keep(store, entry(2, at=NOW - 30), crawler="a")
        assert told(store.get(authority(), "a")) == entry(1, at=NOW - 20)

    def test_a_closed_store_says_so(self, place: Any) -> None:
        """Closing twice does nothing; a closed store raises StoreError, if it has to close."""
        store = self.make(place)
        store.put(authority(), entry())
        store.close()
        store.close()
        if self.closes:
            with pytest.raises(StoreError, match="closed"):
                store.get(authority())
            with pytest.raises(StoreError, match="closed"):
                store.put(authority(), entry())

    # --- what an operator does: look, forget, carry over

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

    def test_an_export_is_lines_of_json_an_import_reads(self, store: Store, place: Any) -> None:
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
        keep(store, refused(at=NOW - 100), 2, crawler="aa")
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


class SharedStoreContract(StoreContract):
    """What a store must do that several processes share."""

    def make(self, place: Any, clock: Callable[[], float] = now, prefix: str = PREFIX) -> Store:
        """A store at `place`, whose keys begin with `prefix`."""
        raise NotImplementedError

    def test_a_prefix_parts_what_projects_know(self, place: Any) -> None:
        """Neither entries nor listings, leases nor turns are another's, whatever is in it."""
        stores = [self.make(place, prefix=prefix) for prefix in ("a*", "ab", "a[b]", "a")]
        for number, store in enumerate(stores):
            store.put(authority(), entry(number))
            if number:
                store.put(authority(1), refused(), "crawler")
            store.flush()
        for number, store in enumerate(stores):
            assert told(store.get(authority())) == entry(number)
            assert told(store.get(authority(1), "crawler")) == (refused() if number else None)
            assert listed(store)[authority()] == entry(number)
            assert told(store.lease(authority(), 30.0))
            assert granted(store, interval=0.1)
        stores[0].forget(authority())
        stores[0].flush()
        assert [told(store.get(authority())) is None for store in stores] == [True] + [False] * 3
        for store in stores:
            store.close()

    def test_what_was_put_is_there_after_closing(self, place: Any) -> None:
        """Closing writes what is queued."""
        store = self.make(place)
        for number in range(50):
            store.put(authority(number), entry(number))
        store.close()
        with closing(self.make(place)) as again:
            assert [told(again.get(authority(n))) for n in range(50)] == [
                entry(n) for n in range(50)
            ]

    def test_one_of_two_workers_holds_a_lease(self, store: Store, other: Store) -> None:
        """While one holds it no other is granted it; released or expired, another one is."""
        token = told(store.lease(authority(), 30.0))
        assert token
        assert told(other.lease(authority(), 30.0)) is None
        assert told(other.lease(authority(1), 30.0))
        other.release(authority(), "not the token")
        other.flush()
        assert told(other.lease(authority(), 30.0)) is None
        store.release(authority(), token)
        store.flush()
        assert told(other.lease(authority(), 30.0))

    def test_what_was_put_under_a_lease_is_seen_once_it_is_released(
        self, store: Store, other: Store
    ) -> None:
        """Whoever is granted the lease next finds the entry of the one before."""
        for number in range(6):
            token = told(store.lease(authority(number), 30.0))
            assert token
            store.put(authority(number), entry(number))
            store.release(authority(number), token)
            while not told(other.lease(authority(number), 30.0)):
                pass
            assert told(other.get(authority(number))) == entry(number)

    def test_two_writers_at_once_lose_nothing(self, store: Store, other: Store) -> None:
        """RFC 9309 section 2.3.1.4: the newest of each part stays, however the puts interleave."""
        rng = random.Random(9309)
        puts: list[list[tuple[int, Entry]]] = [[], []]
        expected: dict[int, Entry] = {}
        ages = rng.sample(range(1, 5_000), 200)  # of two with one date, the last one stays
        for number, age in zip([*range(10)] * 20, ages, strict=True):
            at = NOW - age
            put = rng.choice([entry(number, at=at), gone(at=at), failure(at=at, count=2)])
            rng.choice(puts).append((number, put))
            expected[number] = merge(expected.get(number), put, NOW)

        def work(writer: Store, batch: list[tuple[int, Entry]]) -> None:
            for number, put in batch:
                writer.put(authority(number), put)
                if rng.random() < 0.1:
                    writer.flush()
            writer.flush()

        together(partial(work, store, puts[0]), partial(work, other, puts[1]))
        for number, merged in expected.items():
            assert told(store.get(authority(number))) == merged
            assert told(other.get(authority(number))) == merged

    def test_a_lease_is_renewed_by_its_holder_alone(self, store: Store, other: Store) -> None:
        """A renewed lease outlives its first term; a stranger's token renews nothing."""
        token = told(store.lease(authority(), 0.4))
        assert token
        store.renew(authority(), token, 30.0)
        assert told(store.lease(authority(1), 0.4))
        store.renew(authority(1), "stranger", 30.0)
        store.flush()
        until(lambda: told(other.lease(authority(1), 30.0)), 10)
        assert told(other.lease(authority(), 30.0)) is None
