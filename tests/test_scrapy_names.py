"""A Scrapy that lacks a name on which the waiting relies ends the crawl, or one feature."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import scrapy
from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.engine import ExecutionEngine
from scrapy.core.engine import _Slot as EngineSlot
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

from scrapy_rep.scrapy_names import LIMIT, NAMES, PROXY_LOGIN, UNBOUND, ScrapyNames
from tests.crawl.harness import crawl, crawl_in_child
from tests.crawl.pacing import SlotlessDownloader, gaps
from tests.crawl.plugin import RULES, obey
from tests.rows import first
from tests.site import Authority, Site

HOLDERS = {
    attribute: cls
    for cls, attributes in {
        ExecutionEngine: "downloader _slot",
        Downloader: "active total_concurrency handlers slots",
        EngineSlot: "closing inprogress nextcall",
        DownloadHandlers: "_get_handler",
        DownloaderAwarePriorityQueue: "pqueues pqfactory",
        ScrapyPriorityQueue: "curprio",
    }.items()
    for attribute in attributes.split()
}
"""The class that has each undocumented attribute; ``schedule`` is that of ``nextcall``."""

FIRST = {
    attribute: path
    for path in reversed(NAMES)
    for attribute in path.split(".")[1:]
    if attribute in HOLDERS
}
CASES = [
    pytest.param(path, attribute, marks=[pytest.mark.slow] if attribute == "nextcall" else [])
    for attribute, path in FIRST.items()
]
"""Without ``nextcall``, each request that has waited starts five seconds late."""


def two_sites(site: Site) -> tuple[Authority, list[str]]:
    """A site that asks for a delay; requests to it and to another one, which forbids the last."""
    slow, quick = site.authority("User-agent: *\nCrawl-delay: 0.2\n"), site.authority(RULES)
    plans = [shop.url(f"/{number}") for number in range(3) for shop in (slow, quick)]
    return slow, [*plans, quick.url("/private")]


@contextmanager
def hidden(cls: Any, attribute: str) -> Iterator[None]:
    """An attribute is gone for this package, and for nothing else."""
    original = cls.__getattribute__

    def without(self: Any, asked: str) -> Any:
        caller: str = sys._getframe(1).f_globals["__name__"]
        if asked == attribute and caller.startswith("scrapy_rep"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        return original(self, asked)

    cls.__getattribute__ = without
    try:
        yield
    finally:
        del cls.__getattribute__


@pytest.mark.parametrize(("path", "attribute"), first(3, CASES))
async def test_a_name_that_is_gone_is_said_in_a_line(site: Site, path: str, attribute: str) -> None:
    """What is necessary ends the crawl before its first request, the rest is done without."""
    slow, plans = two_sites(site)
    with hidden(HOLDERS[attribute], attribute):
        result = await crawl(settings=obey(), plans=plans)
    said = [
        line for line in result.log if line.logger == "scrapy_rep" and "does not know" in line.text
    ]
    gone = [name for name in NAMES if attribute in name.split(".")]
    if any(NAMES[name] is None for name in gone):
        (line,) = [line for line in said if line.level == "ERROR"]
        assert f"does not know this Scrapy {scrapy.__version__}: " in line.text
        assert line.text.endswith("; the crawl ends without a request")
        assert (result.made, site.hits) == ([], [])
        assert result.stats["finish_reason"] == "unknown_scrapy"
        return
    (line,) = said
    assert line.level == "WARNING"
    assert path in line.text
    assert line.text.endswith(str(NAMES[path]))
    result.check()
    assert (result.downloaded, result.forbidden) == (plans[:-1], plans[-1:])
    assert min(gaps(slow)) >= 0.2


async def test_a_login_that_is_kept_elsewhere_is_said_in_one_line(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HttpProxyMiddleware has left it in the meta of a request since long."""
    original = HttpProxyMiddleware.process_request

    def process_request(self: Any, request: Any) -> Any:
        result = original(self, request)
        request.meta.pop(PROXY_LOGIN, None)
        return result

    monkeypatch.setattr(HttpProxyMiddleware, "process_request", process_request)
    shop = site.authority(RULES)
    result = (await crawl(settings=obey(), plans=[shop.url("/a"), shop.url("/private")])).check()
    assert (result.downloaded, result.forbidden) == ([shop.url("/a")], [shop.url("/private")])
    (line,) = result.lines("does not know this Scrapy")
    assert line.endswith(str(NAMES[PROXY_LOGIN]))


