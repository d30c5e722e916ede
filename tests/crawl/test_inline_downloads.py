"""Downloads that a middleware makes inline, for a request that it has in hand.

Providers of scrapy-poet do so in ``process_response``. Such a download waits for its rules and its
turn, and never for a place: the request that it is made for keeps its own meanwhile.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from tests.crawl.harness import MODES, crawl, crawl_in_child
from tests.crawl.plugin import RULES, by_hand, obey
from tests.replies import Reply
from tests.rows import first
from tests.site import Site
from tests.timed import waits

INLINE = "/token"


class InlineMiddleware:
    """Downloads the token of a site for each of its pages, before or after the page."""

    when = "process_response"

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        if self.when == "process_request":
            self.process_request = self._before
        else:
            self.process_response = self._after

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> InlineMiddleware:
        """Build it."""
        return cls(crawler)

    async def _before(self, request: Request) -> None:
        await self._download(request)

    async def _after(self, request: Request, response: Response) -> Response:
        await self._download(request)
        return response

    async def _download(self, request: Request) -> None:
        if INLINE not in request.url and "robots.txt" not in request.url:
            await self._crawler.engine.download_async(  # type: ignore[union-attr]
                Request(request.urljoin(INLINE) if hasattr(request, "urljoin") else _token(request))
            )


def _token(request: Request) -> str:
    return request.url.rpartition("/")[0] + INLINE


class InlineBeforeMiddleware(InlineMiddleware):
    """The same, before the gate sees the page."""

    when = "process_request"


def inline(how: str, settings: Any = obey, **more: Any) -> dict[str, Any]:
    """The settings of a crawl with such a middleware: after the page, before it, or before all."""
    name, order = {
        "process_response": ("InlineMiddleware", 500),
        "behind the gate": ("InlineBeforeMiddleware", 500),
        "before the gate": ("InlineBeforeMiddleware", 50),
    }[how]
    made: dict[str, Any] = settings(**more)
    made["DOWNLOADER_MIDDLEWARES"] = {
        **made.get("DOWNLOADER_MIDDLEWARES", {}),
        f"{__name__}.{name}": order,
    }
    return made


HOW = ["process_response", "behind the gate", "before the gate"]


@waits
@pytest.mark.parametrize(
    ("how", "mode"),
    [*((how, "asyncio") for how in HOW), *((HOW[1], mode) for mode in MODES if mode != "asyncio")],
)
def test_inline_downloads_of_many_sites_take_no_longer_than_with_robots_off(
    site: Site, how: str, mode: str
) -> None:
    """60 sites, a page of each, eight at a time: neither download waits for the other ones."""
    shops = site.authorities(60, RULES, Reply(200, "page", delay=0.05))
    plans = [shop.url("/p") for shop in shops]
    started = time.monotonic()
    settings = inline(how, CONCURRENT_REQUESTS=8)
    result = crawl_in_child(settings=settings, mode=mode, plans=plans).check()
    assert result.downloaded == plans
    assert sum(hit.path == INLINE for shop in shops for hit in shop.hits) == 60
    hits = [hit.received for shop in shops for hit in shop.page_hits]
    assert max(hits) - min(hits) < 6
    assert time.monotonic() - started < 20


@waits
@pytest.mark.parametrize("how", HOW)
@ensureDeferred
async def test_inline_downloads_go_on_beside_a_page_that_is_slow_to_answer(
    site: Site, how: str
) -> None:
    """One of thirty sites answers its page after six seconds; all others are done long before."""
    slow = site.authority(RULES, Reply(200, "page", delay=6.0))
    shops = site.authorities(30, RULES)
    plans = [shop.url("/p") for shop in (slow, *shops)]
    result = (await crawl(settings=inline(how), plans=plans)).check()
    assert result.downloaded == plans
    begun = min(hit.received for hit in slow.page_hits)
    late = [hit for shop in shops for hit in shop.page_hits if hit.received > begun + 5]
    assert late == []


@pytest.mark.parametrize("settings", [obey, by_hand], ids=["add-on", "by hand"])
@pytest.mark.parametrize("how", first(1, HOW))
@ensureDeferred
async def test_inline_downloads_of_a_paced_host_keep_its_pace_with_one_place(
    site: Site, how: str, settings: Any
) -> None:
    """The page and its token go one after the other, although nothing else may go at all."""
    shop = site.authority("User-agent: *\nCrawl-delay: 0.2\n")
    plans = [shop.url(f"/{number}/p") for number in range(3)]
    made = inline(how, settings, CONCURRENT_REQUESTS=1)
    result = (await crawl(settings=made, plans=plans)).check()
    assert result.downloaded == plans
    hits = sorted(shop.page_hits, key=lambda hit: hit.received)
    # The first page of a site passes the middlewares before the gate twice; by hand, all pages may.
    again = {obey: 1, by_hand: 3}[settings] if how == "before the gate" else 0
    assert 6 <= len(hits) <= 6 + again
    if settings is by_hand and how == "behind the gate":
        return  # without the last step, the turn of the page is taken before its token
    for earlier, later in pairwise(hits):
        assert later.received - (earlier.sent or earlier.received) >= 0.195


@pytest.mark.parametrize("settings", [obey, by_hand], ids=["add-on", "by hand"])
@pytest.mark.parametrize("how", HOW)
@ensureDeferred
async def test_inline_downloads_of_forbidden_pages_are_refused(
    site: Site, how: str, settings: Any
) -> None:
    """The middleware gets the refusal, so its page ends with it; the server sees neither."""
    shop = site.authority(f"User-agent: *\nDisallow: {INLINE}\nDisallow: /private\n")
    plans = [shop.url("/p"), shop.url("/private")]
    result = (await crawl(settings=inline(how, settings), plans=plans)).check()
    assert sorted(result.forbidden) == sorted(plans)
    assert not any(INLINE in hit.path or "private" in hit.path for hit in shop.hits)
