"""The project that a subcommand asks for, and a crawl of it that only asks for robots.txt.

So a robots.txt comes as a crawl of the project gets it. The crawl has the project's settings and,
if one is named, its spider. It schedules no request, and what acts on items, on the spider's output
or beside the crawl is off: pipelines, feeds, extensions, spider middlewares and the scheduler.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from threading import Timer
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import BaseSettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.access.policy import Decision
from scrapy_rep.commands.output import EndingError, Status, described, ending, note
from scrapy_rep.commands.sources import governing, is_url, read, refuse_stdin_twice
from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
from scrapy_rep.gate.explain import Explainer, LookUp
from scrapy_rep.gate.identity import Identity
from scrapy_rep.robotstxt.printable import printable, without_login
from scrapy_rep.settings import RepSettings
from scrapy_rep.sites.cached_rules import CachedRules

_PATIENCE = 3.0
"""Seconds after which users are told that sites are still being asked."""

T = TypeVar("T")
Work = Callable[[Explainer], Awaitable[T]]


class Project:
    """The settings of the project, the command line, and the spider that ``--spider`` names.

    ``given`` are the settings without those of the spider, ``settings`` those with them. Raises
    ``EndingError`` if the project has no such spider, or if it cannot be loaded.
    """

    def __init__(self, given: BaseSettings, options: Namespace, is_quiet: bool) -> None:
        self.given = given
        self.options = options
        self.is_quiet = is_quiet
        self.settings = given.copy()
        self.spider: type[Spider] | None = None
        name = getattr(options, "spider", None)  # which not all subcommands have
        if name is None:
            return
        try:
            loader = get_spider_loader(given)
            if name in loader.list():
                self.spider = loader.load(name)
                self.spider.update_settings(self.settings)
        except Exception as error:  # noqa: BLE001  # the code of a project may raise anything
            reason = f"the spider {name} cannot be loaded: {described(error)}"
            raise EndingError(reason) from None
        if self.spider is None:
            raise EndingError(f"no spider is called {name}")

    @cached_property
    def rep_settings(self) -> RepSettings:
        """The settings of this package; raises ``EndingError`` for a bad one."""
        try:
            return RepSettings.from_settings(self.settings)
        except ValueError as error:
            raise EndingError(str(error)) from None

    @property
    def agent(self) -> tuple[str, ...]:
        """The tokens of a crawl; raises ``EndingError`` if the spider's are not valid."""
        crawler: Any = SimpleNamespace(settings=self.settings, spider=self.spider)
        try:
            return Identity(crawler, self.rep_settings).default
        except ValueError as error:
            raise EndingError(str(error)) from None


class _Nothing(Spider):
    name = "robots"


class NoRequests(BaseScheduler):
    """Has no request, whatever a ``JOBDIR`` or another scheduler of the project keeps."""

    def has_pending_requests(self) -> bool:
        """Return False."""
        return False

    def enqueue_request(self, request: Request) -> bool:
        """Refuse a request."""
        return False

    def next_request(self) -> Request | None:
        """Return None."""
        return None


_SETTINGS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "REP_DECISION_LOG": None,
    "REP_WARC": None,
    "ITEM_PIPELINES": {},
    "EXTENSIONS": {},
    "EXTENSIONS_BASE": {},  # feeds, too
    "SPIDER_MIDDLEWARES": {},
    "SCHEDULER": NoRequests,
}
_ADDON = "scrapy_rep.Addon"


def look_up(
    project: Project, urls: Sequence[str], agent: Sequence[str] | None = None
) -> list[LookUp]:
    """Return what is known of some URLs, all asked for at once.

    After a few seconds, a line on stderr says what takes so long: a site that fails is asked
    several times, as in a crawl.
    """
    line = "still waiting for robots.txt; a site that fails is asked several times, as in a crawl"
    timer = Timer(_PATIENCE, note, (project.options.subcommand, line))
    timer.daemon = True
    timer.start()
    try:
        return in_crawl(project, partial(look_up_at_once, urls=urls, agent=agent))
    finally:
        timer.cancel()


def known_of(project: Project, urls: Sequence[str]) -> list[CachedRules]:
    """Return what is known of the sites of some URLs, which are http or https."""
    return [one.known for one in look_up(project, urls) if one.known is not None]


