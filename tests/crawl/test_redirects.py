"""Redirects of robots.txt, followed for the authority first asked (RFC 9309 section 2.3.1.2)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.clock import take_over
from tests.crawl.harness import visit
from tests.crawl.plugin import NOTHING, RULES
from tests.crawl.test_freshness import visit_at
from tests.proxy import Proxy
from tests.replies import Raw, Reply, redirect
from tests.rows import first
from tests.site import Site
from tests.spellings import local_hosts


@ensureDeferred
async def test_the_limit_can_be_raised(site: Site) -> None:
    """REP_MAX_REDIRECTS: at least five hops must be followed, more may be."""
    last = site.authority(NOTHING)
    for _ in range(8):
        last = site.authority(redirect(last.url("/robots.txt")))
    result = await visit([last.url("/a")], REP_MAX_REDIRECTS=8)
    assert result.forbidden == [last.url("/a")]


@ensureDeferred
async def test_a_loop_is_left_after_five_hops(site: Site) -> None:
    """To itself, and of two: unavailable, and no more requests than that."""
    alone = site.authority(redirect("/robots.txt"))
    first, second = site.authority(), site.authority()
    first.robots = redirect(second.url("/robots.txt"))
    second.robots = redirect(first.url("/robots.txt"))
    plans = [alone.url("/a"), first.url("/a")]
    result = await visit(plans)
    assert result.downloaded == plans
    assert len(alone.robots_hits) == 6
    assert (len(first.robots_hits), len(second.robots_hits)) == (3, 3)


@ensureDeferred
async def test_a_chain_may_change_the_scheme(site: Site) -> None:
    """From http to https and back."""
    proxy = Proxy(site)
    proxy.authority("http://shop.example", redirect("https://shop.example/robots.txt"))
    proxy.authority("https://shop.example", redirect("http://rules.example:8080/r"))
    proxy.authority("http://rules.example:8080", None, {"/r": RULES})
    plan = {"url": "http://shop.example/private", "meta": {"proxy": proxy.url}}
    result = await visit([plan])
    assert result.forbidden == ["http://shop.example/private"]
    assert [hit.path for hit in proxy.hits] == ["/robots.txt", "/robots.txt", "/r"]


# --- redirects into the network that the crawler runs in


_connects: list[Any] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _connects is not None and event == "socket.connect":
        _connects.append(arguments[1])


@contextmanager
def connections_made() -> Iterator[list[Any]]:
    """The addresses that this process connects to, wherever they are."""
    global _connects
    if not hasattr(sys, "_scrapy_rep_audit"):
        sys.addaudithook(_audit)
        sys._scrapy_rep_audit = True  # type: ignore[attr-defined]
    _connects = made = []
    try:
        yield made
    finally:
        _connects = None


def behind_a_proxy(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, directly: list[str]) -> None:
    """The public Internet is behind the proxy; those hosts are asked directly."""
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", ",".join(directly))


@ensureDeferred
async def test_200_spellings_of_local_addresses_get_no_connection(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public robots.txt cannot send the crawler to a host of its own network."""
    proxy = Proxy(site)
    hosts = local_hosts()
    ascii_forms = [host.strip("[]").lower() for host in hosts]
    behind_a_proxy(proxy, monkeypatch, [*ascii_forms, "127.0.0.1", "localhost", "::1"])
    plans = []
    for number, host in enumerate(hosts):
        target = f"http://{host}/robots.txt".encode().decode("latin-1")
        proxy.authority(f"http://s{number}.example", redirect(target))
        plans.append(f"http://s{number}.example/a")
    with connections_made() as made:
        result = await visit(plans, CONCURRENT_REQUESTS=50)
    assert len(plans) >= 200
    assert result.unreachable == plans
    assert proxy.strays == []
    assert {f"http://{address[0]}:{address[1]}" for address in made} == {proxy.url}


@ensureDeferred
async def test_the_way_there_is_open_all_the_same(site: Site) -> None:
    """The counterpart: from a local site those redirects are followed, and rules found."""
    inner = site.authority(NOTHING, host="127.0.0.1")
    shops = [
        site.authority(redirect(f"http://{host}:{inner.port}/robots.txt"))
        for host in ("127.0.0.1", "localhost")
    ]
    result = await visit([shop.url("/a") for shop in shops])
    assert len(result.forbidden) == 2
    assert len(inner.robots_hits) == 2


@ensureDeferred
async def test_a_chain_cannot_launder_its_origin(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public to public to local is refused at the last hop."""
    proxy = Proxy(site)
    behind_a_proxy(proxy, monkeypatch, ["127.0.0.1"])
    inner = site.authority(NOTHING, host="127.0.0.1")
    proxy.authority("http://a.example", redirect("http://b.example/robots.txt"))
    proxy.authority("http://b.example", redirect(inner.url("/robots.txt")))
    result = await visit(["http://a.example/x"])
    assert result.unreachable == ["http://a.example/x"]
    assert inner.hits == []


# --- what is kept is bounded


VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}


@pytest.mark.parametrize("size", [1024, 1025])
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


def of_length(start: str, length: int) -> str:
    """A URL of that many octets."""
    return start + "u" * (length - len(start))


@pytest.mark.parametrize("length", [8_192, 8_193])
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
    entries = [known.entry for known in result.gate._parts.cache._resident.values()]
    assert len(entries) == count
    assert max(len(repr(entry)) for entry in entries) < 2_000


def status_line(status: str) -> Raw:
    """A response with that text for a status."""
    return Raw(body=f"HTTP/1.1 {status} Odd\r\nContent-Length: 0\r\n\r\n")


ODD_STATUSES: dict[str, Any] = {
    "100..599": [Reply(200, RULES), Reply(299, RULES), Reply(404), Reply(499), Reply(599)],
    "other": [status_line(text) for text in ("600", "999", "1000", "12345678", "9" * 300)],
}


@ensureDeferred
async def test_no_stat_is_named_by_a_server(site: Site) -> None:
    """RFC 9110 section 15: statuses outside of 100 to 599 share one stat."""
    shops = [site.authority(reply) for replies in ODD_STATUSES.values() for reply in replies]
    result = await visit([shop.url("/a") for shop in shops])
    prefix = "robotstxt/response_status_count/"
    counts = {key[len(prefix) :]: n for key, n in result.stats.items() if key.startswith(prefix)}
    assert counts == {"200": 1, "299": 1, "404": 1, "499": 1, "599": 1, "other": 5}
    assert len(result.unreachable) == 6
