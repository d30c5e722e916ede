"""What a crawl of a random world must show. The judge knows the documents, and asks the server."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.crawl.plugin import by_hand
from tests.crawl.result import Result
from tests.crawl.worlds import HELD, Shop, World
from tests.site import Hit


class Page(NamedTuple):
    """A page that the server was asked for: of which site, by which slot."""

    shop: Shop
    path: str
    slot: str
    hit: Hit

    @property
    def sent(self) -> float:
        """When the page had been sent."""
        return self.hit.sent or math.inf


def judge(world: World, results: Iterable[Result]) -> None:
    """Assert that the runs of a crawl, the last of which has finished, kept all promises."""
    judge_ends(world, results)
    pages = sorted(pages_of(world), key=lambda page: page.hit.received)
    judge_hits(world, pages)
    judge_paces(world, pages)
    judge_limits(world, [page for page in pages if page.path not in world.direct])


def judge_ends(world: World, results: Iterable[Result]) -> None:
    """Each request has one end, and one of those that it may have."""
    endings = [ending for result in results for ending in result.endings]
    ended = Counter(ending.url for ending in endings)
    assert max(ended.values(), default=1) == 1, f"two ends: {ended.most_common(5)}"
    for ending in endings:
        may = set(world.ends[ending.url])
        if world.stops and not world.has_frontier:  # it waited in the downloader
            may.add("unreachable")
        assert ending.kind in may, f"{ending.url}: {ending.kind}, not {may}: {ending.problem}"
    came = {ending.url for ending in endings if ending.kind == "downloaded"}
    made = {url for url in world.ends if world.parents.get(url) in {None, *came}}
    assert made == set(ended), f"lost: {made - set(ended)}"


def pages_of(world: World) -> Iterable[Page]:
    """The pages that the server was asked for; a service, on behalf of their sites."""
    by_url = {shop.authority.url(): shop for shop in world.shops}
    for shop in world.shops:
        host = shop.authority.host
        for hit in shop.authority.page_hits:
            if hit.path != "/rules":
                yield Page(shop, hit.path, world.slots.get(hit.path, host), hit)
    for hit in world.service.page_hits:
        url = urlsplit(hit.target.partition("?")[2])
        shop, slot = by_url[f"{url.scheme}://{url.netloc}/"], world.service.host
        yield Page(shop, url.path, world.slots.get(url.path, slot), hit)


def judge_hits(world: World, pages: list[Page]) -> None:
    """No page is requested twice, none that is forbidden, and none before its robots.txt."""
    asked = Counter((page.shop.authority.url(page.path)) for page in pages)
    for page in pages:
        url = page.shop.authority.url(page.path)
        most = 2 if "flaky" in page.path else 1
        assert page.path in world.again or asked[url] <= most, f"{asked[url]} times: {url}"
        if page.path in world.free:
            continue
        ends = page.shop.ends[not page.path.startswith("/private")]
        assert "downloaded" in ends, f"forbidden: {url}"
        known = min(hit.sent or math.inf for hit in page.shop.authority.robots_hits)
        assert known <= page.hit.received, f"before its robots.txt: {url}"


def judge_paces(world: World, pages: list[Page]) -> None:
    """From the end of a request to the start of the next one at least the interval passes.

    Without the last step, requests are spaced before the middlewares, which may hold them up.
    """
    for found in grouped(pages, lambda page: page.shop.authority.host).values():
        pace = found[0].shop.pace
        if world.by is by_hand:
            times = [page.hit.received for page in found if page.path not in world.free]
            least = (len(times) - 1) * pace - HELD - 0.1
            assert not times or times[-1] - times[0] >= least, (pace, times)
            continue
        for earlier, later in pairwise(found):
            # Without a store, a run does not know what the one before it has requested.
            begun = max(start for start in world.begun if start <= later.hit.received)
            gap = later.hit.received - earlier.sent
            is_kept = gap >= pace - 0.002 or earlier.hit.received < begun
            assert not pace or is_kept or later.path in world.free, (later, gap)


def judge_limits(world: World, pages: list[Page]) -> None:
    """No more requests at once than the operator wants, the direct downloads apart."""
    most = world.settings["CONCURRENT_REQUESTS"]
    assert at_once(pages) <= most, f"{at_once(pages)} at once, not {most}"
    if not world.has_frontier:
        return  # under asyncio, Scrapy sends at once all that a slot has queued
    for slot, found in grouped(pages, lambda page: page.slot).items():
        most = world.limit_of(slot)
        assert at_once(found) <= most, f"{at_once(found)} at once, not {most}: {found}"


def grouped(pages: Iterable[Page], key: Callable[[Page], str]) -> Mapping[str, list[Page]]:
    """The pages of each host or slot."""
    found: dict[str, Any] = defaultdict(list)
    for page in pages:
        found[key(page)].append(page)
    return found


LATE = 0.3
"""Seconds by which the server may note the end of a page late, on a busy machine."""


def at_once(pages: Iterable[Page]) -> int:
    """The most pages that were served at the same time, as far as the server can tell."""
    spans = [(page.hit.received, max(page.sent - LATE, page.hit.received)) for page in pages]
    steps = [step for begun, ended in spans for step in ((begun, 1), (ended, -1))]
    return max(accumulate(step for _, step in sorted(steps)), default=0)
