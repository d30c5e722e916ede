"""`REP_STORE`: a URI, or the path of a class."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.policy import Entry
from scrapy_rep.stores import Store, _without_slash, check_store, open_store
from tests.stores.samples import authority, entry


class OwnStore(Store):
    """A user's store: nothing but get and put."""

    def __init__(self, name: str = "none") -> None:
        self.name = name
        self.entries: dict[Authority, Entry] = {}

    def get(self, authority: Authority, crawler: str = "") -> Entry | None:
        """What the dictionary holds."""
        return self.entries.get(authority)

    def put(self, authority: Authority, entry: Entry, crawler: str = "") -> None:
        """Into the dictionary."""
        self.entries[authority] = entry


OWN = f"{OwnStore.__module__}.OwnStore"
not_a_store = dict


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("sqlite:", "robots.db"),
        ("sqlite:my%20robots.db", "my robots.db"),
        ("sqlite:///{}/deep/er/other.db", "deep/er/other.db"),
    ],
)
def test_sqlite_uris_name_a_file(tmp_path: Path, uri: str, file: str) -> None:
    """A file in the directory given, or at an absolute path."""
    store = open_store(uri.format(str(tmp_path)[1:]), directory=tmp_path)
    store.put(authority(), entry())
    store.close()
    assert (tmp_path / file).is_file()


def test_projects_with_other_prefixes_share_nothing(tmp_path: Path) -> None:
    """`REP_STORE_PREFIX` parts the projects that use one file."""
    stores = [open_store("sqlite:", directory=tmp_path, prefix=name) for name in ("one", "two")]
    stores[0].put(authority(), entry(at=time.time()))
    stores[0].flush()
    assert [store.get(authority()) is not None for store in stores] == [True, False]
    for store in stores:
        store.close()


def test_stores_say_what_they_are(tmp_path: Path) -> None:
    """A store's representation tells where it keeps its entries."""
    store = open_store("sqlite:", directory=tmp_path)
    assert repr(store) == f"SqliteStore('{tmp_path}/robots.db')"
    store.close()


@pytest.mark.parametrize(
    ("path", "system", "expected"),
    [
        ("/C:/data/robots.db", "win32", "C:/data/robots.db"),
        ("/c:/robots.db", "win32", "c:/robots.db"),
        ("/data/robots.db", "win32", "/data/robots.db"),
        ("/C:/data/robots.db", "linux", "/C:/data/robots.db"),
    ],
)
def test_a_path_in_windows_may_begin_with_a_drive(path: str, system: str, expected: str) -> None:
    """``sqlite:///C:/data/robots.db``: what follows ``sqlite://`` has one slash too many."""
    assert _without_slash(path, system) == expected


def test_memory_is_no_store_to_be_opened() -> None:
    """A crawl keeps it for itself."""
    with pytest.raises(ValueError, match=r"^memory: is kept by the crawl itself"):
        open_store("memory:")


def test_a_redis_uri_opens_without_a_server() -> None:
    """A server that is not there is no error of the setting: it shows on use."""
    store = open_store("redis://user:secret@127.0.0.1:1/0")
    assert repr(store) == "RedisStore('redis://127.0.0.1:1/0')"
    store.close()


def test_a_class_path_opens_a_store_of_ones_own() -> None:
    """A class with get and put is a store, and made by whoever knows how to."""
    store = open_store(OWN)
    assert isinstance(store, OwnStore)
    assert store.name == "none"
    named = open_store(OWN, build=lambda cls: cls("built"))
    assert isinstance(named, OwnStore)
    assert named.name == "built"


def test_a_custom_store_needs_nothing_but_get_and_put() -> None:
    """The rest has defaults: leases are granted."""
    store = OwnStore()
    assert store.lease(authority(), 1.0) == ""
    store.release(authority(), "")
    store.flush()
    store.close()


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "memory:x",
        "sqlite://x",
        "sqlite:///",
        "sqlite:a/b",
        "redis:host",
        "redis://h/x",
        "mysql://user:secret@h/0",
        "nowhere.to.be.Found",
        "OwnStore",
        f"{OWN}s",
        "tests.stores.test_open_store.not_a_store",
        "tests.stores.test_open_store.OWN",
    ],
)
def test_what_names_no_store_is_a_value_error(uri: str) -> None:
    """One clear line, without credentials."""
    with pytest.raises(ValueError, match=r"names no|not the URI") as error:
        open_store(uri)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("sqlite", "sqlite:"),
        ("sqlite3", "sqlite:"),
        ("SQLite", "sqlite:"),
        ("sqllite:robots.db", "sqlite:"),
        ("sqlite3:", "sqlite:"),
        ("file", "sqlite:"),
        ("redis", "redis://"),
        ("redis:localhost", "redis://"),
        ("reddis://localhost", "redis://"),
        ("redis-cluster", "redis+cluster://"),
        ("memory", "memory:"),
        ("memory:64", "memory:"),
        ("postgres", None),
        ("postgres://user:secret@host", None),
    ],
)
def test_a_slip_gets_the_store_that_was_meant(value: str, hint: str | None) -> None:
    """Without a colon, too, where it might be the path of a class."""
    with pytest.raises(ValueError, match="names no store: use memory:, sqlite:") as caught:
        check_store(value)
    said = str(caught.value)
    assert said.endswith(f"; did you mean {hint}?") if hint else "did you mean" not in said
    assert "secret" not in said


def test_what_a_builder_makes_must_be_a_store() -> None:
    """A factory that returns something else is found out at once."""
    with pytest.raises(ValueError, match="makes a int"):
        open_store(OWN, build=lambda cls: 5)


def test_redis_is_optional() -> None:
    """Without redis-py all but Redis works, and Redis says what to install."""
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from scrapy_rep.stores import check_store, open_store\n"
        "check_store('memory:')\n"
        "try: open_store('redis://h/0')\n"
        "except ValueError as error: print(error)\n"
    )
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install 'scrapy_rep[redis]'" in out.stdout
