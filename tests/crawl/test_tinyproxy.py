"""Tinyproxy as the proxy of a crawl: it asks for a login with 401, as a site would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crawl.harness import visit
from tests.crawl.plugin import RULES
from tests.crawl.programs import Program, running
from tests.crawl.spiders import OneByOneSpider
from tests.replies import Reply
from tests.site import Site

pytestmark = pytest.mark.slow

COMMON = """
Listen 127.0.0.1
Port {port}
Timeout 20
MaxClients 20
LogFile "{folder}/access.log"
LogLevel Connect
PidFile "{folder}/pid"
"""
WITH_LOGIN = "BasicAuth somebody word\n"
CLOSED = "Deny 127.0.0.1\n"
FILTERED = 'Filter "{folder}/filter"\nFilterURLs On\n'


def tinyproxy(access: str) -> Iterator[Program]:
    """A tinyproxy with these rules of access."""
    arguments = "-d -c {folder}/conf"
    with running("tinyproxy", arguments, COMMON + access, filter="robots") as program:
        yield program


@pytest.fixture
def good() -> Iterator[Program]:
    """A proxy that lets everything through."""
    yield from tinyproxy("Allow 127.0.0.1\n")


@pytest.fixture(params=[WITH_LOGIN, CLOSED, FILTERED], ids=["login", "address", "filter"])
def bad(request: pytest.FixtureRequest) -> Iterator[Program]:
    """A proxy that refuses at least robots.txt."""
    yield from tinyproxy(request.param)


async def test_what_tinyproxy_refuses_is_asked_of_another_proxy(
    site: Site, good: Program, bad: Program, mode: str
) -> None:
    """401 for a wrong login, 403 for an address or a filter: the site never saw a request."""
    shop = site.authority(RULES)
    wrong = bad.url.replace("//", "//somebody:else@")
    first = [{"url": shop.url("/private?1"), "meta": {"proxy": wrong}}]
    result = await visit(first, mode=mode)
    assert result.unreachable == [shop.url("/private?1")]
    assert result.problem(shop.url("/private?1")).data["cause"].startswith("proxy failure 40")
    assert shop.hits == []
    by_good = {"proxy": good.url}
    others = [{"url": shop.url(path), "meta": by_good} for path in ("/private?2", "/open")]
    result = await visit([*first, *others], mode=mode, REP_RETRY_DELAYS=[0.05])
    assert result.kinds == ["forbidden", "forbidden", "downloaded"]
    assert bad.log
    assert bad.lines("/private") == []
    assert len(good.lines("Request", "/robots.txt")) == 1
    assert [hit.path for hit in shop.hits] == ["/robots.txt", "/open"]


async def test_the_login_of_a_page_passes_tinyproxy(site: Site, good: Program) -> None:
    """A 401 of the site is not the proxy's, although it came through it."""

    def tell(hit: object) -> Reply:
        signed_in = getattr(hit, "header")("Authorization") is not None  # noqa: B009
        return Reply.text(RULES) if signed_in else Reply(401, "", {"Server": "nginx"})

    shop = site.authority(tell)
    meta = {"proxy": good.url}
    login = {"headers": {"Authorization": "Bearer word"}, "meta": meta}
    plans = [
        {"url": shop.url("/private?1"), "meta": meta},
        {"url": shop.url("/private?2"), **login},
        {"url": shop.url("/open"), **login},
    ]
    result = await visit(plans, OneByOneSpider)
    assert result.kinds == ["downloaded", "forbidden", "downloaded"]
    assert len(good.lines("Request", "/robots.txt")) == 2
