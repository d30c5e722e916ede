"""The key of a tdmrep.json is never taken for that of a robots.txt."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_rep.protocol.authority import Authority, authority_of
from scrapy_rep.protocol.entry import Answer, Entry
from scrapy_rep.stores import Store, open_store
from scrapy_rep.usage.tdmrep_files import TdmrepKey
from tests.stores.dictionary import DictionaryStore
from tests.stores.servers import RedisServer

HOST = Authority("https", "example.org", 443)


@pytest.mark.parametrize(
    ("authority", "uri", "text"),
    [
        (HOST, "https://example.org/.well-known/tdmrep.json", "tdmrep+https://example.org"),
        (
            Authority("http", "::1", 8080),
            "http://[::1]:8080/.well-known/tdmrep.json",
            "tdmrep+http://[::1]:8080",
        ),
    ],
)
def test_a_key_names_its_file(authority: Authority, uri: str, text: str) -> None:
    """It is fetched from the well-known path of the authority, and kept under a scheme of ours."""
    key = TdmrepKey.of(authority)
    assert (key.robots_uri, key.origin, str(key)) == (uri, str(authority), text)
    assert key != authority
    assert hash(key) == hash(TdmrepKey.of(authority))
    assert authority_of(text) is None


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """One of each kind, the last one on a server of its own."""
    if request.param == "memory":
        yield DictionaryStore()
    elif request.param == "sqlite":
        yield open_store(f"sqlite:///{tmp_path}/robots.db")
    else:
        server = RedisServer(tmp_path).start()
        try:
            yield open_store(server.uri)
        finally:
            server.stop()


def test_a_store_keeps_both_files_of_a_site_apart(store: Store) -> None:
    """Neither is read for the other."""
    now = time.time()
    robots, file = (Entry(Answer(200, body, fetched_at=now)) for body in (b"User-agent: *", b"[]"))
    store.put(HOST, robots)
    store.put(TdmrepKey.of(HOST), file)
    store.flush()
    for key, entry in ((HOST, robots), (TdmrepKey.of(HOST), file)):
        found = store.get(key)
        assert (found.result(3) if hasattr(found, "result") else found) == entry
    store.close()
