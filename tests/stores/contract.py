"""What every store must do, whatever it keeps its entries in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.protocol.policy import CLOCK_TOLERANCE
from scrapy_rep.stores.base import Store, StoreError
from scrapy_rep.stores.codec import MAX_INFLATED
from tests.stores.samples import NOW, authority, entry, full_entry, gone, told


def now() -> float:
    """The stores' clock stands still."""
    return NOW


class StoreContract:
    """A test class inherits from this one and makes its store."""

    lists = True
    closes = True

    def make(self, place: Any) -> Store:
        """A store at `place`, with the clock `now`."""
        raise NotImplementedError

    @pytest.fixture
    def place(self, tmp_path: Path) -> Any:
        """Where the store is; a second one in the same place sees the same entries."""
        return tmp_path

    @pytest.fixture
    def store(self, place: Any) -> Iterator[Store]:
        """An empty store."""
        store = self.make(place)
        yield store
        store.close()

    def test_an_unknown_authority_is_a_miss(self, store: Store) -> None:
        """Of an authority that nothing was put for, `get` says None."""
        assert told(store.get(authority())) is None

    @pytest.mark.parametrize("kept", [entry(1), full_entry(), gone(), entry(body=b"")])
    def test_an_entry_comes_back_as_it_was_put(self, store: Store, kept: Any) -> None:
        """All fields of an entry survive, with and without a body, with an empty one."""
        store.put(authority(1), kept)
        assert told(store.get(authority(1))) == kept
        store.flush()
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
        assert [told(store.get(other)) for other in others] == [entry(n) for n in range(4)]
        assert told(store.get(authority(1))) is None

    def test_a_newer_entry_takes_the_place_of_an_older_one(self, store: Store) -> None:
        """The second of two puts is kept, before and after a flush."""
        store.put(authority(), entry(1, at=NOW - 100))
        store.put(authority(), entry(2, at=NOW - 50))
        assert told(store.get(authority())) == entry(2, at=NOW - 50)
        store.flush()
        store.put(authority(), entry(3, at=NOW))
        assert told(store.get(authority())) == entry(3, at=NOW)
        store.flush()
        assert told(store.get(authority())) == entry(3, at=NOW)

    def test_an_older_entry_changes_nothing(self, store: Store) -> None:
        """The newest wins whichever is put last, before and after a flush."""
        store.put(authority(), entry(1, at=NOW))
        store.put(authority(), entry(2, at=NOW - 0.001))
        assert told(store.get(authority())) == entry(1, at=NOW)
        store.flush()
        store.put(authority(), entry(2, at=NOW - 1))
        assert told(store.get(authority())) == entry(1, at=NOW)
        store.flush()
        assert told(store.get(authority())) == entry(1, at=NOW)

    def test_a_failed_fetch_dates_an_entry_too(self, store: Store) -> None:
        """An entry whose last fetch failed is as new as that failure."""
        store.put(authority(), entry(1, at=NOW - 60))
        store.put(authority(), full_entry(at=NOW))
        store.flush()
        assert told(store.get(authority())) == full_entry(at=NOW)

    def test_of_two_with_one_date_the_later_put_is_kept(self, store: Store) -> None:
        """Equal dates do not keep an entry from being put."""
        store.put(authority(), entry(1))
        store.flush()
        store.put(authority(), entry(2))
        store.flush()
        assert told(store.get(authority())) == entry(2)

    def test_an_entry_dated_in_the_future_shuts_nobody_out(self, store: Store) -> None:
        """What a worker with a wrong clock put gives way to what is put with the right date."""
        store.put(authority(), entry(1, at=NOW + 10 * CLOCK_TOLERANCE))
        store.flush()
        store.put(authority(), entry(2, at=NOW))
        store.flush()
        assert told(store.get(authority())) == entry(2, at=NOW)

    def test_forgetting_drops_one_entry(self, store: Store) -> None:
        """A forgotten authority is a miss, the others are not, and it may come back older."""
        for number in range(3):
            store.put(authority(number), entry(number))
        store.forget(authority(1))
        assert told(store.get(authority(1))) is None
        store.flush()
        store.forget(authority(2))
        store.put(authority(2), entry(2, at=NOW - 500))
        store.flush()
        assert told(store.get(authority(0))) == entry(0)
        assert told(store.get(authority(1))) is None
        assert told(store.get(authority(2))) == entry(2, at=NOW - 500)

    def test_iteration_lists_what_was_put(self, store: Store) -> None:
        """Each authority comes once, with its newest entry, whether it was flushed or not."""
        for number in range(700):
            store.put(authority(number), entry(number, at=NOW - 1))
        store.put(authority(3), gone())
        expected = {authority(n): entry(n, at=NOW - 1) for n in range(700)}
        listed = list(store)
        assert dict(listed) == {**expected, authority(3): gone()}
        assert len(listed) == 700

    def test_a_large_entry_comes_back_and_one_too_large_is_refused(self, store: Store) -> None:
        """A body of half a mebibyte is kept; one past the codec's bound is a StoreError."""
        large = entry(body=b"".join(b"Disallow: /%d\n" % n for n in range(30_000)))
        store.put(authority(1), large)
        store.flush()
        assert told(store.get(authority(1))) == large
        with pytest.raises(StoreError, match="larger"):  # noqa: PT012 (at once, or by a flush)
            store.put(authority(2), entry(body=bytes(MAX_INFLATED)))
            store.flush()
        assert told(store.get(authority(2))) is None

    def test_threads_may_share_a_store(self, store: Store) -> None:
        """Four threads put and get at once, and each reads what it put."""
        wrong: list[int] = []

        def work(start: int) -> None:
            for number in range(start, start + 100):
                store.put(authority(number), entry(number))
                if told(store.get(authority(number))) != entry(number):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=[100 * n]) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store.flush()
        assert wrong == []
        assert sum(told(store.get(authority(n))) == entry(n) for n in range(400)) == 400

    def test_a_lease_is_granted_and_may_be_released(self, store: Store) -> None:
        """Who asks first is granted a token; releasing it, or a stranger's, harms nothing."""
        token = told(store.lease(authority(), 5.0))
        assert token is not None
        store.release(authority(), token)
        store.release(authority(), "stranger")
        assert told(store.lease(authority(), 5.0)) is not None

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


