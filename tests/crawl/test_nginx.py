"""Nginx as the site: cookie walls and logins in front of robots.txt, by its own access log."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.crawl.harness import visit
from tests.crawl.plugin import RULES
from tests.crawl.programs import Program, running
from tests.crawl.spiders import OneByOneSpider

pytestmark = pytest.mark.slow

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr;
events { worker_connections 64; }
http {
    log_format asked '$request_uri $status cookie="$http_cookie" login="$http_authorization" $host';
    access_log {folder}/access.log asked;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    default_type text/plain;
    root {folder}/www;
    server {
        listen 127.0.0.1:{port};
        location / { return 200 "a page"; }
        location = /robots.txt {
            if ($http_cookie !~ "seen=1") {
                add_header Set-Cookie "seen=1; Path=/; HttpOnly";
                return 302 $scheme://$http_host/robots.txt?cookieSet=1;
            }
        }
    }
    server {
        listen 127.0.0.3:{port};
        location / { return 200 "a page"; }
        location = /robots.txt {
            auth_basic "shop";
            auth_basic_user_file {folder}/users;
        }
    }
    server {
        listen 127.0.0.2:{port};
        location / { return 200 "a page"; }
        location = /robots.txt {
            if ($http_cookie !~ "seen=1") { return 302 $scheme://$http_host/set; }
        }
        location = /set {
            add_header Set-Cookie "seen=1; Path=/";
            return 302 $scheme://$http_host/robots.txt;
        }
    }
}
"""
LOGIN = f"Basic {base64.b64encode(b'user:word').decode()}"


@pytest.fixture
def nginx() -> Iterator[Program]:
    """Three sites: two behind a cookie, the third behind a login."""
    files = {"www_in_robots__txt": RULES, "users": "user:{PLAIN}word\n"}
    arguments = "-e stderr -p {folder} -c {folder}/conf"
    with running("nginx", arguments, CONFIGURATION, **files) as program:
        yield program


async def test_a_cookie_wall_of_nginx_is_no_missing_file(nginx: Program, mode: str) -> None:
    """To itself with a query, and there and back; a page shows no cookie of the fetch."""
    sites = [f"http://{host}:{nginx.port}" for host in ("127.0.0.1", "127.0.0.2")]
    result = await visit(
        [f"{url}{path}" for url in sites for path in ("/open", "/private")], mode=mode
    )
    assert result.kinds == ["downloaded", "forbidden"] * 2
    by_site = [
        [line for line in nginx.log if line.endswith(host)] for host in ("127.0.0.1", "127.0.0.2")
    ]
    asked = [[line.split(" login")[0] for line in lines] for lines in by_site]
    assert asked[0] == [
        '/robots.txt 302 cookie="-"',
        '/robots.txt?cookieSet=1 200 cookie="seen=1"',
        '/open 200 cookie="-"',
    ]
    assert asked[1] == [
        '/robots.txt 302 cookie="-"',
        '/set 302 cookie="-"',
        '/robots.txt 200 cookie="seen=1"',
        '/open 200 cookie="-"',
    ]


@pytest.mark.parametrize("signed_in_first", [True, False])
async def test_a_login_of_nginx_is_asked_for_once(
    nginx: Program, mode: str, signed_in_first: bool
) -> None:
    """The rules behind it are those of all pages, whoever asks first."""
    url = f"http://127.0.0.3:{nginx.port}"
    signed_in: list[Any] = [
        {"url": f"{url}/private?1", "headers": {"Authorization": LOGIN}},
        {"url": f"{url}/open", "meta": {"http_user": "user", "http_pass": "word"}},
    ]
    if mode == "none":
        signed_in.append({"url": f"{url.replace('//', '//user:word@')}/private?3"})
    anonymous = [{"url": f"{url}/private?2"}]
    plans = [*signed_in, *anonymous] if signed_in_first else [*anonymous, *signed_in]
    result = await visit(plans, OneByOneSpider, mode=mode)
    ends = {"private?1": "forbidden", "open": "downloaded", "private?3": "forbidden"}
    ends["private?2"] = "forbidden" if signed_in_first else "downloaded"
    assert result.kinds == [ends[plan["url"].rpartition("/")[2]] for plan in plans]
    robots = [line.partition(" cookie")[0] for line in nginx.lines("/robots.txt")]
    assert robots == ["/robots.txt 401", "/robots.txt 200"]
    assert len(nginx.lines("/robots.txt", LOGIN)) == 1
