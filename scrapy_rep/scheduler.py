"""The scheduler: Scrapy's, or any other one, that hands out no request whose site has to wait.

Which request goes next is decided in :mod:`scrapy_rep.frontier`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from twisted.internet.defer import Deferred

from scrapy_rep.frontier.frontier import frontier_of
from scrapy_rep.frontier.queues import FrontierQueue
from scrapy_rep.robotstxt.printable import printable_error, without_credentials
from scrapy_rep.settings import check_obeyed

if TYPE_CHECKING:
    from scrapy import Request, Spider

    from scrapy_rep.frontier.frontier import Frontier


logger = logging.getLogger("scrapy_rep")


class RepSchedulerMixin:
    """Mixed into a scheduler class, keeps requests in their queue until their site is ready.

    ``class MyScheduler(scrapy_rep.RepSchedulerMixin, Base): pass`` wraps a custom scheduler. If
    :class:`RepDownloaderMiddleware` is not enabled, the scheduler works as without this class.
    """

    _frontier: Frontier | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the base, with a queue for each site in place of Scrapy's default one."""
        crawler = kwargs.get("crawler")
        frontier = None if crawler is None else frontier_of(crawler)
        is_default = kwargs.get("pqclass") is DownloaderAwarePriorityQueue
        if is_default and frontier is not None and frontier.scrapy.has_queues():
            kwargs["pqclass"] = FrontierQueue
        super().__init__(*args, **kwargs)

    def open(self, spider: Spider) -> Any:
        """Open the base, whose queues then find the frontier.

        Raises ``ValueError`` if robots.txt is to be obeyed, but no middleware obeys it.
        """
        base: Any = super()
        frontier = self._frontier = frontier_of(spider.crawler)
        if frontier is not None:
            frontier.open()
        else:
            check_obeyed(spider.crawler.settings)
        opened = base.open(spider) if hasattr(base, "open") else None
        if isinstance(opened, Deferred):
            return opened.addCallback(self._opened)  # its queues may join only then
        return self._opened(opened)

    def _opened(self, result: Any) -> Any:
        if self._frontier is not None:
            self._frontier.opened()
        return result

    def has_pending_requests(self) -> bool:
        """Return whether there are requests, those that wait included."""
        base: Any = super()
        if self._frontier is not None and self._frontier.has_read_ahead:
            return True
        return bool(base.has_pending_requests())

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request; return whether it was queued.

        The filter of duplicates in Redis may fail. If its error were raised, Scrapy might never
        finish with the page that the request was found on.
        """
        base: Any = super()
        try:
            return bool(base.enqueue_request(request))
        except Exception as error:
            if self._frontier is None or self._frontier.shared_queue is None:
                raise
            url = without_credentials(request.url)
            logger.error("A request is lost, %s: %s", url, printable_error(error))
            return False

    def next_request(self) -> Request | None:
        """Return the next request whose site is ready; None if there is none at the moment."""
        base: Any = super()
        if self._frontier is None:
            found: Request | None = base.next_request()
            return found
        return self._frontier.next(base.next_request)

    def get_next_request_delay(self) -> float | None:
        """Return the seconds until a request may be ready; None if that is not known.

        Versions of Scrapy with a throttler ask for this.
        """
        return None if self._frontier is None else self._frontier.next_request_delay

    def close(self, reason: str) -> Any:
        """Give back to the base what was taken out of it, and close it."""
        base: Any = super()
        if self._frontier is not None:
            self._frontier.close(base.enqueue_request)
        return base.close(reason) if hasattr(base, "close") else None


class RepScheduler(RepSchedulerMixin, Scheduler):
    """Scrapy's scheduler, with a queue for each site."""


def with_frontier(base: type[Any]) -> type[Any]:
    """Return a subclass of ``base`` that uses the frontier; ``base`` itself if it does already."""
    if issubclass(base, RepSchedulerMixin):
        return base
    if base is Scheduler:
        return RepScheduler
    return type(f"Rep{base.__name__}", (RepSchedulerMixin, base), {})
