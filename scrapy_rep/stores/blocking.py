"""The base of a custom store: bytes by key, read and written by calls that may block."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import Future

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.base import Change, Store, merging
from scrapy_rep.stores.codec import decode_stored, encode_stored
from scrapy_rep.stores.stored import StoredEntry, StoreError
from scrapy_rep.stores.thread import StoreThread

FLUSH_TIMEOUT = 60.0
"""Seconds for which ``find`` and ``flush`` wait."""

CLOSE_TIMEOUT = 3.0
"""Seconds for which ``close`` waits until what was put is written."""


class BlockingStore(Store):
    """Keeps what :meth:`write` keeps; a custom store defines this method and :meth:`read`.

    Both are called by one thread of the store, one after another, in the order of the gets and
    puts. They may block. What is put is merged in between, so that a failure never replaces a good
    copy. Another process that writes to the same place may come in between as well. Then what it
    has put last counts.

    A subclass that defines ``__init__`` calls that of this class.
    """

    def __init__(self) -> None:
        self._thread = StoreThread()

    @abstractmethod
    def read(self, key: str) -> bytes | None:
        """Return the bytes that were written under ``key``, ``None`` if there are none."""

    @abstractmethod
    def write(self, key: str, data: bytes) -> None:
        """Keep ``data`` under ``key``, in place of what was kept there.

        It is empty if nothing is to be kept.
        """

    def get(self, authority: Authority, crawler: str = "") -> Future[Entry | None]:
        """Return a Future of what is kept of ``authority``."""

        def look_up() -> Entry | None:
            stored = self._read(authority)
            return None if stored is None else stored.seen_by(crawler)

        return self._thread.ask(look_up)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Queue ``entry``. Raises ``StoreError`` if too much waits, or an earlier one was lost."""
        self._change(authority, merging(authority, entry, crawler, self._clock()))

    def forget(self, authority: Authority) -> None:
        """Drop what is kept of ``authority``. Raises ``StoreError``."""
        self._change(authority, lambda kept: None)

    def find(self, authority: Authority) -> StoredEntry | None:
        """Return all that is kept of ``authority``, ``None`` if nothing is."""
        found: Future[StoredEntry | None] = self._thread.ask(lambda: self._read(authority))
        self._wait()
        return found.result()

    def flush(self) -> None:
        """Return once all puts are written. Raises ``StoreError`` if one was not."""
        self._wait()
        self._raise_fault()

    def close(self) -> None:
        """Write what is queued, if that ends soon. A subclass that overrides this calls it first.

        A second call does nothing.
        """
        self._thread.close(CLOSE_TIMEOUT)

    def _wait(self) -> None:
        if not self._thread.wait_until_idle(FLUSH_TIMEOUT):
            raise StoreError(f"no end within {FLUSH_TIMEOUT:g} s")

    def _read(self, authority: Authority) -> StoredEntry | None:
        octets = self.read(str(authority))
        if octets is not None and not isinstance(octets, bytes):
            raise StoreError(f"read returned {type(octets).__name__} where bytes were expected")
        return decode_stored(authority, octets) if octets else None

    def _change(self, authority: Authority, change: Change) -> None:
        def write() -> None:
            before = self._read(authority)
            after = change(before)
            if after is None:
                self.write(str(authority), b"")
            elif after != before:
                self.write(str(authority), encode_stored(after))

        fault, self._fault = self._fault, None  # before this write can fail
        self._thread.ask(write).add_done_callback(self._note)
        if fault is not None:
            raise fault
