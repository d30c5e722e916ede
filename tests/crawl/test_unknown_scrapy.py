"""A Scrapy that lacks a name which this package relies on ends the crawl, or one feature.

Either is said in one line. It is never a crawl without a page for no reason that is said, nor one
that fetches what it may not, nor one at full speed.
"""

from __future__ import annotations

import pytest
import scrapy
from pytest_twisted import ensureDeferred
from scrapy.crawler import Crawler
from scrapy.utils.misc import load_object

from scrapy_rep.scrapy_internals import NAMES, PrivateName
from scrapy_rep.scrapy_internals.names import Holder
from tests.crawl.harness import MODES, crawl, crawl_in_child
from tests.crawl.hiding import hidden
from tests.crawl.pacing import SlotlessDownloader, gaps
from tests.crawl.plugin import RULES, obey
from tests.crawl.result import Result
from tests.site import Site

PACED = "User-agent: *\nCrawl-delay: 0.1\n"

REACTORLESS = (Holder.HANDLER, Holder.CONNECTOR)
"""What Scrapy has only where it runs without a reactor."""

HERE = [entry for entry in NAMES if entry.holder not in REACTORLESS]
THERE = [entry for entry in NAMES if entry.holder in REACTORLESS]


class Shops:
    """One shop that asks for a pace and one that does not, their pages, and a forbidden one."""

    def __init__(self, site: Site) -> None:
        self.slow, quick = site.authority(PACED), site.authority(RULES)
        self.allowed = [
            shop.url(f"/{number}") for number in range(4) for shop in (self.slow, quick)
        ]
        self.forbidden = [quick.url("/private")]
        self.urls = [*self.allowed, *self.forbidden]


def check(site: Site, shops: Shops, result: Result, entry: PrivateName) -> None:
    """One line says what is missing, and what follows from that."""
    lines = [
        line
        for line in result.log
        if line.logger == "scrapy_rep" and line.level in ("WARNING", "ERROR")
    ]
    (line,) = lines
    assert f"does not know this Scrapy {scrapy.__version__}: " in line.text
    assert entry.name in line.text
    assert not line.traceback
    if entry.feature.without is None:
        assert line.level == "ERROR"
        assert line.text.endswith("; the crawl ends without a request")
        assert (result.made, site.hits) == ([], [])
        assert result.stats["finish_reason"] == "unknown_scrapy"
        result.check(expected=["the crawl ends without a request"])
        return
    assert line.level == "WARNING"
    assert line.text.endswith(entry.feature.without)
    result.check()
    assert (result.downloaded, result.forbidden) == (shops.allowed, shops.forbidden)
    assert result.stats["finish_reason"] == "finished"
    assert min(gaps(shops.slow)) >= 0.1


@pytest.mark.parametrize("entry", HERE, ids=str)
@ensureDeferred
async def test_a_name_that_is_gone_is_said_in_one_line(site: Site, entry: PrivateName) -> None:
    """Each name of the table in turn, taken away for this package and for nothing else."""
    shops = Shops(site)
    with hidden(entry):
        result = await crawl(settings=obey(), plans=shops.urls)
    check(site, shops, result, entry)


@pytest.mark.skipif("none" not in MODES, reason="this Scrapy needs a reactor")
@pytest.mark.parametrize("entry", THERE, ids=str)
def test_a_name_that_is_gone_without_a_reactor_is_said_in_one_line(
    site: Site, entry: PrivateName
) -> None:
    """Handlers are made when they are first used; their names are looked up then."""
    try:
        load_object(entry.path)
    except (ImportError, NameError):
        pytest.skip(f"this Scrapy has no {entry.path}")
    shops = Shops(site)
    result = crawl_in_child(settings=hiding(entry), mode="none", plans=shops.urls)
    check(site, shops, result, entry)


def hiding(entry: PrivateName) -> dict[str, object]:
    """The settings of a crawl in a child that lacks a name."""
    return obey(EXTENSIONS={"tests.crawl.hiding.HidingExtension": 0}, HIDDEN=NAMES.index(entry))


@ensureDeferred
async def test_a_custom_downloader_may_lack_what_it_does_not_need(site: Site) -> None:
    """DOWNLOADER may be anything: that is the user's choice, and no word is lost about it."""
    shops = Shops(site)
    settings = obey(
        DOWNLOADER="tests.crawl.pacing.SlotlessDownloader",
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
    )
    result = (await crawl(settings=settings, plans=shops.urls)).check()
    assert (result.downloaded, result.forbidden) == (shops.allowed, shops.forbidden)
    assert not result.lines("does not know this Scrapy")


class OtherSlotsDownloader(SlotlessDownloader):
    """Has names of Scrapy's downloader, and uses them for something else."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.slots: list[str] = []
        self.per_slot_settings = self.domain_concurrency = None

    @property
    def total_concurrency(self) -> int:
        """Not to be changed."""
        return 5


@ensureDeferred
async def test_a_custom_downloader_may_use_a_name_for_something_else(site: Site) -> None:
    """That is as if it lacked the name; no request ends for it."""
    shops = Shops(site)
    settings = obey(
        DOWNLOADER="tests.crawl.test_unknown_scrapy.OtherSlotsDownloader",
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
    )
    result = (await crawl(settings=settings, plans=shops.urls)).check()
    assert (result.downloaded, result.forbidden) == (shops.allowed, shops.forbidden)
    assert not result.lines("does not know this Scrapy")


@ensureDeferred
async def test_a_scrapy_that_is_known_is_not_mentioned(site: Site) -> None:
    """The check passes in silence on the Scrapy that the tests run on."""
    shops = Shops(site)
    result = (await crawl(settings=obey(), plans=shops.urls)).check()
    assert (result.downloaded, result.forbidden) == (shops.allowed, shops.forbidden)
    assert not result.lines("does not know")
