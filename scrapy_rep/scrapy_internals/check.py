"""The check of all undocumented names, made once when a crawl starts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

from scrapy_rep.scrapy_internals.listeners import DISPATCHER
from scrapy_rep.scrapy_internals.names import NAMES, Feature, Place, PrivateName

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


@dataclass(frozen=True, slots=True)
class Report:
    """What the check found: reasons to end the crawl, and features that are off.

    ``absent`` holds the features that a custom downloader does not offer. That is not an error.
    """

    fatal: tuple[str, ...]
    off: tuple[tuple[Feature, str], ...]
    absent: frozenset[Feature]


def check(crawler: Crawler) -> Report:
    """Look up every undocumented name; the spider is open."""
    fatal: list[str] = []
    off: dict[Feature, str] = {}
    absent: set[Feature] = set()
    lost: set[Place] = set()
    for holder, entries in _grouped():
        if holder in lost:
            continue
        try:
            found = _FINDERS[holder](crawler)
        except TypeError as error:
            off.setdefault(Feature.SLOTS, f"{holder.value} cannot be made ({error})")
            continue
        if found is None:
            continue
        thing, is_scrapys = found
        for entry in entries:
            if _has(thing, entry):
                continue
            lost |= _behind(entry)
            if not is_scrapys and entry.feature is not Feature.DOWNLOADER:
                absent.add(entry.feature)
            elif entry.feature.without is None:
                fatal.append(str(entry))
            else:
                off.setdefault(entry.feature, str(entry))
    return Report(tuple(fatal), tuple(off.items()), frozenset(absent))


def _grouped() -> Iterator[tuple[Place, list[PrivateName]]]:
    for place in Place:
        yield place, [entry for entry in NAMES if entry.place is place]


def _behind(entry: PrivateName) -> set[Place]:
    """Return the objects that cannot be reached without a name."""
    return {
        (Place.ENGINE, "_slot"): {Place.ENGINE_SLOT},
        (Place.ENGINE, "downloader"): {
            Place.DOWNLOADER,
            Place.MIDDLEWARES,
            Place.MODULE,
            Place.SLOT,
            Place.HANDLERS,
        },
        (Place.DOWNLOADER, "middleware"): {Place.MIDDLEWARES},
        (Place.DOWNLOADER, "slots"): {Place.MODULE, Place.SLOT},
        (Place.MODULE, "Slot"): {Place.SLOT},
        (Place.DOWNLOADER, "handlers"): {Place.HANDLERS},
    }.get((entry.place, entry.name), set())


_KINDS: dict[tuple[Place, str], type[Any]] = {
    (Place.DOWNLOADER, "active"): AbstractSet,
    (Place.DOWNLOADER, "total_concurrency"): int,
    (Place.DOWNLOADER, "slots"): dict,
    (Place.DOWNLOADER, "per_slot_settings"): dict,
    (Place.DOWNLOADER, "domain_concurrency"): int,
    (Place.MIDDLEWARES, "methods"): dict,
    (Place.SLOT, "active"): AbstractSet,
    (Place.SLOT, "transferring"): AbstractSet,
    (Place.SLOT, "concurrency"): int,
}
"""What a name must stand for. A custom downloader may use it for something else."""

_SET_HERE = (Place.DOWNLOADER, "total_concurrency")


def _has(thing: Any, entry: PrivateName) -> bool:
    if isinstance(thing, dict):
        return entry.name in thing
    key = (entry.place, entry.name)
    try:
        value = attrgetter(entry.name)(thing)
        if key == _SET_HERE:
            setattr(thing, entry.name, value)
    except AttributeError:
        return False
    return isinstance(value, _KINDS.get(key, object))


_Found = tuple[Any, bool] | None
"""An object and whether it is Scrapy's own; ``None`` if this crawl has none to look at."""


def _scrapys_downloader() -> Any:
    return load_object(default_settings.DOWNLOADER)


def _downloader(crawler: Crawler) -> _Found:
    downloader = crawler.engine.downloader
    return downloader, isinstance(downloader, _scrapys_downloader())


def _module(crawler: Crawler) -> _Found:
    cls = _scrapys_downloader()
    is_scrapys = isinstance(crawler.engine.downloader, cls)
    return (sys.modules[cls.__module__], True) if is_scrapys else None


def _middlewares(crawler: Crawler) -> _Found:
    downloader: Any = crawler.engine.downloader
    return downloader.middleware, isinstance(downloader, _scrapys_downloader())


def _slot(crawler: Crawler) -> _Found:
    """Return a slot that nothing uses: Scrapy's own, or one of those that a custom class makes."""
    downloader: Any = crawler.engine.downloader
    if type(downloader)._get_slot is _scrapys_downloader()._get_slot:  # noqa: SLF001
        module = _module(crawler)
        return (module[0].Slot(1, 0.0, 0.0), True) if module is not None else None
    probe = Request("http://robots.invalid/")
    try:
        key, slot = downloader._get_slot(probe)  # noqa: SLF001
    except Exception:  # noqa: BLE001  # whatever it is, it is not what Scrapy has by this name
        return object(), False
    downloader.slots.pop(key, None)
    return slot, False


def _exchanges(crawler: Crawler) -> _Found:
    downloader: Any = crawler.engine.downloader
    is_scrapys = isinstance(downloader, _scrapys_downloader())
    return (downloader.handlers, is_scrapys) if hasattr(downloader, "handlers") else None


def _proxy_meta(_: Crawler) -> _Found:
    request = Request("http://a.example/", meta={"proxy": "http://user:word@p.example:1"})
    HttpProxyMiddleware().process_request(request)
    return request.meta, True


def _later(_: Crawler) -> _Found:
    """Handlers are made when they are first used; then their names are looked up."""
    return None


_FINDERS: dict[Place, Callable[[Crawler], _Found]] = {
    Place.ENGINE: lambda crawler: (crawler.engine, True),
    Place.ENGINE_SLOT: lambda crawler: (crawler.engine._slot, True),  # noqa: SLF001
    Place.DOWNLOADER: _downloader,
    Place.MIDDLEWARES: _middlewares,
    Place.MODULE: _module,
    Place.SLOT: _slot,
    Place.HANDLERS: _exchanges,
    Place.HANDLER: _later,
    Place.CONNECTOR: _later,
    Place.SIGNALS: lambda crawler: (crawler.signals, True),
    Place.DISPATCHER: lambda _: (DISPATCHER, True),
    Place.PROXY_META: _proxy_meta,
}
