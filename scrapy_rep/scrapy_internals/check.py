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
from scrapy_rep.scrapy_internals.names import NAMES, Feature, Holder, PrivateName

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
    """Look up every undocumented name. The spider must be open."""
    fatal: list[str] = []
    off: dict[Feature, str] = {}
    absent: set[Feature] = set()
    lost: set[Holder] = set()
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


def _grouped() -> Iterator[tuple[Holder, list[PrivateName]]]:
    for holder in Holder:
        yield holder, [entry for entry in NAMES if entry.holder is holder]


def _behind(entry: PrivateName) -> set[Holder]:
    """Return the objects that cannot be reached without a name."""
    return {
        (Holder.ENGINE, "_slot"): {Holder.ENGINE_SLOT},
        (Holder.ENGINE, "downloader"): {
            Holder.DOWNLOADER,
            Holder.MIDDLEWARES,
            Holder.MODULE,
            Holder.SLOT,
            Holder.HANDLERS,
        },
        (Holder.DOWNLOADER, "middleware"): {Holder.MIDDLEWARES},
        (Holder.DOWNLOADER, "slots"): {Holder.MODULE, Holder.SLOT},
        (Holder.MODULE, "Slot"): {Holder.SLOT},
        (Holder.DOWNLOADER, "handlers"): {Holder.HANDLERS},
    }.get((entry.holder, entry.name), set())


_KINDS: dict[tuple[Holder, str], type[Any]] = {
    (Holder.DOWNLOADER, "active"): AbstractSet,
    (Holder.DOWNLOADER, "total_concurrency"): int,
    (Holder.DOWNLOADER, "slots"): dict,
    (Holder.DOWNLOADER, "per_slot_settings"): dict,
    (Holder.DOWNLOADER, "domain_concurrency"): int,
    (Holder.MIDDLEWARES, "methods"): dict,
    (Holder.SLOT, "active"): AbstractSet,
    (Holder.SLOT, "transferring"): AbstractSet,
    (Holder.SLOT, "concurrency"): int,
}
"""The type of what a name stands for. A custom downloader may use the name otherwise."""

_SET_HERE = (Holder.DOWNLOADER, "total_concurrency")


def _has(thing: Any, entry: PrivateName) -> bool:
    if isinstance(thing, dict):
        return entry.name in thing
    key = (entry.holder, entry.name)
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
    """Return an unused slot of Scrapy's class, or of the class that a custom downloader uses."""
    downloader: Any = crawler.engine.downloader
    if type(downloader)._get_slot is _scrapys_downloader()._get_slot:  # noqa: SLF001
        module = _module(crawler)
        return (module[0].Slot(1, 0.0, 0.0), True) if module is not None else None
    probe = Request("http://robots.invalid/")
    try:
        key, slot = downloader._get_slot(probe)  # noqa: SLF001
    except Exception:  # noqa: BLE001  # then the name means something else here
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
    """Return ``None``: handlers are made, and their names looked up, when they are first used."""
    return None


_FINDERS: dict[Holder, Callable[[Crawler], _Found]] = {
    Holder.ENGINE: lambda crawler: (crawler.engine, True),
    Holder.ENGINE_SLOT: lambda crawler: (crawler.engine._slot, True),  # noqa: SLF001
    Holder.DOWNLOADER: _downloader,
    Holder.MIDDLEWARES: _middlewares,
    Holder.MODULE: _module,
    Holder.SLOT: _slot,
    Holder.HANDLERS: _exchanges,
    Holder.HANDLER: _later,
    Holder.CONNECTOR: _later,
    Holder.SIGNALS: lambda crawler: (crawler.signals, True),
    Holder.DISPATCHER: lambda _: (DISPATCHER, True),
    Holder.PROXY_META: _proxy_meta,
}
