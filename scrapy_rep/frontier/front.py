"""Requests that were read ahead from a scheduler that cannot be asked for those of one site."""

from __future__ import annotations

import logging
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

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
        """All of them, heads included, as the base gave them out."""
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
