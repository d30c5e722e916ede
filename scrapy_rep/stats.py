"""The stats and the log lines of a crawl."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy_rep.robotstxt.printable import printable, printable_error, without_credentials
from scrapy_rep.robotstxt.verdict import why

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.outcome import Unreachable
    from scrapy_rep.robotstxt.verdict import Verdict

logger = logging.getLogger("scrapy_rep")

ALLOWED = "robotstxt/allowed"
FORBIDDEN = "robotstxt/forbidden"
UNREACHABLE = "robotstxt/unreachable"
BYPASSED = "robotstxt/bypassed"
FINAL_URLS = "robotstxt/final_url/judged"
FINAL_URLS_REFUSED = "robotstxt/final_url/refused"
REQUESTS = "robotstxt/request_count"
RESPONSES = "robotstxt/response_count"
RESPONSE_STATUS = "robotstxt/response_status_count/{}"
EXCEPTIONS = "robotstxt/exception_count/{}"
REDIRECTS = "robotstxt/redirect_count"
TRUNCATED = "robotstxt/truncated"
HIT = "robotstxt/cache/hit"
MISS = "robotstxt/cache/miss"
STALE = "robotstxt/cache/stale"
REVALIDATED = "robotstxt/cache/revalidated"
EVICTED = "robotstxt/cache/evicted"
WAITING = "robotstxt/waiting"
WAITING_MAX = "robotstxt/waiting/max"
WAITING_SITES_MAX = "robotstxt/waiting/sites/max"
WAITING_PACE_ONLY = "robotstxt/waiting/pace_only_time"
QUEUE_GIVEN_BACK = "robotstxt/queue/given_back"
QUEUE_TAKEN_OVER = "robotstxt/queue/taken_over"
QUEUE_UNREADABLE = "robotstxt/queue/unreadable"
STORE_ERROR = "robotstxt/store/error"
CRAWL_DELAY_APPLIED = "robotstxt/crawl_delay/applied"
CRAWL_DELAY_CAPPED = "robotstxt/crawl_delay/capped"
CRAWL_DELAY_HOSTS = "robotstxt/crawl_delay/hosts"
CRAWL_DELAY_ALONE = "robotstxt/crawl_delay/without_store"
OVERRIDES_USED = "robotstxt/override/used"
OVERRIDES_EXPIRED = "robotstxt/override/expired"
OVERRIDES_UNUSED = "robotstxt/override/unused"
DECISIONS_LOST = "robotstxt/decision_log/lost"
ARCHIVE_LOST = "robotstxt/archive/lost"
PAGES = "robotstxt/page/count"
PAGES_SAYING = "robotstxt/page/{}"
PAGE_REQUESTS_REFUSED = "robotstxt/page/requests_refused"
PAGE_ITEMS_DROPPED = "robotstxt/page/items_dropped"
PREFERENCES = "robotstxt/preferences/{}/{}"
PREFERENCES_LICENSE = "robotstxt/preferences/license"
PREFERENCES_SKIPPED = "robotstxt/preferences/skipped"
PREFERENCES_DROPPED = "robotstxt/preferences/dropped"

_MOST_SAID = 10_000
"""How many sites and faults are remembered, because each is logged only once. At this number, all
are forgotten."""
_REFUSED = "requests that depend on it are refused"


def response_status(status: int) -> str:
    """Return the stat of a status; all that HTTP does not define share one (RFC 9110 section 15).

    Otherwise a server could create any number of stats.
    """
    return RESPONSE_STATUS.format(status if 100 <= status <= 599 else "other")


class RepStats:
    """Counts and logs what happens in one crawl; without a collector, only logs it.

    ``is_excepted(authority)`` returns whether overrides may let requests to a site pass while it is
    unreachable.
    """

    def __init__(
        self,
        collector: StatsCollector | None = None,
        is_excepted: Callable[[Authority], bool] = lambda authority: False,
    ):
        self._collector = collector
        self.inc: Callable[..., None] = _ignore if collector is None else collector.inc_value
        self.max: Callable[..., None] = _ignore if collector is None else collector.max_value
        self._said: set[str] = set()
        self._redirecting: set[Authority] = set()
        self._deferred: set[Authority] = set()
        """The unreachable sites whose requests wait for the next attempt."""
        self._is_excepted = is_excepted

    def forbidden(self, method: str, url: str, verdict: Verdict, by: str) -> None:
        """Count a forbidden request, and log what forbids it, as :class:`RobotsForbidden` says."""
        self.inc(FORBIDDEN)
        page = without_credentials(url)
        logger.debug("Forbidden by %s: <%s %s> (%s)", by, method, page, why(verdict))

    def overridden(self, method: str, url: str, verdict: Verdict) -> None:
        """Log a request that an override lets pass."""
        page = without_credentials(url)
        logger.debug("Allowed by override: <%s %s> (%s)", method, page, why(verdict))

    def led_elsewhere(self, method: str, page: str, final_url: str) -> None:
        """Count a response from another page than was requested: the rules of that page apply."""
        self.inc(FINAL_URLS)
        logger.debug(
            "<%s %s> led to <%s>, which is judged by the rules of its own site",
            method,
            without_credentials(page),
            without_credentials(final_url),
        )

    def unreachable(self, method: str, url: str, cause: str) -> None:
        """Count a request whose rules are undefined."""
        self.inc(UNREACHABLE)
        logger.debug(
            "robots.txt unreachable (%s): <%s %s> is not requested",
            printable(cause),
            method,
            without_credentials(url),
        )

    def fetch_failed(
        self, authority: Authority, outcome: Unreachable, retry_in: float, stale: bool
    ) -> None:
        """Log in one line that a fetch failed, and the consequence."""
        status = f" {outcome.status}" if outcome.status else ""
        detail = f": {printable(outcome.detail)}" if outcome.detail else ""
        but = ", except by override" if self._is_excepted(authority) else ""
        logger.warning(
            "robots.txt of %s is unreachable (%s%s%s): %s; next attempt in %.0f s",
            authority,
            outcome.cause,
            status,
            detail,
            "the last good copy is followed" if stale else f"nothing is requested from it{but}",
            retry_in,
        )

    def redirected_on(self, authority: Authority, followed: int) -> None:
        """Warn once of a site whose robots.txt redirects on and on, so that it has no rules."""
        if _is_new(authority, self._redirecting):
            message = "robots.txt of %s redirects more than %d times, so the site has no rules"
            logger.warning(message, authority, followed)

    def deferral_begins(self, authority: Authority, seconds: float) -> None:
        """Log once that the requests to an unreachable site wait for the next attempt."""
        if _is_new(authority, self._deferred):
            logger.info(
                "Requests to %s wait for its robots.txt; next attempt in %.0f s", authority, seconds
            )

    def deferral_ends(self, authority: Authority, reason: str) -> None:
        """Log why the requests to a site wait for its robots.txt no longer, if they did."""
        if authority in self._deferred:
            self._deferred.discard(authority)
            logger.info("robots.txt of %s %s", authority, reason)

    def own_fault(self, where: str, error: BaseException, then: str = _REFUSED) -> None:
        """Log a fault in this package or in what it uses, and the consequence.

        This never raises, because the caller has to draw the consequence in any case.
        """
        logger.error("%s failed (%s); %s", where, printable_error(error), then)

    def store_failed(self, reason: str) -> None:
        """Log that the store fails, and the consequence."""
        logger.warning(
            "The robots.txt store fails (%s): each worker fetches for itself and, if this lasts, "
            "keeps the pace of a site by itself",
            printable(reason),
        )

    def store_answers(self, seconds: float) -> None:
        """Log that the store answers again, after that time."""
        logger.warning("The robots.txt store answers again after %.0f s", seconds)

    def evicted_lost(self, error: Exception) -> None:
        """Count rules that could not be kept when memory evicted them; log each reason once."""
        self.inc(STORE_ERROR)
        if _is_new(why := str(error), self._said):
            logger.warning("%s; they are fetched again", printable(why))

    def paced(self, authority: Authority, seconds: float) -> None:
        """Count and log a pace that is kept from now on."""
        self.inc(CRAWL_DELAY_APPLIED)
        logger.debug(
            "Requests to %s go one at a time, at least %s s apart", authority, f"{seconds:,g}"
        )

    def capped(self, authority: Authority, asked: float, most: float) -> None:
        """Count and log a requested pace that is capped."""
        self.inc(CRAWL_DELAY_CAPPED)
        logger.info(
            "robots.txt of %s asks for %s s between requests; REP_MAX_CRAWL_DELAY cuts that "
            "to %s s",
            authority,
            f"{asked:,.8g}",
            f"{most:,g}",
        )

    def void_pace(self, authority: Authority, line: str) -> None:
        """Log a line of a robots.txt that should ask for a pace, but cannot be read as one."""
        logger.debug('robots.txt of %s: "%s" says no pace', authority, printable(line))

    def paces_unshared(self, store: str) -> None:
        """Warn that a store does not let workers share the pace of a site."""
        logger.warning(
            "%s grants no turns: each worker keeps the pace of a site by itself, so that several "
            "make more requests together than the site asks for",
            printable(store),
        )

    def nothing_allowed(self) -> None:
        """Warn at the end of a crawl if requests were refused, and none was allowed."""
        if self.count(ALLOWED) or self.count(BYPASSED):
            return
        forbidden, unreachable = self.count(FORBIDDEN), self.count(UNREACHABLE)
        if forbidden or unreachable:
            counts = (forbidden, "forbidden"), (unreachable, "with robots.txt unreachable")
            summary = ", ".join(f"{count:,} {what}" for count, what in counts if count)
            logger.warning("No request was allowed: %s", summary)

    def count(self, key: str) -> int:
        """Return what a stat has come to."""
        return 0 if self._collector is None else int(self._collector.get_value(key, 0) or 0)


def _is_new(what: Any, known: set[Any]) -> bool:
    """Return whether ``what`` is not known yet, and remember it."""
    if what in known:
        return False
    if len(known) >= _MOST_SAID:
        known.clear()
    known.add(what)
    return True


def _ignore(*args: Any) -> None:
    """Count nothing."""
