"""Requests that were read ahead from a scheduler that cannot be asked for those of one site.

When the crawl closes, they go back to the scheduler, in the order in which they came out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals
from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from scrapy_rep.frontier.request_state import to_come_back
from scrapy_rep.robotstxt.printable import without_credentials

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_rep.stats import RepStats

logger = logging.getLogger("scrapy_rep")

_MOST: Final = 1_000
"""The most requests in a front."""

_SHARE: Final = 4
"""Over a scheduler that is not Scrapy's, at most this many times CONCURRENT_REQUESTS.

There each request may be a round trip, and a worker that is killed loses what it has read ahead.
"""


def is_scrapys_scheduler(settings: BaseSettings) -> bool:
    """Return whether the scheduler of a crawl is Scrapy's, or inherits from it."""
    return Scheduler in getattr(load_object(settings["SCHEDULER"]), "__mro__", ())


def _name_of(configured: Any) -> str:
    """Return the import path of a component of a project, which the add-on may have wrapped."""
    found = load_object(configured)
    bases = getattr(found, "__mro__", ())
    own = (base for base in bases if not base.__module__.startswith("scrapy_rep."))
    return global_object_name(next(own, found))


class Front:
    """Requests by site; within a site by priority, then as the base gave them out."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self._is_scrapys = is_scrapys_scheduler(settings)
        share = 0 if self._is_scrapys else _SHARE * settings.getint("CONCURRENT_REQUESTS")
        self._most = min(_MOST, share or _MOST)
        self._has_stalled = False
        self.requests: dict[Request, None] = {}
        """All requests, heads included, in the order in which the base gave them out."""
        self._numbers = count()
        self._of_site: dict[str, list[tuple[int, int, Request]]] = {}

    def push(self, key: str, request: Request) -> None:
        """Add a request that is among :attr:`requests`."""
        item = -request.priority, next(self._numbers), request
        heappush(self._of_site.setdefault(key, []), item)

    def take(self, key: str) -> Request | None:
        """Return the next request of a site."""
        items = self._of_site.get(key)
        if not items:
            return None
        request = heappop(items)[2]
        if not items:
            del self._of_site[key]
        return request

    def top(self, key: str) -> int | None:
        """Return the priority of the next request of a site, None if there is none."""
        items = self._of_site.get(key)
        return -items[0][0] if items else None

    def is_full(self) -> bool:
        """Return whether no more may be read ahead while no site is ready; log it once."""
        if len(self.requests) < self._most:
            return False
        if not self._has_stalled:
            self._has_stalled = True
            setting, usual = "SCHEDULER", "scrapy_rep.RepScheduler"
            if self._is_scrapys:
                setting = "SCHEDULER_PRIORITY_QUEUE"
                usual = global_object_name(DownloaderAwarePriorityQueue)
            elif self._settings.get("SCHEDULER_QUEUE_CLASS"):  # scrapy-redis
                setting, usual = "SCHEDULER_QUEUE_CLASS", "scrapy_rep.redis_queue.HostQueue"
            logger.warning(
                '%d requests wait for their sites, and %s = "%s" has one queue for all sites, so '
                'those behind them wait as well. %s = "%s" has one for each',
                len(self.requests),
                setting,
                _name_of(self._settings[setting]),
                setting,
                usual,
            )
        return True

    def give_back(
        self, enqueue: Callable[[Request], bool], crawler: Crawler, stats: RepStats
    ) -> None:
        """Give all requests back to the scheduler, which is about to close."""
        requests, self.requests = self.requests, {}
        where = "DISK" if self._settings["JOBDIR"] else "MEMORY"
        queue = load_object(self._settings[f"SCHEDULER_{where}_QUEUE"])
        start_queue = load_object(self._settings[f"SCHEDULER_START_{where}_QUEUE"] or queue)
        first_first, last_first = in_order_of_queues(requests, queue, start_queue)
        for request in first_first + last_first:
            if not _is_kept(request, enqueue, stats):
                page = without_credentials(request.url)
                logger.warning("The scheduler did not take back <%s>; it is lost", page)
                crawler.signals.send_catch_log(
                    signals.request_dropped, request=request, spider=crawler.spider
                )


def in_order_of_queues(
    requests: Iterable[Request], queue: type[Any], start_queue: type[Any]
) -> tuple[list[Request], list[Request]]:
    """Return the requests of FIFO queues and those of LIFO queues, in the order to push them in.

    A LIFO queue gets them in reverse, so that it gives them out in the order that they had.
    Start requests may have a queue of their own.
    """
    first_first: list[Request] = []
    last_first: list[Request] = []
    for request in requests:
        its_queue = start_queue if request.meta.get("is_start_request") else queue
        (last_first if _is_last_first(its_queue) else first_first).append(request)
    return first_first, last_first[::-1]


def _is_last_first(queue: type[Any]) -> bool:
    """Return whether a queue is LIFO: it gives out first what it got last.

    The classes of Scrapy's own queues are made by functions, and only a base has a telling name.
    """
    return any("lifo" in base.__name__.lower() for base in queue.__mro__)


def _is_kept(request: Request, enqueue: Callable[[Request], bool], stats: RepStats) -> bool:
    try:
        return enqueue(to_come_back(request))
    except Exception as error:  # noqa: BLE001  # a custom scheduler may raise anything
        stats.own_fault("Giving a request back to the scheduler", error, "the request is lost")
        return False
