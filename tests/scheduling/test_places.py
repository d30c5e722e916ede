"""The places of a downloader: the operator's, those that are lent, and those of fetches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from scrapy_rep.awaiting import FetchSemaphore
from scrapy_rep.scheduling.places import Places
from scrapy_rep.scheduling.queues import ReadyQueues, Slot, Waiting
from scrapy_rep.scrapy_internals import ScrapyInternals
from scrapy_rep.stats import RepStats
from tests.crawl.leftovers import turn
from tests.scripted import Counts


class Bench:
    """The places of Scrapy's own downloader."""

    def __init__(self, most: int, limit: int) -> None:
        crawler = get_crawler(settings_dict={"CONCURRENT_REQUESTS": most})
        crawler.spider = Spider("bench")
        crawler.engine = crawler._create_engine()
        self.downloader: Any = crawler.engine.downloader
        self.inside = ScrapyInternals(crawler, pytest.fail)
        self.ready = ReadyQueues()
        self.semaphore = FetchSemaphore(1, 60.0)
        self.counts = Counts()
        self.looks: list[None] = []
        self.places = Places(
            self.inside,
            self.ready,
            self.semaphore,
            limit,
            lambda: self.looks.append(None),
            RepStats(self.counts),
        )

    @property
    def total(self) -> int:
        """How many requests the downloader may have."""
        return int(self.downloader.total_concurrency)

    def arrive(self, number: int) -> Waiting:
        """A request that the downloader has, and that waits."""
        request = Request(f"http://host{number}.example/")
        self.downloader.active.add(request)
        self.places.waiting += 1
        slot = Slot(self.inside.download_slots.of(request))
        slot.enter(request)
        return Waiting(request, slot, f"host{number}.example")


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    """Makes benches."""
    made: list[Bench] = []

    def make(most: int = 4, limit: int = 2) -> Bench:
        made.append(Bench(most, limit))
        return made[-1]

    yield make
    for one in made:
        one.downloader.close()


@ensureDeferred
async def test_as_many_places_are_lent_as_the_limit_lets(bench: Callable[..., Bench]) -> None:
    """One to each request that waits for rules; what is taken back is lent to the next."""
    at = bench(most=4, limit=2)
    first, second, third = (at.arrive(number) for number in range(3))
    assert not at.places.want(first)
    assert at.total == 4 + 1
    assert not at.places.want(second)
    assert at.total == 4 + 2
    assert not at.places.want(third)  # it is lent one when another is taken back: no need to poll
    assert (at.total, list(at.places.unlent)) == (4 + 2, [third])
    assert [waiting.lent for waiting in (first, second, third)] == [True, True, False]
    at.places.take_back(first)
    assert (at.total, first.lent) == (4 + 1, False)
    at.places.lend()
    assert (at.total, third.lent, at.places.unlent) == (4 + 2, True, {})
    assert at.counts == {"robotstxt/parked": 3, "robotstxt/parked/max": 2}


@ensureDeferred
async def test_places_lent_for_a_pace_count_as_lent(bench: Callable[..., Bench]) -> None:
    """Not as waiting for rules."""
    at = bench(most=4, limit=2)
    for number in range(3):
        at.places.lend_to(at.arrive(number))
    assert at.counts == {"robotstxt/parked/max": 2}


@ensureDeferred
async def test_one_request_has_one_place(bench: Callable[..., Bench]) -> None:
    """Whoever lends it, and however often it is taken back."""
    at = bench(most=4, limit=5)
    waiting = at.arrive(0)
    at.places.want(waiting)
    at.places.lend_to(waiting)
    assert at.total == 4 + 1
    at.places.take_back(waiting)
    at.places.take_back(waiting)
    assert at.total == 4


@ensureDeferred
async def test_what_has_its_rules_is_lent_no_place_for_them(bench: Callable[..., Bench]) -> None:
    """It goes in the place that it came with."""
    at = bench(limit=0)
    waiting = at.arrive(0)
    at.places.want(waiting)
    assert at.places.unlent
    at.places.has_rules(waiting)
    assert not at.places.unlent
    assert (at.total, waiting.lent) == (4, False)


@ensureDeferred
async def test_no_place_is_lent_while_fetches_queue(bench: Callable[..., Bench]) -> None:
    """What the engine pulled then would only wait: lending has to be tried again."""
    at = bench()
    waiting = at.arrive(0)
    async with at.semaphore.acquired():
        queued = at.semaphore.acquired()
        entering = queued.__aenter__()
        entering.send(None)  # it waits
        assert at.semaphore.crowded
        assert at.places.want(waiting)
        assert (at.total, waiting.lent) == (4, False)
        entering.close()
    await turn()
    assert not at.places.lend()
    assert (at.total, waiting.lent) == (4 + 1, True)


@pytest.mark.parametrize(("most", "free"), [(0, math.inf), (1, 1), (4, 4)])
@ensureDeferred
async def test_the_operators_places_are_free_but_for_what_is_downloaded(
    bench: Callable[..., Bench], most: int, free: float
) -> None:
    """Neither a request that waits nor a fetch takes one; CONCURRENT_REQUESTS = 0 is no limit."""
    at = bench(most=most)
    assert at.places.free == free
    waiting, fetch = at.arrive(0), Request("http://host0.example/robots.txt")
    at.places.want(waiting)
    with at.places.fetching(fetch):
        at.downloader.active.add(fetch)
        assert (at.places.busy, at.places.free) == (0, free)
        at.downloader.active.add(Request("http://host1.example/"))
        assert (at.places.busy, at.places.free) == (1, free - 1)


@ensureDeferred
async def test_a_fetch_has_a_place_until_its_download_ends(bench: Callable[..., Bench]) -> None:
    """The downloader has it for a moment longer, in which the engine begins no other request."""
    at = bench()
    fetch = Request("http://host0.example/robots.txt")
    at.places.fetched(fetch)
    assert at.total == 4
    with at.places.fetching(fetch):
        assert at.total == 4 + 1
        at.places.fetched(fetch)
        assert at.total == 4
    assert at.total == 4
    assert not at.places.fetches


@ensureDeferred
async def test_the_end_of_a_fetch_is_looked_at_by_what_wants_a_place(
    bench: Callable[..., Bench],
) -> None:
    """Ready requests, and those that have yet to be lent one; without any there is no pass."""
    at = bench(limit=0)
    fetch = Request("http://host0.example/robots.txt")
    with at.places.fetching(fetch):
        pass
    assert not at.looks
    at.places.want(at.arrive(0))
    with at.places.fetching(fetch):
        assert not at.looks
    assert len(at.looks) == 1
