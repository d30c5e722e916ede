"""A fault of this package, at any point, permits nothing and keeps no request for ever."""

from __future__ import annotations

import gc
import gzip
import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.internet.defer import CancelledError

from tests.crawl.clock import Ahead, take_over
from tests.crawl.faults import FaultError, Faults, crawled, modules
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Hang, Reply, redirect
from tests.rows import first
from tests.site import Authority, Hit, Site

LEFT_OUT = ("scrapy_rep.stores.redis", "scrapy_rep.scheduler")
"""What the modules begin with that have no points.

Those of Redis need an extra. The methods of the scheduler hand their calls on: what fails there,
and not in what they call, is Python itself.
"""

MODULES = [name for name in modules("scrapy_rep") if not name.startswith(LEFT_OUT)]
"""Every other module of the package."""

OF_THE_BASE = "withheld.py:", ": enqueue()"
"""How the label of a point begins and ends that is a call of the base, Scrapy's own scheduler."""

PARTS = 8

A_PART = 8
"""Places of a part that a run strikes, drawn by a seed: all of them would take over ten minutes."""

INTERVAL = 0.05
"""Seconds that one authority asks for between two requests."""

ROBOTS_PARSED = getattr(signals, "robots_parsed", None)

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
    gc.collect()  # what a fault has left behind is nothing that a later test is to blame for


@pytest.fixture
def village(site: Site, monkeypatch: pytest.MonkeyPatch) -> Village:
    """What is crawled."""
    return Village(site, take_over(monkeypatch))


class VillageSpider(RequestsSpider):
    """From each open page on to a later one; in between, a day goes by."""

    clock: Ahead

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> VillageSpider:
        """The spider; what comes into force is announced to a listener, where Scrapy can."""
        if ROBOTS_PARSED is not None:
            crawler.signals.connect(listener, signal=ROBOTS_PARSED)
        spider: VillageSpider = super().from_crawler(crawler, *args, **kwargs)
        return spider

    def found(self, response: Response) -> Iterable[Any]:
        """The later page."""
        if response.url.endswith("/open"):
            yield self.request(response.urljoin("/later"))

    def _note(self, meta: Mapping[str, Any], **facts: Any) -> None:
        super()._note(meta, **facts)
        if len(self.endings) == 30:
            self.clock.seconds += 90_000


def versioned(hit: Hit) -> Reply:
    """Rules with a validator, which is known again."""
    known = hit.header("If-None-Match") is not None
    return Reply(304) if known else Reply(200, RULES, {"ETag": '"1"'})


class Village:
    """Authorities of all sorts, the requests to them, and the pages that may be asked for."""

    def __init__(self, site: Site, clock: Ahead) -> None:
        self.site = site
        self.clock = clock
        self.fastest = 0.0
        closed = site.authority(NOTHING)
        self.paced = site.authority(RULES + f"Crawl-delay: {INTERVAL}\n")
        self.paced_name = self.paced.url("").removeprefix("http://")
        ruled = ("/open", "/open2", "/later")
        free = (*ruled, "/private")
        shops: list[tuple[Authority, tuple[str, ...]]] = [
            (site.authority(RULES), ruled),
            (site.authority(redirect("/r"), {"/r": RULES, "/open": "open"}), ruled),
            (site.authority(redirect(closed.url("/robots.txt"))), ()),
            (site.authority(Reply(200, RULES, gzip=True)), ruled),
            (site.authority(Reply(200, gzip.compress(RULES.encode()))), ruled),
            (site.authority(Reply(200, RULES + "# long\n" * 80_000)), ruled),
            (site.authority(versioned), ruled),
            (site.authority(Reply(404)), free),
            (site.authority(redirect("/robots.txt")), free),
            (site.authority([Reply(503), RULES]), ruled),
            (site.authority(Reply(503, headers={"Retry-After": "10"})), ()),
            (site.authority(redirect("file:///etc/passwd")), ()),
            (site.authority([Hang(), Reply(429)]), ()),
            (site.refusing(), ()),
            (self.paced, ruled),
        ]
        paths = ("/open", "/private", "/open2")
        self.plans: list[Any] = [shop.url(path) for shop, _ in shops for path in paths]
        self.plans += [
            shops[0][0].url("/robots.txt"),
            "data:,x",
            {"url": closed.url("/by"), "meta": {"dont_obey_robotstxt": True}},
            {"url": closed.url("/closed"), "headers": {"User-Agent": "other/1.0"}},
        ]
        self.allowed = {shop.url(path) for shop, paths in shops for path in paths}
        self.allowed.add(closed.url("/by"))

    async def visit(self) -> set[str]:
        """The pages that were asked for."""
        before = len(self.site.hits)
        self.clock.seconds = 0.0
        settings = obey(REP_RETRY_DELAYS=[0.01], REP_TIMEOUT=0.5, RETRY_ENABLED=False)
        await crawled(settings, VillageSpider, plans=self.plans, clock=self.clock)
        hits = [hit for hit in self.site.hits[before:] if hit.path not in ("/robots.txt", "/r")]
        pages = {f"http://{hit.header('Host')}{hit.target}" for hit in hits}
        paced = sorted(hit.received for hit in hits if hit.header("Host") == self.paced_name)
        self.fastest = min((b - a for a, b in pairwise(paced)), default=INTERVAL)
        return pages


