"""The store as the cache sees it: awaited under any reactor, and never in the way.

A store that fails is as if it were empty: what it knew is fetched again.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.project import data_path
from twisted.internet.defer import CancelledError

from scrapy_rep.stores import Store, StoreError, open_store
from scrapy_rep.stores.memory import MemoryStore
from scrapy_rep.waiting import settled

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.protocol.entry import Entry
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

T = TypeVar("T")

_KEPT_COMPRESSED = 4
"""Of what memory may hold, one part in so many is for entries without their rules."""

NOT_SHARED = ""
"""The lease that a store grants which no other process fetches for."""


def open_shelf(crawler: Crawler, settings: RepSettings, stats: RepStats) -> Shelf:
    """Return the shelf of a crawl: ``REP_STORE``, or its job directory, or memory.

    Raises ``ValueError`` if the setting names no store.
    """
    directory = ""
    if settings.store is None:
        directory = job_dir(crawler.settings) or ""
    uri = settings.store or ("sqlite:" if directory else "memory:")
    if uri.startswith("sqlite:") and not directory:
        directory = data_path("robots")
    try:
        store = open_store(
            uri,
            directory=directory,
            memory_limit=settings.memory_limit // _KEPT_COMPRESSED,
            disk_limit=settings.store_limit,
            keep=settings.stale_if_unreachable,
            prefix=settings.store_prefix,
            build=lambda cls: build_from_crawler(cls, crawler),
        )
    except ValueError as error:  # it leaves out what may be a password
        raise ValueError(f"REP_STORE: {error}") from None
    return Shelf(store, stats)


class Shelf:
    """Entries kept beyond memory, by a :class:`Store`."""

    def __init__(self, store: Store, stats: RepStats):
        self._store = store
        self._memory = isinstance(store, MemoryStore)
        self._immediate = True
        self._stats = stats

    def share_of(self, memory_limit: int) -> int:
        """Return how many octets of what memory may hold are the store's."""
        return memory_limit // _KEPT_COMPRESSED if self._memory else 0

    def at_once(self, authority: Authority) -> Entry | None:
        """Return what the store keeps of ``authority``, if it is of the kind that need not wait."""
        if not self._immediate:
            return None
        try:
            answer = self._store.get(authority)
        except Exception as error:  # noqa: BLE001  # a store of the user's own may raise anything
            self._failed(error)
            return None
        if isinstance(answer, Future):  # from now on only those who can wait ask it
            self._immediate = False
            return None
        return answer

    async def recall(self, authority: Authority) -> Entry | None:
        """Return what the store keeps of ``authority``."""
        return await self._ask(None, self._store.get, authority)

    def keep(self, authority: Authority, entry: Entry) -> None:
        """Hand ``entry`` to the store, if that lasts longer than memory."""
        if not self._memory:
            self._tell(self._store.put, authority, entry)

    def demote(self, authority: Authority, entry: Entry) -> None:
        """Hand the store an entry that there is no room for in memory, rules and all."""
        if self._memory:
            self._tell(self._store.put, authority, entry)

    async def lease(self, authority: Authority, seconds: float) -> str | None:
        """Return a token if the fetch is this process's to make, ``None`` if another makes it.

        A store that fails leaves every process to itself.
        """
        return await self._ask(NOT_SHARED, self._store.lease, authority, seconds)

    def release(self, authority: Authority, token: str) -> None:
        """Give a lease back."""
        if token != NOT_SHARED:
            self._tell(self._store.release, authority, token)

    def close(self) -> None:
        """Write what is queued and close the store."""
        self._tell(self._store.close)

    async def _ask(self, otherwise: T, ask: Callable[..., T | Future[T]], *args: Any) -> T:
        try:
            answer = ask(*args)
            return await settled(answer) if isinstance(answer, Future) else answer
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # a store of the user's own may raise anything
            self._failed(error)
            return otherwise

    def _tell(self, tell: Callable[..., None], *args: Any) -> None:
        try:
            tell(*args)
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        said = error if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
        self._stats.store_failed(str(said))
