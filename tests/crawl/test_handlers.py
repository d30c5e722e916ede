"""Download handlers that are not Scrapy's own fetch a robots.txt as well as Scrapy's do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.harness import visit
from tests.crawl.plugin import RULES
from tests.replies import Endless, Reply, redirect
from tests.site import Site

LIMIT = 512_000
LONG = RULES + "# nothing to see in this line\n" * 20_000
assert len(LONG) > LIMIT


def by(handler: str) -> dict[str, Any]:
    """Settings of a crawl by one of the handlers."""
    return {"DOWNLOAD_HANDLERS": {"http": f"tests.crawl.handlers.{handler}"}}


async def test_a_handler_that_sends_no_signal_reads_eight_limits(site: Site) -> None:
    """It gets them as download_maxsize; a longer body, or an endless one, is unreachable."""
    short, long = map(site.authority, (Reply(200, RULES), LONG))
    larger, endless = map(site.authority, (Reply(200, RULES * 200_000), Endless(200, RULES)))
    urls = [authority.url("/private") for authority in (short, long, larger, endless)]
    result = await visit(urls, **by("SilentHandler"), REP_TIMEOUT=5)
    assert result.kinds == ["forbidden", "forbidden", "unreachable", "unreachable"]
    assert result.stats["robotstxt/truncated"] == 1
    assert result.stats["handler/most"] <= 8 * LIMIT + 65_536


@pytest.mark.parametrize("compression", [True, False])
async def test_half_a_body_of_a_handler_that_sends_no_signal_is_unreachable(
    site: Site, compression: bool
) -> None:
    """The downloader shows what it brought before any other component decodes it."""
    body = gzip.compress(RULES.encode())
    halves = [Reply(200, body[:place], {"Content-Encoding": "gzip"}) for place in (30, len(body))]
    urls = [site.authority(half).url("/private") for half in halves]
    result = await visit(urls, **by("SilentHandler"), COMPRESSION_ENABLED=compression)
    assert result.kinds == ["unreachable", "forbidden"]


@pytest.mark.parametrize("settings", [{}, by("WrappingHandler")], ids=["Scrapy's", "one around it"])
async def test_a_handler_around_scrapys_own_is_as_good(
    site: Site, settings: dict[str, Any]
) -> None:
    """What it leaves to Scrapy's is announced by that one; both are asked for text as it is."""
    short, long = map(site.authority, (RULES, LONG))
    urls = [authority.url("/private") for authority in (short, long)]
    result = await visit(urls, **settings)
    assert result.forbidden == urls
    assert result.stats.get("handler/requests") == (2 if settings else None)
    assert result.stats["robotstxt/truncated"] == 1
    for hit in (*short.robots_hits, *long.robots_hits):
        assert hit.header("Accept") == "text/plain, */*;q=0.5"
        assert hit.header("Accept-Encoding") == "identity"


async def test_a_body_of_more_than_eight_limits_is_cut_unless_its_length_is_announced(
    site: Site,
) -> None:
    """Scrapy's handlers refuse by Content-Length, before anything is received."""
    text = RULES * 200_000
    announced = site.authority(Reply(200, text))
    chunked = site.authority(Reply(200, text, framing="chunked"))
    urls = [authority.url("/private") for authority in (announced, chunked)]
    result = await visit(urls)
    assert result.kinds == ["unreachable", "forbidden"]


ZYTE = '''
import logging

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler


class ScrapyZyteAPIHTTPDownloadHandler(HTTP11DownloadHandler):
    """As theirs: a header that the service cannot take is warned of."""

    async def download_request(self, request):
        for name in ("Accept", "Accept-Encoding"):
            if request.headers.get(name):
                logging.getLogger(__name__).warning("%s cannot be mapped", name)
        return await super().download_request(request)
'''


@pytest.fixture
def zyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A package of the name of Zyte API's plugin; the settings that use it."""
    package = tmp_path / "scrapy_zyte_api"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "handler.py").write_text(ZYTE)
    monkeypatch.syspath_prepend(tmp_path)
    path = "scrapy_zyte_api.handler.ScrapyZyteAPIHTTPDownloadHandler"
    return {"DOWNLOAD_HANDLERS": {"http": path}}


async def test_zyte_apis_handler_gets_no_accept_header(site: Site, zyte: dict[str, Any]) -> None:
    """It negotiates by itself and warns of either; neither the project's defaults are sent."""
    second = site.authority(RULES)
    first = site.authority(redirect(second.url("/robots.txt")))
    defaults = {"DEFAULT_REQUEST_HEADERS": {"Accept": "text/html", "X-Crawl": "yes"}}
    result = await visit([first.url("/private")], **zyte, **defaults)
    assert result.forbidden == [first.url("/private")]
    for hit in (*first.robots_hits, *second.robots_hits):
        assert (hit.header("Accept"), hit.header("Accept-Encoding")) == (None, None)
        assert hit.header("X-Crawl") == "yes"
    assert not result.lines("cannot be mapped")


async def test_a_scheme_without_a_handler_is_unreachable(site: Site) -> None:
    """A project may have none for https: that is said, and nothing is requested."""
    shop = site.authority(RULES, tls=True)
    result = await visit([shop.url("/open")], DOWNLOAD_HANDLERS={"https": None})
    assert result.unreachable == [shop.url("/open")]
