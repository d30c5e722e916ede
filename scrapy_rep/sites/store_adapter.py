"""The store as the cache sees it: awaited under any reactor, with no error that reaches a request.

A store that fails counts as empty: what it kept is fetched again (:mod:`scrapy_rep.sites.outage`).
What this crawl itself has learnt and evicted from memory is kept apart from the store, by
:class:`~scrapy_rep.sites.evicted.Evicted`.
"""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.project import data_path

from scrapy_rep.access.entry import Entry
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.sites.evicted import Evicted
from scrapy_rep.sites.outage import GET, LEASE, PUT, TURN, Outage
from scrapy_rep.stores import Store, StoreError, Turn, open_store
from scrapy_rep.stores.base import NOT_SHARED
from scrapy_rep.stores.uri import redacted, scheme_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import Crawler

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_EVICTED_DIVISOR = 4
"""``REP_MEMORY_LIMIT`` divided by this is the memory for evicted entries, which are compressed."""


def open_configured(
    crawler: Crawler, settings: RepSettings, *, create: bool = True
) -> Store | None:
    """Return the store of a crawl: ``REP_STORE``, or in its job directory; ``None`` for memory.

    Raises ``ValueError`` if the setting names no store, if a custom store is not configured, or if
    its file is missing and ``create`` is False.
    """
    directory = ""
    if settings.store is None:  # job_dir() makes the directory
        project = crawler.settings
        directory = (job_dir(project) if create else project.get("JOBDIR")) or ""
    uri = settings.store or ("sqlite:" if directory else "memory:")
    if uri == "memory:":
        return None
    scheme = scheme_of(uri)
    if scheme is not None and scheme.is_file and "/" not in uri and not directory:
        directory = _data_folder()
    with naming_the_setting(uri):
        return open_store(
            uri,
            directory=directory,
            disk_limit=settings.store_limit,
            keep=settings.stale_if_unreachable,
            prefix=settings.store_prefix,
            build=lambda cls: build_from_crawler(cls, crawler),
            create=create,
        )


@contextmanager
def naming_the_setting(uri: str) -> Iterator[None]:
    """Raise ``ValueError`` for whatever is wrong with a store, in one line with its setting."""
    try:
        yield
    except ValueError as error:  # its text leaves out what may be a password
        raise ValueError(f"REP_STORE: {error}") from None
    except NotConfigured as error:  # Scrapy would go on, without whatever asked for the store
        why = f": {printable(str(error))}" if str(error) else ""
        raise ValueError(f"REP_STORE: {redacted(uri)} is not configured{why}") from None


def _data_folder() -> str:
    """Return the folder for files that are given without one."""
    try:
        return data_path("robots")
    except NotConfigured:  # a project that was deployed without its scrapy.cfg
        return str(Path(".scrapy", "robots"))


