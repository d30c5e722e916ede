"""The contract of a store: where entries are kept between requests, crawls and workers.

A custom store is best made from :class:`scrapy_rep.stores.BlockingStore`, which needs two methods
that may block. A :class:`Store` needs :meth:`Store.get` and :meth:`Store.put` and nothing else;
whatever it leaves out has a default here. A crawl calls both from its event loop, so neither may
block for long: a ``get`` that would have to wait returns a :class:`concurrent.futures.Future`,
which must be completed within :attr:`Store.answer_timeout`; a ``put`` queues.

A store raises :class:`StoreError` and nothing else. A crawl catches it from each call and from the
Future of ``get``, ``lease`` or ``take_turn``, and treats a store that fails as empty
(:mod:`scrapy_rep.sites.outage`). What it puts after that never costs what was kept, because the
store merges it.

The methods from :meth:`Store.scan` on are for the operator of a store. They may block.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Entry, merge
from scrapy_rep.stores.json_form import from_plain, to_plain
from scrapy_rep.stores.stored import StoredEntry, StoreError

FLUSH_AFTER = 200
"""Entries that are changed before an operator's method waits until they are written."""

LONGEST_TURN = 60.0
"""Seconds for which a turn may be taken or renewed; one that claims to last longer is void."""

LONGEST_INTERVAL = 86_400.0
"""The longest interval, in seconds, that is believed if a store has it: no worker writes more."""

KEPT = 60.0
"""Seconds for which a turn that has ended is kept at least: another worker may ask for longer."""

RENEWED = 2.0
"""Seconds within which a worker renews a turn that is in use, again and again.

A store that has lost its memory waits for that time before it grants a turn, and for an interval if
that is longer. Meanwhile a worker whose request is under way takes its turn again.
"""


NOT_SHARED = ""
"""The lease of a store that is not shared: the caller may always fetch."""


class Turn(NamedTuple):
    """The right to make one request to a host: a token, or ``None`` and the seconds to wait.

    Before ``wait`` seconds are over no turn is granted; after them one may be.
    """

    token: str | None
    wait: float = 0.0


Change = Callable[[StoredEntry | None], StoredEntry | None]
"""A function from what is kept of an authority to what is kept next; ``None`` is nothing."""


