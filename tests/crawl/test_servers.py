"""Nginx and Apache as the site, by their own access logs.

Cookie walls and logins in front of robots.txt, and a file in one coding only.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.harness import visit
from tests.crawl.plugin import RULES
from tests.crawl.programs import Program, running
from tests.crawl.spiders import OneByOneSpider

pytestmark = pytest.mark.slow

NGINX = """
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
MODULES = "mpm_event authz_core authz_user authn_core authn_file auth_basic mime negotiation dir"
MODULE = "LoadModule {0}_module /usr/lib/apache2/modules/mod_{0}.so\n"
APACHE = (
    "".join(MODULE.format(name) for name in [*MODULES.split(), "alias"])
    + """
ServerRoot {folder}
ServerName 127.0.0.1
PidFile {folder}/pid
DefaultRuntimeDir {folder}
Mutex file:{folder} default
Listen 127.0.0.1:{port}
Listen 127.0.0.3:{port}
ErrorLog {folder}/error.log
LogFormat "%U %>s encoding=\\"%{Accept-Encoding}i\\" login=\\"%{Authorization}i\\" %{Host}i" asked
CustomLog {folder}/access.log asked
TypesConfig {folder}/types
AddType text/plain .txt
AddEncoding x-gzip .gz
<VirtualHost 127.0.0.1:{port}>
    DocumentRoot {folder}/packed
    <Directory {folder}/packed>
        Options +MultiViews
        Require all granted
    </Directory>
</VirtualHost>
<VirtualHost 127.0.0.3:{port}>
    ServerName 127.0.0.3
    DocumentRoot {folder}/plain
    <Directory {folder}/plain>
        Require all granted
    </Directory>
    <Files robots.txt>
        AuthType Basic
        AuthName shop
        AuthUserFile {folder}/users
        Require valid-user
    </Files>
</VirtualHost>
"""
)


LOGIN = f"Basic {base64.b64encode(b'user:word').decode()}"


@pytest.fixture
def nginx() -> Iterator[Program]:
    """Three sites: two behind a cookie, the third behind a login."""
    files = {"www_in_robots__txt": RULES, "users": "user:{PLAIN}word\n"}
    arguments = "-e stderr -p {folder} -c {folder}/conf"
    with running("nginx", arguments, NGINX, **files) as program:
        yield program


@pytest.fixture
def apache() -> Iterator[Program]:
    """Two sites: of the first there is a robots.txt.gz only, the second asks for a login."""
    page = "<html>a page</html>"
    files = {
        "types": "text/html html\n",
        "users": "user:{SHA}PLzZCtxLGSqHpiWFC38jHK3fDrM=\n",
        "packed_in_open__html": page,
        "packed_in_private__html": page,
        "plain_in_open__html": page,
        "plain_in_private__html": page,
        "plain_in_robots__txt": RULES,
    }
    with running("apache2", "-D FOREGROUND -f {folder}/conf", APACHE, **files) as program:
        packed = Path(program.folder, "packed", "robots.txt.gz")
        packed.write_bytes(gzip.compress(RULES.encode()))
        packed.chmod(0o644)
        yield program


async def test_a_cookie_wall_of_nginx_is_no_missing_file(nginx: Program, mode: str) -> None:
    """To itself with a query, and there and back; a page shows no cookie of the fetch."""
    hosts, paths = ("127.0.0.1", "127.0.0.2"), ("/open", "/private")
    urls = [f"http://{host}:{nginx.port}{path}" for host in hosts for path in paths]
    result = await visit(urls, mode=mode)
    assert result.kinds == ["downloaded", "forbidden"] * 2
    pairs = [(line.split(" login")[0], line) for line in nginx.log]
    asked = [[said for said, line in pairs if line.endswith(host)] for host in hosts]
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


@pytest.mark.parametrize("server", ["nginx", "apache"])
@pytest.mark.parametrize("signed_in_first", [True, False])
async def test_a_login_is_asked_for_once(
    request: pytest.FixtureRequest, mode: str, server: str, signed_in_first: bool
) -> None:
    """The rules behind it are those of all pages, whoever asks first."""
    program: Program = request.getfixturevalue(server)
    url = f"http://127.0.0.3:{program.port}"
    signed_in: list[Any] = [
        {"url": f"{url}/private.html", "headers": {"Authorization": LOGIN}},
        {"url": f"{url}/open.html", "meta": {"http_user": "user", "http_pass": "word"}},
    ]
    if mode == "none":
        signed_in.append({"url": f"{url.replace('//', '//user:word@')}/private.html?3"})
    anonymous = [{"url": f"{url}/private.html?2"}]
    plans = [*signed_in, *anonymous] if signed_in_first else [*anonymous, *signed_in]
    result = await visit(plans, OneByOneSpider, mode=mode)
    ends = ["forbidden", "downloaded", "forbidden"][: len(signed_in)]
    assert result.kinds == ([*ends, "forbidden"] if signed_in_first else ["downloaded", *ends])
    robots = [line.split()[:2] for line in program.lines("/robots.txt")]
    assert robots == [["/robots.txt", "401"], ["/robots.txt", "200"]]
    assert len(program.lines("/robots.txt", LOGIN)) == 1


async def test_a_file_of_apache_in_one_coding_is_asked_anew(apache: Program, mode: str) -> None:
    """MultiViews answers 406 to identity, which a page of the crawl does not ask for."""
    urls = [f"{apache.url}{path}" for path in ("/open.html", "/private.html")]
    result = await visit(urls, mode=mode)
    assert result.kinds == ["downloaded", "forbidden"]
    robots = [line.partition(" login")[0] for line in apache.lines("/robots.txt")]
    assert robots[0] == '/robots.txt 406 encoding="identity"'
    (second,) = robots[1:]
    assert second.startswith('/robots.txt.gz 200 encoding="gzip')
