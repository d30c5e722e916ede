"""Squid and tinyproxy as the proxy of a crawl: what they refuse is not the answer of a site."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

import pytest

from tests.crawl.harness import visit
from tests.crawl.plugin import NOTHING, RULES
from tests.crawl.programs import Program, running
from tests.crawl.spiders import OneByOneSpider
from tests.proxy import by_proxy
from tests.replies import Reply
from tests.site import Hit, Site

pytestmark = pytest.mark.slow

SQUID = """
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
SQUID_LOGIN = """
auth_param basic program /usr/lib/squid/basic_fake_auth
acl known proxy_auth somebody
http_access allow known
http_access deny all
"""
TINYPROXY = """
Listen 127.0.0.1
Port {port}
Timeout 20
MaxClients 20
LogFile "{folder}/access.log"
LogLevel Connect
PidFile "{folder}/pid"
"""

Starter: TypeAlias = Callable[..., AbstractContextManager[Program]]


def squid(access: str = "http_access allow all\n") -> AbstractContextManager[Program]:
    """A squid with these rules of access."""
    return running("squid", "-N -f {folder}/conf", SQUID + access)


def tinyproxy(access: str = "Allow 127.0.0.1\n") -> AbstractContextManager[Program]:
    """A tinyproxy with these rules of access."""
    return running("tinyproxy", "-d -c {folder}/conf", TINYPROXY + access, filter="robots")


REFUSING: dict[str, tuple[Starter, str]] = {
    "squid, ACL": (squid, "http_access deny all\n"),
    "squid, login": (squid, SQUID_LOGIN),
    "tinyproxy, login": (tinyproxy, "BasicAuth somebody word\n"),
    "tinyproxy, address": (tinyproxy, "Deny 127.0.0.1\n"),
    "tinyproxy, filter": (tinyproxy, 'Filter "{folder}/filter"\nFilterURLs On\n'),
}
"""Proxies that refuse at least robots.txt."""


@pytest.mark.parametrize(("program", "access"), REFUSING.values(), ids=REFUSING)
async def test_what_a_proxy_refuses_is_asked_of_another_one(
    site: Site, mode: str, program: Starter, access: str
) -> None:
    """Squid: 403 with X-Squid-Error by its ACL, 407 without a login.

    Tinyproxy: 401 for a wrong login, as a site would, 403 for an address or a filter. The site
    never saw a request.
    """
    shop = site.authority(RULES)
    refused, served, login = "TCP_DENIED", "/200", ""
    if program is tinyproxy:
        refused, served, login = "", "Request", "somebody:else@"
    with program(access) as bad, program() as good:
        first = by_proxy(bad.url.replace("//", f"//{login}"), shop.url("/private?1"))
        result = await visit(first, mode=mode)
        assert result.unreachable == [shop.url("/private?1")]
        assert result.problem(shop.url("/private?1")).data["cause"].startswith("proxy failure 40")
        assert shop.hits == []
        others = by_proxy(good.url, shop.url("/private?2"), shop.url("/open"))
        result = await visit([*first, *others], mode=mode, REP_RETRY_DELAYS=[0.05])
        assert result.kinds == ["forbidden", "forbidden", "downloaded"]
        assert bad.lines(refused)
        assert bad.lines("/private") == []
        assert len(good.lines("/robots.txt", served)) == 1
    assert [hit.path for hit in shop.hits] == ["/robots.txt", "/open"]


async def test_what_the_site_refuses_to_one_proxy_it_may_show_to_another(site: Site) -> None:
    """Via is no mark: the refusal is the site's. It holds for requests by this proxy alone."""
    shop = site.authority([Reply(403, NOTHING), RULES])
    with squid() as good:
        *plans, last = by_proxy(good.url, *(shop.url(f"/private?{n}") for n in range(3)))
        result = await visit([*plans, shop.url("/private"), last], OneByOneSpider)
        assert result.kinds == ["downloaded", "downloaded", "forbidden", "forbidden"]
        assert len(good.lines("/robots.txt")) == 1
    assert len(shop.robots_hits) == 2


async def test_the_login_of_a_page_passes_tinyproxy(site: Site) -> None:
    """A 401 of the site is not the proxy's, although it came through it."""

    def tell(hit: Hit) -> Reply:
        is_in = hit.header("Authorization") is not None
        return Reply.text(RULES) if is_in else Reply(401, "", {"Server": "nginx"})

    shop = site.authority(tell)
    with tinyproxy() as good:
        urls = shop.url("/private?1"), shop.url("/private?2"), shop.url("/open")
        first, *others = by_proxy(good.url, *urls)
        signed_in = [plan | {"headers": {"Authorization": "Bearer word"}} for plan in others]
        result = await visit([first, *signed_in], OneByOneSpider)
        assert result.kinds == ["downloaded", "forbidden", "downloaded"]
        assert len(good.lines("Request", "/robots.txt")) == 2
