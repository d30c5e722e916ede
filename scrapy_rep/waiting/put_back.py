"""Requests that come again: past the filter of duplicates, which has seen them.

At a stop, what is withheld goes back to the scheduler underneath.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.stats import RepStats

logger = logging.getLogger("scrapy_rep")

AGAIN: Final = "_scrapy_rep_again"
"""The meta key of a request that comes again. Its value is ``dont_filter`` as it was."""


def to_come_again(request: Request) -> Request:
    """Return a request that no filter of duplicates drops when it comes again."""
    request.meta[AGAIN] = request.dont_filter
    request.dont_filter = True
    return request


def restored(request: Request) -> Request:
    """Return a request that has come again as it was before."""
    if AGAIN in request.meta:
        request.dont_filter = bool(request.meta.pop(AGAIN))
    return request


def put_back(
    requests: Iterable[Request],
    enqueue: Callable[[Request], bool],
    crawler: Crawler,
    stats: RepStats,
) -> None:
    """Put requests back into a scheduler that is about to close, in the order they came out in.

    A queue that gives out the last one first gets them in reverse, so that their order is restored.
    Start requests have a queue of their own.
    """
    settings = crawler.settings
    where = "DISK" if settings["JOBDIR"] else "MEMORY"
    queue = settings[f"SCHEDULER_{where}_QUEUE"]
    start_queue = settings[f"SCHEDULER_START_{where}_QUEUE"] or queue
    of_start: list[Request] = []
    others: list[Request] = []
    for request in requests:
        is_start = request.meta.get("is_start_request") and start_queue != queue
        (of_start if is_start else others).append(request)
    for several, name in ((of_start, start_queue), (others, queue)):
        for request in reversed(several) if _is_last_first(name) else several:
            if not _is_kept(request, enqueue, stats):
                logger.warning("The scheduler did not take back <%s>; it is lost", request.url)
                crawler.signals.send_catch_log(
                    signals.request_dropped, request=request, spider=crawler.spider
                )


def _is_kept(request: Request, enqueue: Callable[[Request], bool], stats: RepStats) -> bool:
    try:
        return enqueue(to_come_again(request))
    except Exception as error:  # noqa: BLE001  # a custom scheduler may raise anything
        stats.own_fault("Giving a request back to the scheduler", error)
        return False


def _is_last_first(queue: Any) -> bool:
    return "Lifo" in getattr(load_object(queue), "__name__", "")
