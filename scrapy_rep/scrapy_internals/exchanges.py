"""The calls of download handlers, so that a download can be checked, decoded and ended early."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_rep.scrapy_internals.names import NAMES, Feature, Holder

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.scrapy_internals.switches import Switches

    Download = Callable[[Request], Coroutine[Any, Any, Response]]

_HANDLER = next(entry.path for entry in NAMES if entry.holder is Holder.HANDLER)


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

        Its ``run`` is called with the download, the request and the download handler. Other
        requests are not affected. If :attr:`can_be_run` is false, this does nothing, and a download
        cannot be ended early.
        """
        if not self.can_be_run:
            return
        handlers: Any = self._crawler.engine.downloader.handlers
        download = handlers.download_request_async
        if not isinstance(download, _Download):
            handlers.download_request_async = _Download(download, key, self)

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
        transport = self._exchanges.transport_of(urlsplit(request.url).scheme)
        coroutine: Coroutine[Any, Any, Response] = runner.run(self._download, request, transport)
        return coroutine
