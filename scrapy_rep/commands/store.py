"""``scrapy robots store``: what the configured store holds, and how to change it."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler

from scrapy_rep.caching.store_adapter import open_configured
from scrapy_rep.commands.output import (
    EndingError,
    Status,
    counted,
    duration,
    note,
    say,
    say_json,
    table,
    usage_error,
)
from scrapy_rep.commands.project import settings_of, settings_with_spider
from scrapy_rep.commands.sources import authority_named, read
from scrapy_rep.stores import StoreError
from scrapy_rep.stores.json_form import to_plain

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.stores import Store
    from scrapy_rep.stores.stored import StoredEntry

_STEP = 500
"""Entries that are changed before what is queued is written."""


def run(settings: BaseSettings, options: Namespace) -> Status:
    """Do to the store what the action says."""
    settings, _ = settings_with_spider(settings, options)
    if options.action == "forget":
        _check_selection(options)
    if options.action == "import":
        options.given = read(options.source)  # before a store is made for it
    with _configured_store(settings, create=options.action == "import") as store:
        act = {
            "list": _list,
            "show": _show,
            "export": _export,
            "import": _import,
            "forget": _forget,
        }[options.action]
        return act(store, options)


@contextmanager
def _configured_store(settings: BaseSettings, *, create: bool) -> Iterator[Store]:
    """Open the store of the project, and close it at the end; raise ``EndingError``.

    The file is made only if ``create`` is True. Otherwise a mistyped path would be answered by an
    empty store.
    """
    found = settings_of(settings)
    crawler = Crawler(Spider, settings.copy())  # type: ignore[arg-type]
    try:
        store = open_configured(
            settings, found, lambda cls: build_from_crawler(cls, crawler), create=create
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


def _check_selection(options: Namespace) -> None:
    """Raise ``EndingError`` unless URLs, filters or ``--all`` say what is meant."""
    filters = options.prefix or options.state or options.older_than is not None
    if bool(options.urls) == bool(filters or options.all):
        raise usage_error("select entries by URLs, or by filters such as --prefix, or select --all")


def _selected(store: Store, options: Namespace) -> Iterator[StoredEntry]:
    now = time.time()
    for stored in store.scan(options.prefix):
        is_young = options.older_than is not None and stored.age(now) < options.older_than
        if not is_young and (not options.state or _state(stored) in options.state):
            yield stored


def _state(stored: StoredEntry) -> str:
    """Return what an authority said last: rules, unavailable, denied or unreachable."""
    if stored.entry.failure is not None:
        return "unreachable"
    answer = stored.entry.answer
    if answer is None or any(
        one.fetched_at > answer.fetched_at for one in stored.refusals.values()
    ):
        return "denied"
    return "rules" if answer.body is not None else "unavailable"


def _summary(stored: StoredEntry) -> dict[str, Any]:
    now = time.time()
    answer, failure = stored.entry.answer, stored.entry.failure
    return {
        "authority": str(stored.authority),
        "state": _state(stored),
        "age": round(stored.age(now), 3),
        "status": answer.status if answer is not None else None,
        "octets": len(answer.body) if answer is not None and answer.body is not None else None,
        "refusals": len(stored.refusals),
        "cause": failure.cause if failure is not None else None,
        "failing_for": round(max(0.0, now - failure.since), 3) if failure is not None else None,
    }


def _list(store: Store, options: Namespace) -> Status:
    rows = [_summary(stored) for stored in _selected(store, options)]
    if options.format == "json":
        say_json("store", rows)
        return Status.CLEAN
    if rows:
        cells = [_cells(row) for row in rows]
        table([("SITE", "STATE", "AGE", "STATUS", "OCTETS", "CAUSE"), *cells])
    note("store list", counted(len(rows), "site"))
    return Status.CLEAN


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    octets = "" if row["octets"] is None else f"{row['octets']:,}"
    status, age = str(row["status"] or ""), duration(round(row["age"]))
    return row["authority"], row["state"], age, status, octets, row["cause"] or ""


def _show(store: Store, options: Namespace) -> Status:
    found = []
    for authority in map(authority_named, options.urls):
        stored = store.find(authority)
        if stored is None:
            note("store show", f"the store knows nothing of {authority}")
        else:
            found.append(stored)
    if options.body:
        for stored in found:
            answer = stored.entry.answer
            sys.stdout.flush()
            sys.stdout.buffer.write((answer.body if answer is not None else None) or b"")
    elif options.format == "json":
        say_json("store", [{**_summary(one), "entry": to_plain(one)} for one in found])
    else:
        for stored in found:
            for name, value in {**_summary(stored), **to_plain(stored)}.items():
                say(f"{name}: {json.dumps(value) if isinstance(value, (dict, list)) else value}")
    return Status.CLEAN if len(found) == len(options.urls) else Status.FOUND


def _export(store: Store, options: Namespace) -> Status:
    for stored in _selected(store, options):
        say(json.dumps(to_plain(stored)))
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
    if options.urls:
        named = [store.find(authority_named(url)) for url in options.urls]
        found = [stored for stored in named if stored is not None]
    else:
        found = [*_selected(store, options)]  # all of them before the first is changed
    for number, stored in enumerate(found, 1):
        store.forget(stored.authority)
        if number % _STEP == 0:
            store.flush()
    note("store forget", f"{counted(len(found), 'site')} forgotten")
    return Status.CLEAN if len(found) >= len(options.urls) else Status.FOUND
