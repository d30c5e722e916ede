"""A fault of this package, at any point, permits nothing and keeps no request for ever."""

from __future__ import annotations

import ast
import gzip
import importlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import redis
from scrapy import signals
from twisted.internet.defer import CancelledError

from tests.crawl.clock import Ahead, take_over
from tests.crawl.faults import (
    CANNOT_FAIL,
    NOT_OURS,
    FaultError,
    crawled,
    modules,
    some,
    struck,
)
from tests.crawl.middlewares import inner
from tests.crawl.plugin import NOTHING, OVER_REDIS, RULES, obey
from tests.crawl.test_flights import Versions
from tests.crawl.test_waiting import BY_PRIORITY
from tests.replies import Hang, Reply, redirect
from tests.rows import deep, first
from tests.site import Authority, Site
from tests.stores.servers import RedisServer

LEFT_OUT = ("scrapy_rep.stores.redis", "scrapy_rep.scheduler")
"""What the modules begin with that have no points.

Those of Redis need an extra. The methods of the scheduler hand their calls on: what fails there,
and not in what they call, is Python itself.
"""

MODULES = [name for name in modules("scrapy_rep") if not name.startswith(LEFT_OUT)]
"""Every other module of the package."""

READ_AHEAD = modules(*(f"scrapy_rep.frontier.{name}" for name in ("cluster", "front")))

PARTS = deep(4, 8)

A_PART = deep(1, 1_000)
"""Places of a part that a run strikes, drawn by a seed: all of them take over ten minutes."""

INTERVAL = 0.05
"""Seconds that one authority asks for between two requests."""

# A call that does not take place leaves the coroutine that was its argument behind.
WARNED_OF = "RuntimeWarning", "pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.filterwarnings(f"ignore::{name}") for name in WARNED_OF]


@pytest.fixture
def village(site: Site, monkeypatch: pytest.MonkeyPatch) -> Village:
    """What is crawled."""
    return Village(site, take_over(monkeypatch))


def listener(robotparser: Any) -> None:
    """Wants to know what comes into force."""


HEARD = [(signals.robots_parsed, listener)] if hasattr(signals, "robots_parsed") else []
"""Since Scrapy 2.18."""


class Village:
    """Authorities of all sorts, the requests to them, and the pages that may be asked for."""

    def __init__(self, site: Site, clock: Ahead) -> None:
        self.site = site
        self.clock = clock
        self.is_known = False
        self.timeout = 0.5
        self.settings: dict[str, Any] = {}
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
            (site.authority(Versions()), ruled),
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
        plans: list[Any] = [shop.url(path) for shop, _ in shops for path in paths]
        plans += [
            shops[0][0].url("/robots.txt"),
            "data:,x",
            {"url": shops[0][0].url("/by2"), "meta": {"first": [self.paced.url("/in-place")]}},
            {"url": closed.url("/by"), "meta": {"dont_obey_robotstxt": True}},
            {"url": closed.url("/closed"), "headers": {"User-Agent": "other/1.0"}},
        ]
        self.requests = {"plans": plans, "onward": {"/open": ["/later"]}}
        self.allowed = {shop.url(path) for shop, paths in shops for path in paths}
        self.allowed |= {closed.url("/by"), shops[0][0].url("/by2"), self.paced.url("/in-place")}

    def tick(self, ended: int) -> None:
        """A day goes by when so many requests have ended."""
        self.clock.seconds += 90_000 * (ended == 30)

    async def visit(self) -> str:
        """What is wrong after a crawl: a page that may not be asked for, or one that came early.

        The first crawl, in which nothing fails, gets most pages, though perhaps not all: on a busy
        machine some fetches are too late. If most are, there is more time for them.
        """
        trouble = await self._visit()
        while not self.is_known and "alone" in trouble and self.timeout < 8:
            self.timeout *= 2
            trouble = await self._visit()
        return trouble

    async def _visit(self) -> str:
        before = len(self.site.hits)
        self.clock.seconds = 0.0
        own = {"REP_TIMEOUT": self.timeout, "RETRY_ENABLED": False, **self.settings}
        settings = inner(obey, 850)(REP_RETRY_DELAYS=[0.01], **own)
        try:
            await crawled(settings, on=HEARD, **self.requests, tick=self.tick)
        except Exception as trouble:  # noqa: BLE001
            return f"{type(trouble).__name__}: {trouble}"
        hits = [hit for hit in self.site.hits[before:] if hit.path not in ("/robots.txt", "/r")]
        pages = {f"http://{hit.header('Host')}{hit.target}" for hit in hits}
        if pages - self.allowed:
            return f"fetched {pages - self.allowed}"
        if not self.is_known and len(pages) <= len(self.allowed) // 2:
            return f"fetched {pages} alone"
        self.is_known = True
        paced = sorted(hit.received for hit in hits if hit.header("Host") == self.paced_name)
        fastest = min((b - a for a, b in pairwise(paced)), default=INTERVAL)
        return "" if fastest >= INTERVAL else f"{fastest:.3f} s apart"


