"""Where entries are kept: ``REP_STORE`` names one of the stores here, or a custom class.

A new kind of store is a subclass of :class:`Store`. Its scheme goes into :func:`open_store`, into
:func:`check_store` and into ``SCHEMES`` of :mod:`scrapy_rep.stores.uri`, which decides how much of
a URI may be printed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from scrapy_rep.stores.base import Store, Turn
from scrapy_rep.stores.blocking import BlockingStore
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.sqlite_file import check_file
from scrapy_rep.stores.stored import MONTH, PREFIX, StoreError
from scrapy_rep.stores.uri import REDIS_SCHEMES, SCHEMES, is_ambiguous, shown

__all__ = ["BlockingStore", "Store", "StoreError", "Turn", "check_store", "open_store"]

FILE = "robots.db"
"""The file's name where a URI gives none."""

DISK_LIMIT = 1024 * 1024 * 1024

NAMES = (
    "use memory:, sqlite:, redis://, rediss://, redis+sentinel://, redis+cluster://, unix:// or"
    " the path of a class"
)


FILES = "use sqlite:NAME or sqlite:///PATH"


def open_store(
    uri: str,
    *,
    directory: str | Path = ".",
    disk_limit: int = DISK_LIMIT,
    keep: float = MONTH,
    prefix: str = PREFIX,
    build: Callable[[type[Any]], Any] = lambda cls: cls(),
    create: bool = True,
) -> Store:
    """Return the store that ``uri`` names, opened.

    Unless ``create`` is False, its file is made if it is missing, and made anew if it is damaged.

    - ``sqlite:`` or ``sqlite:NAME``, a file in ``directory``, and ``sqlite:///PATH``, of at most
      ``disk_limit`` octets;
    - ``redis://``, ``rediss://``, ``unix://``, ``redis+sentinel://`` and ``redis+cluster://`` (and
      ``rediss+...``), which keep a good copy for ``keep`` seconds;
    - ``package.module.Class``, of which ``build`` makes an instance.

    Keys in a store that others may share begin with ``prefix``. Raises ``ValueError``, one line
    without credentials, if ``uri`` names no store, or a file that is not one, or that is missing
    and not to be made. A file or a server that is out of order raises nothing here; the store
    raises ``StoreError`` when it is used.
    """
    check_store(uri)
    scheme, colon, rest = uri.partition(":")
    if not colon:
        store = build(_class(uri))
        if not isinstance(store, Store):
            made = type(store).__name__
            raise ValueError(f"{shown(uri)!r} names no store: it makes a {made}")
        return store
    if scheme == "memory":
        raise ValueError("memory: is kept by the crawl itself, and cannot be opened")
    if scheme == "sqlite":
        path = _path(uri, rest, Path(directory))
        if not create and not path.exists():
            raise ValueError(f"{str(path)!a} does not exist")
        return SqliteStore(path, limit=disk_limit, keep=keep, prefix=prefix, mends=create)
    from scrapy_rep.stores.redis import RedisStore

    return RedisStore(uri, keep=keep, prefix=prefix)


def check_store(uri: str) -> None:
    """Raise ``ValueError``, as :func:`open_store` does, if ``uri`` names no store.

    Opens no connection. Reads the header of a file whose path is absolute.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon:
        _class(uri)
    elif scheme == "sqlite":
        path = _path(uri, rest, Path())
        if path.is_absolute():
            with suppress(OSError):  # that shows when the store is used
                check_file(path)
    elif scheme in REDIS_SCHEMES and rest.startswith("//"):
        _check_redis(uri)
    elif scheme != "memory" or rest:
        raise _no_store(uri, scheme)


def _no_store(uri: str, scheme: str) -> ValueError:
    """Return an error that says what there is, and what ``scheme`` was probably meant for."""
    found = get_close_matches(scheme[:100].lower(), SCHEMES, n=1)
    slashes = "//" if found and found[0] in REDIS_SCHEMES else ""
    hint = f"; did you mean {found[0]}:{slashes}?" if found else ""
    return ValueError(f"{shown(uri)!r} names no store: {NAMES}{hint}")


def _path(uri: str, rest: str, directory: Path) -> Path:
    if not any(mark in rest for mark in ("?", "#", "%00", "\0")):
        if rest.startswith("///") and not rest.endswith("/"):
            return Path(_without_slash(unquote(rest[2:])))
        if "/" not in rest:
            return directory / (unquote(rest) or FILE)
    raise ValueError(f"{shown(uri)!r} names no file: {FILES}, with %3F for ? and %23 for #")


def _without_slash(path: str, system: str = sys.platform) -> str:
    """Return the absolute path of a URI; on Windows it begins with a drive, not with a slash."""
    return path[1:] if system == "win32" and re.match("/[A-Za-z]:/", path) else path


def _check_redis(uri: str) -> None:
    if is_ambiguous(uri):
        raise ValueError(
            f"{shown(uri)!r} names no store, as it can be read in more than one way: in a user "
            "name, a password and elsewhere, @ / ? # and % must be percent-encoded"
        )
    try:
        from scrapy_rep.stores.redis_uri import RedisUri
    except ImportError as error:
        raise ValueError(
            f"a store on Redis needs redis-py, pip install 'scrapy_rep[redis]': {error}"
        ) from None
    RedisUri(uri)


def _class(path: str) -> type[Any]:
    """Return the class of that path. Raises ``ValueError`` if it is not a store's."""
    module, _, name = path.rpartition(".")
    if not module:
        raise _no_store(path, path.partition("/")[0])
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        why = f": {error}" if shown(path) == path else ""  # the error quotes the path
        raise ValueError(f"{shown(path)!r} names no store{why}; for a file, {FILES}") from None
    if not isinstance(cls, type) or not issubclass(cls, Store):
        raise ValueError(
            f"{shown(path)!r} names no store: it is not a subclass of scrapy_rep.stores.Store"
        )
    return cls
