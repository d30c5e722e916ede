"""The calls of download handlers, so that a download can be checked, decoded and ended early.

Scrapy does not say what a handler does with requests and bodies. So its class is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy

from scrapy_rep.scrapy_internals.names import NAMES, Feature, Holder

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.scrapy_internals.switches import Switches

    Download = Callable[[Request], Coroutine[Any, Any, Response]]

_HANDLER = next(entry.path for entry in NAMES if entry.holder is Holder.HANDLER)

_HANDLERS = "scrapy.core.downloader.handlers"

_SILENT = {f"{_HANDLERS}.http10"}
"""Modules of Scrapy whose handlers send no ``bytes_received``."""

if scrapy.version_info < (2, 18):
    _SILENT.add(f"{_HANDLERS}.http2")


class Exchanges:
    """The downloads of a crawl."""

    def __init__(self, crawler: Crawler, on: Switches):
        self._crawler = crawler
        self._on = on

    @property
    def can_be_run(self) -> bool:
        """Whether :meth:`run_by` works; a custom downloader may not allow it."""
        return Feature.EXCHANGES in self._on

    def run_by(self, key: str) -> None:
        """Have the object under ``key`` in the meta of a request run its download.

        Its ``run`` is called with the download, the request, and whether each chunk of the body
        will be announced by ``bytes_received``. Other requests are not affected. If
        :attr:`can_be_run` is false, this does nothing, and a download cannot be ended early.
        """
        if not self.can_be_run:
            return
        handlers: Any = self._crawler.engine.downloader.handlers
        download = handlers.download_request_async
        if not isinstance(download, _Download):
            handlers.download_request_async = _Download(download, key, self)

    def negotiates(self, scheme: str) -> bool:
        """Return True if the handler for a scheme agrees with the server on the form of a body.

        Zyte API's does: it warns of each request that has an ``Accept`` or ``Accept-Encoding``.
        """
        kinds = type(self.transport_of(scheme)).__mro__
        return any(kind.__module__.partition(".")[0] == "scrapy_zyte_api" for kind in kinds)

    def transport_of(self, scheme: str) -> Any:
        """Return the download handler for URLs of ``scheme``, ``None`` if it is unknown."""
        if not self.can_be_run or Feature.HANDLERS not in self._on:
            return None
        handlers: Any = self._crawler.engine.downloader.handlers
        return handlers._get_handler(scheme)  # noqa: SLF001

    def unbind(self) -> None:
        """Lift the handler's limit of connections; the downloader limits the requests already.

        Without a Twisted reactor Scrapy's handler has at most CONCURRENT_REQUESTS connections, and
        the fetches of robots.txt files need more.
        """
        if Feature.CONNECTIONS not in self._on:
            return
        handlers: Any = self._crawler.engine.downloader.handlers
        for handler in handlers._handlers.values():  # noqa: SLF001
            if f"{type(handler).__module__}.{type(handler).__qualname__}" == _HANDLER:
                try:
                    connector: Any = handler._session.connector  # noqa: SLF001
                    if connector._limit:  # noqa: SLF001
                        connector._limit = 0  # noqa: SLF001  # there is no public way
                except AttributeError as error:
                    self._on.turn_off(Feature.CONNECTIONS, str(error))


class _Download:
    """``download_request_async`` of a crawl, which lets some requests run their own download."""

    __slots__ = ("_download", "_exchanges", "_key")

    def __init__(self, download: Download, key: str, exchanges: Exchanges):
        self._download = download
        self._key = key
        self._exchanges = exchanges

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        runner = request.meta.get(self._key)
        if runner is None:
            return self._download(request)
        self._exchanges.unbind()
        announced = sends_octets(self._exchanges.transport_of(urlsplit(request.url).scheme))
        coroutine: Coroutine[Any, Any, Response] = runner.run(self._download, request, announced)
        return coroutine


def sends_octets(transport: Any) -> bool:
    """Return True if a download handler sends ``bytes_received`` for each chunk of a body.

    Scrapy's own ``download_request`` does so. A handler with a different one, even if it inherits
    from Scrapy's, may read a whole body before it sends a signal. An unknown handler, ``None``, may
    do that, too.
    """
    for kind in type(transport).__mro__:
        if "download_request" in vars(kind):
            return kind.__module__.startswith("scrapy.") and kind.__module__ not in _SILENT
    return False
