"""A custom store that reads and writes octets: whatever it does, nothing is lost but a look-up."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing, suppress
from typing import Any

import pytest

from scrapy_rep.access.entry import Entry
from scrapy_rep.stores import StoreError
from tests.stores.contract import StoreContract, now
from tests.stores.dictionary import BlockingDictionary
from tests.stores.samples import authority, entry, failure, gone, keep, told


class TestBlockingStore(StoreContract):
    """A store over two methods that may block keeps the contract."""

    @pytest.fixture
    def place(self) -> Any:
        """A dictionary."""
        return {}

    def make(self, place: Any, clock: Callable[[], float] = now) -> BlockingDictionary:
        """A store over it."""
        return BlockingDictionary(place, clock)


class Slow(BlockingDictionary):
    """Each call waits until the test lets it go on."""

    def __init__(self) -> None:
        super().__init__({}, now)
        self.gate = threading.Event()
        self.threads: set[int] = set()
        self.ended = 0

    def read(self, key: str) -> bytes | None:
        """What there is, in a while."""
        self.threads.add(threading.get_ident())
        self.gate.wait(20)
        self.ended += 1
        return super().read(key)


def test_the_caller_never_waits() -> None:
    """Both methods are called by one other thread, in the order of the calls."""
    with closing(Slow()) as store:
        store.put(authority(), entry())
        answer = store.get(authority())
        store.put(authority(), failure())
        later = store.get(authority())
        assert isinstance(answer, Future)
        assert store.ended == 0
        assert not answer.done()
        store.gate.set()
        assert told(answer) == entry()
        assert told(later) == Entry(entry().answer, failure=failure().failure)
        assert len(store.threads) == 1
        assert threading.get_ident() not in store.threads


@pytest.mark.parametrize("octets", [b"", b"octets", b"REP\x01" + bytes(50), "text", 7, [b"x"]])
def test_what_is_read_may_be_anything(octets: Any) -> None:
    """It is a miss, or a StoreError if it is not octets; and it gives way to what is put."""
    with closing(BlockingDictionary({str(authority()): octets}, now)) as store:
        with suppress(StoreError):
            assert told(store.get(authority())) is None
        if isinstance(octets, bytes):
            store.put(authority(), entry())
            assert told(store.get(authority())) == entry()


class Broken(BlockingDictionary):
    """It cannot read, or cannot write."""

    reads = writes = True
    error: BaseException = ZeroDivisionError("read")

    def read(self, key: str) -> bytes | None:
        """What there is, if it can."""
        if not self.reads:
            raise self.error
        return super().read(key)

    def write(self, key: str, data: bytes) -> None:
        """Kept, if it can."""
        if not self.writes:
            raise ZeroDivisionError("write")
        super().write(key, data)


def test_what_cannot_be_read_is_not_overwritten() -> None:
    """RFC 9309 section 2.3.1.4: it may be a good copy, and a failure never replaces that."""
    with closing(Broken({}, now)) as store:
        keep(store, entry())
        store.reads = False
        with pytest.raises(StoreError, match="ZeroDivisionError: read"):
            told(store.get(authority()))
        store.put(authority(), failure())
        with pytest.raises(StoreError, match="ZeroDivisionError: read"):
            store.flush()
        store.reads = True
        assert told(store.get(authority())) == entry()


class MuteError(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("error", [CancelledError(), MuteError()])
def test_no_error_ends_the_thread(error: BaseException) -> None:
    """Whatever a custom store raises: the next call is made."""
    with closing(Broken({}, now)) as store:
        store.reads, store.error = False, error
        with pytest.raises(StoreError, match=type(error).__name__):
            told(store.get(authority()))
        store.reads = True
        store.put(authority(), entry())
        assert told(store.get(authority())) == entry()


def test_a_put_that_failed_shows_at_the_next_one() -> None:
    """Each loss is told of once."""
    with closing(Broken({}, now)) as store:
        store.writes = False
        store.put(authority(), entry())
        told(store.get(authority()))
        with pytest.raises(StoreError, match="ZeroDivisionError: write"):
            store.put(authority(1), gone())
        with pytest.raises(StoreError, match="ZeroDivisionError: write"):
            store.flush()
        store.flush()


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that hangs takes no memory without bound, and closes all the same."""
    monkeypatch.setattr("scrapy_rep.stores.thread.QUEUE_LIMIT", 5)
    monkeypatch.setattr("scrapy_rep.stores.blocking.CLOSE_TIMEOUT", 0.1)
    store, other = Slow(), Slow()
    other.put(authority(), entry())
    with pytest.raises(StoreError, match="5 calls wait"):  # noqa: PT012 (which of them)
        for number in range(10):
            store.put(authority(number), entry(number))
    for each in (store, store, other):
        each.close()
    assert store.ended == other.ended == 0
    for each in (store, other):
        each.gate.set()
    with pytest.raises(StoreError, match="closed"):
        store.get(authority())
