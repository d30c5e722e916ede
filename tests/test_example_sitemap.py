"""The spider of the example project that finds its pages by sitemaps."""

from __future__ import annotations

import pytest
import scrapy

from tests.replies import Reply
from tests.site import Authority, Site
from tests.test_example import scrapy as run
from tests.test_example import table_of

pytestmark = pytest.mark.skipif(
    scrapy.version_info < (2, 18), reason="Scrapy has signals.robots_parsed since 2.18"
)


def sitemap(*urls: str, kind: str = "urlset", item: str = "url") -> Reply:
    """A sitemap that lists URLs."""
    listed = "".join(f"<{item}><loc>{url}</loc></{item}>" for url in urls)
    body = f'<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</{kind}>'
    return Reply(200, body, {"Content-Type": "text/xml"})


def origin_of(authority: Authority) -> str:
    """`http://host:port`."""
    return authority.url("").removesuffix("/")


def test_sitemaps_come_from_the_robots_txt_that_is_known(site: Site) -> None:
    """RFC 9309 2.2.4: robots.txt is fetched once; its sitemaps are read, its rules obeyed."""
    shop = site.authority()
    shop.robots = (
        "Sitemap: /relative.xml\nUser-agent: *\nDisallow: /private\n"
        f"Sitemap: {shop.url('/index.xml')}\n"
    )
    shop.pages = {
        "/index.xml": sitemap(shop.url("/inner.xml"), kind="sitemapindex", item="sitemap"),
        "/inner.xml": sitemap(shop.url("/a"), shop.url("/private/b")),
        "/relative.xml": sitemap(shop.url("/c")),
    }
    done = run("crawl", "sitemap", "-a", f"url={shop.url('/')}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    pages = {row[1]: row[2:4] for row in table_of(done.stdout)[origin_of(shop)]}
    assert pages == {
        "/a": ("fetched", ""),
        "/c": ("fetched", ""),
        "/index.xml": ("fetched", ""),
        "/inner.xml": ("fetched", ""),
        "/private/b": ("dropped", "Disallow: /private"),
        "/relative.xml": ("fetched", ""),
    }
    assert len(shop.robots_hits) == 1


def test_without_a_url_the_demo_web_is_crawled() -> None:
    """The site of the demo web that allows all has a sitemap of two pages."""
    done = run("crawl", "sitemap")
    assert done.returncode == 0, done.stderr
    ((_, rows),) = table_of(done.stdout).items()
    assert [row[:3] for row in rows] == [
        ("200", "/", "fetched"),
        ("", "/shop", "fetched"),
        ("", "/sitemap.xml", "fetched"),
    ]
