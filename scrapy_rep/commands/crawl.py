"""Runs a coroutine within a crawl, so that robots.txt comes as a crawl of the project gets it.

The crawl has the project's settings and, if one is named, its spider. It schedules no request, and
what acts on items, on the spider's output or beside the crawl is off: pipelines, feeds, extensions,
spider middlewares, the queue and the filter of duplicates.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred

from scrapy_rep.commands.output import EndingError, Status, described, note, usage_error
from scrapy_rep.commands.project import settings_of, settings_with_spider
from scrapy_rep.settings import obeys
from scrapy_rep.stores import check_store

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.gate.explain import LookUp

_PATIENCE = 3.0
"""Seconds after which users are told that sites are still being asked."""

T = TypeVar("T")
Work = Callable[["RepDownloaderMiddleware"], Awaitable[T]]

_OFF: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "REP_DECISION_LOG": None,
    "REP_DECISIONS": None,
    "REP_LOG_URLS": None,
    "REP_DECISION_LOG_REQUIRED": None,
    "REP_WARC": None,
    "REP_PAGE_DIRECTIVES": None,
    "REP_NOINDEX": None,
    "REP_LINK_NOFOLLOW": None,
    "ITEM_PIPELINES": {},
    "ITEM_PIPELINES_BASE": {},
    "FEEDS": {},
    "EXTENSIONS": {},
    "EXTENSIONS_BASE": {},
    "SPIDER_MIDDLEWARES": {},
    "SPIDER_MIDDLEWARES_BASE": {},
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
}
_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
_ADDON = "scrapy_rep.Addon"
_MIDDLEWARE = "scrapy_rep.RepDownloaderMiddleware"


def look_up(
    settings: BaseSettings,
    options: Namespace,
    urls: Sequence[str],
    agent: Sequence[str] | None = None,
) -> list[LookUp]:
    """Return what is known of some URLs, all asked for at once; raise ``ValueError``.

    What takes more than a few seconds is said on stderr, because a site that fails is asked as
    often as in a crawl.
    """

    async def work(middleware: RepDownloaderMiddleware) -> list[LookUp]:
        asked: list[Deferred[LookUp]] = [
            deferred_from_coro(middleware.look_up(url, agent)) for url in urls
        ]
        return [await maybe_deferred_to_future(one) for one in asked]

    said = "still waiting for robots.txt; a site that fails is asked several times, as in a crawl"
    timer = Timer(_PATIENCE, note, (options.subcommand, said))
    timer.daemon = True
    timer.start()
    try:
        return in_crawl(settings, options, work)
    finally:
        timer.cancel()


def _configure(settings: BaseSettings, options: Namespace) -> None:
    """Change the settings for a crawl that only asks for robots.txt. Raises ``EndingError``.

    What is changed takes precedence over the settings of the spider, so it is derived from those.
    """
    final, _ = settings_with_spider(settings, options)
    try:
        if not _will_obey(final) and _is_project(settings):
            note(options.subcommand, "ROBOTSTXT_OBEY is off in the settings: as if it were on")
    except ValueError as error:
        raise usage_error(str(error)) from None
    if options.quiet:
        settings.set("LOG_ENABLED", False, priority="cmdline")
    job = job_dir(final)
    if job and not final.get("REP_STORE"):
        file = (Path(job) / "robots.db").resolve()
        settings.set("REP_STORE", f"sqlite://{_quoted(file)}", priority="cmdline")
    settings.set("JOBDIR", None, priority="cmdline")
    if options.no_store:
        settings.set("REP_STORE", "memory:", priority="cmdline")
    if getattr(options, "rep_profile", None):
        settings.set("REP_PROFILE", options.rep_profile, priority="cmdline")
    for name, value in _OFF.items():
        settings.set(name, value, priority="cmdline")
    _install(settings, final)
    store = settings_of(settings_with_spider(settings, options)[0]).store
    try:
        if store is not None:
            check_store(store)
    except ValueError as error:
        raise usage_error(f"REP_STORE: {error}") from None


def _will_obey(settings: BaseSettings) -> bool:
    """Return whether a crawl of the project obeys; the add-on may switch that on."""
    settings = settings.copy()
    if any(_name(addon) == "Addon" for addon in settings.getdict("ADDONS")):
        settings.set("ROBOTSTXT_OBEY", True, priority="addon")
    return obeys(settings)


def _is_project(settings: BaseSettings) -> bool:
    """Return True if the settings are those of a project, and not Scrapy's own."""
    return (settings.getpriority("BOT_NAME") or 0) > 0


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3F").replace("#", "%23")


