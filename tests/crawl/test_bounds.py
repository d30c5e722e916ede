"""What a server sends is bounded where it enters: header values, URLs, names of stats."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep import RepDownloaderMiddleware
from tests.crawl.clock import take_over
from tests.crawl.plugin import NOTHING, RULES
from tests.crawl.result import Result
from tests.crawl.test_freshness import visit_at
from tests.crawl.test_redirects import visit
from tests.replies import Raw, Reply, redirect
from tests.rows import first
from tests.site import Site

VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}


@pytest.mark.parametrize("size", [1, 1024, 1025, 15_000])
@pytest.mark.parametrize("name", VALIDATORS)
@ensureDeferred
async def test_a_long_validator_is_dropped(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str, size: int
) -> None:
    """More than 1 KiB is not kept and not sent back; the rules count all the same."""
    kept = size <= 1024
    shop = site.authority(Reply(200, RULES, {name: "v" * size}))
    clock = take_over(monkeypatch)
    result = await visit_at(clock, [0, 100_000], shop.url("/private"))
    assert len(result.forbidden) == 2
    sent = [hit.header(VALIDATORS[name]) for hit in shop.robots_hits]
    assert sent == [None, "v" * size if kept else None]
    assert result.stats.get("robotstxt/too_long/validator", 0) == (0 if kept else 2)


def cache_of(result: Result) -> Any:
    """What a crawl held in memory in the end."""
    return result.crawler.get_downloader_middleware(RepDownloaderMiddleware)._parts.cache


def of_length(start: str, length: int) -> str:
    """A URL of that many octets."""
    return start + "u" * (length - len(start))


@pytest.mark.parametrize("length", [2_000, 8_192, 8_193, 15_000])
@ensureDeferred
async def test_a_redirect_to_a_long_url_is_refused(site: Site, length: int) -> None:
    """More than 8 KiB, on the first hop or a later one; no request is made for it."""
    last = site.authority(NOTHING, {"/": NOTHING})
    long = of_length(last.url("/"), length)
    last.pages = lambda hit: Reply(200, NOTHING)
    between = site.authority(redirect(long))
    shops = [site.authority(redirect(to)) for to in (long, between.url("/robots.txt"))]
    result = await visit([shop.url("/a") for shop in shops])
    followed = length <= 8_192
    assert {ending.kind for ending in result.endings} == {
        "forbidden" if followed else "unreachable"
    }
    assert len(last.hits) == (2 if followed else 0)
    assert result.stats.get("robotstxt/too_long/url", 0) == (0 if followed else 2)
    assert all(len(line.text) < 1_000 for line in result.log if line.logger == "scrapy_rep")


@ensureDeferred
async def test_a_url_that_grows_by_relative_redirects_is_refused(site: Site) -> None:
    """Each Location is short enough, the URL that comes of them is not."""
    deep = "/" + "d" * 4_000 + "/"
    robots = redirect(deep)
    shop = site.authority(robots, lambda hit: redirect("e" * 4_000 + "/"))
    result = await visit([shop.url("/a")])
    assert result.unreachable == [shop.url("/a")]
    assert result.stats["robotstxt/too_long/url"] == 1
    assert max(len(hit.target) for hit in shop.hits) <= 8_192


@pytest.mark.parametrize("count", first(1, [40, 300]))
@ensureDeferred
async def test_what_is_kept_of_many_sites_is_bounded(site: Site, count: int) -> None:
    """15 KB of redirect URL, ETag and Last-Modified each: no entry holds any of it."""
    headers = {"ETag": "e" * 15_000, "Last-Modified": "m" * 15_000}
    shops = [
        site.authority(redirect(f"/{'u' * 15_000}") if number % 2 else Reply(200, NOTHING, headers))
        for number in range(count)
    ]
    result = await visit([shop.url("/a") for shop in shops], CONCURRENT_REQUESTS=50)
    assert {ending.kind for ending in result.endings} == {"forbidden", "unreachable"}
    assert result.stats["robotstxt/too_long/url"] == count // 2
    assert result.stats["robotstxt/too_long/validator"] == count
    entries = [known.entry for _, known in cache_of(result).entries()]
    assert len(entries) == count
    assert max(len(repr(entry)) for entry in entries) < 2_000


def status_line(status: str) -> Raw:
    """A response with that text for a status."""
    return Raw(body=f"HTTP/1.1 {status} Odd\r\nContent-Length: 0\r\n\r\n")


STATUSES: dict[str, Any] = {
    "100..599": [Reply(200, RULES), Reply(299, RULES), Reply(404), Reply(499), Reply(599)],
    "other": [status_line(text) for text in ("600", "999", "1000", "12345678", "9" * 300)],
}


@ensureDeferred
async def test_no_stat_is_named_by_a_server(site: Site) -> None:
    """RFC 9110 section 15: statuses outside of 100 to 599 share one stat."""
    shops = [site.authority(reply) for replies in STATUSES.values() for reply in replies]
    result = await visit([shop.url("/a") for shop in shops])
    prefix = "robotstxt/response_status_count/"
    counts = {key[len(prefix) :]: n for key, n in result.stats.items() if key.startswith(prefix)}
    assert counts == {"200": 1, "299": 1, "404": 1, "499": 1, "599": 1, "other": 5}
    assert len(result.unreachable) == 6