class HidingExtension:
    """Hides a name for good, in a crawl in a process of its own."""

    def __init__(self, holder: str, attribute: str) -> None:
        self._hiding = hidden(load_object(holder), attribute)
        self._hiding.__enter__()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HidingExtension:
        """Scrapy's way to make one."""
        return cls(*crawler.settings["HIDDEN"])


@pytest.mark.skipif(scrapy.version_info < (2, 19), reason="it has another handler then")
@pytest.mark.parametrize(
    ("holder", "attribute"), first(1, [("aiohttp.BaseConnector", "_limit"), (UNBOUND, "_session")])
)
def test_a_limit_that_cannot_be_lifted_is_said_in_one_line(
    site: Site, holder: str, attribute: str
) -> None:
    """Without a reactor: handlers are made when they are first used, and looked at then."""
    shop = site.authority(RULES)
    hiding = {
        "EXTENSIONS": {"tests.test_scrapy_names.HidingExtension": 0},
        "HIDDEN": [holder, attribute],
    }
    plans = [shop.url("/a"), shop.url("/private")]
    result = crawl_in_child(mode="none", settings=obey(**hiding), plans=plans).check()
    assert (result.downloaded, result.forbidden) == (plans[:1], plans[1:])
    (line,) = result.lines("does not know this Scrapy")
    assert attribute in line
    assert line.endswith(str(NAMES[LIMIT]))


class FixedDownloader(SlotlessDownloader):
    """Has a name of Scrapy's downloader, and uses it for something else."""

    @property
    def total_concurrency(self) -> int:
        """Not to be changed."""
        return 5


async def test_a_custom_downloader_may_lack_what_it_does_not_need(site: Site) -> None:
    """DOWNLOADER may be anything: that is the user's choice, and no word is lost about it."""
    _, plans = two_sites(site)
    settings = obey(
        DOWNLOADER=f"{__name__}.FixedDownloader",
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
    )
    result = (await crawl(settings=settings, plans=plans)).check()
    assert (result.downloaded, result.forbidden) == (plans[:-1], plans[-1:])
    assert not result.lines("does not know this Scrapy")


def test_there_are_at_most_sixteen_names() -> None:
    """Each further one is a way in which a new version of Scrapy can break this package."""
    names = {part for path in NAMES for part in path.split(".")}
    documented = {"engine", "schedule", "connector"}
    documented |= {"DownloaderAwarePriorityQueue", "ScrapyPriorityQueue"}
    assert len(names - documented) <= 16


def test_places_are_lent_on_top_of_a_limit_that_is_set_meanwhile() -> None:
    """As in the telnet console. No places that come back make it 0, which is no limit."""
    downloader = SimpleNamespace(total_concurrency=16)
    scrapy_names = ScrapyNames(SimpleNamespace(engine=SimpleNamespace(downloader=downloader)))  # type: ignore[arg-type]
    found = []
    for places, limit in ((3, 2), (1, None), (-4, None), (2, 0), (-1, 5), (-1, None)):
        scrapy_names.lend(places)
        found.append(downloader.total_concurrency)
        if limit is not None:
            downloader.total_concurrency = limit
    assert found == [19, 6, 2, 4, 0, 5]


def test_a_slot_stays_while_a_download_in_it_ends() -> None:
    """Scrapy sets its timer once more then, and only stops the timers of the slots that it has."""
    crawler = get_crawler(settings_dict={"DOWNLOAD_HANDLERS": {}})
    crawler.spider = crawler._create_spider("slots")
    downloader = Downloader(crawler)
    _, slot = downloader._get_slot(Request("https://a.example/", meta={"download_slot": "a"}))
    scrapy_names = ScrapyNames(SimpleNamespace(engine=SimpleNamespace(downloader=downloader)))  # type: ignore[arg-type]
    found = []
    for requests in (slot.active, slot.transferring):
        requests.add(Request("https://a.example/"))
        scrapy_names.remove_slot("a")
        found.append("a" in downloader.slots)
        requests.clear()
    scrapy_names.remove_slot("a")
    downloader.close()
    assert (found, downloader.slots) == ([True, True], {})
