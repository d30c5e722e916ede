"""The store as the cache sees it: awaited under any reactor, with no error that reaches a request.

A store that fails counts as empty: what it kept is fetched again. The stores of this package log
when that begins and when it ends. Of any other store, each kind of failure is logged once, and
then that it answers again. What this crawl itself has learnt and evicted from memory is kept apart
from the store, by :class:`~scrapy_rep.sites.evicted.Evicted`.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.project import data_path
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.access.entry import Entry
from scrapy_rep.awaiting import DeadlineError, from_thread, with_timeout
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.sites.context import NOT_SHARED
from scrapy_rep.sites.evicted import Evicted
from scrapy_rep.sites.shared_turns import StoreTurns
from scrapy_rep.stores import Store, StoreError, open_store
from scrapy_rep.stores.error import LoggedError
from scrapy_rep.stores.uri import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.stats import RepStats

T = TypeVar("T")

PATIENCE = 3.0
"""Seconds after which a store that has not answered has failed. Our own give up sooner."""

_KEPT_COMPRESSED = 4
"""One part in this many of ``REP_MEMORY_LIMIT`` is for evicted entries, compressed."""


class StoreSettings(Protocol):
    """The settings that say which store a crawl uses, and how large it may grow, in octets."""

    @property
    def store(self) -> str | None:
        """The URI, ``None`` for the job directory or memory."""

    @property
    def store_limit(self) -> int:
        """For a store on disk, and for evicted entries on disk."""

    @property
    def store_prefix(self) -> str:
        """What all keys begin with."""

    @property
    def stale_if_unreachable(self) -> float:
        """Seconds for which a good copy is of use."""

    @property
    def memory_limit(self) -> int:
        """For all that is in memory."""


def open_configured(
    project: BaseSettings,
    settings: StoreSettings,
    build: Callable[[type[Any]], Any],
    *,
    create: bool = True,
) -> Store | None:
    """Return the store of a crawl: ``REP_STORE``, or in its job directory; ``None`` for memory.

    ``build`` makes an instance of a custom store. Raises ``ValueError`` if the setting names no
    store, if a custom store is not configured, or if its file is missing and ``create`` is False.
    """
    directory = ""
    if settings.store is None:  # job_dir() makes the directory
        directory = (job_dir(project) if create else project.get("JOBDIR")) or ""
    uri = settings.store or ("sqlite:" if directory else "memory:")
    if uri == "memory:":
        return None
    if uri.startswith("sqlite:") and "/" not in uri and not directory:
        directory = _data_folder()
    try:
        return open_store(
            uri,
            directory=directory,
            disk_limit=settings.store_limit,
            keep=settings.stale_if_unreachable,
            prefix=settings.store_prefix,
            build=build,
            create=create,
        )
    except ValueError as error:  # its text leaves out what may be a password
        raise ValueError(f"REP_STORE: {error}") from None
    except NotConfigured as error:  # Scrapy would go on, without whatever asked for the store
        why = f": {printable(str(error))}" if str(error) else ""
        raise ValueError(f"REP_STORE: {shown(uri)} is not configured{why}") from None


def _data_folder() -> str:
    """Return the folder for files that are given without one."""
    try:
        return data_path("robots")
    except NotConfigured:  # a project that was deployed without its scrapy.cfg
        return str(Path(".scrapy", "robots"))


def open_store_adapter(
    crawler: Crawler,
    settings: StoreSettings,
    stats: RepStats,
    clock: Callable[[], float],
    user_agent: Callable[[], bytes],
) -> StoreAdapter:
    """Return the store of a crawl, whose robots.txt requests carry ``user_agent()``.

    Raises ``ValueError`` if a setting names no store.
    """
    return StoreAdapter(
        open_configured(crawler.settings, settings, lambda cls: build_from_crawler(cls, crawler)),
        stats,
        crawler=cache(lambda: crawler_digest(user_agent())),
        memory_limit=settings.memory_limit // _KEPT_COMPRESSED,
        disk_limit=settings.store_limit,
        clock=clock,
    )


def crawler_digest(user_agent: bytes) -> str:
    """Return the name of a crawler, by the User-Agent that its robots.txt requests carry."""
    return blake2b(user_agent, digest_size=8).hexdigest()


class StoreAdapter:
    """Entries kept beyond memory: by a :class:`Store`, or for this crawl alone if that is None.

    ``crawler()`` returns the name under which refusals to this crawl are stored; ``memory_limit``
    and ``disk_limit`` are octets for what is evicted from memory.
    """

    def __init__(
        self,
        store: Store | None,
        stats: RepStats,
        *,
        crawler: Callable[[], str],
        memory_limit: int,
        disk_limit: int,
        clock: Callable[[], float],
    ):
        self._store = store
        self._stats = stats
        self._crawler = crawler
        self._memory_limit = memory_limit
        self._evicted = Evicted(memory_limit, disk_limit, failed=self._failed)
        self._immediate = False  # whether the last look-up was answered at once
        self._leases: dict[Authority, str] = {}
        self._failing: set[str] = set()
        """The look-ups that the log says fail: ``get``, ``lease``."""

    @property
    def has_store(self) -> bool:
        """Whether there is a store, which other workers may share."""
        return self._store is not None

    @property
    def turns(self) -> StoreTurns | None:
        """The turns that the store grants; ``None`` if it grants none."""
        keeps_pace = self._store is not None and self._store.keeps_pace
        return StoreTurns(self._store, in_time) if self._store is not None and keeps_pace else None

    @property
    def memory_limit(self) -> int:
        """The octets of memory that evicted entries may take."""
        return self._memory_limit

    def evicted(self, authority: Authority) -> Entry | None:
        """Return what was evicted from the memory of this crawl; awaits nothing."""
        return self._evicted.get(authority)

    def demote(self, authority: Authority, entry: Entry, *, again: bool) -> None:
        """Keep an entry that memory has no room for; ``again`` if it came from here."""
        if not again or authority not in self._evicted:
            self._evicted.put(authority, entry)

    def get_nowait(self, authority: Authority) -> tuple[Entry | None, bool]:
        """Return what the store keeps of ``authority``, and whether it was asked.

        It is not asked if it did not answer the last look-up at once.
        """
        if self._store is None:
            return None, True
        if not self._immediate:
            return None, False
        try:
            found = self._get(self._store, authority)
        except Exception as error:  # noqa: BLE001  # a custom store may raise anything
            self._failed(error, "get")
            return None, False
        if isinstance(found, Future):
            return None, False
        self._answered("get")
        return self._checked(found), True

    async def get(self, authority: Authority) -> Entry | None:
        """Return what the store keeps of ``authority``."""
        if self._store is None:
            return None
        return self._checked(await self._ask("get", None, self._get, self._store, authority))

    def write_through(self, authority: Authority, entry: Entry) -> None:
        """Have the store merge ``entry`` into what it keeps."""
        if self._store is not None:
            self._tell(self._store.put, authority, entry, self._crawler())

    async def lease(self, authority: Authority, seconds: float) -> str | None:
        """Return a token if this worker is to fetch, ``None`` if another one does.

        If the store fails, each worker fetches for itself.
        """
        if self._store is None:
            return NOT_SHARED
        ask: Callable[..., Any] = self._store.lease
        token: str | None = await self._ask("lease", NOT_SHARED, ask, authority, seconds)
        if token:
            self._leases[authority] = token
        return token

    def renew(self, authority: Authority, token: str, seconds: float) -> None:
        """Have a lease end in ``seconds`` from now."""
        if self._store is not None:
            self._tell(self._store.renew, authority, token, seconds)

    def release(self, authority: Authority, token: str) -> None:
        """Give a lease back."""
        if self._store is not None and token != NOT_SHARED:
            self._leases.pop(authority, None)
            self._tell(self._store.release, authority, token)

    def close(self) -> None:
        """Give all leases back, write what is queued and close the store."""
        for authority, token in list(self._leases.items()):
            self.release(authority, token)
        self._evicted.close()
        if self._store is not None:
            self._tell(self._store.close)
            if evicted := self._store.evicted:
                self._stats.inc(names.STORE_EVICTED, evicted)

    def _get(self, store: Store, authority: Authority) -> Entry | Future[Entry | None] | None:
        """Ask the store, and note whether it answered at once: some stores do so only at times."""
        found = store.get(authority, self._crawler())
        self._immediate = not isinstance(found, Future)
        return found

    def _checked(self, found: Entry | None) -> Entry | None:
        """Return what the store found, which may be anything if it is a custom one."""
        if found is None or isinstance(found, Entry):
            return found
        kind = type(found).__name__
        self._failed(StoreError(f"it returned {kind} where an Entry was expected"))
        return None

    async def _ask(
        self, name: str, otherwise: T, ask: Callable[..., T | Future[T]], *args: Any
    ) -> T:
        try:
            answer = ask(*args)
            found = await in_time(answer) if isinstance(answer, Future) else answer
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # a custom store may raise anything
            self._failed(error, name)
            return otherwise
        self._answered(name)
        return found

    def _tell(self, tell: Callable[..., None], *args: Any) -> None:
        try:
            tell(*args)
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def _failed(self, error: Exception, name: str = "") -> None:
        """Count a failure, and log the first of its kind; ``name`` is that of a look-up."""
        if isinstance(error, LoggedError):
            self._stats.inc(names.STORE_ERROR)
            return
        said = error if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
        if (self._stats.store_failed(str(said)) or self._failing) and name:
            self._failing.add(name)

    def _answered(self, name: str) -> None:
        """Log that the store can be asked again, once no look-up fails any more."""
        if name in self._failing:
            self._failing.remove(name)
            if not self._failing:
                self._stats.store_answers()


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
