"""Real crawls, in this process under its asyncio reactor, or in a child under any reactor."""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import scrapy
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import cookies
from scrapy.settings import Settings
from scrapy.utils.python import global_object_name
from tldextract import TLDExtract
from twisted.internet.defer import Deferred

from scrapy_rep import RepDownloaderMiddleware
from tests.crawl.leftovers import Leftovers
from tests.crawl.logtap import LogTap
from tests.crawl.plugin import by_hand, obey
from tests.crawl.result import Result
from tests.crawl.spiders import RequestsSpider
from tests.processes import ROOT as ROOT
from tests.processes import run_python
from tests.rows import first
from tests.site import Authority

MODES: dict[str, dict[str, Any]] = {
    "asyncio": {"TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor"},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "none": {"TWISTED_REACTOR_ENABLED": False},
}
# Scrapy 2.14 asks Twisted for TLS in a way that Twisted deprecates, and leaves the files of a
# resumed crawl's queue open.
WARNINGS = ["-Werror", "-Wignore:Passing method to twisted.internet.ssl:DeprecationWarning"]
if scrapy.version_info < (2, 15):
    del MODES["none"]
    WARNINGS.append("-Wignore:unclosed file:ResourceWarning")

EACH_MODE = first(1, MODES)
"""For tests of one feature: by default under asyncio, and in the other modes with the slow tests.

What a hundred requests at once get is seen in all :data:`MODES`.
"""

# Scrapy would fetch the list of public suffixes from the Internet when it first sees a cookie
cookies._split_domain = TLDExtract(suffix_list_urls=(), include_psl_private_domains=True)

QUIET = {
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
    "CONCURRENT_ITEMS": 4,  # Scrapy starts that many tasks for each response: by default 100
}


def settings_of(given: Mapping[str, Any] | Settings) -> Settings:
    """The settings of a crawl: those given, over what keeps a crawl to itself.

    The latter have a lower priority than an add-on's. A mapping is taken as a project's.
    """
    settings = Settings(QUIET, priority="command")
    settings.update(given, priority="project")
    return settings


async def crawl(
    spider: type[RequestsSpider] = RequestsSpider,
    settings: Mapping[str, Any] | Settings | None = None,
    *,
    timeout: float = 100,
    on: Mapping[object, Callable[..., object]] | None = None,
    **arguments: Any,
) -> Result:
    """One crawl in this process; `on` are signals, and what is to be called at each of them.

    It fails if the crawl takes longer than `timeout` seconds, and if it leaves anything behind
    that the reactor would still have to do.
    """
    crawler = Crawler(spider, settings_of(settings or {}))
    for signal, receiver in (on or {}).items():
        crawler.signals.connect(receiver, signal, weak=False)
    before = Leftovers.now()
    with LogTap() as tap:
        await within(timeout, crawler.crawl(**arguments))
        await before.cleared()
        gc.collect()
    return result_of(crawler, tap, keep=True)


async def visit(
    plans: Iterable[Any],
    spider: type[RequestsSpider] = RequestsSpider,
    *,
    by: Callable[..., Mapping[str, Any]] = obey,
    mode: str = "asyncio",
    expected: Iterable[str] = (),
    whole: bool = True,
    **named: Any,
) -> Result:
    """One crawl in which each request has one end; `expected` is trouble that its log may tell.

    With `whole=False` requests may be left over, for a later run. Of the other arguments those in
    capitals are settings, which `by` makes those of a project with the add-on; the rest is for
    `crawl` and the spider.
    """
    settings = by(**{name: value for name, value in named.items() if name.isupper()})
    how = {name: value for name, value in named.items() if not name.isupper()}
    result = await crawl_under(mode, spider, settings, plans=plans, **how)
    return result.check(expected) if whole else result.check_log(expected)


async def open_and_private(shop: Authority, **named: Any) -> Result:
    """One crawl of two pages of a site; `RULES` forbid the second one."""
    return await visit([shop.url("/open"), shop.url("/private")], **named)


RULED = ["downloaded", "forbidden"]
"""How they end by these rules."""


async def crawl_under(
    mode: str,
    spider: type[RequestsSpider] = RequestsSpider,
    settings: Mapping[str, Any] | None = None,
    **how: Any,
) -> Result:
    """One crawl with the reactor of `mode`: here if it is that of the tests, else in a child.

    A child takes a quarter of a second of processor time that a crawl in this process does not.
    """
    if mode == "asyncio":
        return await crawl(spider, settings, **how)
    return crawl_in_child(spider, settings, mode=mode, **how)


def gate_with(**settings: Any) -> RepDownloaderMiddleware:
    """The middleware of a crawl that is built with these settings, and does not start."""
    crawler = Crawler(RequestsSpider, settings_of(by_hand(**settings)))
    crawler._apply_settings()
    return RepDownloaderMiddleware.from_crawler(crawler)


def result_of(crawler: Crawler, tap: LogTap, *, keep: bool = False) -> Result:
    """What the spider, the stats and the log say; `keep`: with the crawler."""
    spider = crawler.spider
    assert isinstance(spider, RequestsSpider), "the crawl never got as far as a spider"
    stats = dict(crawler.stats.get_stats())
    return Result(spider.made, spider.endings, stats, tap.lines, crawler if keep else None)


async def within(timeout: float, deferred: Deferred[None]) -> None:
    """Await a Deferred for at most this many seconds; raise TimeoutError after that."""
    from twisted.internet import reactor

    def late(_: object, seconds: float) -> NoReturn:
        # By itself this would be the CancelledError of asyncio, which may also be an injected one.
        raise TimeoutError(f"not over after {seconds:g} s")

    await deferred.addTimeout(timeout, reactor, late)


def crawl_in_child(
    spider: type[RequestsSpider] | str = RequestsSpider,
    settings: Mapping[str, Any] | None = None,
    *,
    mode: str = "asyncio",
    timeout: float = 200,
    **arguments: Any,
) -> Result:
    """One crawl in a process of its own, with the reactor of `mode` (a key of `MODES`).

    All arguments must be of JSON's types, so other components are given by their import paths.
    """
    name = spider if isinstance(spider, str) else global_object_name(spider)
    own = {**(settings or {}), **MODES[mode]}
    job = {"spider": name, "settings": own, "arguments": arguments}
    with tempfile.TemporaryDirectory() as directory:
        order, answer = Path(directory, "job.json"), Path(directory, "result.json")
        order.write_text(json.dumps(job))
        words = "-m", "tests.crawl.child", str(order), str(answer)
        child = run_python(*words, options=WARNINGS, timeout=timeout)
        assert child.returncode == 0, child.stderr[-4000:]
        result = Result.load(answer)
    assert not child.stderr, child.stderr[-4000:]
    return result
