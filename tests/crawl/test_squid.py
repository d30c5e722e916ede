"""Squid as the proxy of a crawl: what it refuses itself is not the answer of a site."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crawl.harness import visit
from tests.crawl.plugin import NOTHING, RULES
from tests.crawl.programs import Program, running
from tests.crawl.spiders import OneByOneSpider
from tests.replies import Reply
from tests.site import Site

pytestmark = pytest.mark.slow

COMMON = """
http_port 127.0.0.1:{port}
pid_filename {folder}/pid
access_log stdio:{folder}/access.log
cache_log {folder}/cache.log
coredump_dir {folder}
cache deny all
cache_mem 1 MB
shutdown_lifetime 0 seconds
max_filedescriptors 256
pinger_enable off
netdb_filename none
visible_hostname proxy.example
"""
OPEN_TO_ALL = "http_access allow all\n"
CLOSED = "http_access deny all\n"
WITH_LOGIN = """
auth_param basic program /usr/lib/squid/basic_fake_auth
acl known proxy_auth somebody
http_access allow known
http_access deny all
"""


def squid(access: str) -> Iterator[Program]:
    """A squid with these rules of access."""
    with running("squid", "-N -f {folder}/conf", COMMON + access) as program:
        yield program


@pytest.fixture
def good() -> Iterator[Program]:
    """A proxy that lets everything through."""
    yield from squid(OPEN_TO_ALL)


@pytest.fixture(params=[CLOSED, WITH_LOGIN], ids=["ACL", "login"])
def bad(request: pytest.FixtureRequest) -> Iterator[Program]:
    """A proxy that refuses everything."""
    yield from squid(request.param)


async def test_what_squid_refuses_is_asked_of_another_proxy(
    site: Site, good: Program, bad: Program, mode: str
) -> None:
    """403 with X-Squid-Error by its ACL, 407 without a login: the site never saw a request."""
    shop = site.authority(RULES)
    by = {"bad": {"proxy": bad.url}, "good": {"proxy": good.url}}
    first = [{"url": shop.url("/private?1"), "meta": by["bad"]}]
    result = await visit(first, mode=mode)
    assert result.unreachable == [shop.url("/private?1")]
    assert result.problem(shop.url("/private?1")).data["cause"].startswith("proxy failure")
    assert shop.hits == []
    plans = [
        *first,
        *({"url": shop.url(f"/{path}"), "meta": by["good"]} for path in ("private?2", "open")),
    ]
    result = await visit(plans, mode=mode, REP_RETRY_DELAYS=[0.05])
    assert result.kinds == ["forbidden", "forbidden", "downloaded"]
    assert bad.lines("TCP_DENIED", "/robots.txt")
    assert bad.lines("/private") == []
    assert len(good.lines("/robots.txt", "/200")) == 1
    assert [hit.path for hit in shop.hits] == ["/robots.txt", "/open"]


async def test_what_the_site_refuses_to_one_proxy_it_may_show_to_another(
    site: Site, good: Program
) -> None:
    """Via is no mark: the refusal is the site's. It holds for requests by this proxy alone."""
    shop = site.authority([Reply(403, NOTHING), RULES])
    by_squid = {"proxy": good.url}
    plans = [
        {"url": shop.url("/private?1"), "meta": by_squid},
        {"url": shop.url("/private?2"), "meta": by_squid},
        {"url": shop.url("/private?3")},
        {"url": shop.url("/private?4"), "meta": by_squid},
    ]
    result = await visit(plans, OneByOneSpider)
    assert result.kinds == ["downloaded", "downloaded", "forbidden", "forbidden"]
    assert len(good.lines("/robots.txt")) == 1
    assert len(shop.robots_hits) == 2
