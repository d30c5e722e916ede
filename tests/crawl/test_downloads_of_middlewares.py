"""Middlewares behind the gate that download something for a request: no deadlock."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request

from tests.crawl.harness import EACH_MODE, crawl, crawl_under
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply
from tests.site import Site

LATE = Reply(200, RULES, delay=0.2)


class TokenMiddleware:
    """Gets a token from elsewhere before a page is requested."""

    url = ""

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> TokenMiddleware:
        """The engine is needed later."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Ask for the token while the page has its place."""
        if request.url.endswith("/a"):
            await self.crawler.engine.download_async(Request(self.url))


class OwnTokenMiddleware(TokenMiddleware):
    """Gets the token from the page's own site."""

    async def process_request(self, request: Request) -> None:
        """Ask for it while the page has its place."""
        if request.url.endswith("/a"):
            await self.crawler.engine.download_async(Request(urljoin(request.url, "/token")))


@ensureDeferred
async def test_a_middleware_may_download_while_its_request_has_the_only_place(site: Site) -> None:
    """A middleware asks elsewhere for a page that holds the only place: no deadlock."""
    token, shop = site.authority(LATE, "token"), site.authority(RULES)
    middleware = type("Tokens", (TokenMiddleware,), {"url": token.url("/token")})
    settings = obey(CONCURRENT_REQUESTS=1, DOWNLOADER_MIDDLEWARES={middleware: 950})
    result = (await crawl(settings=settings, plans=[shop.url("/a")])).check()
    assert result.downloaded == [shop.url("/a")]
    assert [hit.path for hit in token.page_hits] == ["/token"]


@ensureDeferred
async def test_pages_that_wait_for_one_of_their_own_site_are_no_deadlock(site: Site) -> None:
    """A middleware asks the same site for a token, for each of 20 pages."""
    shop = site.authority(LATE)
    middleware = type("Tokens", (TokenMiddleware,), {"url": shop.url("/token")})
    settings = obey(CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOADER_MIDDLEWARES={middleware: 950})
    plans = [shop.url(f"/{n}/a") for n in range(20)]
    result = (await crawl(settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)


@pytest.mark.parametrize("mode", EACH_MODE)
@ensureDeferred
async def test_pages_that_wait_for_their_own_site_end_under_every_reactor(
    site: Site, mode: str
) -> None:
    """Where a request goes on at once when it is let go, the queue behind it is kept."""
    shop = site.authority(LATE)
    settings = obey(
        CONCURRENT_REQUESTS_PER_DOMAIN=1,
        DOWNLOADER_MIDDLEWARES={
            "tests.crawl.test_downloads_of_middlewares.OwnTokenMiddleware": 950
        },
    )
    plans = [shop.url(f"/{n}/a") for n in range(20)]
    result = (await crawl_under(mode, settings=settings, plans=plans)).check()
    assert sorted(result.downloaded) == sorted(plans)
