"""`scrapy robots sitemaps`: absolute, each once, one a line; and which sites name none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.running import FAST, assert_one_line, robots, told
from tests.commands.test_terminal import shown
from tests.replies import Reply, redirect
from tests.site import Authority, Site

NAMED = (
    "Sitemap: https://e.org/one.xml\nUser-agent: *\nDisallow: /\nsitemap: /two.xml\n"
    "Sitemap: three.xml?a=b c\nSitemap: https://e.org/one.xml\n"
)


@pytest.fixture
def shop(site: Site) -> Authority:
    """A site that names three sitemaps, one of them twice, in ways of its own."""
    return site.authority(robots=NAMED)


def three(shop: Authority) -> list[str]:
    """These sitemaps."""
    return ["https://e.org/one.xml", shop.url("/two.xml"), shop.url("/three.xml?a=b%20c")]


def test_sitemaps_are_absolute_and_each_is_printed_once(shop: Authority) -> None:
    """RFC 9309 section 2.2.4; for all URLs of a site its robots.txt is fetched once."""
    ended = robots("sitemaps", shop.url("/a"), shop.url("/b"))
    assert ended == (0, "".join(f"{one}\n" for one in three(shop)), "")
    assert (len(shop.robots_hits), shop.page_hits) == (1, [])


def test_json_has_a_row_for_each_site(site: Site, shop: Authority) -> None:
    """In the envelope of all subcommands."""
    gone = site.authority(robots=Reply(404))
    assert told("sitemaps", shop.url("/a"), gone.url("/")) == [
        {"site": shop.url(""), "sitemaps": three(shop), "lack_of_rules": None},
        {"site": gone.url(""), "sitemaps": [], "lack_of_rules": "no robots.txt: status 404"},
    ]


def test_relative_sitemap_is_relative_to_where_the_robots_txt_was_found(
    site: Site, shop: Authority
) -> None:
    """After redirects, as in Scrapy's SitemapSpider."""
    moved = site.authority(robots=redirect(shop.url("/robots.txt")))
    assert robots("sitemaps", moved.url("/")).out.splitlines() == three(shop)


def test_site_that_names_no_sitemap_is_status_1(site: Site, shop: Authority) -> None:
    """Whether it has a robots.txt or not; the sitemaps of the other sites are printed."""
    gone, without = site.authority(robots=Reply(404)), site.authority(robots="User-agent: *\n")
    ended = robots("sitemaps", gone.url("/"), shop.url("/"), without.url("/"))
    assert (ended.status, ended.out.splitlines()) == (1, three(shop))
    assert ended.err.splitlines() == [
        f"scrapy robots sitemaps: {gone.url('')}: no robots.txt: status 404",
        f"scrapy robots sitemaps: {without.url('')}: the robots.txt names no sitemap",
    ]


def test_unreachable_site_is_status_3(site: Site) -> None:
    """It goes before 1."""
    down, gone = site.authority(robots=Reply(503)), site.authority(robots=Reply(404))
    ended = robots("sitemaps", down.url("/"), gone.url("/"), *FAST)
    assert (ended.status, ended.out) == (3, "")
    assert f"scrapy robots sitemaps: {down.url('')}: status 503\n" in ended.err


def test_what_is_not_an_http_url_is_named_and_left_out(site: Site) -> None:
    """So that another program can fetch each line."""
    text = "Sitemap: ftp://e.org/a.xml\nSitemap: http:///b.xml\nSitemap: https://e.org/\x1b[2J\n"
    shop = site.authority(robots=text)
    ended = robots("sitemaps", shop.url("/"))
    assert (ended.status, ended.out) == (0, "https://e.org/%1B%5B2J\n")
    assert ended.err.splitlines() == [
        f"scrapy robots sitemaps: {shop.url('')}: not the URL of a sitemap: {value}"
        for value in ("ftp://e.org/a.xml", "http:///b.xml")
    ]


@pytest.mark.parametrize("url", ["ftp://e.org/", "e.org", "http://e.org:x/"])
def test_url_that_no_robots_txt_governs_is_status_2(url: str) -> None:
    """There is nothing to ask."""
    assert_one_line(robots("sitemaps", url))


def test_terminal_gets_the_same_lines(shop: Authority, tmp_path: Path) -> None:
    """At 80 columns a long URL is not broken."""
    assert shown("sitemaps", shop.url("/"), cwd=tmp_path).splitlines() == three(shop)


def test_sitemaps_come_from_the_store_of_the_project(shop: Authority, project: Path) -> None:
    """As the rules of `check` do."""
    for _ in range(2):
        assert robots("sitemaps", shop.url("/"), cwd=project).status == 0
    assert len(shop.robots_hits) == 1


def test_a_file_that_was_cut_is_named(site: Site) -> None:
    """What it says after the limit is not known."""
    line = b"Disallow: /abcdef\n"
    text = b"Sitemap: /first.xml\n" + line * (600_000 // len(line)) + b"Sitemap: /last.xml\n"
    shop = site.authority(Reply(200, text))
    ended = robots("sitemaps", shop.url("/"))
    assert ended.out.splitlines() == [shop.url("/first.xml")]
    said = "only the first 512,000 bytes of its robots.txt were read"
    assert f"scrapy robots sitemaps: {shop.url('')}: {said}\n" in ended.err
