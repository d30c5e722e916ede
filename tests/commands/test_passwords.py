"""No password of a URL is printed or logged, whatever subcommand is given the URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.running import FAST, robots, told
from tests.commands.test_terminal import shown
from tests.replies import Reply, redirect
from tests.rows import first, rows
from tests.site import Site

RULES = "User-agent: *\nDisallow: /private\nDisalow: /x\nSitemap: https://u:secret@e.org/s.xml\n"


def with_login(url: str) -> str:
    """A URL with a user and a password."""
    return url.replace("://", "://user:secret@")


@pytest.mark.parametrize("form", first(1, ["text", "json", "sarif", "github"]))
@pytest.mark.parametrize("status", first(1, [200, 404, 503]))
def test_no_password_is_printed(site: Site, form: str, status: int) -> None:
    """By any subcommand that takes a URL, in any of its formats, and whatever the site answers."""
    shop = site.authority(robots=Reply(status, RULES.encode()))
    moved = site.authority(robots=redirect(with_login(shop.url("/robots.txt"))))
    urls = [with_login(one.url("/private/x")) for one in (shop, moved)]
    words = [("lint", *urls)]
    if form in ("text", "json"):
        words += [("check", *urls), ("explain", urls[1]), ("sitemaps", *urls)]
        words += [("diff", "/dev/null", urls[0])]
    for subcommand, *given in words:
        ended = robots(subcommand, *given, "--format", form, *FAST, "-L", "DEBUG")
        assert ended.status in (0, 1, 3)
        assert "scrapy.core.engine" in ended.err  # what is logged is there, too
        assert "secret" not in ended.out + ended.err, subcommand


@rows(
    "url",
    *("http:\\\\user:secret@e.invalid/", "ht\ttp:/\t/user:sec\tret@e.invalid/"),
    *(" http://user:a secret@e.invalid/", "https://us@er:secret@e.invalid/@home"),
    "ftp://user:secret@e.invalid/",
)
def test_no_spelling_of_a_url_shows_its_password(robots_txt: Path, url: str) -> None:
    """The rest is as it was given."""
    ended = robots("check", "--robots-txt", robots_txt, url)
    assert ended.status == 0
    assert "sec" not in ended.out + ended.err
    [row] = told("check", "--robots-txt", robots_txt, url)
    assert row["url"] == url[: url.index("us")] + url[url.rindex("e.invalid") :]


BROKEN = [
    *("check http://user:secret@e.invalid:port/", "check http://user:sec/secret@e.invalid/"),
    *("explain http://user:secret@/", "lint http://user:secret@/"),
    "check //user:secret@e.invalid/",
    *("sitemaps ftp://user:secret@e.invalid/", "store show ftp://user:secret@e.invalid/ -s {}"),
    "check http://e.invalid/ --url=http://user:secret@e.invalid/",
]


@pytest.mark.parametrize("line", BROKEN)
def test_no_password_is_in_an_error(tmp_path: Path, line: str) -> None:
    """Of a broken URL all is left out that may be one."""
    store = f"REP_STORE=sqlite:///{tmp_path}/r.db"
    robots("store", "import", "-s", store)
    ended = robots(*line.format(store).split())
    assert (ended.status, ended.out) == (1 if line.startswith("store") else 2, "")
    assert ended.err.count("\n") == 1
    assert "sec" not in ended.err


def test_filter_shows_no_password_on_a_terminal(tmp_path: Path) -> None:
    """To another program it passes on what it was given, octet by octet."""
    url = "https://user:secret@e.invalid/a"
    (tmp_path / "urls").write_text(f"{url}\n")
    words = ("filter", "--robots-txt", "/dev/null", "urls")
    lines = shown(*words, cwd=tmp_path).splitlines()
    assert lines == ["https://e.invalid/a", "scrapy robots filter: 1 line: 1 allowed"]
    assert robots(*words, cwd=tmp_path).out == f"{url}\n"
