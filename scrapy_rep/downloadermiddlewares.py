"""The downloader middleware: it makes the parts of this package and connects them to Scrapy."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4
from weakref import WeakSet

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.awaiting import FetchSemaphore, sleep
from scrapy_rep.caching.cache import RobotsCache
from scrapy_rep.caching.context import AccessContext, RulesReader
from scrapy_rep.caching.refresh import Attempts, Refresher
from scrapy_rep.caching.store_adapter import open_store_adapter
from scrapy_rep.explaining import Explainer
from scrapy_rep.fetching import at_once
from scrapy_rep.fetching.cancellable_downloads import DOWNLOAD
from scrapy_rep.fetching.fetcher import FetchLimits, RobotsFetcher
from scrapy_rep.gate import Gate
from scrapy_rep.identity import Identity
from scrapy_rep.judgement import Judge
from scrapy_rep.overrides.application import AppliedOverrides
from scrapy_rep.overrides.reading import configured_overrides
from scrapy_rep.protocol.outcome import Cause
from scrapy_rep.protocol.profiles import named
from scrapy_rep.protocol.robotstxt import RobotsTxt
from scrapy_rep.recording.archive import Archive
from scrapy_rep.recording.recorder import DecisionRecorder, Run
from scrapy_rep.robotparser import RobotsParsed
from scrapy_rep.scrapy_internals import ScrapyInternals
from scrapy_rep.scrapy_names import ScrapyNames, UnknownScrapyError
from scrapy_rep.settings import RepSettings, failing_at_start, obeys, unknown_settings
from scrapy_rep.start_requests import StartRequests
from scrapy_rep.stats import RepStats
from scrapy_rep.stores.uri import shown
from scrapy_rep.usage.admission import UseOfPages
from scrapy_rep.waiting.hosts import Hosts
from scrapy_rep.waiting.pace import Paces
from scrapy_rep.waiting.places import Places
from scrapy_rep.waiting.shared_pace import SharedPace
from scrapy_rep.waiting.stop import StopWatch
from scrapy_rep.waiting.turns import Turns
from scrapy_rep.waiting.withheld import Withheld
from scrapy_rep.without_effect import without_effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.explaining import LookUp
    from scrapy_rep.overrides.override import Overrides
    from scrapy_rep.protocol.robotstxt import Verdict


_UNKNOWN_SCRAPY = "unknown_scrapy"
"""The reason with which a crawl closes if Scrapy lacks something necessary."""

_BUILT: WeakSet[Crawler] = WeakSet()
"""The crawls whose middleware was built. Scrapy makes spider middlewares before they can ask it."""


def is_obeying(crawler: Crawler) -> bool:
    """Return True if the downloader middleware of a crawl was built."""
    return crawler in _BUILT


class RepDownloaderMiddleware:
    """Lets through what robots.txt allows, and drops the rest with a reason.

    A dropped request raises :class:`RobotsForbidden` or :class:`RobotsUnreachable`. The instance of
    a crawl is ``crawler.get_downloader_middleware(RepDownloaderMiddleware)``; its ``explainer``
    answers for URLs that are not requested.
    """

    def __init__(self, crawler: Crawler):
        settings = RepSettings.from_settings(crawler.settings)
        overrides = configured_overrides(settings, time.time())
        self._stats = RepStats(crawler.stats)
        for name, nearest in unknown_settings(crawler.settings):
            self._stats.unknown_setting(name, nearest)
        for name, why in without_effect(crawler.settings, settings):
            self._stats.without_effect(name, why)
        self._starts = StartRequests(self._stats)
        self._inside = ScrapyInternals(crawler, self._stats.switched_off)
        scrapy = self._scrapy = ScrapyNames(crawler, self._stats.switched_off)
        self._is_prepared = False
        self._takes_turns = False
        concurrent = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._semaphore = FetchSemaphore(at_once.most_at_once(concurrent), at_once.COUNTED_FOR)
        self._identity = identity = Identity(crawler, settings, self._stats)
        self._store = open_store_adapter(
            crawler, settings, self._stats, time.time, lambda: identity.of_fetches
        )
        hosts = Hosts(settings.max_crawl_delay, time.time, self._shared_pace(settings))
        self._places = Places(scrapy, self._stats)
        self.withheld = Withheld(crawler, scrapy, self._stats)
        """The requests that the scheduler withholds."""
        self.turns = Turns(crawler, scrapy, hosts, self._places, self.withheld, self._stats)
        """The turns of the hosts that ask for a pace."""
        self._paces = Paces(crawler, settings, self._stats, self.turns)
        self._stop = StopWatch(scrapy, self._interrupt, self._is_busy)
        self._crawler = crawler
        run = uuid4().hex
        self._archive = self._make_archive(settings, run)
        self._fetcher = self._make_fetcher(crawler, settings)
        self._cache = self._make_cache(crawler, settings)
        self._overrides = self._applied(overrides)
        self._recorder = self._make_recorder(settings, run, overrides)
        use = self._make_use(settings)
        judge = self._judge = self._make_judge(use)
        self.explainer = Explainer(self._identity, self._cache, judge)
        self._gate = Gate(
            identity=self._identity,
            cache=self._cache,
            judge=judge,
            paces=self._paces,
            turns=self.turns,
            withheld=self.withheld,
            places=self._places,
            stop=self._stop,
            scrapy=scrapy,
            stats=self._stats,
            clock=time.time,
            overrides=self._overrides,
            recorder=self._recorder,
        )
        self.withheld.ask(self._gate)
        crawler.signals.connect(self._engine_started, signal=signals.engine_started)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepDownloaderMiddleware:
        """Return the middleware of a crawl; raise ``NotConfigured`` if ``ROBOTSTXT_OBEY`` is off.

        Raises ``ValueError`` for a bad setting, and for whatever else is not configured: for
        ``NotConfigured`` Scrapy would go on without the middleware, and obey no robots.txt.
        """
        with failing_at_start(crawler):
            if not obeys(crawler.settings):
                raise NotConfigured("ROBOTSTXT_OBEY is off")
            try:
                built = cls(crawler)
            except NotConfigured as error:
                said = str(error) or "a component of it is not configured"
                raise ValueError(f"robots.txt cannot be obeyed: {said}") from error
            _BUILT.add(crawler)
            return built

    async def process_request(self, request: Request) -> Request | None:
        """Let ``request`` pass, or raise why not.

        A request is returned if it lacks something. It then comes again, when its site is ready.
        """
        meta = request.meta
        if DOWNLOAD in meta and meta.get("dont_obey_robotstxt"):  # for a robots.txt itself
            return None
        try:
            if not self._is_prepared:
                self._prepare()
            again = await self._gate.check(request)
            if again is None and self._takes_turns:
                again = await self.arrive(request)
        except Exception as error:  # noqa: BLE001  # it ends in a refusal
            if "is_start_request" in meta:
                self._starts.begin(request)
            self._end(request, error)
        if again is None and "is_start_request" in meta:
            self._starts.begin(request)
        return again

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Return ``response``, unless the rules of the page that it is of forbid it.

        That may be another page than was asked for: browsers and services follow redirects by
        themselves. A request is returned only if the crawl closes while it waits for rules.
        """
        url = response.url
        if url == request.url:
            return response
        try:
            self._prepare()
            again = await self._gate.check_final_url(request, url)
        except Exception as error:  # noqa: BLE001  # it ends in a refusal
            self._end(request, error, url)
        return response if again is None else again

    async def arrive(self, request: Request) -> Request | None:
        """Let ``request`` be sent, at the last step; return it if the crawl closes before that."""
        try:
            waits = self.turns.arrive(request)
            if waits is None:
                return None
            self._stop.watch()
            return await waits
        except Exception as error:  # noqa: BLE001
            self._end(request, error)

    def _record(self, request: Request, refusal: Exception, final_url: str) -> None:
        """Record the refusal of a request, or of the final URL of its response."""
        if self._recorder is not None:
            self._recorder.refused(request, self.agents(request), refusal, final_url)

    def _end(self, request: Request, error: Exception, final_url: str = "") -> NoReturn:
        """Raise what a request ends in after an error in its check, or in that of its response.

        A failure here, or in what surrounds the gate, is not permission.
        """
        if isinstance(error, CancelledError):
            self._starts.end(request, error)
            raise error
        if final_url:
            self._stats.inc(names.FINAL_URLS_REFUSED)
        if isinstance(error, IgnoreRequest):
            self._starts.end(request, error)
            self._record(request, error, final_url)
            # The frames of the check hold the rules, which would live as long as the exception.
            raise error.with_traceback(None) from None
        if not isinstance(error, UnknownScrapyError):  # for which the crawl is about to end
            self._stats.own_fault("The check of a request", error)
        refusal = self._gate.refuse(request, Cause.ERROR, str(error), url=final_url)
        self._starts.end(request, refusal)
        self._record(request, refusal, final_url)
        raise refusal from error

    async def explain(self, url: str, agent: str | Sequence[str] | None = None) -> Verdict:
        """Return the verdict on a request for ``url`` by ``agent`` (``None``: the crawler's own).

        Fetches the robots.txt if it is not known. Raises ``ValueError`` for text that is not an
        absolute URL, for an http or https URL without a usable host, and for an agent without a
        name.
        """
        return (await self.look_up(url, agent)).verdict

    async def look_up(self, url: str, agent: str | Sequence[str] | None = None) -> LookUp:
        """Return a named tuple: the ``verdict`` on ``url``, and what it rests on.

        That is the ``agent`` that was asked for, the ``authority`` of the URL (``None`` if none
        governs it), what is ``known`` of that, and ``by`` which of ``"rules"``, ``"override"``,
        ``"pace"`` and ``"use"`` it was decided. Fetches and raises as :meth:`explain` does.
        """
        return await self.explainer.look_up(url, agent)

    def agents(self, request: Request | None) -> tuple[str, ...]:
        """Return the product tokens that ``request`` goes by, in order of preference.

        Without a request, or if the request names something that is not a token, these are the
        tokens of the crawl.
        """
        return self._identity.default if request is None else self._identity.usable(request)

    def cache_info(self) -> dict[str, int]:
        """Return how many authorities, octets, fetches and waiting requests there are now."""
        return {
            "authorities": len(self._cache),
            "octets": self._cache.octets,
            "fetches": self._cache.flights,
            "waiting": self.withheld.pending + self._places.waiting,
        }

    def _shared_pace(self, settings: RepSettings) -> SharedPace | None:
        """Return the pace that all workers keep together, if they share a store.

        The file in a job directory is for one crawl at a time.
        """
        if not settings.shared_pace or settings.store is None or not self._store.has_store:
            return None
        turns = self._store.turns
        if turns is None:
            self._stats.unshared = shown(settings.store)
            return None
        return SharedPace(turns, self._stats)

    def _make_fetcher(self, crawler: Crawler, settings: RepSettings) -> RobotsFetcher:
        limits = FetchLimits(self._semaphore, self._places)
        inside, scrapy = self._inside, self._scrapy
        args = crawler, inside, scrapy, settings, self._stats, limits, time.time
        return RobotsFetcher(*args, self._identity.name_to_give, self._archive)

    def _make_cache(self, crawler: Crawler, settings: RepSettings) -> RobotsCache:
        context = AccessContext(self._store, settings.policy, self._stats, time.time)
        attempts = Attempts(settings.timeout, settings.retry_delays)
        profile = named(settings.profile)
        parse = partial(RobotsTxt.parse, profile=profile, max_size=settings.max_size)
        return RobotsCache(
            context,
            Refresher(context, self._fetcher.fetch, attempts),
            RulesReader(parse, self._paces.read),
            RobotsParsed(crawler, self._inside.listeners, self._stats, settings.timeout),
            started=self._stop.watch,
            landed=lambda authority: self._gate.landed(authority),
            withheld=self.withheld.waiting_for,
            memory_limit=settings.memory_limit - self._store.memory_limit,
        )

    def _applied(self, overrides: Overrides | None) -> AppliedOverrides | None:
        if overrides is None:
            return None
        applied = AppliedOverrides(overrides, self._stats, self._paces.read, time.time)
        self._stats.is_overridden = applied.__contains__
        return applied

    def _make_recorder(
        self, settings: RepSettings, run: str, overrides: Overrides | None
    ) -> DecisionRecorder | None:
        if settings.decision_log is None:
            return None
        archive = None if self._archive is None else self._archive.name
        about = Run(run, tuple(overrides or ()), archive)
        return DecisionRecorder(settings, self._stats, self._cache.held, time.time, about)

    def _make_archive(self, settings: RepSettings, run: str) -> Archive | None:
        if settings.warc is None:
            return None
        return Archive(settings.warc, run, self._stats, time.time)

    def _make_use(self, settings: RepSettings) -> UseOfPages | None:
        if settings.preferences == "off":
            return None
        return UseOfPages(settings)

    def _make_judge(self, use: UseOfPages | None) -> Judge:
        wanted = None if self._recorder is None else self._recorder.wants_verdict
        return Judge(self._cache, self._paces, use, self._overrides, wants_verdict=wanted)

    def _is_busy(self) -> bool:
        return bool(self._cache.flights or self.turns.waiting)

    def _interrupt(self, started_before: float) -> None:
        self._cache.interrupt(started_before, self._gate.is_in_place)
        self.turns.give_up()

    def _prepare(self) -> None:
        """Look for what this package needs of Scrapy, the first time that a spider is open."""
        if not self._is_prepared and self._scrapy.check() and self._inside.check():
            self._is_prepared = True

    async def _engine_started(self) -> None:
        """Say who obeys; end the crawl now if Scrapy lacks something necessary."""
        self._stats.identity(self._identity.searched_for)
        if self._overrides is not None:
            self._overrides.open()
        if self._archive is not None:
            self._archive.open()
        if self._recorder is not None:
            self._recorder.open(self._identity.default)
        self._look_around()
        try:
            self._prepare()
        except UnknownScrapyError as error:
            self._stats.unknown_scrapy(str(error))
            await self._end_crawl()

    def _look_around(self) -> None:
        """Say which other parts of this package are missing in the settings."""
        try:
            last_step = self._crawler.get_downloader_middleware(RepLastStep)
        except AttributeError:  # a custom downloader has no middlewares
            last_step = None
        if last_step is None:
            self._takes_turns = True
            self.turns.take_early()
            self._stats.without_last_step()
        if not self.withheld.is_open:
            self._stats.without_scheduler()

    async def _end_crawl(self) -> None:
        """End the crawl, which has just sent ``engine_started``, before its first request."""
        await sleep(0.0)  # lets the other listeners finish first
        engine: Any = self._crawler.engine
        await engine.close_spider_async(reason=_UNKNOWN_SCRAPY)
        await engine.stop_async()

    def _spider_closed(self) -> None:
        self._starts.close()
        if self._overrides is not None:
            self._overrides.close()
        self._stop.close()
        self._cache.interrupt()
        self.turns.close()
        self._store.close()
        if self._archive is not None:
            self._archive.close()
        if self._recorder is not None:
            self._recorder.close()


class RepLastStep:
    """Has requests to hosts that ask for a pace wait for their turn, behind all other middlewares.

    It belongs into ``DOWNLOADER_MIDDLEWARES`` at an order behind all others, such as 100,000.
    """

    def __init__(self, crawler: Crawler):
        if not obeys(crawler.settings):
            raise NotConfigured("ROBOTSTXT_OBEY is off")
        self._crawler = crawler
        self._gate: RepDownloaderMiddleware | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RepLastStep:
        """Return the last step of a crawl; raise ``NotConfigured`` if it does not obey."""
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | None:
        """Return when the request may be sent."""
        if self._gate is None:
            self._gate = self._crawler.get_downloader_middleware(RepDownloaderMiddleware)
        if self._gate is None:
            return None
        return await self._gate.arrive(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Note that a download has ended."""
        if self._gate is not None:
            self._gate.turns.left(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note that a download has failed."""
        if self._gate is not None:
            self._gate.turns.left(request)
