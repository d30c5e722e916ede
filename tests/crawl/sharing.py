"""Stores that several crawls share, one after another: SQLite, Redis, and a custom one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.access import authority as protocol
from scrapy_rep.access.entry import Entry, merge
from scrapy_rep.stores import BlockingStore, Store
from scrapy_rep.stores.redis import RedisStore
from scrapy_rep.stores.sqlite import SqliteStore
from tests.crawl.clock import Ahead
from tests.site import Authority
from tests.stores.samples import told
from tests.stores.servers import running_server


class CustomStore(Store):
    """A user's store that answers at once; what it keeps outlives the crawl."""

    entries: dict[protocol.Authority, Entry] = {}  # noqa: RUF012

    def get(self, authority: protocol.Authority, crawler: str = "") -> Any:
        """What there is."""
        return self.entries.get(authority)

    def put(self, authority: protocol.Authority, entry: Entry, crawler: str = "") -> None:
        """Here it is; refusals are left out."""
        merged = merge(self.entries.get(authority), replace(entry, refusal=None), self._clock())
        if merged != Entry():
            self.entries[authority] = merged

    def forget(self, authority: protocol.Authority) -> None:
        """It is gone."""
        self.entries.pop(authority, None)


class OctetsStore(BlockingStore):
    """A user's store of the shortest kind, which may block; what it keeps outlives the crawl."""

    entries: dict[str, bytes] = {}  # noqa: RUF012

    def read(self, key: str) -> bytes | None:
        """What there is."""
        return self.entries.get(key)

    def write(self, key: str, data: bytes) -> None:
        """Here it is."""
        self.entries[key] = data


@dataclass
class SharedStore:
    """A store: the URI that crawls use, and what the tests do with it between crawls."""

    kind: str
    uri: str
    open: Callable[[], Store]
    """Another worker's view of it."""

    def kept(self, shop: Authority) -> Entry | None:
        """What is kept of an authority; refusals are left out."""
        with closing(self.open()) as store:
            found: Entry | None = told(store.get(key_of(shop)))
        return found

    def keep(self, shop: Authority, entry: Entry) -> None:
        """Keep an entry, instead of the one before."""
        with closing(self.open()) as store:
            store.forget(key_of(shop))
            store.put(key_of(shop), entry)
            store.flush()

    def grow_older(self, shop: Authority, seconds: float) -> None:
        """The answer that is kept was fetched that long before."""
        entry: Any = self.kept(shop)
        fetched_at = entry.answer.fetched_at - seconds
        self.keep(shop, Entry(replace(entry.answer, fetched_at=fetched_at)))


def key_of(shop: Authority) -> protocol.Authority:
    """The authority by which a store keeps its entry."""
    key = protocol.authority_of(shop.url())
    assert key
    return key


@contextmanager
def shared_store_of(kind: str) -> Iterator[SharedStore]:
    """An empty store of that kind."""
    with tempfile.TemporaryDirectory() as directory:
        if kind == "SQLite":
            path = Path(directory, "robots.db")
            yield SharedStore(kind, f"sqlite://{path}", lambda: SqliteStore(path))
        elif kind == "Redis":
            with running_server() as server:
                yield SharedStore(kind, server.uri, lambda: RedisStore(server.uri))
        else:
            store: Any = {"custom": CustomStore, "custom, blocking": OctetsStore}[kind]
            store.entries.clear()
            yield SharedStore(kind, f"{__name__}.{store.__name__}", store)


OURS = ["SQLite", "Redis"]
CUSTOM = ["custom", "custom, blocking"]


def shift(monkeypatch: pytest.MonkeyPatch, clock: Ahead, seconds: float) -> None:
    """The clock of this process is wrong by that much, for the crawl and for its store."""
    clock.seconds = seconds
    monkeypatch.setattr(Store, "_clock", staticmethod(clock.time))
    for store in (SqliteStore, RedisStore):
        defaults: dict[str, Any] = store.__init__.__kwdefaults__  # type: ignore[attr-defined]
        monkeypatch.setitem(defaults, "clock", clock.time)
