"""Puts to a custom store, which can only ``get`` and ``put`` (:mod:`scrapy_rep.stores.base`).

What a crawl learns is merged with what the store keeps: the entry is read, merged and written.
While an authority is being read, further puts for it are merged with the one that waits, so that
they keep their order. Two workers that put at the same moment may still overwrite each other. A
store that has to rule that out sets ``merges`` and merges in its own ``put``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from scrapy.utils.defer import deferred_from_coro

from scrapy_rep.access.entry import Answer, Entry, Failure, merge
from scrapy_rep.awaiting import DeadlineError, from_thread, with_timeout
from scrapy_rep.stores.error import StoreError

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.stores import Store

T = TypeVar("T")

PATIENCE = 3.0
"""Seconds after which a store that has not answered has failed. Our own give up sooner."""

_CLOSE_PATIENCE = 1.0
"""Seconds for which a crawl that closes waits for look-ups that puts depend on."""


class Merging:
    """Reads, merges and writes; ``failed(error)`` is called with what the store raises."""

    def __init__(
        self, store: Store, *, clock: Callable[[], float], failed: Callable[[Exception], None]
    ):
        self._store = store
        self._clock = clock
        self._failed = failed
        self._waiting: dict[Authority, tuple[Entry, Future[Entry | None]]] = {}

    def put(self, authority: Authority, entry: Entry) -> None:
        """Merge ``entry`` into what the store keeps of ``authority``, now or when that is read."""
        entry = replace(entry, refusal=None)
        if entry == Entry():
            return
        if authority in self._waiting:
            waiting, reading = self._waiting[authority]
            self._waiting[authority] = merge(waiting, entry, self._clock()), reading
            return
        try:
            found = self._store.get(authority)
            if not isinstance(found, Future):
                self._write(authority, entry, checked(found))
                return
        except Exception as error:  # noqa: BLE001  # a custom store may raise anything
            self._write_unread(authority, entry, error)
            return
        self._waiting[authority] = entry, found
        deferred_from_coro(self._write_later(authority, found)).addErrback(lambda _: None)

    def close(self) -> None:
        """Write what waits for a look-up, if that is answered soon."""
        end = monotonic() + _CLOSE_PATIENCE
        for authority in list(self._waiting):
            self._write_waiting(authority, max(0.0, end - monotonic()))

    async def _write_later(self, authority: Authority, reading: Future[Entry | None]) -> None:
        with suppress(Exception):  # the Future is asked again
            await in_time(reading)
        if authority in self._waiting:  # else the crawl has closed
            self._write_waiting(authority, 0.0)

    def _write_waiting(self, authority: Authority, patience: float) -> None:
        entry, reading = self._waiting.pop(authority)
        try:
            found = checked(reading.result(patience))
        except Exception as error:  # noqa: BLE001
            self._write_unread(authority, entry, error)
        else:
            self._write(authority, entry, found)

    def _write_unread(self, authority: Authority, entry: Entry, error: Exception) -> None:
        """Write over what could not be read, unless that could cost a good copy."""
        self._failed(error)
        if entry.failure is None:
            self._write(authority, entry, None)

    def _write(self, authority: Authority, entry: Entry, found: Entry | None) -> None:
        try:
            self._store.put(authority, merge(found, entry, self._clock()))
        except Exception as error:  # noqa: BLE001
            self._failed(error)


async def in_time(answer: Future[T]) -> T:
    """Return what a store answers, or raise what it raises.

    Raises :class:`StoreError` if that takes longer than :data:`PATIENCE`, so that a store that
    hangs costs no request. If nothing waits for the answer any more, it is cancelled: a store gives
    back what it would grant.
    """
    try:
        return await with_timeout(PATIENCE, from_thread(answer))
    except DeadlineError:
        raise StoreError(f"it did not answer within {PATIENCE:g} s") from None
    finally:
        answer.cancel()  # which changes nothing once there is an answer


def checked(found: object) -> Entry | None:
    """Return what a custom store found, without a refusal, which it cannot keep by crawler.

    Raises :class:`StoreError` for anything that is not an entry of this version.
    """
    if found is None:
        return None
    if isinstance(found, Entry):
        answer, failure = (getattr(found, name, ...) for name in ("answer", "failure"))
        if isinstance(answer, Answer | None) and isinstance(failure, Failure | None):
            return Entry(answer, None, failure)
    raise StoreError(f"it returned {type(found).__name__} where an Entry was expected")
