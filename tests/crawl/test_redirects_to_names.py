"""A redirect to a name goes where the name resolves to, and what answers from there may not count.

RFC 9309 section 3: a public robots.txt cannot have the crawler read rules in its own network.
"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import EACH_MODE, crawl_in_child
from tests.crawl.plugin import NOTHING, obey
from tests.crawl.result import Result
from tests.crawl.test_redirects import visit
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


@pytest.mark.parametrize("mode", EACH_MODE)
def test_the_answer_of_a_private_address_does_not_count(world: World, mode: str) -> None:
    """Each public site is unreachable, whatever the hosts behind those names say."""
    plans, targets = [], []
    for number, addresses in enumerate(PRIVATE.values()):
        target = world.place(f"inner{number}.example", addresses, OPEN)
        plans.append(world.public(f"http://inner{number}.example:{target.port}/robots.txt"))
        targets.append(target)
    result = world.crawl(mode, plans)
    assert result.unreachable == plans
    assert [len(target.hits) for target in targets] == [1] * len(targets)
    assert result.lines("redirect refused: redirect from a public to a local address: ")
    causes = {ending.problem.data["cause"] for ending in result.endings if ending.problem}
    assert causes == {"redirect refused"}


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_name_of_a_public_address_is_followed(world: World, mode: str) -> None:
    """The counterpart: on another host, on the same one, and over two of them."""
    last = world.place("rules.example", ["8.8.8.8"])
    there = f"http://rules.example:{last.port}/robots.txt"
    between = world.place("between.example", ["8.8.4.4"], redirect(there))
    plans = [
        world.public(there),
        world.public("/robots.txt?2"),  # a loop: unavailable
        world.public(f"http://between.example:{between.port}/robots.txt"),
    ]
    result = world.crawl(mode, plans)
    assert [result.kind(url) for url in plans] == ["forbidden", "downloaded", "forbidden"]
    assert (len(last.robots_hits), len(between.robots_hits)) == (2, 1)


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_chain_is_refused_where_it_turns_inward(world: World, mode: str) -> None:
    """Public to public to private, and from there on to public again: the last hop is not made."""
    last = world.place("rules.example", ["8.8.8.8"], OPEN)
    # With a body: Scrapy 2.14 does not tell which address an empty one came from.
    there = redirect(f"http://rules.example:{last.port}/robots.txt", body=b"Moved")
    inner = world.place("inner.example", ["192.168.1.1"], there)
    there = redirect(f"http://inner.example:{inner.port}/robots.txt")
    between = world.place("between.example", ["8.8.4.4"], there)
    plan = world.public(f"http://between.example:{between.port}/robots.txt")
    result = world.crawl(mode, [plan])
    assert result.unreachable == [plan]
    assert (len(between.hits), len(inner.hits), len(last.hits)) == (1, 1, 0)


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_name_without_an_address_is_unreachable_by_dns(world: World, mode: str) -> None:
    """A resolver that hangs is left alone."""
    world.names["nowhere.example"] = []
    plan = world.public("http://nowhere.example/robots.txt")
    result = world.crawl(mode, [plan], REP_RETRY_DELAYS=[])
    assert result.unreachable == [plan]
    assert result.endings[0].problem.data["cause"] == "dns"
    slow = world.public("http://nowhere.example/robots.txt?slow")
    result = world.crawl(mode, [slow], FAKE_SILENT=1.5, REP_TIMEOUT=0.5, REP_RETRY_DELAYS=[])
    assert result.unreachable == [slow]
    assert result.endings[0].problem.data["cause"] == "timeout"


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_local_site_may_redirect_to_a_private_name(world: World, site: Site, mode: str) -> None:
    """The guard is for what comes from outside."""
    target = world.place("inner.example", ["mine"])
    shop = site.authority(redirect(f"http://inner.example:{target.port}/robots.txt"))
    result = world.crawl(mode, [shop.url("/page")])
    assert result.forbidden == [shop.url("/page")]
    assert result.stats["fake/lookups/inner.example"] == 1


@ensureDeferred
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