class SharedStoreContract(StoreContract):
    """What a store must do that several processes share."""

    def test_a_second_store_sees_what_the_first_one_flushed(self, store: Store, place: Any) -> None:
        """Two stores in one place hold the same entries, and the newest of both wins."""
        store.put(authority(1), entry(1, at=NOW))
        store.flush()
        other = self.make(place)
        try:
            assert told(other.get(authority(1))) == entry(1, at=NOW)
            other.put(authority(1), entry(2, at=NOW - 5))
            other.put(authority(2), entry(3, at=NOW))
            other.flush()
            assert told(store.get(authority(1))) == entry(1, at=NOW)
            assert told(store.get(authority(2))) == entry(3, at=NOW)
        finally:
            other.close()

    def test_what_was_put_is_there_after_closing(self, place: Any) -> None:
        """Closing writes what is queued."""
        store = self.make(place)
        for number in range(50):
            store.put(authority(number), entry(number))
        store.close()
        again = self.make(place)
        try:
            assert [told(again.get(authority(n))) for n in range(50)] == [
                entry(n) for n in range(50)
            ]
        finally:
            again.close()

    def test_one_of_two_workers_holds_a_lease(self, store: Store, place: Any) -> None:
        """While one holds it no other is granted it; released or expired, another one is."""
        other = self.make(place)
        try:
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
        finally:
            other.close()

    def test_what_was_put_under_a_lease_is_seen_once_it_is_released(
        self, store: Store, place: Any
    ) -> None:
        """Whoever is granted the lease next finds the entry of the one before."""
        other = self.make(place)
        try:
            for number in range(20):
                token = told(store.lease(authority(number), 30.0))
                assert token
                store.put(authority(number), entry(number))
                store.release(authority(number), token)
                while not told(other.lease(authority(number), 30.0)):
                    pass
                assert told(other.get(authority(number))) == entry(number)
        finally:
            other.close()