class Store(ABC):
    """Entries by authority.

    A ``put`` merges what comes with what is kept, in one atomic step, as
    :func:`scrapy_rep.access.entry.merge` says. The refusals of several crawlers are kept apart:
    ``crawler`` is a short digest of the User-Agent that was sent, empty if refusals are neither
    read nor written.
    """

    answer_timeout: ClassVar[float] = 3.0
    """Seconds within which the Future of ``get``, ``lease`` or ``take_turn`` must be completed."""

    _clock: Callable[[], float] = time.time

    @abstractmethod
    def get(self, authority: Authority, crawler: str = "") -> Entry | Future[Entry | None] | None:
        """Return what is kept of ``authority``, ``None`` if nothing is; or a Future of that.

        What was put is seen when a lease is granted; before that it may still be queued.
        Raises :class:`StoreError`, or the Future does.
        """

    @abstractmethod
    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Keep ``entry``; return before it is written.

        It is merged into what is kept.

        Raises :class:`StoreError` if it cannot, or if an earlier put turned out to have failed.
        """

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
        have put meanwhile. One that is not calls ``get`` from time to time, until the entry is
        there or the lease is free. Raises :class:`StoreError`, or the Future does.
        """
        return NOT_SHARED

    def renew(  # noqa: B027 (a default)
        self, authority: Authority, token: str, seconds: float
    ) -> None:
        """Make a lease end in ``seconds`` from now, if ``token`` still holds it.

        Raises :class:`StoreError`.
        """

    def release(self, authority: Authority, token: str) -> None:  # noqa: B027 (a default)
        """End a lease, if ``token`` still holds it; what was put before is seen before that.

        Raises :class:`StoreError`.
        """

    # --- One pace for all workers. A turn is the right to make one request to a host.

    keeps_pace: ClassVar[bool] = False
    """Whether the store grants turns. If not, each worker keeps the pace of a host by itself."""

    def take_turn(
        self, host: str, seconds: float, interval: float, token: str
    ) -> Turn | Future[Turn]:
        """Return a turn for one request to ``host``, or how long to wait before asking again.

        A turn that is granted has ``token``, which is new for each turn. If an answer was lost, the
        worker asks again with the same token, and finds a turn that was granted to it. The store is
        asked even if it was left alone for a while after failures.

        The turn ends when its holder ends it, or after ``seconds``, at most 60, unless it is
        renewed. The next one is granted ``interval`` seconds after that, or after the interval of
        the worker that held it or of one that has asked in vain meanwhile, whichever is longest. A
        store that has lost its memory, or is new, waits for one interval before it grants a turn,
        and for 2 s at least, in which the turns that are in use are renewed.
        All of that is one atomic step, and goes by the clock of the store, not by that of a worker.
        Raises :class:`StoreError`, or the Future does.
        """
        raise StoreError(f"{type(self).__name__} grants no turns")

    def renew_turn(  # noqa: B027 (a default)
        self, host: str, token: str, seconds: float
    ) -> None:
        """Make a turn end in ``seconds`` from now: its request is still under way.

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

    def scan(self) -> Iterator[StoredEntry]:
        """Yield what is kept of each authority, in no order. Raises :class:`StoreError`."""
        raise StoreError(f"{type(self).__name__} has no method scan")

    def forget(self, authority: Authority) -> None:
        """Drop what is kept of ``authority``. Raises :class:`StoreError` if it cannot."""
        raise StoreError(f"{type(self).__name__} has no method forget")

    def find(self, authority: Authority) -> StoredEntry | None:
        """Return all that is kept of ``authority``, ``None`` if nothing is.

        Raises :class:`StoreError`.
        """
        raise StoreError(f"{type(self).__name__} has no method find")

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield what :meth:`scan` yields as plain values, each of which fits a line of JSON.

        :mod:`scrapy_rep.stores.json_form` describes them. Raises :class:`StoreError`.
        """
        return map(to_plain, self.scan())

    def import_(self, exported: Iterable[object]) -> int:
        """Merge what :meth:`export` yielded into what is kept; return how many entries that were.

        What is kept and newer stays. Raises ``ValueError``, one line that names the number of the
        entry, if one is malformed; those before it are kept. Raises :class:`StoreError`.
        """
        number = 1
        try:
            for plain in exported:  # which may raise, as json.loads does
                self._put_all(from_plain(plain))
                if number % FLUSH_AFTER == 0:
                    self.flush()
                number += 1
        except ValueError as error:
            self.flush()
            raise ValueError(f"entry {number}: {error}") from None
        self.flush()
        return number - 1

    _fault: StoreError | None = None

    def _note(self, written: Future[Any]) -> None:
        """Keep why a put could not be written, for the next put or flush to raise."""
        error = None if written.cancelled() else written.exception()
        if isinstance(error, StoreError):
            self._fault = error

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _put_all(self, stored: StoredEntry) -> None:
        authority, entry = stored.authority, stored.entry
        if entry != Entry():
            self.put(authority, entry)
        for crawler, refusal in stored.refusals.items():
            self.put(authority, Entry(refusal=refusal), crawler)


def merging(authority: Authority, entry: Entry, crawler: str, now: float) -> Change:
    """Return the change that merges ``entry``, as ``crawler`` puts it at ``now``.

    It may be written much later, by when another worker has put what would lie in the future.
    """
    asked = time.monotonic()
    if not crawler and entry.refusal is not None:
        entry = replace(entry, refusal=None)

    def change(kept: StoredEntry | None) -> StoredEntry | None:
        kept = kept or StoredEntry(authority)
        merged = merge(kept.seen_by(crawler), entry, now + time.monotonic() - asked)
        every = {**kept.refusals, crawler: merged.refusal}
        refusals = {name: one for name, one in every.items() if one is not None}
        stored = StoredEntry(authority, Entry(merged.answer, None, merged.failure), refusals)
        return stored if refusals or stored.entry != Entry() else None

    return change
