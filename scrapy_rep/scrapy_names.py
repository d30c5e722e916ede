"""The uses of what Scrapy does not document, and the check of them when a crawl starts.

Those of Scrapy's default priority queue are used by its subclass in
:mod:`scrapy_rep.frontier.queues`.

A name that is necessary and missing ends the crawl with one line. One that is optional switches off
what needs it, with one line. The crawl never changes silently.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import scrapy
from scrapy import Request
from scrapy.core.downloader import Downloader, Slot
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.squeues import LifoMemoryQueue
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger("scrapy_rep")

ACTIVE: Final = "engine.downloader.active"
TOTAL: Final = "engine.downloader.total_concurrency"
CLOSING: Final = "engine._slot.closing"
IN_PROGRESS: Final = "engine._slot.inprogress"
WAKING: Final = "engine._slot.nextcall.schedule"
HANDLER: Final = "engine.downloader.handlers._get_handler"
SLOTS: Final = "engine.downloader.slots"
PROXY_LOGIN: Final = "_auth_proxy"
LIMIT: Final = "_session.connector._limit"
QUEUES: Final = "DownloaderAwarePriorityQueue.pqueues"
NEW_QUEUE: Final = "DownloaderAwarePriorityQueue.pqfactory"
TOP: Final = "ScrapyPriorityQueue.curprio"

_OF_QUEUE: Final = {
    QUEUES: DownloaderAwarePriorityQueue,
    NEW_QUEUE: DownloaderAwarePriorityQueue,
    TOP: ScrapyPriorityQueue,
}
_NO_QUEUES: Final = "sites have no queues of their own, and those that wait may hold up others"

NAMES: Final[dict[str, str | None]] = {
    ACTIVE: None,
    CLOSING: None,
    TOTAL: "requests that wait, and fetches of robots.txt, count towards CONCURRENT_REQUESTS",
    IN_PROGRESS: "a queue in Redis takes a request for done before its callback is",
    WAKING: "requests that have waited may start up to five seconds late",
    HANDLER: "a robots.txt that nothing waits for any more is downloaded until REP_TIMEOUT",
    SLOTS: "the downloader slot of each fetch of a robots.txt stays for one or two minutes",
    PROXY_LOGIN: "the robots.txt for a retried page is fetched without its proxy's login",
    LIMIT: "fetches of robots.txt share the connections of CONCURRENT_REQUESTS with pages",
    **dict.fromkeys(_OF_QUEUE, _NO_QUEUES),
}
"""The names, and what happens without each; None if the crawl ends.

They lead from the crawler on, :data:`LIMIT` from a download handler, those of a queue from its
class. :data:`PROXY_LOGIN` is what HttpProxyMiddleware leaves in the meta of a request.
"""

UNBOUND: Final = "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"
"""The handler whose connections are limited to CONCURRENT_REQUESTS: that without a reactor.

