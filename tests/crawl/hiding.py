"""Renames one undocumented name of Scrapy, for this package alone.

Scrapy itself goes on working: a name is renamed everywhere in a new version, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.utils.misc import load_object

from scrapy_rep.scrapy_internals import NAMES, PrivateName
from scrapy_rep.scrapy_internals.names import Holder

Undo = Callable[[], Any]


def hide(entry: PrivateName) -> Undo:
    """The name is gone from where the table says that it is, until what is returned is called."""
    if entry.holder is Holder.PROXY_META:
        return _hide_in_meta(entry.name)
    if entry.holder is Holder.DISPATCHER:
        return _hide_in_module(entry)
    return _hide_in_class(load_object(entry.path), entry.name)


@contextmanager
def hidden(entry: PrivateName) -> Iterator[None]:
    """The name is gone for as long as this lasts."""
    undo = hide(entry)
    try:
        yield
    finally:
        undo()


class HidingExtension:
    """Hides the name of the table whose number is the setting HIDDEN, for good."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HidingExtension:
        """The extension, for a crawl in a process of its own."""
        hide(NAMES[crawler.settings.getint("HIDDEN")])
        return cls()


def _hide_in_class(cls: Any, name: str) -> Undo:
    original = cls.__getattribute__

    def without(self: Any, asked: str) -> Any:
        caller: str = sys._getframe(1).f_globals["__name__"]
        if asked == name and caller.startswith("scrapy_rep"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return original(self, asked)

    cls.__getattribute__ = without
    return lambda: delattr(cls, "__getattribute__")


def _hide_in_module(entry: PrivateName) -> Undo:
    """The function is gone from its module."""
    module = sys.modules[entry.path]
    thing = getattr(module, entry.name)
    delattr(module, entry.name)
    return lambda: setattr(module, entry.name, thing)


def _hide_in_meta(name: str) -> Undo:
    original = HttpProxyMiddleware.process_request

    def process_request(self: Any, request: Any) -> Any:
        result = original(self, request)
        request.meta.pop(name, None)
        return result

    HttpProxyMiddleware.process_request = process_request  # type: ignore[method-assign]
    return lambda: setattr(HttpProxyMiddleware, "process_request", original)
