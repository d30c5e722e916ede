"""Redirects of robots.txt, followed for the authority first asked (RFC 9309 section 2.3.1.2)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.crawl.clock import Ahead
from tests.crawl.harness import visit
from tests.crawl.plugin import NOTHING, RULES
from tests.crawl.test_freshness import visit_at
from tests.proxy import Proxy
from tests.replies import Raw, Reply, redirect
from tests.site import Site
from tests.spellings import local_hosts


async def test_the_limit_can_be_raised(site: Site) -> None:
    """REP_MAX_REDIRECTS: at least five hops must be followed, more may be."""
    last = site.authority(NOTHING)
    for _ in range(8):
        last = site.authority(redirect(last.url("/robots.txt")))
    result = await visit([last.url("/a")], REP_MAX_REDIRECTS=8)
    assert result.forbidden == [last.url("/a")]


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


async def test_all_spellings_of_local_addresses_get_no_connection(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public robots.txt cannot send the crawler to a host of its own network.

    Nor can a chain: public to public to local is refused at the last hop. The public Internet is
    behind a proxy; the local hosts are asked directly.
    """
    proxy = Proxy(site)
    hosts = local_hosts()
    directly = [*(host.strip("[]").lower() for host in hosts), "127.0.0.1", "localhost", "::1"]
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", ",".join(directly))
    inner = site.authority(NOTHING, host="127.0.0.1")
    proxy.authority("http://a.example", redirect("http://b.example/robots.txt"))
    proxy.authority("http://b.example", redirect(inner.url("/robots.txt")))
    plans = ["http://a.example/x"]
    for number, host in enumerate(hosts):
        target = f"http://{host}/robots.txt".encode().decode("latin-1")
        proxy.authority(f"http://s{number}.example", redirect(target))
        plans.append(f"http://s{number}.example/a")
    with connections_made() as made:
        result = await visit(plans, CONCURRENT_REQUESTS=50)
    assert len(plans) > 150
    assert result.unreachable == plans
    assert proxy.strays == []
    assert {f"http://{address[0]}:{address[1]}" for address in made} == {proxy.url}
    # The counterpart: from a local site those redirects are followed, and rules found.
    monkeypatch.delenv("http_proxy")
    there = [f"http://{host}:{inner.port}/robots.txt" for host in ("127.0.0.1", "localhost")]
    result = await visit([site.authority(redirect(url)).url("/a") for url in there])
    assert len(result.forbidden) == len(inner.robots_hits) == 2


# --- what is kept is bounded


VALIDATORS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}


async def test_a_long_validator_is_dropped(site: Site, clock: Ahead) -> None:
    """More than 1 KiB is not kept and not sent back; the rules count all the same."""
    rows = [(name, size) for name in VALIDATORS for size in (1024, 1025)]
    shops = [site.authority(Reply(200, RULES, {name: "v" * size})) for name, size in rows]
    result = await visit_at(clock, [0, 100_000], *(shop.url("/private") for shop in shops))
    assert len(result.forbidden) == 2 * len(rows)
    for shop, (name, size) in zip(shops, rows, strict=True):
        sent = [hit.header(VALIDATORS[name]) for hit in shop.robots_hits]
        assert sent == [None, "v" * size if size <= 1024 else None]


async def test_a_redirect_to_a_long_url_is_refused(site: Site) -> None:
    """More than 8 KiB, on the first hop or a later one, or as it grows by relative redirects.

    No request is made for it.
    """
    last = site.authority(NOTHING, lambda hit: Reply(200, NOTHING))
    followed, refused = [], []
    for size, urls in ((8_192, followed), (8_193, refused)):
        long = last.url("/").ljust(size, "u")
        between = site.authority(redirect(long))
        for to in (long, between.url("/robots.txt")):
            urls.append(site.authority(redirect(to)).url("/a"))
    growing = site.authority(redirect(f"/{'d' * 4_000}/"), lambda hit: redirect("e" * 4_000 + "/"))
    refused.append(growing.url("/a"))
    result = await visit([*followed, *refused])
    assert (result.forbidden, result.unreachable) == (followed, refused)
    assert len(last.hits) == 2
    assert max(len(hit.target) for hit in site.hits) <= 8_192
    assert all(len(line.text) < 1_000 for line in result.log if line.logger == "scrapy_rep")


async def test_no_stat_is_named_by_a_server(site: Site) -> None:
    """RFC 9110 section 15: statuses outside of 100 to 599 share one stat."""
    robots: list[Any] = [Reply(status, RULES) for status in (200, 299, 404, 499, 599)]
    robots += [
        Raw(body=f"HTTP/1.1 {status} Odd\r\nContent-Length: 0\r\n\r\n")
        for status in ("600", "999", "1000", "12345678", "9" * 300)
    ]
    result = await visit([site.authority(reply).url("/a") for reply in robots])
    prefix = "robotstxt/response_status_count/"
    counts = {key[len(prefix) :]: n for key, n in result.stats.items() if key.startswith(prefix)}
    assert counts == {"200": 1, "299": 1, "404": 1, "499": 1, "599": 1, "other": 5}
    assert len(result.unreachable) == 6