def test_each_call_without_a_point_is_made_somewhere() -> None:
    """A function that gets another name would get points that mean nothing, or none at all."""
    paths = [importlib.import_module(name).__file__ for name in MODULES]
    trees = [ast.parse(Path(path or "").read_text()) for path in paths]
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert {*CANNOT_FAIL, *NOT_OURS} <= {ast.unparse(call.func) for call in calls}


@pytest.mark.parametrize("lasting", first(1, [True, False]), ids=["each time", "once"])
async def test_a_fault_anywhere_is_no_permission_or_hang(village: Village, lasting: bool) -> None:
    """Two of the places, drawn by a seed, where something is called or awaited."""
    assert await struck(MODULES, village.visit, some(2, lasting), lasting=lasting) == []


QUEUES: dict[str, dict[str, Any]] = {
    "front": BY_PRIORITY,
    "cluster": {**OVER_REDIS, "SCHEDULER_FLUSH_ON_START": True},
}
"""Queues from which requests are read ahead."""


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
@pytest.mark.parametrize("lasting", first(1, [True, False]), ids=["each time", "once"])
@pytest.mark.parametrize("over", QUEUES)
async def test_a_fault_in_what_is_read_ahead_is_no_permission_or_hang(
    village: Village, queue: RedisServer, constants: Any, over: str, lasting: bool
) -> None:
    """Nor does it lose a request: the frontier over one queue for all sites, and over Redis."""
    for module in ("frontier.cluster", "redis_queue"):  # a new site is left alone for so long
        constants(module, UNDER_WAY=0.2)
    village.settings = {**QUEUES[over], "REDIS_URL": queue.uri}
    draw = some(deep(2, 1_000), lasting)
    assert await struck(READ_AHEAD, village.visit, draw, lasting=lasting) == []


ASKS_REDIS = (
    *("self._script()", "self._step_script()", "pipe.execute()", ".server.llen()"),
    *(".server.lrange()", ".server.rpush()", ".server.zrange()", ".server.zrangebylex()"),
)
"""What the calls end with by which the queue of workers asks its server, but for a flush."""


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
async def test_a_failure_of_redis_at_any_call_loses_no_request(
    village: Village, queue: RedisServer, constants: Any
) -> None:
    """It fails once, at each place where the queue of workers asks it."""
    constants("redis_queue", UNDER_WAY=0.2, RETRY=0.1)
    constants("frontier.cluster", UNDER_WAY=0.2)
    village.settings = {**QUEUES["cluster"], "REDIS_URL": queue.uri}
    names, error = modules("scrapy_rep.redis_queue"), redis.ConnectionError
    found = await struck(names, village.visit, list, error=error, lasting=False, named=ASKS_REDIS)
    assert found == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("error", [FaultError, CancelledError])
@pytest.mark.parametrize("lasting", [True, False], ids=["each time", "once"])
async def test_a_fault_anywhere_is_no_permission_or_hang_at_length(
    village: Village, lasting: bool, error: type[BaseException], part: int
) -> None:
    """Places all over the package, in parts that may run side by side."""

    def draw(points: list[int]) -> list[int]:
        return some(A_PART, part)(points[part::PARTS])

    assert await struck(MODULES, village.visit, draw, error=error, lasting=lasting) == []


@pytest.mark.slow
@pytest.mark.parametrize("error", [FaultError, CancelledError])
async def test_what_a_fetch_brought_and_was_not_kept_is_not_fetched_for_ever(
    village: Village, error: type[BaseException]
) -> None:
    """Nor does a request wait for ever if nobody says that its rules have come."""
    ends = "self._resident.pop()", "self._ended()"
    assert await struck(MODULES, village.visit, list, error=error, named=ends) == []


@pytest.mark.slow
@pytest.mark.parametrize("lasting", [True, False], ids=["each time", "once"])
async def test_a_fault_when_a_timer_sees_a_host_is_no_hang(village: Village, lasting: bool) -> None:
    """Nothing else would look at the host again, or at those behind it."""
    named = ("self._due()",)
    assert await struck(MODULES, village.visit, list, lasting=lasting, named=named) == []
