"""``scrapy robots store``: what the configured store holds, and how to change it."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_rep.commands.crawl import Project
from scrapy_rep.commands.output import EndingError, Status, counted, note, say_json, table
from scrapy_rep.commands.sources import governing, opened
from scrapy_rep.robotstxt.printable import without_login
from scrapy_rep.sites.store_adapter import open_configured
from scrapy_rep.stores import Store, StoreError
from scrapy_rep.stores.base import FLUSH_AFTER
from scrapy_rep.stores.stored import StoredEntry


def run(project: Project, options: Namespace) -> Status:
    """Run the action on the store of the project."""
    if options.action == "import":
        # The store may be made, so the source is opened first.
        with opened(options.source) as lines, _configured_store(project, create=True) as store:
            return _import(store, lines, options.source)
    act = {"list": _list, "show": _show, "export": _export, "forget": _forget}[options.action]
    with _configured_store(project, create=False) as store:
        return act(store, options)


@contextmanager
def _configured_store(project: Project, *, create: bool) -> Iterator[Store]:
    """Open the store of the project, and close it at the end; raise ``EndingError``.

    The file is made, or made anew, only if ``create`` is True. Otherwise a mistyped path and a
    damaged file would be answered by an empty store.
    """
    crawler = Crawler(Spider, project.settings)  # type: ignore[arg-type]
    try:
        store = open_configured(crawler, project.rep_settings, create=create)
    except ValueError as error:
        raise EndingError(str(error)) from None
    if store is None:
        raise EndingError("REP_STORE names no store: crawls keep what they know in memory")
    try:
        yield store
        store.flush()
    except StoreError as error:
        raise EndingError(f"the store cannot be used: {error}", Status.UNKNOWN) from None
    finally:
        store.close()


def _summary(stored: StoredEntry) -> dict[str, Any]:
    """Return what the table has in a row, by the heads of its columns; the age in seconds."""
    failure = stored.entry.failure
    # One that is not the entry's refused some crawler.
    several = filter(None, (stored.entry.answer, *stored.refusals.values()))
    answer = max(several, key=lambda one: one.fetched_at, default=None)
    return {
        "site": str(stored.authority),
        "age": round(stored.age(time.time())),
        "status": None if answer is None else answer.status,
        "bytes": None if answer is None or answer.body is None else len(answer.body),
        "cause": None if failure is None else failure.cause,
    }


def _list(store: Store, options: Namespace) -> Status:
    rows = [_summary(stored) for stored in store.scan()]
    if options.format == "json":
        say_json("store", rows)
    elif rows:
        table([[*map(str.upper, rows[0])], *([*row.values()] for row in rows)])
    note("store list", counted(len(rows), "site"))
    return Status.CLEAN


def _show(store: Store, options: Namespace) -> Status:
    found = _named(store, options)
    for stored in found:
        answer = stored.entry.answer
        sys.stdout.buffer.write((None if answer is None else answer.body) or b"")
    return Status.CLEAN if len(found) == len(options.urls) else Status.FOUND


def _named(store: Store, options: Namespace) -> list[StoredEntry]:
    """Return the entries of the sites of the URLs; say on stderr which are missing."""
    found = []
    for url in options.urls:
        authority = governing(url)
        stored = None if authority is None else store.find(authority)
        if stored is None:
            note(
                f"store {options.action}",
                f"the store knows nothing of {authority or without_login(url)}",
            )
        else:
            found.append(stored)
    return found


def _export(store: Store, options: Namespace) -> Status:
    for plain in store.export():
        sys.stdout.write(json.dumps(plain) + "\n")  # which ends with its reader
    return Status.CLEAN


def _import(store: Store, lines: Iterable[bytes], source: str) -> Status:
    try:
        number = store.import_(_parsed(line) for line in lines if line.strip())
    except ValueError as error:
        raise EndingError(f"{source}: {error}") from None
    note("store import", f"{counted(number, 'site')} imported")
    return Status.CLEAN


def _parsed(line: bytes) -> object:
    """Return the value of a line of JSON; None, which the store refuses, for another line."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _forget(store: Store, options: Namespace) -> Status:
    found = _named(store, options)  # all of them, before the first is changed
    for number, stored in enumerate(found, 1):
        store.forget(stored.authority)
        if number % FLUSH_AFTER == 0:
            store.flush()
    note("store forget", f"{counted(len(found), 'site')} forgotten")
    return Status.CLEAN if len(found) == len(options.urls) else Status.FOUND
