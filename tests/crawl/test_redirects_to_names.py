"""A redirect to a name goes where the name resolves to, and what answers from there may not count.

RFC 9309 section 3: a public robots.txt cannot have the crawler read rules in its own network.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawl.harness import crawl_in_child, visit
from tests.crawl.plugin import NOTHING, obey
from tests.crawl.result import Result
from tests.proxy import Proxy
from tests.replies import Reply, redirect
from tests.site import Authority, Site


class World:
    """Public sites, which redirect their robots.txt to names that resolve as told."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.names: dict[str, list[Any]] = {}
        self.routes: dict[str, str] = {}

    def place(self, name: str, addresses: list[Any], robots: Any = NOTHING) -> Authority:
        """An authority of that name; all its addresses that are not of this machine lead there."""
        authority = self._site.authority(robots)
        lists = addresses if addresses and isinstance(addresses[0], list) else [addresses]
        mine = [[a if a != "mine" else authority.host for a in some] for some in lists]
        self.names[name] = mine if len(mine) > 1 else mine[0]
        for address in (a for some in mine for a in some):
            if not address.startswith("127.") and ":" not in address:
                self.routes[address] = authority.host
        return authority

    def public(self, to: str) -> str:
        """The URL of a page of a new public site, whose robots.txt is a redirect."""
        number = len(self.names)
        name = f"public{number}.example"
        authority = self.place(name, [f"9.9.{number}.9"], redirect(to))
        return f"http://{name}:{authority.port}/page"

    def crawl(self, mode: str, plans: list[str], **settings: Any) -> Result:
        """A crawl of this world."""
        network = {
            "EXTENSIONS": {"tests.crawl.network.FakeNetwork": 1},
            "FAKE_NAMES": self.names,
            "FAKE_ROUTES": self.routes,
        }
        settings = obey(**network, **settings)
        return crawl_in_child(mode=mode, settings=settings, plans=plans).check()


@pytest.fixture
def world(site: Site) -> World:
    """A world without any site yet."""
    return World(site)


OPEN = "User-agent: *\nDisallow:\n"

PRIVATE = {
    "loopback": ["mine"],
    "private": ["10.1.2.3"],
    "link-local": ["169.254.169.254"],
    "shared": ["100.64.1.2"],
    "this network": ["0.0.0.0"],
}


def test_the_answer_of_a_private_address_does_not_count(
    world: World, site: Site, mode: str
) -> None:
    """Each public site is unreachable, whatever the hosts behind those names say.

    A chain is refused where it turns inward: public to public to private, and from there on to
    public again. Names of public addresses are followed, on another host and over two of them; and
    the guard is for what comes from outside.
    """
    inner = {
        f"inner{number}.example": world.place(f"inner{number}.example", addresses, OPEN)
        for number, addresses in enumerate(PRIVATE.values())
    }
    refused = [world.public(f"http://{name}:{one.port}/robots.txt") for name, one in inner.items()]
    rules = world.place("rules.example", ["8.8.8.8"])
    there = f"http://rules.example:{rules.port}/robots.txt"
    between = world.place("between.example", ["8.8.4.4"], redirect(there))
    over_two = f"http://between.example:{between.port}/robots.txt"
    # With a body: Scrapy 2.14 does not tell which address an empty one came from.
    back = world.place("back.example", ["192.168.1.1"], redirect(there, body=b"Moved"))
    inward = redirect(f"http://back.example:{back.port}/robots.txt")
    turning = world.place("turning.example", ["8.8.4.5"], inward)
    refused.append(world.public(f"http://turning.example:{turning.port}/robots.txt"))
    world.names["nowhere.example"] = []
    nowhere = world.public("http://nowhere.example/robots.txt")
    loop = world.public("/robots.txt?2")
    mine = world.place("mine.example", ["mine"])
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