Scrapy 2.15 to 2.18 use another handler, whose limit is not changed (see "Limits" in the documents).
"""


def has_headers(request: Request) -> bool:
    """Return False if no headers were set.

    Scrapy 2.15 and newer make them when they are first looked at, and they take 424 octets.
    """
    return getattr(request, "_headers", True) is not None


def modules_that_download(settings: BaseSettings, scheme: str) -> list[str]:
    """Return the modules of the class that downloads by a scheme, and of its bases."""
    handler = settings.getwithbase("DOWNLOAD_HANDLERS").get(scheme)
    kinds = getattr(load_object(handler), "__mro__", ()) if handler is not None else ()
    return [kind.__module__ for kind in kinds]


class UnknownScrapyError(Exception):
    """The installed Scrapy lacks a name without which robots.txt cannot be obeyed."""


class ScrapyNames:
    """What this package asks and changes of the engine and the downloader of one crawl."""

    def __init__(self, crawler: Crawler):
        self._crawler: Any = crawler
        self._missing: list[str] = []
        self._unknown: str | None = None
        self._is_checked = False
        self._missing_of_queue: set[str] = set()
        self._lent = self._limit = 0
        """The places that are lent, and how many requests the downloader may have without them."""
        self._total: int | None = None
        """How many it may have with them, as it was set last."""

    def check(self) -> None:
        """Look up every name, the first time that this is called for an open spider.

        Raises :class:`UnknownScrapyError`, at every call, if the crawl has to end.
        """
        if not self._is_checked and self._crawler.spider is not None:
            self._is_checked = True
            self._missing = [name for name in NAMES if not self._has(name)]
            for name in self._missing:
                self._lack(name)
        if self._unknown is not None:
            raise UnknownScrapyError(self._unknown)

    def has_queues(self) -> bool:
        """Return whether Scrapy's default priority queue has what a queue for each site needs.

        Call this before :meth:`check`, and only if that is the queue of the crawl.
        """
        for name, cls in _OF_QUEUE.items():
            queue = cls(self._crawler, LifoMemoryQueue, "")
            if not hasattr(queue, name.rpartition(".")[2]):
                self._missing_of_queue.add(name)
        return not self._missing_of_queue

    def _has(self, name: str) -> bool:
        if name in _OF_QUEUE:
            return name not in self._missing_of_queue
        if name == PROXY_LOGIN:
            request = Request("http://a.example/", meta={"proxy": "http://user:word@p.example:1"})
            HttpProxyMiddleware().process_request(request)
            return name in request.meta
        if name == LIMIT:  # handlers are made when they are first used
            return True
        try:
            value = attrgetter(name)(self._crawler)
            if name == TOTAL:
                self._crawler.engine.downloader.total_concurrency = value
        except AttributeError:
            return False
        return isinstance(value, int) if name == TOTAL else True

    def _lack(self, name: str) -> None:
        message = f"scrapy_rep does not know this Scrapy {scrapy.__version__}: there is no {name}"
        if (without := NAMES[name]) is not None:
            if isinstance(getattr(self._crawler.engine, "downloader", None), Downloader):
                logger.warning("%s; %s", message, without)  # otherwise it is the user's choice
        elif self._unknown is None:
            self._unknown = message

    @property
    def active(self) -> AbstractSet[Request]:
        """The requests that the downloader has, from the first middleware to the last."""
        active: AbstractSet[Request] = self._crawler.engine.downloader.active
        return active

    @property
    def in_progress(self) -> AbstractSet[Request]:
        """The requests that the engine has, until their callbacks have ended."""
        slot = self._crawler.engine._slot  # noqa: SLF001
        if IN_PROGRESS in self._missing:
            return self.active
        in_progress: AbstractSet[Request] = frozenset() if slot is None else slot.inprogress
        return in_progress

    def lend(self, places: int) -> None:
        """Change how many requests the downloader may have; do nothing if there is no limit.

        If that was changed meanwhile, as in the telnet console, it is the operator's limit now.
        """
        downloader = self._crawler.engine.downloader
        if TOTAL in self._missing:
            return
        self._lent += places
        if downloader.total_concurrency != self._total:
            self._limit = downloader.total_concurrency
        if self._limit > 0:
            downloader.total_concurrency = self._total = self._limit + self._lent

    def run_by(self, key: str, scheme: str) -> None:
        """Let the object under ``key`` in the meta of a request run its download, to end it early.

        Its ``run`` is called with the method of the handler for ``scheme``, and the request. Scrapy
        itself has no way to cancel one. Without a reactor, the connections of that handler are no
        longer limited: the downloader limits the requests already, and lends fetches of robots.txt
        their places.
        """
        if HANDLER in self._missing:
            return
        handler = self._crawler.engine.downloader.handlers._get_handler(scheme)  # noqa: SLF001
        if handler is None or isinstance(handler.download_request, _Downloads):
            return
        if iscoroutinefunction(handler.download_request):
            handler.download_request = _Downloads(handler.download_request, key)
        if f"{type(handler).__module__}.{type(handler).__qualname__}" == UNBOUND:
            try:
                if attrgetter(LIMIT)(handler):
                    handler._session.connector._limit = 0  # noqa: SLF001
                    handler._session.connector._limit_per_host = 0  # noqa: SLF001
            except AttributeError:
                self._lack(LIMIT)

    def remove_slot(self, key: str) -> None:
        """Remove a downloader slot that is not used again, unless a request is in it.

        Scrapy keeps it for one or two minutes, and 1.5 KiB with it: 10 of 244 MiB in a broad crawl
        of 10,000 sites.
        """
        if SLOTS in self._missing:
            return
        slots = self._crawler.engine.downloader.slots
        slot = slots.get(key)
        # Without asyncio, a request that is cancelled leaves ``active`` before its download ends.
        if isinstance(slot, Slot) and not (slot.active or slot.transferring):
            del slots[key]
            slot.close()

    @property
    def is_closing(self) -> bool:
        """Whether the spider is being closed, or is not open: nothing new should begin."""
        slot = self._crawler.engine._slot  # noqa: SLF001
        return slot is None or slot.closing is not None

    @property
    def is_over(self) -> bool:
        """Whether the downloader is closed, or about to be; a download begun now never ends."""
        slot = self._crawler.engine._slot  # noqa: SLF001
        return slot is None or (slot.closing is not None and slot.closing.called)

    def wake(self) -> None:
        """Make the engine ask the scheduler now. Otherwise it does so when a request has ended."""
        if WAKING not in self._missing and not self.is_closing:
            self._crawler.engine._slot.nextcall.schedule()  # noqa: SLF001


class _Downloads:
    """``download_request`` of a handler, which lets some requests run their own download."""

    def __init__(self, download: Callable[[Request], Coroutine[Any, Any, Response]], key: str):
        self._download = download
        self._key = key

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        runner = request.meta.get(self._key)
        return self._download(request) if runner is None else runner.run(self._download, request)