async def look_up_at_once(
    explainer: Explainer, urls: Sequence[str], agent: Sequence[str] | None
) -> list[LookUp]:
    """Return what is known of some URLs, within a crawl."""
    asked = [deferred_from_coro(explainer.look_up(url, agent)) for url in urls]
    return [await maybe_deferred_to_future(one) for one in asked]


class Loaded(NamedTuple):
    """The octets of a robots.txt, or the error that says why it cannot be read or fetched.

    If a site has none, ``lack`` says why, and the octets are those of a file that means the same.
    """

    body: bytes = b""
    lack: str = ""
    error: EndingError | None = None


def load_all(project: Project, sources: Sequence[str]) -> list[Loaded]:
    """Return what each source has: a file, standard input, or the site of a URL.

    Raises ``EndingError`` for a bad URL.
    """
    refuse_stdin_twice(*sources)
    urls = [source for source in sources if is_url(source)]
    for url in urls:
        governing(url)
    fetched = dict(zip(urls, known_of(project, urls) if urls else (), strict=True))
    return [
        _fetched(source, fetched[source]) if source in fetched else _read(source)
        for source in sources
    ]


def _read(source: str) -> Loaded:
    try:
        return Loaded(read(source))
    except (EndingError, OSError) as error:
        return Loaded(error=ending(error))


def _fetched(url: str, known: CachedRules) -> Loaded:
    if known.unreachable:
        reason = f"the robots.txt of {without_login(url)} is unreachable: {lack_of_rules(known)}"
        return Loaded(error=EndingError(reason, Status.UNKNOWN))
    if known.body is not None:
        return Loaded(known.body)
    body = b"" if known.decision is Decision.ALLOW_ALL else b"User-agent: *\nDisallow: /\n"
    return Loaded(body, lack_of_rules(known))


def lack_of_rules(known: CachedRules) -> str:
    """Return why a site has no rules: printable, in one line."""
    if known.unreachable or known.answer is None:
        detail = "" if known.failure is None else known.failure.detail
        return printable(f"{known.cause}: {detail}" if detail else known.cause)
    return f"no robots.txt: status {known.answer.status}"


def in_crawl(project: Project, work: Work[T]) -> T:
    """Run a crawl, call ``work`` with its :class:`Explainer`, and return what that returns.

    Raises what ``work`` raises, and ``EndingError`` if the crawl could not start, which is a fault
    of the project: of a spider, a component or a setting.
    """
    settings = {**_SETTINGS, "ADDONS": {**project.settings.getdict("ADDONS"), _ADDON: 100}}
    if project.is_quiet:
        settings["LOG_ENABLED"] = False
    project.given.setdict(settings, priority="cmdline")  # which takes precedence over the spider's
    outcome: Future[T] = Future()

    async def start(self: Spider) -> AsyncIterator[Any]:
        try:
            middleware = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
            if middleware is None:
                raise EndingError("the settings do not enable scrapy_rep")
            outcome.set_result(await work(middleware.explainer))
        except Exception as error:  # noqa: BLE001  # it is raised again below
            outcome.set_exception(error)
        return
        yield  # makes this an asynchronous generator

    failure: BaseException | None
    try:
        spider = type("RobotsSpider", (project.spider or _Nothing,), {"start": start})
        failure = _crawl(project.given, spider)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the code of a project
        failure = error
    if outcome.done():
        return outcome.result()
    if failure is None or isinstance(failure, KeyboardInterrupt):
        raise KeyboardInterrupt
    # The add-on raises an error that is both for a bad setting; its text says all.
    is_setting = isinstance(failure, SystemExit) and isinstance(failure, ValueError)
    reason = str(failure) if is_setting else described(failure)
    raise EndingError(f"no robots.txt can be fetched: {reason}")


def _crawl(settings: Any, spider: type[Spider]) -> BaseException | None:
    """Run a crawl to its end; return what went wrong outside of ``start``."""
    failures: list[BaseException | None] = [None]
    has_reactor = settings.getbool("TWISTED_REACTOR_ENABLED", True)
    process: Any = (CrawlerProcess if has_reactor else AsyncCrawlerProcess)(settings)
    crawling = process.crawl(spider)
    if isinstance(crawling, Deferred):
        crawling.addErrback(lambda failure: failures.append(failure.value))
    else:
        crawling.add_done_callback(
            lambda task: failures.append(None if task.cancelled() else task.exception())
        )
    process.start()
    return failures[-1]
