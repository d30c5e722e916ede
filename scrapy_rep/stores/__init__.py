"""Where entries are kept: ``REP_STORE`` names one of the stores here, or a class of one's own."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from scrapy_rep.stores.base import MONTH, Store, StoreError
from scrapy_rep.stores.memory import MemoryStore
from scrapy_rep.stores.sqlite import SqliteStore

__all__ = ["Store", "StoreError", "open_store"]

FILE = "robots.db"
"""The file's name where a URI gives none."""

MEMORY_LIMIT = 64 * 1024 * 1024
DISK_LIMIT = 1024 * 1024 * 1024


def open_store(
    uri: str,
    *,
    directory: str | Path = ".",
    memory_limit: int = MEMORY_LIMIT,
    disk_limit: int = DISK_LIMIT,
    keep: float = MONTH,
    build: Callable[[type[Any]], Any] = lambda cls: cls(),
) -> Store:
    """Return the store that ``uri`` names.

    - ``memory:``, of at most ``memory_limit`` octets;
    - ``sqlite:`` or ``sqlite:NAME``, a file in ``directory``, and ``sqlite:///PATH``, of at most
      ``disk_limit`` octets;
    - ``redis://``, ``rediss://`` and ``unix://``, which keep a good copy for ``keep`` seconds;
    - ``package.module.Class``, of which ``build`` makes an instance.

    Raises ``ValueError``, one line without credentials, if it names none. A file or a server
    that is out of order raises nothing here, but ``StoreError`` when the store is used.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon:
        return _own(uri, build)
    if scheme == "memory" and not rest:
        return MemoryStore(memory_limit)
    if scheme == "sqlite":
        return SqliteStore(_path(rest, Path(directory)), limit=disk_limit)
    if scheme in ("redis", "rediss", "unix") and rest.startswith("//"):
        return _redis(uri, keep)
    raise ValueError(
        f"{scheme + ':'!a} names no store: memory:, sqlite:, redis://, rediss:// and unix:// do,"
        " and so does the path of a class"
    )


def _path(rest: str, directory: Path) -> Path:
    if rest.startswith("///") and not rest.endswith("/"):
        return Path(unquote(rest[2:]))
    if "/" in rest:
        raise ValueError(f"{'sqlite:' + rest!a} names no file: sqlite:NAME or sqlite:///PATH do")
    return directory / (unquote(rest) or FILE)


def _redis(uri: str, keep: float) -> Store:
    try:
        from scrapy_rep.stores.redis import RedisStore
    except ImportError as error:
        raise ValueError(
            f"a store on Redis needs redis-py, pip install scrapy_rep[redis]: {error}"
        ) from None
    return RedisStore(uri, keep=keep)


def _own(path: str, build: Callable[[type[Any]], Any]) -> Store:
    module, _, name = path.rpartition(".")
    try:
        cls = getattr(import_module(module), name) if module else None
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{path!a} names no store: {error}") from None
    if not isinstance(cls, type) or not issubclass(cls, Store):
        raise ValueError(f"{path!a} names no store: it is no subclass of scrapy_rep.stores.Store")
    store = build(cls)
    if not isinstance(store, Store):
        raise ValueError(f"{path!a} names no store: it makes a {type(store).__name__}")
    return store
