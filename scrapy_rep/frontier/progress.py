"""Says now and then what a crawl waits for: one that obeys a pace looks like one that hangs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import CallLaterResult, call_later

from scrapy_rep.frontier.states import State

if TYPE_CHECKING:
    from scrapy_rep.frontier.frontier import Frontier

logger = logging.getLogger("scrapy_rep")


class Progress:
    """Logs a line every ``interval`` seconds while sites wait; never if that is 0."""

    def __init__(self, frontier: Frontier, interval: float):
        self._frontier = frontier
        self._interval = interval
        self._timer: CallLaterResult | None = None

    def open(self) -> None:
        """Begin."""
        if self._interval > 0:
            self._timer = call_later(self._interval, self._log)

    def close(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _log(self) -> None:
        self.open()
        line = self.line()
        if line:
            logger.info(line)

    def line(self) -> str:
        """Return what waits, in one line; "" if nothing does."""
        frontier = self._frontier
        if not frontier.is_open:
            return ""
        parts = []
        paced = frontier.sites.waiting[State.TURN]
        if paced.sites:
            slowest = self._slowest()
            waiting = _counted(paced.sites, paced.requests)
            parts.append(f"Waiting for their pace: {waiting}{slowest}.")
        without = [
            frontier.sites.waiting[state] for state in (State.FETCH, State.RULES, State.UNTIL)
        ]
        sites = sum(waiting.sites for waiting in without)
        if sites:
            waiting = _counted(sites, sum(waiting.requests for waiting in without))
            parts.append(f"Waiting for their robots.txt: {waiting}.")
        return " ".join(parts).removesuffix(".")

    def _slowest(self) -> str:
        site = self._frontier.sites.slowest.find()
        if site is None:
            return ""
        interval = self._frontier.interval_of(site)
        return (
            f"; the slowest is {site.key}: {site.size:,} {_requests(site.size)}, at least "
            f"{interval:,g} s apart, about {_duration(site.size * interval)}"
        )


def _counted(sites: int, requests: int) -> str:
    return f"{sites:,} {'site' if sites == 1 else 'sites'}, {requests:,} {_requests(requests)}"


def _requests(number: int) -> str:
    return "request" if number == 1 else "requests"


def _duration(seconds: float) -> str:
    """Return a time as a person would say it."""
    for name, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:,.0f} s"
