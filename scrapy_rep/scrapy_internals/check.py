"""The check of all undocumented names, made once when a crawl starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
        found = _FINDERS[holder](crawler)
        if found is None:
            continue
        thing, is_scrapys = found
        for entry in entries:
            if _has(thing, entry):
                continue
            lost |= _behind(entry)
            if not is_scrapys:
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
    if (entry.holder, entry.name) == (Holder.DOWNLOADER, "handlers"):
        return {Holder.HANDLERS}
    return set()


def _has(thing: Any, entry: PrivateName) -> bool:
    return entry.name in thing if isinstance(thing, dict) else hasattr(thing, entry.name)


_Found = tuple[Any, bool] | None
"""An object and whether it is Scrapy's own; ``None`` if this crawl has none to look at."""


def _scrapys_downloader() -> Any:
    return load_object(default_settings.DOWNLOADER)


def _downloader(crawler: Crawler) -> _Found:
    downloader = crawler.engine.downloader
    return downloader, isinstance(downloader, _scrapys_downloader())


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
    Holder.DOWNLOADER: _downloader,
    Holder.HANDLERS: _exchanges,
    Holder.HANDLER: _later,
    Holder.CONNECTOR: _later,
    Holder.SIGNALS: lambda crawler: (crawler.signals, True),
    Holder.DISPATCHER: lambda _: (DISPATCHER, True),
    Holder.PROXY_META: _proxy_meta,
}
