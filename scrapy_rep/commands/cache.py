"""``scrapy robots cache``: what the configured store holds, and how to change it."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scrapy_rep.access.policy import Policy
from scrapy_rep.commands.configuration import settings_of, settings_with_spider
from scrapy_rep.commands.endings import Status, usage_error
from scrapy_rep.commands.sources import authority_named, read
from scrapy_rep.commands.stored import configured_store
from scrapy_rep.commands.terminal import note, say
from scrapy_rep.stores.plain import to_plain

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.stores import Store
    from scrapy_rep.stores.stored import StoredEntry

_STEP = 500
"""Entries that are changed before what is queued is written."""


def needs_crawl(options: Namespace) -> bool:
    """Return False: a store is read without a crawl."""
    return False


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Do to the store what the action says."""
    settings, _ = settings_with_spider(command.project, options)
    policy = settings_of(settings).policy
    if options.action in ("forget", "expire"):
        _check_selection(options)
    with configured_store(settings, create=options.action == "import") as store:
        act = {
            "count": _count,
            "list": _list,
            "show": _show,
            "forget": _forget,
            "expire": _expire,
            "prune": _prune,
            "leases": _leases,
            "export": _export,
            "import": _import,
        }[options.action]
        return act(store, options, policy)


def _check_selection(options: Namespace) -> None:
    """Raise ``EndingError`` unless URLs, filters or ``--all`` say what is meant."""
    filters = options.prefix or options.state or options.cause or options.older_than is not None
    if bool(options.urls) == bool(filters or options.all):
        raise usage_error("select entries by URLs, or by filters such as --prefix, or select --all")


def _selected(store: Store, options: Namespace) -> Iterator[StoredEntry]:
    now = time.time()
    for stored in store.scan(options.prefix):
        if options.older_than is not None and stored.age(now) < options.older_than:
            continue
        if options.state and _state(stored) not in options.state:
            continue
        failure = stored.entry.failure
        if options.cause and (failure is None or options.cause not in failure.cause):
            continue
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


def _summary(stored: StoredEntry, policy: Policy) -> dict[str, Any]:
    now = time.time()
    answer, failure = stored.entry.answer, stored.entry.failure
    return {
        "authority": str(stored.authority),
        "state": _state(stored),
        "worth": stored.state(now, policy).value,
        "age": round(stored.age(now), 3),
        "status": answer.status if answer is not None else None,
        "octets": len(answer.body) if answer is not None and answer.body is not None else None,
        "refusals": len(stored.refusals),
        "cause": failure.cause if failure is not None else None,
        "failing_for": round(max(0.0, now - failure.since), 3) if failure is not None else None,
    }


def _count(store: Store, options: Namespace, policy: Policy) -> Status:
    plain = options.older_than is None and not options.state and not options.cause
    number = store.count(options.prefix) if plain else sum(1 for _ in _selected(store, options))
    say(json.dumps({"authorities": number}))
    return Status.CLEAN


def _list(store: Store, options: Namespace, policy: Policy) -> Status:
    for stored in _selected(store, options):
        say(json.dumps(_summary(stored, policy)))
    return Status.CLEAN


def _show(store: Store, options: Namespace, policy: Policy) -> Status:
    if not options.urls:
        raise usage_error("name the URLs to show")
    status = Status.CLEAN
    for authority in map(authority_named, options.urls):
        stored = store.find(authority)
        if stored is None:
            note("cache show", f"the store knows nothing of {authority}")
            status = Status.FOUND
        else:
            say(json.dumps({**_summary(stored, policy), "entry": to_plain(stored)}))
    return status


def _forget(store: Store, options: Namespace, policy: Policy) -> Status:
    number = 0
    for number, stored in enumerate(_named(store, options), 1):
        store.forget(stored.authority)
        if number % _STEP == 0:
            store.flush()
    say(json.dumps({"forgotten": number}))
    return Status.CLEAN


def _expire(store: Store, options: Namespace, policy: Policy) -> Status:
    number = sum(store.expire(stored.authority) for stored in _named(store, options))
    say(json.dumps({"expired": number}))
    return Status.CLEAN


def _named(store: Store, options: Namespace) -> list[StoredEntry]:
    """Return the entries that URLs or filters select; all of them before the first is changed."""
    if not options.urls:
        return [*_selected(store, options)]
    found = [store.find(authority_named(url)) for url in options.urls]
    return [stored for stored in found if stored is not None]


def _prune(store: Store, options: Namespace, policy: Policy) -> Status:
    say(json.dumps({"pruned": store.prune()}))
    return Status.CLEAN


def _leases(store: Store, options: Namespace, policy: Policy) -> Status:
    for lease in store.leases():
        say(json.dumps({"authority": str(lease.authority), "seconds": round(lease.seconds, 3)}))
    return Status.CLEAN


def _export(store: Store, options: Namespace, policy: Policy) -> Status:
    for stored in _selected(store, options):
        say(json.dumps(to_plain(stored)))
    return Status.CLEAN


def _import(store: Store, options: Namespace, policy: Policy) -> Status:
    lines = [line for line in read(options.source).split(b"\n") if line.strip()]
    try:
        number = store.import_(map(_parsed, lines))
    except ValueError as error:
        raise usage_error(f"{options.source}: {error}") from None
    say(json.dumps({"imported": number}))
    return Status.CLEAN


def _parsed(line: bytes) -> object:
    """Return the value of a line of JSON; None, which the store refuses, for another line."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
