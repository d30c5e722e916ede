"""A warning at the end of a crawl whose start requests were all refused.

Scrapy marks a start request in ``meta["is_start_request"]``. Retries and redirects copy that meta.
A start request is counted once, however many copies there are, and a refusal of any copy refuses
it: a crawl whose only page redirects to a forbidden one was refused, too. If the spider makes the
request once more, as an errback may do, its last end counts.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_rep.access.outcome import Cause
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.stats import RepStats


_REFUSED = "scrapy_rep_refused"
"""The meta key that notes why a start request was refused."""


class StartRequests:
    """Counts the start requests of one crawl and, by reason, those that were refused."""

    def __init__(self, stats: RepStats):
        self._stats = stats
        self._made = 0
        self._refused: Counter[str] = Counter()

    def begin(self, request: Request) -> None:
        """Count ``request`` if it is a start request that is seen for the first time."""
        if not _is_start(request):
            return
        reason = request.meta.pop(_REFUSED, None)
        if self._refused[reason]:  # it was refused, and the spider makes it once more
            self._refused[reason] -= 1
            return
        copied = "redirect_urls" in request.meta or "retry_times" in request.meta
        self._made += reason is not None or not copied

    def end(self, request: Request, error: BaseException) -> None:
        """Count a start request that ends in ``error``, if that is a refusal."""
        if not _is_start(request):
            return
        if isinstance(error, RobotsForbidden):
            reason = f"forbidden by {error.by}"
        elif isinstance(error, RobotsUnreachable) and error.cause != Cause.CLOSING:
            reason = f"with robots.txt unreachable ({error.cause})"
        else:
            return
        request.meta[_REFUSED] = reason
        self._refused[reason] += 1

    def close(self) -> None:
        """Log a warning if there were start requests and all of them were refused."""
        if 0 < self._made <= self._refused.total():
            self._stats.all_refused(+self._refused)


def _is_start(request: Request) -> bool:
    # A spider that copies the meta of a response marks further requests, too; they have a depth.
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")