def listener(robotparser: Any) -> None:
    """Wants to know what comes into force."""


async def strike(
    village: Village, faults: Faults, points: list[int], error: type[BaseException], lasting: bool
) -> list[str]:
    """What went wrong at those points, in words."""
    wrong = []
    for point in points:
        with faults.at(point, error, lasting=lasting):
            try:
                pages = await village.visit()
            except Exception as trouble:  # noqa: BLE001
                wrong.append(f"{faults.labels[point]}: {type(trouble).__name__}: {trouble}")
                continue
        if pages - village.allowed:
            wrong.append(f"{faults.labels[point]}: fetched {pages - village.allowed}")
        if village.fastest < INTERVAL:
            wrong.append(f"{faults.labels[point]}: {village.fastest:.3f} s apart")
    return wrong


async def reached(village: Village, faults: Faults) -> list[int]:
    """The points that a healthy crawl of the village passes."""
    for _ in range(3):
        faults.passed.clear()
        pages = await village.visit()
        # On a busy machine some fetches are too late; what is fetched is allowed all the same.
        assert pages <= village.allowed
        if len(pages) > len(village.allowed) // 2:
            break
    assert len(pages) > len(village.allowed) // 2
    begin, end = OF_THE_BASE
    labels = ((point, faults.labels[point]) for point in sorted(faults.passed))
    return [point for point, at in labels if not (at.startswith(begin) and at.endswith(end))]


@pytest.mark.parametrize("lasting", first(1, [True, False]), ids=["each time", "once"])
@ensureDeferred
async def test_a_fault_anywhere_is_no_permission_and_no_hang(
    village: Village, faults: Faults, lasting: bool
) -> None:
    """Two of the places, drawn by a seed, where something is called or awaited."""
    points = random.Random(lasting).sample(await reached(village, faults), 2)
    assert await strike(village, faults, points, FaultError, lasting) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("error", [FaultError, CancelledError])
@pytest.mark.parametrize("lasting", [True, False], ids=["each time", "once"])
@ensureDeferred
async def test_a_fault_anywhere_is_no_permission_and_no_hang_at_length(
    village: Village, faults: Faults, lasting: bool, error: type[BaseException], part: int
) -> None:
    """Places all over the package, in parts that may run side by side."""
    points = await reached(village, faults)
    own = points[part::PARTS]
    drawn = random.Random(part).sample(own, min(A_PART, len(own)))
    wrong = await strike(village, faults, drawn, error, lasting)
    print("", f"{len(drawn)} of {len(faults.labels)} points", *wrong, sep="\n")  # noqa: T201
    assert wrong == []