def open_store_adapter(
    crawler: Crawler,
    settings: RepSettings,
    stats: RepStats,
    user_agent: Callable[[], bytes],
) -> StoreAdapter:
    """Return the store of a crawl, whose robots.txt requests carry ``user_agent()``.

    Raises ``ValueError`` if a setting names no store.
    """
    return StoreAdapter(
        open_configured(crawler, settings),
        stats,
        crawler=cache(lambda: crawler_digest(user_agent())),
        memory_limit=settings.memory_limit // _EVICTED_DIVISOR,
        disk_limit=settings.store_limit,
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
    ):
        self._store = store
        self.has_store = store is not None
        """Whether there is a store, which other workers may share."""
        self._crawler = crawler
        self.memory_limit = memory_limit
        """The octets of memory that evicted entries may take."""
        self._evicted = Evicted(memory_limit, disk_limit, failed=stats.evicted_lost)
        timeout = Store.answer_timeout if store is None else store.answer_timeout
        self._outage = Outage(timeout, stats)
        self._immediate = False  # whether the last look-up was answered at once
        self._leases: dict[Authority, str] = {}

    @property
    def turns(self) -> StoreTurns | None:
        """The turns that the store grants; ``None`` if it grants none."""
        if self._store is None or not self._store.keeps_pace:
            return None
        return StoreTurns(self._store, self._outage)

    def evicted(self, authority: Authority) -> Entry | None:
        """Return what was evicted from the memory of this crawl; awaits nothing."""
        return self._evicted.get(authority)

    def demote(self, authority: Authority, entry: Entry) -> None:
        """Keep an entry that memory has no room for."""
        self._evicted.put(authority, entry)

    def get_nowait(self, authority: Authority) -> tuple[Entry | None, bool]:
        """Return what the store keeps of ``authority``, and whether it was asked.

        It is not asked if it did not answer the last look-up, or not at once.
        """
        if self._store is None:
            return None, True
        if not self._immediate or self._outage.is_failing(GET):
            return None, False
        try:
            found = self._get(self._store, authority)
            if isinstance(found, Future):
                return None, False
            if not isinstance(found, Entry | None):
                raise StoreError(f"get returned {type(found).__name__}")
        except Exception as error:  # noqa: BLE001  # a custom store may raise anything
            self._outage.failed(GET, error)
            return None, False
        self._outage.answered(GET)
        return found, True

    async def get(self, authority: Authority) -> Entry | None:
        """Return what the store keeps of ``authority``."""
        if self._store is None:
            return None
        try:
            kinds = (Entry, type(None))
            return await self._outage.ask(GET, kinds, self._get, self._store, authority)
        except StoreError:
            return None

    def write_through(self, authority: Authority, entry: Entry) -> None:
        """Tell the store to merge ``entry`` into what it keeps."""
        if self._store is not None:
            self._tell(PUT, self._store.put, authority, entry, self._crawler())

    async def lease(self, authority: Authority, seconds: float) -> str | None:
        """Return a token if this worker is to fetch, ``None`` if another one does.

        If the store fails, each worker fetches for itself. While it answers no look-ups, it is not
        asked: what another worker learns could not be read.
        """
        if self._store is None or self._outage.is_failing(GET):
            return NOT_SHARED
        method: Callable[..., Any] = self._store.lease
        try:
            kinds = (str, type(None))
            token: str | None = await self._outage.ask(LEASE, kinds, method, authority, seconds)
        except StoreError:
            return NOT_SHARED
        if token:
            self._leases[authority] = token
        return token

    def renew(self, authority: Authority, token: str, seconds: float) -> None:
        """Make a lease end in ``seconds`` from now."""
        if self._store is not None:
            self._tell(LEASE, self._store.renew, authority, token, seconds)

    def release(self, authority: Authority, token: str | None) -> None:
        """Give a lease back if there is one, unless that was done already."""
        if self._store is not None and token and self._leases.get(authority) == token:
            del self._leases[authority]
            self._tell(LEASE, self._store.release, authority, token)

    def close(self) -> None:
        """Give all leases back, write what is queued and close the store."""
        for authority, token in list(self._leases.items()):
            self.release(authority, token)
        self._evicted.close()
        if self._store is not None:
            self._tell(PUT, self._store.close)

    def _get(self, store: Store, authority: Authority) -> Entry | Future[Entry | None] | None:
        """Ask the store, and note whether it answered at once: some stores do so only at times."""
        found = store.get(authority, self._crawler())
        self._immediate = not isinstance(found, Future)
        return found

    def _tell(self, operation: str, method: Callable[..., None], *args: Any) -> None:
        """Call a method that returns nothing; count a failure. Only a put shows that it answers."""
        try:
            method(*args)
        except Exception as error:  # noqa: BLE001  # a custom store may raise anything
            self._outage.failed(operation, error)
        else:
            if operation == PUT:
                self._outage.answered(PUT)


class StoreTurns:
    """The turns of ``store``. Raises what the store raises, and what ``outage`` does."""

    def __init__(self, store: Store, outage: Outage):
        self._take = store.take_turn
        self._outage = outage
        self.renew = store.renew_turn
        self.end = store.end_turn
        self.cancel = store.cancel_turn

    async def take(self, host: str, seconds: float, interval: float, token: str) -> Turn:
        """Return a turn with ``token``, or how long to wait."""
        args = host, seconds, interval, token
        return await self._outage.ask(TURN, (Turn,), self._take, *args, host=host)
