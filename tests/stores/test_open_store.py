"""`REP_STORE`: a URI, or the path of a class."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_rep.stores import check_store, open_store
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.uri import without_slash
from tests.processes import fresh_python
from tests.rows import rows
from tests.stores.dictionary import DictionaryStore
from tests.stores.samples import authority, entry

OWN = "tests.stores.dictionary.DictionaryStore"
not_a_store = dict


@rows(
    "uri, file",
    ("sqlite:", "robots.db"),
    ("sqlite:my%20robots.db", "my robots.db"),
    ("sqlite:///{}/deep/er/other.db", "deep/er/other.db"),
)
def test_sqlite_uris_name_a_file(tmp_path: Path, uri: str, file: str) -> None:
    """A file in the directory given, or at an absolute path; keys begin with the prefix."""
    store = open_store(uri.format(str(tmp_path)[1:]), directory=tmp_path, prefix="one")
    store.put(authority(), entry(at=time.time()))
    store.close()
    for prefix in ("one", "two"):
        with closing(SqliteStore(tmp_path / file, prefix=prefix)) as store:
            assert len(list(store.scan())) == (prefix == "one")


@rows(
    "path, system, expected",
    ("/C:/data/robots.db", "win32", "C:/data/robots.db"),
    ("/c:/robots.db", "win32", "c:/robots.db"),
    ("/data/robots.db", "win32", "/data/robots.db"),
    ("/C:/data/robots.db", "linux", "/C:/data/robots.db"),
)
def test_a_path_in_windows_may_begin_with_a_drive(path: str, system: str, expected: str) -> None:
    """``sqlite:///C:/data/robots.db``: what follows ``sqlite://`` has one slash too many."""
    assert without_slash(path, system) == expected


def test_memory_is_no_store_to_be_opened() -> None:
    """A crawl keeps it for itself."""
    with pytest.raises(ValueError, match=r"^memory: is kept by the crawl itself"):
        open_store("memory:")


def test_a_class_path_opens_a_custom_store() -> None:
    """A class with get and put is a store, and made by whoever knows how to.

    The rest has defaults: leases are granted.
    """
    store = open_store(OWN)
    assert isinstance(store, DictionaryStore)
    assert store.lease(authority(), 1.0) == ""
    store.release(authority(), "")
    store.flush()
    store.close()
    built = DictionaryStore()
    assert open_store(OWN, build=lambda cls: built) is built


@rows(
    "uri",
    *("", "memory:x", "redis:host", "redis://h/x", "mysql://user:secret@h/0"),
    *("sqlite://x", "sqlite:///", "sqlite:a/b", "sqlite:a%00b", "sqlite:///a%00b"),
    *("nowhere.to.be.Found", "DictionaryStore", f"{OWN}s"),
    *(f"{__name__}.not_a_store", f"{__name__}.OWN"),
)
def test_what_names_no_store_is_a_value_error(uri: str) -> None:
    """One clear line, without credentials."""
    with pytest.raises(ValueError, match=r"names no|not the URI") as error:
        open_store(uri)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


@rows(
    "hint, values",
    ("sqlite:", ["sqlite", "sqlite3", "SQLite", "sqllite:robots.db", "sqlite3:"]),
    ("redis://", ["redis", "redis:localhost", "reddis://localhost"]),
    ("redis+cluster://", ["redis-cluster"]),
    ("memory:", ["memory", "memory:64"]),
    (None, ["postgres", "postgres://user:secret@host"]),
)
def test_a_slip_gets_the_store_that_was_meant(hint: str | None, values: list[str]) -> None:
    """Without a colon, too, where it might be the path of a class."""
    for value in values:
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
    said = fresh_python("-c", code, options=["-Werror"])
    assert "pip install 'scrapy_rep[redis]'" in said
