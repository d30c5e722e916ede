"""The contract of a store: where entries are kept between requests, crawls and workers.

A store of one's own needs :meth:`Store.get` and :meth:`Store.put` and nothing else; whatever it
leaves out has a default here. The cache calls a store from its event loop, so that neither may
block for long: a ``get`` that would have to wait hands back a
:class:`concurrent.futures.Future`, a ``put`` queues.

Nothing but :class:`StoreError` leaves a store. The cache catches it at four places: around the
call of ``get``, ``put``, ``lease`` and ``release``, around what the Future of ``get`` or ``lease``
ends in, around ``flush``, and around the iteration. A store that fails is as if it were empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.policy import CLOCK_TOLERANCE, Entry

MONTH = 30 * 86_400.0
"""Seconds for which a last good copy is worth keeping (RFC 9309 section 2.4 leaves it open)."""

KEEP_FAILURES = 86_400.0
"""Seconds after its last attempt for which the failure streak of an authority is kept."""


class StoreError(Exception):
    """A store could not do what it was asked to; the crawl goes on as if it were empty.

    The text is one line of printable ASCII without credentials.
    """


class Store(ABC):
    """Entries by authority.

    An entry is dated by its last fetch, be it a success or a failure, and the newest wins: a
    ``put`` of an older entry than the one kept changes nothing.
    """

    @abstractmethod
    def get(self, authority: Authority) -> Entry | Future[Entry | None] | None:
        """Return what is kept of ``authority``, ``None`` if nothing is; or a Future of that.

        Raises :class:`StoreError`, or the Future does.
        """

    @abstractmethod
    def put(self, authority: Authority, entry: Entry) -> None:
        """Keep ``entry`` unless a newer one is kept; return before it is written.

        Raises :class:`StoreError` if it cannot, or if an earlier put turned out to have failed.
        """

    def forget(self, authority: Authority) -> None:
        """Drop what is kept of ``authority``. Raises :class:`StoreError` if it cannot."""
        raise StoreError(f"{type(self).__name__} does not forget")

    def __iter__(self) -> Iterator[tuple[Authority, Entry]]:
        """Yield all that is kept, in no order; may block. Raises :class:`StoreError`."""
        raise StoreError(f"{type(self).__name__} does not list its entries")

    def flush(self) -> None:  # noqa: B027 (a default)
        """Return once all puts are written. Raises :class:`StoreError` if one was not."""

    def close(self) -> None:  # noqa: B027 (a default)
        """Write what is queued and let go of files and sockets, in bounded time, quietly.

        A second call does nothing.
        """

    def lease(self, authority: Authority, seconds: float) -> str | Future[str | None] | None:
        """Return a token if this worker is the one to fetch, ``None`` if another one is.

        The lease ends when released or after ``seconds``, whichever is first. A store that is
        not shared grants each, with the empty token. Whoever is granted a lease gets again
        before it fetches, as the holder before it may have put meanwhile; whoever is not gets
        again every now and then until the entry is there or it may itself hold the lease.
        Raises :class:`StoreError`, or the Future does.
        """
        return ""

    def release(self, authority: Authority, token: str) -> None:  # noqa: B027 (a default)
        """End a lease, if ``token`` still holds it; what was put before is seen before that.

        Raises :class:`StoreError`.
        """


def dated(entry: Entry) -> float:
    """Return when an entry was last fetched, in seconds since the epoch, in success or failure."""
    return max(entry.fetched_at, entry.failed_at)


def supersedes(new: float, old: float, now: float) -> bool:
    """Whether an entry dated ``new`` takes the place of one dated ``old`` at ``now``.

    The newest wins. But one dated in the future is believed by nobody, so that anything may
    take its place: else one worker with a wrong clock would shut an authority out for long.
    """
    return not new < old <= now + CLOCK_TOLERANCE


def useful_until(entry: Entry, keep: float = MONTH) -> float:
    """Return until when an entry is worth keeping, in seconds since the epoch.

    ``keep`` is for how many seconds the last good copy is followed while unreachable.
    """
    until = entry.expires_at
    if entry.body is not None:
        until = max(until, entry.fetched_at + keep)
    if entry.failing_since is not None:
        until = max(until, entry.retry_at, entry.failed_at + KEEP_FAILURES)
    return until
