"""Apache as the site: a robots.txt in one coding only, and one behind a login, by its own log."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawl.harness import visit
from tests.crawl.plugin import RULES
from tests.crawl.programs import Program, running
from tests.crawl.spiders import OneByOneSpider

pytestmark = pytest.mark.slow

MODULES = (
    "mpm_event authz_core authz_user authn_core authn_file auth_basic mime negotiation dir alias"
)
CONFIGURATION = (
    "".join(
        f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
        for name in MODULES.split()
    )
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
    with running("apache2", "-D FOREGROUND -f {folder}/conf", CONFIGURATION, **files) as program:
        packed = Path(program.folder, "packed", "robots.txt.gz")
        packed.write_bytes(gzip.compress(RULES.encode()))
        packed.chmod(0o644)
        yield program


async def test_a_file_that_apache_has_in_one_coding_is_asked_for_again(
    apache: Program, mode: str
) -> None:
    """MultiViews answers 406 to identity, which a page of the crawl does not ask for."""
    urls = [f"{apache.url}{path}" for path in ("/open.html", "/private.html")]
    result = await visit(urls, mode=mode)
    assert result.kinds == ["downloaded", "forbidden"]
    robots = [line.partition(" login")[0] for line in apache.lines("/robots.txt")]
    assert robots[0] == '/robots.txt 406 encoding="identity"'
    (second,) = robots[1:]
    assert second.startswith('/robots.txt.gz 200 encoding="gzip')


@pytest.mark.parametrize("signed_in_first", [True, False])
async def test_a_login_of_apache_is_asked_for_once(
    apache: Program, mode: str, signed_in_first: bool
) -> None:
    """The rules behind it are those of all pages, whoever asks first."""
    url = f"http://127.0.0.3:{apache.port}"
    meta = {"http_user": "user", "http_pass": "word"}
    signed_in = [{"url": f"{url}{path}.html", "meta": meta} for path in ("/private", "/open")]
    anonymous = [{"url": f"{url}/private.html?2"}]
    plans = [*signed_in, *anonymous] if signed_in_first else [*anonymous, *signed_in]
    result = await visit(plans, OneByOneSpider, mode=mode)
    ends = ["forbidden", "downloaded"]
    assert result.kinds == ([*ends, "forbidden"] if signed_in_first else ["downloaded", *ends])
    robots = [line.split(" encoding")[0] for line in apache.lines("/robots.txt")]
    assert robots == ["/robots.txt 401", "/robots.txt 200"]
