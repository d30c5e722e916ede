"""A stop does not wait for robots.txt files, and what is parked goes back to its queue.

No signal says that a stop begins, so the engine is looked at while anything is under way that a
stop should end. Direct downloads go on waiting for their rules and their turn, and the stop waits
for them, as for any download of Scrapy's own: nothing would make them again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals
from scrapy.utils.misc import load_object

from scrapy_rep.frontier.alarm import Alarm
from scrapy_rep.frontier.request_state import to_come_back
from scrapy_rep.robotstxt.printable import without_credentials

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.scrapy_names import ScrapyNames
    from scrapy_rep.stats import RepStats

logger = logging.getLogger("scrapy_rep")

_GRACE: Final = 0.3
"""Seconds that a fetch may take in all when the crawl is found to be stopping."""

_INTERVAL: Final = 0.1
"""Seconds between two looks at the engine."""


class StopWatch:
    """Watches for a stop while something is under way.

    ``stop(started_before)`` ends what began before a time of the monotonic clock; ``is_busy()``
    says whether there is anything to end. ``end_lost()`` is called each time, because a cancelled
    download sends no signal, and because a fetch that something has lost has to end.
    """

    def __init__(
        self,
        scrapy: ScrapyNames,
        stop: Callable[[float], None],
        is_busy: Callable[[], bool],
        end_lost: Callable[[], None],
    ):
        self._scrapy = scrapy
        self._stop = stop
        self._is_busy = is_busy
        self._end_lost = end_lost
        self._alarm = Alarm(self._look)

    def watch(self) -> None:
        """Look at the engine from time to time for as long as something is under way."""
        self._alarm.set(_INTERVAL)

    def close(self) -> None:
        """End the watch."""
        self._alarm.cancel()

    def _look(self) -> None:
        try:
            if self._scrapy.is_closing:
                self._stop(monotonic() - _GRACE)
            self._end_lost()
        finally:  # the stop waits for the next look, also after a fault in this one
            if self._is_busy():
                self.watch()


def give_back(
    requests: Iterable[Request],
    enqueue: Callable[[Request], bool],
    crawler: Crawler,
    stats: RepStats,
) -> None:
    """Give requests back to a scheduler that is about to close, in the order they came out in."""
    settings = crawler.settings
    where = "DISK" if settings["JOBDIR"] else "MEMORY"
    queue = load_object(settings[f"SCHEDULER_{where}_QUEUE"])
    start_queue = load_object(settings[f"SCHEDULER_START_{where}_QUEUE"] or queue)
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
    """Return requests as they go back to queues that give out the first one first, and the others.

    A queue that gives out the last one first gets them in reverse, so that their order is restored.
    Start requests may have a queue of their own.
    """
    first_first: list[Request] = []
    last_first: list[Request] = []
    for request in requests:
        its_queue = start_queue if request.meta.get("is_start_request") else queue
        (last_first if _is_last_first(its_queue) else first_first).append(request)
    return first_first, last_first[::-1]


def _is_last_first(queue: type[Any]) -> bool:
    """Return whether a queue gives out the request first that it got last.

    The classes of Scrapy's own queues are made by functions, and only a base has a telling name.
    """
    return any("lifo" in base.__name__.lower() for base in queue.__mro__)


def _is_kept(request: Request, enqueue: Callable[[Request], bool], stats: RepStats) -> bool:
    try:
        return enqueue(to_come_back(request))
    except Exception as error:  # noqa: BLE001  # a custom scheduler may raise anything
        stats.own_fault("Giving a request back to the scheduler", error, "the request is lost")
        return False
