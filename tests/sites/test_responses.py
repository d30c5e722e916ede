"""The octets of a response that are parsed."""

from __future__ import annotations

import gzip

import pytest
from scrapy.http import Response

from scrapy_rep.sites.content_codings import plain_octets
from scrapy_rep.sites.responses import octets_of

LIMIT = 1_000
CHROMIUM = (
    '<html><head><meta name="color-scheme" content="light dark"></head><body>'
    '<pre style="word-wrap: break-word; white-space: pre-wrap;">'
)
FIREFOX = '<html><head><link rel="stylesheet" href="resource://a/plaintext.css"></head><body><pre>'


@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize("beyond", [-1, 0, 1, 2, 500])
def test_a_body_over_the_limit_was_cut_by_however_little(beyond: int, coding: str) -> None:
    """RFC 9309 section 2.5: what was cut says so, and its partial last line is dropped."""
    plain = b"Allow: /\n" * LIMIT
    plain = plain[: LIMIT + beyond]
    headers = {"Content-Encoding": coding} if coding else {}
    body = gzip.compress(plain) if coding else plain
    octets, cut = octets_of(Response("http://a/", headers=headers, body=body), LIMIT, False)
    assert cut == (beyond > 0)
    assert octets == (plain[: LIMIT // 9 * 9] if cut else plain)


def test_a_line_of_utf16_that_ends_at_the_limit_is_whole() -> None:
    """Its end is two octets."""
    body = b"\xff\xfe" + f"{'x' * (LIMIT // 2 - 1)}\nAllow: /\n".encode("utf-16-le")
    assert octets_of(Response("http://a/", body=body), LIMIT, False) == (body[:LIMIT], True)


@pytest.mark.parametrize("before", [CHROMIUM, FIREFOX])
@pytest.mark.parametrize("after", ["</pre></body></html>", "</pre><div></div></body></html>", ""])
def test_a_text_that_a_browser_shows_is_read_as_the_text(before: str, after: str) -> None:
    """A browser that downloads for the crawler returns the page that it makes of a text."""
    shown = "User-agent: *\nDisallow: /a&amp;b&lt;c&gt;\nDisallow: /&amp;amp;&nbsp;\n"
    body = (before + shown + after).encode()
    octets, _ = octets_of(Response("http://a/", body=body), LIMIT, False)
    assert octets == "User-agent: *\nDisallow: /a&b<c>\nDisallow: /&amp;\xa0\n".encode()
    assert plain_octets(body, (), LIMIT)[0] == octets  # as they are read from an archive


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_limit_is_that_of_the_text_and_not_of_the_page(beyond: int) -> None:
    """RFC 9309 section 2.5: what a browser adds to a text takes nothing from it."""
    plain = ("Disallow: /a&b\n" * LIMIT)[: LIMIT + beyond]
    body = f"{CHROMIUM}{plain.replace('&', '&amp;')}</pre></body></html>".encode()
    wanted = plain[: LIMIT // 15 * 15] if beyond else plain
    assert octets_of(Response("http://a/", body=body), LIMIT, False) == (
        wanted.encode(),
        beyond > 0,
    )


def test_another_page_is_read_as_it_is() -> None:
    """A file that begins with markup of its own is that of the site."""
    for body in (b"<html><body><pre>Allow: /</pre>", b" " + CHROMIUM.encode(), b"Allow: /<html>"):
        assert octets_of(Response("http://a/", body=body), LIMIT, False) == (body, False)
