"""Counts and logs what a crawl waits for: one that obeys a pace looks like one that hangs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from scrapy_rep import stats as names
from scrapy_rep.frontier.alarm import Alarm
from scrapy_rep.frontier.states import State

if TYPE_CHECKING:
    from scrapy_rep.frontier.places import Places
    from scrapy_rep.frontier.sites import Site, Sites
    from scrapy_rep.stats import RepStats

logger = logging.getLogger("scrapy_rep")


class Progress:
    """Logs a line every ``interval`` seconds while anything waits; never if ``interval`` is 0.

    ``sites()`` returns the sites, and None while the frontier is not open. ``interval_of()``
    returns the seconds between two requests of a site that waits for its turn. ``places`` counts
    the requests that wait in place, in the downloader.

    To find the slowest site, a line walks all of them: 100,000 take a tenth of a second.
    """

    def __init__(
        self,
        stats: RepStats,
        interval: float,
        sites: Callable[[], Sites | None],
        interval_of: Callable[[Site], float],
        places: Places,
    ):
        self._stats = stats
        self._interval = interval
        self._sites = sites
        self._interval_of = interval_of
        self._places = places
        self._alarm = Alarm(self._log)
        self.is_timing = False
        """Whether all sites that are left wait for their turn."""
        self._timed_from = 0.0

    def open(self) -> None:
        """Begin to log."""
        if self._interval > 0:
            self._alarm.set(self._interval)

    def close(self) -> None:
        """Stop logging."""
        self._alarm.cancel()

    def count(self, sites: Sites, is_idle: bool) -> None:
        """Count what waits. Sites that wait for ``ROOM`` do not.

        ``is_idle`` says that the downloader has nothing, and that the engine has asked in vain.
        """
        if sites.waited:
            self._stats.inc(names.WAITING, sites.waited)
            sites.waited = 0
        if sites.sites_waiting:
            self._stats.max(names.WAITING_MAX, sites.requests_waiting + self._places.waiting)
            self._stats.max(names.WAITING_SITES_MAX, sites.sites_waiting)
        only_paced = is_idle and sites.sites_paced == len(sites.by_key) > 0
        if only_paced or self.is_timing:
            self.count_time(only_paced)

    def count_time(self, only_paced: bool) -> None:
        """Count the seconds in which all sites that were left waited for their turn."""
        now = monotonic()
        if self.is_timing:
            self._stats.inc(names.WAITING_PACE_ONLY, round(now - self._timed_from, 3))
        self.is_timing, self._timed_from = only_paced, now

    def line(self) -> str:
        """Return what waits, in one line; "" if nothing does."""
        sites = self._sites()
        parts = [] if sites is None else self._parts(sites)
        if in_place := self._places.waiting:
            parts.append(f"Waiting in the downloader: {in_place:,} {_requests(in_place)}")
        return ". ".join(parts)

    def _parts(self, sites: Sites) -> list[str]:
        """Return what is said of the sites that wait."""
        parts = []
        paced, requests = sites.sites_paced, sites.requests_paced
        if paced:
            waiting = _counted(paced, requests)
            parts.append(f"Waiting for their pace: {waiting}{self._slowest(sites)}")
        if others := sites.sites_waiting - paced:
            waiting = _counted(others, sites.requests_waiting - requests)
            parts.append(f"Waiting for their robots.txt: {waiting}")
        return parts

    def _log(self) -> None:
        try:
            line = self.line()
        except Exception as error:  # noqa: BLE001  # a timer would only log it
            self._stats.own_fault("The line about what waits", error, "it is logged no more")
            return
        if line:
            logger.info("%s", line)
        self.open()

    def _slowest(self, sites: Sites) -> str:
        paced = (site for site in sites.by_key.values() if site.state is State.TURN)
        site = max(paced, key=lambda site: site.size * self._interval_of(site))
        interval = self._interval_of(site)
        if not interval:  # its host asks for no pace any more
            return ""
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
    return f"{max(seconds, 1.0):,.0f} s"
