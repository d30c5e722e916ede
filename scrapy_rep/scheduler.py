"""The scheduler: Scrapy's, or any other one, that hands out no request whose site is not ready.

What is withheld, and until when, is decided in :mod:`scrapy_rep.waiting.withheld`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue

from scrapy_rep.waiting.withheld import withheld_of

if TYPE_CHECKING:
    from scrapy import Request, Spider

    from scrapy_rep.waiting.withheld import Withheld


class Withholding:
    """Mixed into a scheduler class, withholds requests until their site is ready.

    ``class MyScheduler(scrapy_rep.Withholding, Base): pass`` wraps a scheduler of your own. If
    :class:`RepDownloaderMiddleware` is not enabled, the scheduler is as without this class.
    """

    _withheld: Withheld | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the base, with a queue that passes over crowded slots in place of Scrapy's own."""
        if kwargs.get("pqclass") is DownloaderAwarePriorityQueue:
            kwargs["pqclass"] = PatientPriorityQueue
        super().__init__(*args, **kwargs)

    def open(self, spider: Spider) -> Any:
        """Begin to withhold requests, and open the base."""
        self._withheld = withheld_of(spider.crawler)
        if self._withheld is not None:
            self._withheld.open()
        base: Any = super()
        return base.open(spider) if hasattr(base, "open") else None

    def has_pending_requests(self) -> bool:
        """Return whether anything is withheld, or the base has requests."""
        base: Any = super()
        withheld = self._withheld
        return (withheld is not None and withheld.has_requests) or bool(base.has_pending_requests())

    def enqueue_request(self, request: Request) -> bool:
        """Keep a request; withhold one that the gate has returned."""
        base: Any = super()
        if self._withheld is None:
            return bool(base.enqueue_request(request))
        return self._withheld.enqueue(request, base.enqueue_request)

    def next_request(self) -> Request | None:
        """Return the next request whose site is ready; None if there is none at the moment."""
        base: Any = super()
        if self._withheld is None:
            found: Request | None = base.next_request()
            return found
        return self._withheld.next(base.next_request)

    def close(self, reason: str) -> Any:
        """Give back to the base what is withheld, and close it."""
        base: Any = super()
        if self._withheld is not None:
            self._withheld.put_back(base.enqueue_request)
        return base.close(reason) if hasattr(base, "close") else None


class RepScheduler(Withholding, Scheduler):
    """Scrapy's scheduler, which withholds requests until their site is ready."""


class PatientPriorityQueue(DownloaderAwarePriorityQueue):
    """Scrapy's default queue, which passes over a slot of which many requests are withheld."""

    _full: set[str] | None = None

    def pop(self) -> Request | None:
        """Return the next request of the slots that are not passed over."""
        if self._full is None:
            withheld = withheld_of(self.crawler)
            self._full = set() if withheld is None else withheld.full_slots
        if not self._full:
            return super().pop()
        passed = {slot: self.pqueues.pop(slot) for slot in self._full & self.pqueues.keys()}
        try:
            return super().pop()
        finally:
            self.pqueues.update(passed)


def withholding(base: type[Any]) -> type[Any]:
    """Return a class of schedulers like ``base`` that withholds requests; ``base`` if it does."""
    if issubclass(base, Withholding):
        return base
    if base is Scheduler:
        return RepScheduler
    return type(f"Withholding{base.__name__}", (Withholding, base), {})
