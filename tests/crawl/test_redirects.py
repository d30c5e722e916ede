"""Redirects of robots.txt, followed for the authority first asked (RFC 9309 section 2.3.1.2).

A public robots.txt cannot have the crawler read rules in its own network (section 3), neither by
an address nor by a name that resolves to one.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawl.clock import Ahead
from tests.crawl.harness import crawl_in_child, visit
from tests.crawl.plugin import NOTHING, OPEN, RULES, obey
from tests.crawl.result import Result
from tests.crawl.test_flights import visit_at
from tests.proxy import Proxy
from tests.replies import Raw, Reply, redirect
from tests.site import Authority, Site


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


# --- redirects to names that resolve to addresses of that network


class World:
    """Public sites, which redirect their robots.txt to names that resolve as told."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.names: dict[str, list[str]] = {}
        self.routes: dict[str, str] = {}

    def place(self, name: str, address: str, robots: Any = NOTHING) -> Authority:
        """An authority of that name; its address leads there, unless it is its own, `""`."""
        authority = self._site.authority(robots)
        self.names[name] = [address or authority.host]
        if address:
            self.routes[address] = authority.host
        return authority

    def public(self, to: str) -> str:
        """The URL of a page of a new public site, whose robots.txt is a redirect."""
        number = len(self.names)
        name = f"public{number}.example"
        authority = self.place(name, f"9.9.{number}.9", redirect(to))
        return f"http://{name}:{authority.port}/page"

    def crawl(self, mode: str, plans: list[str], **settings: Any) -> Result:
        """A crawl of this world."""
        network = {"FAKE_NAMES": self.names, "FAKE_ROUTES": self.routes}
        network["EXTENSIONS"] = {"tests.crawl.network.FakeNetwork": 1}
        settings = obey(**network, **settings)
        return crawl_in_child(mode=mode, settings=settings, plans=plans).check()


@pytest.fixture
def world(site: Site) -> World:
    """A world without any site yet."""
    return World(site)


PRIVATE = ["", "10.1.2.3", "169.254.169.254", "100.64.1.2", "0.0.0.0"]
"""Loopback, a private network, a link, shared addresses, and this network."""


def test_an_answer_of_a_private_address_does_not_count(world: World, site: Site, mode: str) -> None:
    """Each public site is unreachable, whatever the hosts behind those names say.

    A chain is refused where it turns inward: public to public to private, and from there on to
    public again. Names of public addresses are followed, on another host and over two of them; and
    the guard is for what comes from outside.
    """
    names = [f"inner{number}.example" for number in range(len(PRIVATE))]
    inner = {name: world.place(name, at, OPEN) for name, at in zip(names, PRIVATE, strict=True)}
    refused = [world.public(f"http://{name}:{one.port}/robots.txt") for name, one in inner.items()]
    rules = world.place("rules.example", "8.8.8.8")
    there = f"http://rules.example:{rules.port}/robots.txt"
    between = world.place("between.example", "8.8.4.4", redirect(there))
    over_two = f"http://between.example:{between.port}/robots.txt"
    # With a body: Scrapy 2.14 does not tell which address an empty one came from.
    back = world.place("back.example", "192.168.1.1", redirect(there, body=b"Moved"))
    inward = redirect(f"http://back.example:{back.port}/robots.txt")
    turning = world.place("turning.example", "8.8.4.5", inward)
    refused.append(world.public(f"http://turning.example:{turning.port}/robots.txt"))
    spelled = site.authority(OPEN)  # its address is in the URL: nothing connects to it
    refused.append(world.public(spelled.url("/robots.txt")))
    world.names["nowhere.example"] = []
    nowhere = world.public("http://nowhere.example/robots.txt")
    loop = world.public("/robots.txt?2")
    mine = world.place("mine.example", "")
    local = site.authority(redirect(f"http://mine.example:{mine.port}/robots.txt")).url("/page")
    followed = [world.public(there), world.public(over_two), local]
    result = world.crawl(mode, [*refused, nowhere, loop, *followed])
    assert result.unreachable == [*refused, nowhere]
    assert (result.downloaded, result.forbidden) == ([loop], followed)
    causes = [result.problem(url).data["cause"] for url in result.unreachable]
    assert causes == ["redirect refused"] * len(refused) + ["dns"]
    assert result.lines("redirect refused: redirect from a public to a local address: ")
    asked = [*inner.values(), between, turning, back]
    assert [len(one.hits) for one in asked] == [1] * len(asked)
    assert spelled.hits == []
    assert len(rules.robots_hits) == 2
    assert result.stats["fake/lookups/mine.example"] == 1


def test_a_resolver_that_hangs_is_left_alone(world: World, mode: str) -> None:
    """The site is unreachable when the time of the fetch is over."""
    world.names["nowhere.example"] = []
    plan = world.public("http://nowhere.example/robots.txt")
    result = world.crawl(mode, [plan], FAKE_SILENT=1.5, REP_TIMEOUT=0.5)
    assert result.unreachable == [plan]
    assert result.problem(plan).data["cause"] == "timeout"


async def test_a_name_behind_a_proxy_is_for_the_proxy_to_look_up(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No name of these resolves here; the proxy is the environment's, and so known late."""
    proxy = Proxy(site)
    monkeypatch.setenv("http_proxy", proxy.url)
    proxy.authority("http://a.example", redirect("http://b.example/robots.txt"))
    proxy.authority("http://b.example", Reply(200, NOTHING))
    result = await visit(["http://a.example/x"])
    assert result.forbidden == ["http://a.example/x"]


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
    odd = "600", "999", "1000", "12345678", "9" * 300
    robots += [Raw(body=f"HTTP/1.1 {one} Odd\r\nContent-Length: 0\r\n\r\n") for one in odd]
    result = await visit([site.authority(reply).url("/a") for reply in robots])
    prefix = "robotstxt/response_status_count/"
    counts = {key[len(prefix) :]: n for key, n in result.stats.items() if key.startswith(prefix)}
    assert counts == {"200": 1, "299": 1, "404": 1, "499": 1, "599": 1, "other": 5}
    assert len(result.unreachable) == 6