def _install(settings: BaseSettings, final: BaseSettings) -> None:
    """Put the add-on into the settings, unless the final ones have it or the middleware already."""
    named = {_name(key) for key in final.getdict("ADDONS")}
    named |= {_name(key) for key in final.getdict("DOWNLOADER_MIDDLEWARES")}
    if not named & {"Addon", "RepDownloaderMiddleware"}:
        addons = {**final.getdict("ADDONS"), _ADDON: 100}
        settings.set("ADDONS", addons, priority="cmdline")


def _name(component: Any) -> str:
    """Return the name of a component, a class or its path, if it is of this package, else ""."""
    path = component if isinstance(component, str) else ""
    if isinstance(component, type):
        path = f"{component.__module__}.{component.__qualname__}"
    return path.rpartition(".")[2] if path.startswith("scrapy_rep.") else ""


def in_crawl(settings: BaseSettings, options: Namespace, work: Work[T]) -> T:
    """Return what ``work`` returns; it is given the middleware of the crawl.

    Raises what ``work`` raises, and ``EndingError`` if the crawl could not start.
    """
    _configure(settings, options)
    process = _process(settings)
    results: list[T] = []
    errors: list[Exception] = []
    failures: list[BaseException] = []

    async def start(self: Spider) -> AsyncIterator[Any]:
        try:
            middleware = self.crawler.get_downloader_middleware(load_object(_MIDDLEWARE))
            if middleware is None:
                raise usage_error("the settings do not enable scrapy_rep")
            results.append(await work(middleware))
        except Exception as error:  # noqa: BLE001  # it is raised again below
            errors.append(error)
        if errors is None:  # never: the yield makes this an asynchronous generator
            yield

    spider = type("RobotsSpider", (_spider(process, options.spider),), {"start": start})
    _run(process, spider, failures)
    if errors:
        raise errors[0]
    if failures:
        raise _not_started(failures[0])
    if not results:
        raise EndingError(Status.INTERRUPTED, "interrupted")
    return results[0]


def _process(settings: BaseSettings) -> Any:
    """Return what runs crawls, chosen as Scrapy chooses it for its own commands.

    Scrapy would make it before the command runs, and an error would end in a traceback.
    """
    asyncio = settings["TWISTED_REACTOR"] == _ASYNCIO and not settings.getbool(
        "FORCE_CRAWLER_PROCESS"
    )
    chosen: Any = settings
    try:
        if asyncio or not settings.getbool("TWISTED_REACTOR_ENABLED", True):
            return AsyncCrawlerProcess(chosen)
        return CrawlerProcess(chosen)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise _not_started(error) from None


def _run(process: Any, spider: type[Spider], failures: list[BaseException]) -> None:
    """Run a crawl to its end; add what went wrong outside of ``start`` to ``failures``."""
    try:
        crawling = process.crawl(spider)
        if hasattr(crawling, "addErrback"):
            crawling.addErrback(lambda failure: failures.append(failure.value))
        else:
            crawling.add_done_callback(lambda task: _keep(task, failures))
        process.start()
    except (Exception, SystemExit) as error:  # noqa: BLE001
        failures.append(error)


def _keep(task: Any, failures: list[BaseException]) -> None:
    if not task.cancelled() and task.exception() is not None:
        failures.append(task.exception())


def _not_started(error: BaseException) -> EndingError:
    """Return what ends the command after an error of the project: a spider, a component, a setting.

    Before the crawl has started, this package does nothing in it.
    """
    return usage_error(f"the crawl cannot start: {described(error)}")


def _spider(process: Any, name: str | None) -> type[Spider]:
    """Return the spider of that name, or one that does nothing."""
    if name is None:
        return _Nothing
    try:
        found: type[Spider] = process.spider_loader.load(name)
    except KeyError:
        raise usage_error(f"no spider is called {name}") from None
    return found


class _Nothing(Spider):
    name = "robots"
