"""Makes the parts of this package for one crawl, and connects them to each other."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from scrapy_rep.frontier.alarm import Alarm
from scrapy_rep.frontier.frontier import Frontier
from scrapy_rep.frontier.places import Places
from scrapy_rep.frontier.turns import Turns
from scrapy_rep.gate.account import Account
from scrapy_rep.gate.explain import Explainer
from scrapy_rep.gate.gate import Gate
from scrapy_rep.gate.identity import Identity
from scrapy_rep.gate.judge import Judge
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.gate.page_url import decoding, sending
from scrapy_rep.gate.use import UseOfPages
from scrapy_rep.overrides.reading import configured_overrides
from scrapy_rep.robotparser import RobotsParsed
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.scrapy_names import ScrapyNames
from scrapy_rep.settings import RepSettings, check_records, unknown_settings, without_effect
from scrapy_rep.signals import SignalSender
from scrapy_rep.sites.cache import RobotsCache
from scrapy_rep.sites.fetcher import RobotsFetcher
from scrapy_rep.sites.refresh import Refresher
from scrapy_rep.sites.store_adapter import open_store_adapter
from scrapy_rep.stats import RepStats
from scrapy_rep.stores.uri import redacted

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.frontier.shared_pace import SharedTurns
    from scrapy_rep.overrides.override import Override
    from scrapy_rep.sites.cached_rules import CachedRules

logger = logging.getLogger("scrapy_rep")

_LOOK: Final = 0.1
"""Seconds between two looks at the engine."""

_GRACE: Final = 0.3
"""Seconds that a fetch may take in all when the crawl is found to be stopping."""

_UNAWAITED: Final = 3.0
"""Seconds that a fetch may take in all if the crawl has nothing else to do, and nothing waits."""


class Parts:
    """The parts of one crawl. Raises ``ValueError`` for a bad setting."""

    def __init__(self, crawler: Crawler):
        self._crawler = crawler
        settings = self.settings = RepSettings.from_settings(crawler.settings)
        check_records(crawler.settings, settings)
        overrides = configured_overrides(settings, time.time())
        stats = self.stats = RepStats(crawler.stats, partial(_is_excepted, overrides))
        self._warn_of_settings()
        scrapy = self.scrapy = ScrapyNames(crawler)
        sent_url = sending(crawler.settings)
        identity = self.identity = Identity(crawler, settings)
        self.store = open_store_adapter(
            crawler, settings, stats, lambda: identity.header_of_fetches
        )
        self.places = Places(scrapy, stats)
        self.frontier = Frontier(crawler, scrapy, stats, self.places, time.time)
        self.turns = Turns(
            crawler, settings, scrapy, self.places, self.frontier, stats, *self._shared_turns()
        )
        self._alarm = Alarm(self._look_for_stop)
        self.cache = self._make_cache()
        self.overrides = AppliedOverrides(overrides, stats, settings.pace_policy, time.time)
        use = None if settings.preferences == "off" else UseOfPages(settings)
        judge = Judge(self._weigh, settings.pace_policy, use, self.overrides)
        self.explainer = Explainer(identity, self.cache, judge, decoding(crawler.settings))
        self.account = Account(
            stats, self.overrides, SignalSender(crawler), identity.usable, self._weigh, sent_url
        )
        self.gate = Gate(
            identity=identity,
            cache=self.cache,
            judge=judge,
            turns=self.turns,
            frontier=self.frontier,
            places=self.places,
            account=self.account,
            stats=stats,
            clock=time.time,
            sent_url=sent_url,
            defer_unreachable=settings.defer_unreachable,
        )
        self.frontier.connect(self.gate, self.turns, lambda: self.cache.refresher.pauses)

    def open(self) -> None:
        """Open what needs an open spider."""
        self.identity.open()
        self.frontier.progress.open()
        self.overrides.name_expired()

    def close(self) -> None:
        """Close what is open: nothing is fetched, granted or stored any more."""
        self.overrides.close()
        self.frontier.progress.close()
        self._alarm.cancel()
        self.cache.interrupt()
        self.turns.close()
        self.store.close()

    def _warn_of_settings(self) -> None:
        """Warn of settings that do not exist or have no effect."""
        for name, nearest in unknown_settings(self._crawler.settings):
            meant = f"did you mean {nearest}?" if nearest else "no setting has a similar name"
            logger.warning("There is no setting %s; %s", printable(name), meant)
        for name, why in without_effect(self._crawler.settings, self.settings):
            logger.warning("%s %s", name, why)

    def _shared_turns(self) -> tuple[SharedTurns | None, str]:
        """Return the turns by which workers that share a store keep one pace, None for none.

        Also return the name of a store that should grant turns and does not, "" for none. The file
        in a job directory is for one crawl at a time, so it need not.
        """
        settings = self.settings
        if not settings.shared_pace or settings.store is None or not self.store.has_store:
            return None, ""
        turns = self.store.turns
        return turns, "" if turns is not None else redacted(settings.store)

    def _make_cache(self) -> RobotsCache:
        settings = self.settings
        fetcher = RobotsFetcher(
            self._crawler,
            self.scrapy,
            settings,
            self.stats,
            self.places,
            time.time,
            lambda: self.identity.header_to_give,
        )
        refresher = Refresher(
            self.store,
            settings.policy,
            self.stats,
            time.time,
            fetcher.fetch,
            settings.timeout,
            settings.retry_delays,
            paused=self.frontier.fetch_freed,
        )
        return RobotsCache(
            refresher,
            RobotsParsed(self._crawler, settings.timeout),
            parse=settings.parse,
            started=self.watch_for_stop,
            ended=self.frontier.arrived,
            waiting=self.frontier.waiting_for,
            memory_limit=settings.memory_limit - self.store.memory_limit,
        )

    def _weigh(self, authority: Authority, cached: CachedRules) -> None:
        """Measure rules that were read for an agent; log once if their pace cannot be read."""
        self.cache.weigh(authority, cached)
        robots, agent = cached.robots, cached.agent
        if robots is None or agent is None or not self.settings.crawl_delay:
            return
        if (void := robots.pace(agent).void) is not None:
            robots.keep(("void", agent), lambda: self.stats.void_pace(authority, void))

    def watch_for_stop(self) -> None:
        """Look at the engine from time to time for as long as a request waits or a fetch goes on.

        No signal says that a stop begins. Direct downloads go on waiting for their rules and their
        turn, and the stop waits for them, as for any download of Scrapy's own: nothing would make
        them again.
        """
        self._alarm.set(_LOOK)

    def _look_for_stop(self) -> None:
        try:
            if self.scrapy.is_closing:
                self.cache.interrupt(monotonic() - _GRACE, self.gate.is_direct)
                self.turns.return_all()
            self.turns.end_lost()  # a download that is cancelled sends no signal
            self.cache.end_lost()
            # A fetch that nothing waits for, such as one in the background, must not keep the
            # spider from being idle, and the crawl from its end.
            fetches = self.places.fetches.keys()
            if not self.frontier.sites.by_key and self.scrapy.in_progress <= fetches:
                self.cache.interrupt(monotonic() - _UNAWAITED, lambda _: True)
        finally:  # the stop waits for the next look, also after a fault in this one
            if self.places.waiting or self.cache.flights:
                self.watch_for_stop()


def _is_excepted(overrides: Sequence[Override], authority: Authority) -> bool:
    """Return whether overrides may let requests to a site pass while it is unreachable."""
    now = time.time()
    return any(each.authority == authority and each.may_permit(now) for each in overrides)
