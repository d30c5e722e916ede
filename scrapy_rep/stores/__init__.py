"""Where entries are kept: ``REP_STORE`` names one of the stores here, or a custom class.

A new kind of store is a subclass of :class:`Store`. Its scheme is a row of ``_SCHEMES`` in
:mod:`scrapy_rep.stores.uri`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from scrapy_rep.stores.base import Store, Turn
from scrapy_rep.stores.blocking import BlockingStore
from scrapy_rep.stores.stored import MONTH, PREFIX, StoreError
from scrapy_rep.stores.uri import (
    DISK_LIMIT,
    FILES,
    SCHEMES,
    Scheme,
    UriOptions,
    UriStore,
    is_ambiguous,
    redacted,
    scheme_of,
)

__all__ = ["BlockingStore", "Store", "StoreError", "Turn", "check_store", "open_store"]

_NOWHERE = Path(os.devnull)
"""No directory, for files whose directory is not known yet."""

NAMES = f"use {', '.join(each.begins for each in SCHEMES.values())} or the path of a class"


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
    if ":" not in uri:
        store = build(_class(uri))
        if not isinstance(store, Store):
            made = type(store).__name__
            raise ValueError(f"{redacted(uri)!r} names no store: it makes a {made}")
        return store
    opened = _open(uri, UriOptions(Path(directory), disk_limit, keep, prefix, create))
    if opened is None:
        raise ValueError(f"{uri} is kept by the crawl itself, and cannot be opened")
    return opened


def check_store(uri: str) -> None:
    """Raise ``ValueError``, as :func:`open_store` does, if ``uri`` names no store.

    Opens no connection. Reads the header of a file whose path is absolute.
    """
    if ":" in uri:
        _open(uri, UriOptions(_NOWHERE))
    else:
        _class(uri)


def _open(uri: str, options: UriOptions) -> Store | None:
    """Return the store of a URI, which does nothing until it is used; ``None`` for memory."""
    scheme = scheme_of(uri)
    if scheme is None or not uri.startswith(scheme.begins):
        raise _no_store(uri)
    if scheme.begins.endswith("//") and is_ambiguous(uri):
        raise ValueError(
            f"{redacted(uri)!r} names no store, as it can be read in more than one way: in a user "
            "name, a password and elsewhere, @ / ? # and % must be percent-encoded"
        )
    if scheme.store:
        return _store_of(scheme).open_uri(uri, options)
    if uri != scheme.begins:
        raise _no_store(uri)
    return None


def _store_of(scheme: Scheme) -> type[UriStore]:
    """Return the class of a scheme. Raises ``ValueError`` if it needs what is not installed."""
    module, _, name = scheme.store.rpartition(".")
    try:
        found: type[UriStore] = getattr(import_module(module), name)
    except ImportError as error:
        needed = f"pip install 'scrapy_rep[{scheme.extra}]'"
        raise ValueError(f"a store at {scheme.begins} needs {needed}: {error}") from None
    return found


def _no_store(uri: str) -> ValueError:
    """Return an error that says what there is, and what ``uri`` probably should begin with."""
    name = uri[:100].replace("/", ":").partition(":")[0]
    found = get_close_matches(name.lower(), SCHEMES, n=1)
    hint = f"; did you mean {SCHEMES[found[0]].begins}?" if found else ""
    return ValueError(f"{redacted(uri)!r} names no store: {NAMES}{hint}")


def _class(path: str) -> type[Any]:
    """Return the class of that path. Raises ``ValueError`` if it is not a store's."""
    module, _, name = path.rpartition(".")
    if not module:
        raise _no_store(path)
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        why = f": {error}" if redacted(path) == path else ""  # the error quotes the path
        raise ValueError(f"{redacted(path)!r} names no store{why}; for a file, {FILES}") from None
    if not isinstance(cls, type) or not issubclass(cls, Store):
        raise ValueError(
            f"{redacted(path)!r} names no store: it is not a subclass of scrapy_rep.stores.Store"
        )
    return cls
