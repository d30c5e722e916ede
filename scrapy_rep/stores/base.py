"""The contract of a store: where entries are kept between requests, crawls and workers.

A custom store needs :meth:`Store.get` and :meth:`Store.put` and nothing else; whatever it leaves
out has a default here. A crawl calls both from its event loop, so neither may block for long: a
``get`` that would have to wait returns a :class:`concurrent.futures.Future`, which must be
completed within three seconds; a ``put`` queues.

A store raises :class:`StoreError` and nothing else. A crawl catches it from each call and from the
Future of ``get``, ``lease`` or ``take_turn``, and treats a store that fails as empty. What it puts
after that never costs what was kept, because it is merged: by the store if it says that it
:attr:`~Store.merges`, else by the crawl before it calls ``put``.

The methods from :meth:`Store.scan` on are for the operator of a store. They may block, and most of
them are made of ``scan``, ``forget``, ``get`` and ``put``.
"""

from __future__ import annotations

import heapq
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from itertools import islice
from typing import Any, ClassVar

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry, merge
from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.plain import from_plain, to_plain
from scrapy_rep.stores.stored import MONTH, Lease, StoredEntry
from scrapy_rep.stores.turn import Turn

GET_PATIENCE = 10.0
"""Seconds for which the methods of an operator wait for a ``get``."""

FLUSH_AFTER = 500
"""Entries that are changed before an operator's method waits until they are written: fewer than any
store queues."""


