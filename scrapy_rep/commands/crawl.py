"""The project that a subcommand asks for, and a crawl of it that only asks for robots.txt.

So a robots.txt comes as a crawl of the project gets it. The crawl has the project's settings and,
if one is named, its spider. It schedules no request, and what acts on items, on the spider's output
or beside the crawl is off: pipelines, feeds, extensions, spider middlewares and the scheduler.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred

from scrapy_rep.commands.output import EndingError, Status, described, note, usage_error
from scrapy_rep.commands.sources import (
    STDIN,
    authority_named,
    is_url,
    read,
    refuse_stdin_twice,
)
from scrapy_rep.gate.identity import Identity
from scrapy_rep.settings import RepSettings

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.gate.explain import LookUp
    from scrapy_rep.sites.cached_rules import CachedRules

_PATIENCE = 3.0
"""Seconds after which users are told that sites are still being asked."""

T = TypeVar("T")
Work = Callable[["RepDownloaderMiddleware"], Awaitable[T]]


class Project:
    """The settings of the project and the command line, and the spider that ``--spider`` names.

    ``given`` are the settings without those of the spider, ``settings`` those with them. Raises
    ``EndingError`` if the project has no such spider, or if it cannot be loaded.
    """

    def __init__(self, given: BaseSettings, name: str | None) -> None:
        self.given = given
        self.settings = given.copy()
        self.spider: type[Spider] | None = None
        if name is None:
            return
        try:
            self.spider = get_spider_loader(given).load(name)
        except KeyError:
            raise usage_error(f"no spider is called {name}") from None
        except Exception as error:  # noqa: BLE001  # the code of a project may raise anything
            raise usage_error(f"the spiders cannot be loaded: {described(error)}") from None
        try:
            self.spider.update_settings(self.settings)
        except Exception as error:  # noqa: BLE001  # the code of a project may raise anything
            said = f"the settings of the spider {name} cannot be read: {described(error)}"
            raise usage_error(said) from None

    @cached_property
    def chosen(self) -> RepSettings:
        """The settings of this package; raises ``EndingError`` for a bad one."""
        try:
            return RepSettings.from_settings(self.settings)
        except ValueError as error:
            raise usage_error(str(error)) from None

    @property
    def agent(self) -> tuple[str, ...]:
        """The tokens of a crawl; raises ``EndingError`` if the spider's are not valid."""
        crawler: Any = SimpleNamespace(settings=self.settings, spider=self.spider)
        try:
            return Identity(crawler, self.chosen).default
        except ValueError as error:
            raise usage_error(str(error)) from None


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
    "ITEM_PIPELINES_BASE": {},
    "FEEDS": {},
    "EXTENSIONS": {},
    "EXTENSIONS_BASE": {},
    "SPIDER_MIDDLEWARES": {},
    "SPIDER_MIDDLEWARES_BASE": {},
    "SCHEDULER": NoRequests,
}
_ADDON = "scrapy_rep.Addon"
_MIDDLEWARE = "scrapy_rep.RepDownloaderMiddleware"


def look_up(
    project: Project,
    options: Namespace,
    urls: Sequence[str],
    agent: Sequence[str] | None = None,
) -> list[LookUp]:
    """Return what is known of some URLs, all asked for at once; raise ``ValueError``.

    What takes more than a few seconds is said on stderr, because a site that fails is asked as
    often as in a crawl.
    """
    said = "still waiting for robots.txt; a site that fails is asked several times, as in a crawl"
    timer = Timer(_PATIENCE, note, (options.subcommand, said))
    timer.daemon = True
    timer.start()
    try:
        work = partial(look_up_at_once, urls=urls, agent=agent)
        return in_crawl(project, work, quiet=options.quiet)
    finally:
        timer.cancel()


async def look_up_at_once(
    middleware: RepDownloaderMiddleware, urls: Sequence[str], agent: Sequence[str] | None
) -> list[LookUp]:
    """Return what is known of some URLs, within a crawl; raise ``ValueError``."""
    asked: list[Deferred[LookUp]] = [
        deferred_from_coro(middleware.look_up(url, agent)) for url in urls
    ]
    return [await maybe_deferred_to_future(one) for one in asked]


def robots_txt_of(
    project: Project, options: Namespace, sources: Sequence[str]
) -> Iterator[bytes | CachedRules | EndingError]:
    """Yield the octets of each source: a file, standard input, or the site of a URL.

    A site without a robots.txt yields what is known of it instead, and a source that cannot be read
    or fetched the error that says why. Raises ``EndingError`` for a bad URL.
    """
    refuse_stdin_twice(*sources)
    urls = [source for source in sources if is_url(source)]
    for url in urls:
        authority_named(url)
    fetched = dict(zip(urls, look_up(project, options, urls) if urls else (), strict=True))
    for source in sources:
        if source not in fetched:
            yield _read(source)
            continue
        known = fetched[source].known
        if known is None or known.unreachable:
            yield unreachable(source, fetched[source])
        else:
            yield known if known.body is None else known.body


def _read(source: str) -> bytes | EndingError:
    """Return the octets of a file or standard input, or the error that says why there are none."""
    try:
        return read(source)
    except EndingError as error:
        is_there = source == STDIN or Path(source).exists()
        hint = "" if is_there else "; a URL begins with http:// or https://"
        return EndingError(error.status, error.reason + hint)


def unreachable(url: str, one: LookUp) -> EndingError:
    """Return the error that ends the command if the rules of a site are not known."""
    cause = "error" if one.known is None else one.known.cause
    return EndingError(Status.UNKNOWN, f"the robots.txt of {url} is unreachable: {cause}")


def in_crawl(project: Project, work: Work[T], *, quiet: bool) -> T:
    """Return what ``work`` returns; it is given the middleware of the crawl.

    If the crawl is ``quiet``, it logs nothing.
    Raises what ``work`` raises, and ``EndingError`` if the crawl could not start, which is a fault
    of the project: of a spider, a component or a setting.
    """
    chosen = {**_SETTINGS, "ADDONS": {**project.settings.getdict("ADDONS"), _ADDON: 100}}
    if quiet:
        chosen["LOG_ENABLED"] = False
    project.given.setdict(chosen, priority="cmdline")  # which takes precedence over the spider's
    outcome: Future[T] = Future()
    failures: list[BaseException | None] = []

    async def start(self: Spider) -> AsyncIterator[Any]:
        try:
            middleware = self.crawler.get_downloader_middleware(load_object(_MIDDLEWARE))
            if middleware is None:
                raise usage_error("the settings do not enable scrapy_rep")
            outcome.set_result(await work(middleware))
        except Exception as error:  # noqa: BLE001  # it is raised again below
            outcome.set_exception(error)
        return
        yield  # makes this an asynchronous generator

    try:
        spider = type("RobotsSpider", (project.spider or _Nothing,), {"start": start})
        _crawl(project.given, spider, failures)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the code of a project
        failures.append(error)
    if outcome.done():
        return outcome.result()
    for failure in filter(None, failures):
        if isinstance(failure, KeyboardInterrupt):
            raise failure
        # The add-on raises an error that is both for a bad setting; its text says all.
        is_setting = isinstance(failure, SystemExit) and isinstance(failure, ValueError)
        said = str(failure) if is_setting else described(failure)
        raise usage_error(f"the crawl cannot start: {said}")
    raise EndingError(Status.INTERRUPTED, "interrupted")


def _crawl(settings: Any, spider: type[Spider], failures: list[BaseException | None]) -> None:
    """Run a crawl to its end; add what went wrong outside of ``start`` to ``failures``."""
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
