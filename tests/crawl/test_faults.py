"""A fault of our own, wherever it strikes, opens no door and keeps no request for ever."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy.crawler import Crawler
from twisted.internet.defer import CancelledError

from tests.crawl.faults import FaultError, Faults
from tests.crawl.harness import settings_of, within
from tests.crawl.logtap import LogTap
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply, redirect
from tests.site import Authority, Site

MODULES = [
    f"scrapy_rep.{name}"
    for name in (
        "cache",
        "closing",
        "downloadermiddlewares",
        "fetcher",
        "identity",
        "inquiry",
        "known",
        "redirects",
        "responses",
        "shelf",
        "waiting",
    )
]

# A call that does not take place leaves the coroutine that was its argument behind.
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def faults() -> Iterator[Faults]:
    """The package, with a point at each call and each await."""
    with Faults(*MODULES).installed() as faults:
        yield faults


class Village:
    """Authorities of all sorts, and the requests to them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        ruled = site.authority(RULES)
        moved = site.authority(redirect("/r"), {"/r": RULES, "/open": "open"})
        shops: list[Authority] = [
            ruled,
            moved,
            site.authority(redirect(site.authority(NOTHING).url("/robots.txt"))),
            site.authority(Reply(200, RULES, gzip=True)),
            site.authority(Reply(404)),
            site.authority([Reply(503), RULES]),
            site.authority(Reply(503, headers={"Retry-After": "10"})),
            site.authority(redirect("file:///etc/passwd")),
            site.authority([Hang(), Reply(429)]),
            site.refusing(),
        ]
        paths = ("/open", "/private", "/open2")
        self.plans = [shop.url(path) for shop in shops for path in paths]
        self.plans += [ruled.url("/robots.txt"), "data:,x"]

    async def visit(self) -> tuple[set[str], Counter[int]]:
        """The pages that were asked for, and how often each request ended."""
        before = len(self.site.hits)
        settings = obey(REP_RETRY_DELAYS=[0.01], REP_TIMEOUT=0.1, RETRY_ENABLED=False)
        crawler = Crawler(RequestsSpider, settings_of(settings))
        spiders: list[Any] = []
        with LogTap():
            try:
                await within(6, crawler.crawl(plans=self.plans))
            except (FaultError, CancelledError):
                pass  # the crawl did not start
            else:
                spiders.append(crawler.spider)
        pages = {
            f"{hit.header('Host')}{hit.target}"
            for hit in self.site.hits[before:]
            if hit.path not in ("/robots.txt", "/r")
        }
        if not spiders:
            assert pages == set()
            return pages, Counter(range(len(self.plans)))
        return pages, Counter(ending.number for ending in spiders[0].endings)


async def strike(
    site: Site, faults: Faults, points: list[int], error: type[BaseException], lasting: bool
) -> list[str]:
    """What went wrong at those points, in words."""
    village = Village(site)
    healthy, _ = await village.visit()
    wrong = []
    for point in points:
        with faults.at(point, error, lasting=lasting):
            try:
                pages, ends = await village.visit()
            except BaseException as trouble:  # noqa: BLE001
                wrong.append(f"{faults.labels[point]}: {type(trouble).__name__}: {trouble}")
                continue
        if pages - healthy:
            wrong.append(f"{faults.labels[point]}: fetched {pages - healthy}")
        if ends != Counter(range(len(village.plans))):
            lost = [plan for n, plan in enumerate(village.plans) if ends[n] != 1]
            wrong.append(f"{faults.labels[point]}: not one end: {lost}")
    return wrong


async def reached(site: Site, faults: Faults) -> list[int]:
    """The points that a crawl of the village passes."""
    faults.passed.clear()
    pages, ends = await Village(site).visit()
    assert len(pages) >= 6
    assert set(ends.values()) == {1}
    return sorted(faults.passed)


@pytest.mark.parametrize("lasting", [True, False], ids=["each time", "once"])
@ensureDeferred
async def test_a_fault_anywhere_is_no_permission_and_no_hang(
    site: Site, faults: Faults, lasting: bool
) -> None:
    """A seeded sixteen of the places where something is called or awaited."""
    points = random.Random(lasting).sample(await reached(site, faults), 16)
    assert await strike(site, faults, points, FaultError, lasting) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("error", [FaultError, CancelledError])
@pytest.mark.parametrize("lasting", [True, False], ids=["each time", "once"])
@ensureDeferred
async def test_a_fault_anywhere_is_no_permission_and_no_hang_at_length(
    site: Site, faults: Faults, lasting: bool, error: type[BaseException]
) -> None:
    """Every place where something is called or awaited."""
    points = await reached(site, faults)
    wrong = await strike(site, faults, points, error, lasting)
    print("", f"{len(points)} of {len(faults.labels)} points", *wrong, sep="\n")  # noqa: T201
    assert wrong == []
