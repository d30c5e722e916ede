"""The contract of a store: where entries are kept between requests, crawls and workers.

A custom store needs :meth:`Store.get` and :meth:`Store.put` and nothing else; whatever it leaves
out has a default here. The cache calls a store from its event loop, so that neither may block for
long: a ``get`` that would have to wait returns a :class:`concurrent.futures.Future`, which must be
completed within three seconds; a ``put`` queues.

A store raises :class:`StoreError` and nothing else. The cache catches it around the call of each
method, and from the Future of ``get``, ``lease`` or ``take_turn``. It treats a store that fails as
empty. What it puts after that never costs what was kept, because a ``put`` merges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future
from typing import ClassVar, NamedTuple

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.entry import Answer, Entry, Failure

MONTH = 30 * 86_400.0
"""Seconds for which a last good copy is worth keeping (RFC 9309 section 2.4 leaves it open)."""

PREFIX = "scrapy_rep"
"""What the keys of a shared store begin with, unless ``REP_STORE_PREFIX`` says otherwise."""

KEEP_CONCLUSIONS = 7 * 86_400.0
"""Seconds for which an answer without rules is kept: the longest life that any profile gives it."""

KEEP_FAILURES = 86_400.0
"""Seconds after its last attempt for which the failure streak of an authority is kept."""

LONGEST_TURN = 60.0
"""Seconds for which a turn may be taken or renewed; one that claims to last longer is void."""


class StoreError(Exception):
    """A store could not do what it was asked to; the crawl goes on as if it were empty.

    The text is one line of printable ASCII without credentials.
    """


class Turn(NamedTuple):
    """The answer to a request for a turn: a token, or ``None`` and the seconds to wait.

    Before ``wait`` seconds are over no turn is granted; after them one may be.
    """

    token: str | None
    wait: float = 0.0


class Store(ABC):
    """Entries by authority.

    A store whose ``merges`` is true does two things that a custom store need not do. Its ``put``
    merges what comes with what is kept, in one atomic step, as
    :func:`scrapy_rep.protocol.entry.merge` says. And it keeps the refusals of several crawlers
    apart: ``crawler`` is a short digest of the User-Agent that was sent, empty if refusals are
    neither read nor written. For any other store the cache gets, merges and puts, and leaves
    refusals out; ``get`` and ``put`` are called without ``crawler``.
    """

    merges: ClassVar[bool] = False

    @abstractmethod
    def get(self, authority: Authority, crawler: str = "") -> Entry | Future[Entry | None] | None:
        """Return what is kept of ``authority``, ``None`` if nothing is; or a Future of that.

        Raises :class:`StoreError`, or the Future does.
        """

    @abstractmethod
    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Merge ``entry`` into what is kept; return before it is written.

        Raises :class:`StoreError` if it cannot, or if an earlier put turned out to have failed.
        """

    @property
    def evicted(self) -> int:
        """How many entries this store has dropped to stay within a limit."""
        return 0

    def forget(self, authority: Authority) -> None:
        """Drop what is kept of ``authority``. Raises :class:`StoreError` if it cannot."""
        raise StoreError(f"{type(self).__name__} does not forget")

    def __iter__(self) -> Iterator[tuple[Authority, Entry]]:
        """Yield all that is kept but refusals, in no order; may block. Raises ``StoreError``."""
        raise StoreError(f"{type(self).__name__} does not list its entries")

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
        there or the lease is free. Raises :class:`StoreError`, or the Future does.
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

        The turn ends when its holder ends it, or after ``seconds``, of which there are at most
        :data:`LONGEST_TURN`, unless it is renewed. The next one is granted ``interval`` seconds
        after that, or after the interval of the worker that held it, whichever is longer. A store
        that has lost its memory, or is new, waits for one interval before it grants a turn. All of
        that is one atomic step, and goes by the clock of the store, not by that of a worker.
        Raises :class:`StoreError`, or the Future does.
        """
        raise StoreError(f"{type(self).__name__} grants no turns")

    def renew_turn(  # noqa: B027 (a default)
        self, host: str, token: str, seconds: float
    ) -> None:
        """Have a turn end in ``seconds`` from now, if ``token`` still holds it.

        Raises :class:`StoreError`.
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


def useful_until(part: Answer | Failure, keep: float = MONTH) -> float:
    """Return until when a part of an entry is worth keeping, in seconds since the epoch.

    ``keep`` is how many seconds the last good copy is used while robots.txt is unreachable.
    """
    if isinstance(part, Failure):
        return part.failed_at + KEEP_FAILURES
    if part.body is None:
        return part.fetched_at + KEEP_CONCLUSIONS
    return part.fetched_at + max(keep, KEEP_CONCLUSIONS)
