"""``scrapy robots store``: what the configured store holds, and how to change it."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler

from scrapy_rep.commands.output import (
    EndingError,
    Status,
    cell,
    counted,
    duration,
    note,
    say,
    say_json,
    table,
    usage_error,
)
from scrapy_rep.commands.sources import authority_named, read
from scrapy_rep.sites.store_adapter import open_configured
from scrapy_rep.stores import StoreError
from scrapy_rep.stores.base import FLUSH_AFTER
from scrapy_rep.stores.json_form import to_plain

if TYPE_CHECKING:
    from scrapy_rep.access.entry import Answer
    from scrapy_rep.commands.crawl import Project
    from scrapy_rep.stores import Store
    from scrapy_rep.stores.stored import StoredEntry


def run(project: Project, options: Namespace) -> Status:
    """Do to the store what the action says."""
    if options.action == "forget" and bool(options.urls) == bool(options.state or options.all):
        raise usage_error("select sites by URLs, by --state, or select --all")
    if options.action == "import":
        options.given = read(options.source)  # before a store is made for it
    act = {"list": _list, "show": _show, "export": _export, "import": _import, "forget": _forget}
    with _configured_store(project, create=options.action == "import") as store:
        return act[options.action](store, options)


@contextmanager
def _configured_store(project: Project, *, create: bool) -> Iterator[Store]:
    """Open the store of the project, and close it at the end; raise ``EndingError``.

    The file is made, or made anew, only if ``create`` is True. Otherwise a mistyped path and a
    damaged file would be answered by an empty store.
    """
    crawler: Any = Crawler(Spider, project.settings.copy())  # type: ignore[arg-type]
    try:
        store = open_configured(
            project.settings,
            project.chosen,
            lambda cls: build_from_crawler(cls, crawler),
            create=create,
        )
    except ValueError as error:
        raise usage_error(str(error)) from None
    if store is None:
        raise usage_error("REP_STORE names no store: crawls keep what they know in memory")
    try:
        yield store
        store.flush()
    except StoreError as error:
        raise EndingError(Status.UNKNOWN, f"the store cannot be used: {error}") from None
    finally:
        store.close()


def _selected(store: Store, options: Namespace) -> Iterator[StoredEntry]:
    for stored in store.scan():
        if not options.state or _state(stored) in options.state:
            yield stored


def _state(stored: StoredEntry) -> str:
    """Return what an authority said last: rules, unavailable, denied or unreachable."""
    if stored.entry.failure is not None:
        return "unreachable"
    newest = _newest(stored)
    if newest is None or newest is not stored.entry.answer:
        return "denied"
    return "rules" if newest.body is not None else "unavailable"


def _newest(stored: StoredEntry) -> Answer | None:
    """Return the newest answer; one that is not the entry's refused some crawler."""
    several = filter(None, (stored.entry.answer, *stored.refusals.values()))
    return max(several, key=lambda one: one.fetched_at, default=None)


def _summary(stored: StoredEntry) -> dict[str, Any]:
    """Return what the table has in a row, by the heads of its columns; the age in seconds."""
    failure, answer = stored.entry.failure, _newest(stored)
    return {
        "site": str(stored.authority),
        "state": _state(stored),
        "age": round(stored.age(time.time()), 3),
        "status": None if answer is None else answer.status,
        "bytes": None if answer is None or answer.body is None else len(answer.body),
        "cause": None if failure is None else failure.cause,
    }


def _list(store: Store, options: Namespace) -> Status:
    rows = [_summary(stored) for stored in _selected(store, options)]
    if options.format == "json":
        say_json("store", rows)
    elif rows:
        shown = [{**row, "age": duration(round(row["age"]))} for row in rows]
        table([[*map(str.upper, rows[0])], *([*map(cell, row.values())] for row in shown)])
    note("store list", counted(len(rows), "site"))
    return Status.CLEAN


def _show(store: Store, options: Namespace) -> Status:
    found = _named(store, options.urls)
    if options.body:
        for stored in found:
            answer = stored.entry.answer
            sys.stdout.buffer.write((None if answer is None else answer.body) or b"")
    elif found:
        say_json("store", [{**_summary(one), "entry": to_plain(one)} for one in found])
    return Status.CLEAN if len(found) == len(options.urls) else Status.FOUND


def _named(store: Store, urls: Sequence[str]) -> list[StoredEntry]:
    """Return the entries of the sites of some URLs; say on stderr which are missing."""
    found = []
    for authority in map(authority_named, urls):
        stored = store.find(authority)
        if stored is None:
            note("store", f"the store knows nothing of {authority}")
        else:
            found.append(stored)
    return found


def _export(store: Store, options: Namespace) -> Status:
    for plain in store.export():
        say(json.dumps(plain))
    return Status.CLEAN


def _import(store: Store, options: Namespace) -> Status:
    lines = [line for line in options.given.split(b"\n") if line.strip()]
    try:
        number = store.import_(map(_parsed, lines))
    except ValueError as error:
        raise usage_error(f"{options.source}: {error}") from None
    note("store import", f"{counted(number, 'site')} imported")
    return Status.CLEAN


def _parsed(line: bytes) -> object:
    """Return the value of a line of JSON; None, which the store refuses, for another line."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _forget(store: Store, options: Namespace) -> Status:
    # All of them are found before the first is changed.
    found = _named(store, options.urls) if options.urls else [*_selected(store, options)]
    for number, stored in enumerate(found, 1):
        store.forget(stored.authority)
        if number % FLUSH_AFTER == 0:
            store.flush()
    note("store forget", f"{counted(len(found), 'site')} forgotten")
    return Status.CLEAN if len(found) >= len(options.urls) else Status.FOUND