class Store(ABC):
    """Entries by authority.

    A store whose ``merges`` is true does two things that a custom store need not do. Its ``put``
    merges what comes with what is kept, in one atomic step, as
    :func:`scrapy_rep.access.entry.merge` says. And it keeps the refusals of several crawlers
    apart: ``crawler`` is a short digest of the User-Agent that was sent, empty if refusals are
    neither read nor written. For any other store the cache gets, merges and puts, and leaves
    refusals out; ``get`` and ``put`` are called without ``crawler``.
    """

    merges: ClassVar[bool] = False
    _clock: Callable[[], float] = time.time
    _keep: float = MONTH

    @abstractmethod
    def get(self, authority: Authority, crawler: str = "") -> Entry | Future[Entry | None] | None:
        """Return what is kept of ``authority``, ``None`` if nothing is; or a Future of that.

        Raises :class:`StoreError`, or the Future does.
        """

    @abstractmethod
    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Keep ``entry``; return before it is written.

        It is merged into what is kept if this store :attr:`merges`. Otherwise it was merged before,
        and takes the place of what is kept.

        Raises :class:`StoreError` if it cannot, or if an earlier put turned out to have failed.
        """

    @property
    def evicted(self) -> int:
        """How many entries this store has dropped to stay within a limit."""
        return 0

    def flush(self) -> None:  # noqa: B027 (a default)
        """Return once all puts are written. Raises :class:`StoreError` if one was not."""

    def close(self) -> None:  # noqa: B027 (a default)
        """Write what is queued and let go of files and sockets, in bounded time, quietly.

        A second call does nothing.
        """

    def lease(self, authority: Authority, seconds: float) -> str | Future[str | None] | None:
        """Return a token if this worker is the one to fetch, ``None`` if another one is.

        The lease ends when it is released or after ``seconds``, whichever comes first; the holder
        may renew it. A store that is not shared grants every lease, with the empty token. A worker
        that is granted a lease calls ``get`` before it fetches, because the holder before it may
        have put meanwhile. One that is not calls ``get`` every now and then, until the entry is
        there or the lease is free. The Future is cancelled if nothing waits for it any more; the
        store then releases a lease that it grants. Raises :class:`StoreError`, or the Future does.
        """
        return ""

    def renew(  # noqa: B027 (a default)
        self, authority: Authority, token: str, seconds: float
    ) -> None:
        """Have a lease end in ``seconds`` from now, if ``token`` still holds it.

        Raises :class:`StoreError`.
        """

    def release(self, authority: Authority, token: str) -> None:  # noqa: B027 (a default)
        """End a lease, if ``token`` still holds it; what was put before is seen before that.

        Raises :class:`StoreError`.
        """

    # --- One pace for all workers. A turn is the right to make one request to a host.

    keeps_pace: ClassVar[bool] = False
    """Whether the store grants turns. If not, each worker keeps the pace of a host by itself."""

    def take_turn(self, host: str, seconds: float, interval: float) -> Turn | Future[Turn]:
        """Return a turn for one request to ``host``, or how long to wait before asking again.

        The turn ends when its holder ends it, or after ``seconds``, at most 60, unless it is
        renewed. The next one is granted ``interval`` seconds after that, or after the interval of
        the worker that held it or of one that has asked in vain meanwhile, whichever is longest. A
        store that has lost its memory, or is new, waits for one interval before it grants a turn,
        and for 2 s at least, in which the turns that are in use are renewed.
        All of that is one atomic step, and goes by the clock of the store, not by that of a worker.
        The Future is cancelled if nothing waits for it any more; the store then cancels a turn that
        it grants. Raises :class:`StoreError`, or the Future does.
        """
        raise StoreError(f"{type(self).__name__} grants no turns")

    def renew_turn(  # noqa: B027 (a default)
        self, host: str, token: str, seconds: float
    ) -> None:
        """Have a turn end in ``seconds`` from now: its request is still under way.

        If the store has lost its memory, ``token`` takes the turn again. Does nothing if another
        worker holds a turn by now, or if this one has ended. Raises :class:`StoreError`.
        """

    def end_turn(  # noqa: B027 (a default)
        self, host: str, token: str, interval: float
    ) -> None:
        """End a turn whose request has ended: the interval begins.

        Does nothing if another worker holds a turn by now. If none does, the interval begins even
        if ``token`` is empty or has lapsed, because a request to the host was made all the same.
        Raises :class:`StoreError`.
        """

    def cancel_turn(self, host: str, token: str) -> None:  # noqa: B027 (a default)
        """Give back a turn for which no request was made: the next one can be granted at once.

        Raises :class:`StoreError`.
        """

    def scan(self, start: str = "") -> Iterator[StoredEntry]:
        """Yield each authority whose name or host begins with ``start``, in no order.

        ``https://example.`` is the beginning of a name, ``example.`` that of a host.
        Raises :class:`StoreError`.
        """
        raise self._cannot("scan")

    def forget(self, authority: Authority) -> None:
        """Drop what is kept of ``authority``. Raises :class:`StoreError` if it cannot."""
        raise self._cannot("forget")

    def leases(self, start: str = "") -> Iterator[Lease]:
        """Yield the leases that are held now, selected as by :meth:`scan`.

        Raises :class:`StoreError`.
        """
        if type(self).lease is Store.lease:
            return iter(())
        raise self._cannot("leases")

    def break_lease(self, authority: Authority) -> None:
        """End the lease on ``authority``, whichever worker holds it. Raises :class:`StoreError`."""
        if type(self).lease is not Store.lease:
            raise self._cannot("break_lease")

    def count(self, start: str = "") -> int:
        """Return how many authorities :meth:`scan` would yield. Raises :class:`StoreError`."""
        return sum(1 for _ in self.scan(start))

    def find(self, authority: Authority) -> StoredEntry | None:
        """Return all that is kept of ``authority``, ``None`` if nothing is.

        By default without refusals. Raises :class:`StoreError`.
        """
        entry = self.get(authority)
        if isinstance(entry, Future):
            try:
                entry = entry.result(GET_PATIENCE)
            except (FutureTimeoutError, CancelledError) as error:
                raise StoreError(f"get did not end: {type(error).__name__}") from None
        return None if entry is None else StoredEntry(authority, entry)

    def expire(self, authority: Authority) -> bool:
        """Have the robots.txt of ``authority`` fetched at its next use; keep copy and validators.

        Return False if nothing is kept of it. What another process puts meanwhile is not touched.
        Raises :class:`StoreError`.
        """
        stored = self.find(authority)
        if stored is None:
            return False
        self._put_all(stored.expired())
        self.flush()
        return True

    def prune(self, most: int | None = None) -> int:
        """Forget what is of no more use, then the oldest until at most ``most`` authorities stay.

        Return how many were forgotten. Raises :class:`StoreError`.
        """
        now, dropped = self._clock(), list[Authority]()
        newest: list[tuple[float, Authority]] = []
        for stored in self.scan():
            if stored.useful_until(self._keep) <= now:
                dropped.append(stored.authority)
            elif most is not None:
                heapq.heappush(newest, (stored.updated_at, stored.authority))
                if len(newest) > most:
                    dropped.append(heapq.heappop(newest)[1])
        for number, authority in enumerate(dropped, 1):
            self.forget(authority)
            if number % FLUSH_AFTER == 0:
                self.flush()
        self.flush()
        return len(dropped)

    def export(self, start: str = "") -> Iterator[dict[str, Any]]:
        """Yield what :meth:`scan` yields as plain values, each of which fits a line of JSON.

        :mod:`scrapy_rep.stores.plain` describes them. Raises :class:`StoreError`.
        """
        return map(to_plain, self.scan(start))

    def import_(self, exported: Iterable[object]) -> int:
        """Merge what :meth:`export` yielded into what is kept; return how many entries that were.

        What is kept and newer stays. Raises ``ValueError``, one line that names the number of the
        entry, if one is malformed; those before it are kept. Raises :class:`StoreError`.
        """
        numbered = enumerate(exported, 1)
        number = 0
        try:
            while batch := list(islice(numbered, FLUSH_AFTER)):
                for number, plain in batch:  # noqa: B007 (it is told after the loop)
                    self._put_all(from_plain(plain))
                self.flush()
        except ValueError as error:
            self.flush()
            raise ValueError(f"entry {number}: {error}") from None
        return number

    def _put_all(self, stored: StoredEntry) -> None:
        authority, entry = stored.authority, stored.entry
        if not self.merges:
            kept = self.find(authority)
            merged = merge(kept.entry if kept else None, entry, self._clock())
            if merged != Entry():
                self.put(authority, merged)
            return
        if entry != Entry():
            self.put(authority, entry)
        for crawler, refusal in stored.refusals.items():
            self.put(authority, Entry(refusal=refusal), crawler)

    def _cannot(self, method: str) -> StoreError:
        return StoreError(f"{type(self).__name__} has no method {method}")
