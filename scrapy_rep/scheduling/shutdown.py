"""A crawl that stops does not wait for robots.txt files, and loses no request over it.

A request that waits goes back to the scheduler, if that keeps it for a later run. A direct download
cannot: the callback, pipeline or middleware that began it has no later run. So it waits on, for its
rules as well as for its turn, and the stop waits for it, as it does in Scrapy.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy.core.scheduler import Scheduler
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_rep.scrapy_internals.engine import Engine

_GRACE = 0.3
"""Seconds that a fetch may still take when the crawl is found to be stopping."""

_INTERVAL = 0.1
"""Seconds between two looks at the engine: no signal says that a stop begins."""

TOO_LATE = "The crawl closes before it was its turn"
"""The reason for a request that still waits for its turn when the crawl stops."""

_GIVEN_BACK = "scrapy_rep_given_back"


def may_resume(settings: BaseSettings) -> bool:
    """Return whether a crawl may continue with the requests that an earlier run has left."""
    job = settings["JOBDIR"]
    if job and Path(job).is_dir() and any(Path(job).iterdir()):
        return True
    return _persists(settings)


def _persists(settings: BaseSettings) -> bool:
    """Return whether a custom scheduler keeps requests; Scrapy's own does so only in a JOBDIR.

    Custom ones are told by a setting of scrapy-redis.
    """
    custom = Scheduler not in load_object(settings["SCHEDULER"]).__mro__
    return custom and settings.getbool("SCHEDULER_PERSIST")


class Shutdown:
    """Watches for a stop while fetches are under way.

    ``interrupt(started_before)`` ends the fetches that set off before a time of the monotonic
    clock, ``busy()`` says whether there are any.
    """

    def __init__(
        self,
        crawler: Crawler,
        engine: Engine,
        interrupt: Callable[[float], None],
        busy: Callable[[], bool],
    ):
        self._crawler = crawler
        self._engine = engine
        self._interrupt = interrupt
        self._busy = busy
        self._since: float | None = None
        self._timer: CallLaterResult | None = None
        self._run = uuid4().hex
        settings = crawler.settings
        self.keeps = bool(settings["JOBDIR"]) or _persists(settings)

    def watch(self) -> None:
        """Look at the engine from time to time for as long as fetches are under way."""
        if self._timer is None:
            self._timer = call_later(_INTERVAL, self._look)

    def give_back(self, request: Request) -> Request | None:
        """Return the request to schedule again, for a later run of the crawl to make.

        ``None`` if the scheduler keeps nothing or cannot keep this one, or if the request did not
        come from it: it is a direct download, or was given back by this run before.
        """
        run, _ = request.meta.get(_GIVEN_BACK, ("", False))
        if not self.keeps or run == self._run or self._engine.is_direct(request):
            return None
        meta = {**request.meta, _GIVEN_BACK: (self._run, request.dont_filter)}
        again = request.replace(dont_filter=True, meta=meta)
        try:
            pickle.dumps(again.to_dict(spider=self._crawler.spider))
        except Exception:  # noqa: BLE001  # a callback without a name, or whatever meta holds
            return None
        return again

    def take_up(self, request: Request) -> None:
        """Undo what :meth:`give_back` changed in a request of an earlier run."""
        run, dont_filter = request.meta.get(_GIVEN_BACK, (self._run, False))
        if run != self._run:
            del request.meta[_GIVEN_BACK]
            request.dont_filter = dont_filter

    def stop(self) -> None:
        """End the watch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._engine.is_stopping:
            now = monotonic()
            self._since = now if self._since is None else self._since
            if now - self._since >= _GRACE:
                self._interrupt(now - _GRACE)
        if self._busy():
            self.watch()
