"""What is an element and what only looks like one: pages as an HTML parser sees them."""

from __future__ import annotations

import codecs

import pytest
from scrapy.http import Response, TextResponse, XmlResponse

from scrapy_rep import page_directives
from scrapy_rep.pages.markup import MOST_IN_HEAD, Markup, Meta
from tests.pages.cases import CHOICE, HTML, META_1996, REPEXT, XML, Case, parameters, response
from tests.rows import rows

M = '<meta name="robots" content="noindex">'
SAID = "noindex"
CLOSED = '<meta name="robots" content="noindex"/>'
XHTML = [("Content-Type", "application/xhtml+xml")]
DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
)


def html_head(text: str) -> str:
    """A page with this in its head."""
    return f"<!doctype html><html><head>{text}</head><body><p>text</p></body></html>"


def xhtml(text: str) -> str:
    """XHTML with this in its head."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{DOCTYPE}'
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head>{text}</head>'
        f"<body><p>text</p></body></html>"
    )


def lines(content_type: str) -> list[tuple[str, str]]:
    """A header."""
    return [("Content-Type", content_type)]


def read(text: str, source: str = HTML) -> Case:
    """A page with this in its head, which says noindex."""
    return Case(source, SAID, html_head(text))


def unread(text: str, source: str = HTML) -> Case:
    """A page with this in its head, which says nothing."""
    return Case(source, "", html_head(text))


def sent_as(charset: str, page: str | bytes = html_head(M), source: str = HTML) -> Case:
    """A page whose header names that charset."""
    return Case(source, SAID, page, lines(f"text/html; charset={charset}"))


ELEMENTS = {
    "in the head": read(M),
    "in upper case": read('<META NAME="ROBOTS" CONTENT="NOINDEX">'),
    "content before name": read('<meta content="noindex" name="robots">'),
    "a greater-than sign in a value": read('<meta content="noindex, a>b" name="robots">'),
    "without quotes": read("<meta name=robots content=noindex>"),
    "spaces around the equals sign": read('<meta name = "robots"\n content\t=\n"noindex">'),
    "with a closing slash": read('<meta name="robots" content="noindex"/>'),
    "the first of two equal attributes": read(
        '<meta name=robots name=x content=noindex content="nofollow">'
    ),
    "references in the value": read('<meta name="robots" content="&#110;o&#x69;ndex">'),
    "references in the name": read('<meta name="&#114;ob&#x6f;ts" content="noindex">'),
    "references in the name of the crawler": read("<meta name=&#109;ybot content=noindex>"),
    "a page of two metas, one with references": read(f'<meta name="a" content="a &amp; b">{M}'),
    "without html, head and body": Case(HTML, SAID, M),
    "before the doctype": Case(HTML, SAID, f"{M}<!doctype html>"),
    "between head and body": Case(HTML, SAID, f"<head></head>{M}<body>text</body>"),
    "between head and body, behind a script": Case(
        HTML, SAID, f"<head></head><script></script>{M}<body>text</body>"
    ),
    "a head without an end": Case(HTML, SAID, f"<html><head><title>x</title>{M}<body>text"),
    "in noscript": read(f"<noscript>{M}</noscript>"),
    "behind a script": read(f"<script>if (a < b) c();</script>{M}"),
    "behind 100 KB of script": read(f"<script>{'a < b;' * 17_000}</script>{M}"),
    "behind a template": read(f"<template><p></p></template>{M}"),
    "in a comment": unread(f"<!-- {M} -->"),
    "in a comment without an end": unread(f"<!-- {M}"),
    "in a script": unread(f"<script>document.write('{M}')</script>"),
    "in the title": unread(f"<title>{M}</title>"),
    "in a template": unread(f"<template>{M}</template>"),
    "deep in a template": unread(
        f"<template><div><p>{M}</p></div><template>{M}</template></template>"
    ),
    "in a value": unread("<meta name=x content='<meta name=robots>'>"),
    "in the body": Case(REPEXT, "", f"<html><head></head><body>{M}</body></html>"),
    "in a body without a start": Case(REPEXT, "", f"<html><head></head><p>text</p>{M}"),
    "behind the body": Case(REPEXT, "", f"<html><head></head><body></body>{M}</html>"),
    "behind text in the head": Case(HTML, "", f"<html><head>text{M}</head>"),
    "google: in a template in the body": Case(
        HTML, "", f"<body><template>{M}</template>", profile="google"
    ),
    "a tag without an end": Case(HTML, "", '<html><head><meta name="robots" content="noindex"'),
    "a value without an end": Case(HTML, "", '<html><head><meta name="robots" content="noindex'),
    "a zero octet in the name": unread('<meta name="rob\0ots" content="noindex">'),
    "behind a zero octet": read(f"<title>a\0b</title>{M}"),
    "http-equiv is not applied": unread('<meta http-equiv="X-Robots-Tag" content="noindex">'),
    "another element": unread("<metadata name=robots content=noindex>"),
    "within 512 KB": read("<!--" + "x" * 500_000 + f"-->{M}", CHOICE),
    "beyond 512 KB": unread("<!--" + "x" * 530_000 + f"-->{M}", CHOICE),
    "behind 1,900 metas": read("<meta name=a content=b>" * 1_900 + M, CHOICE),
    "empty": Case(HTML, "", ""),
    "only spaces": Case(HTML, "", " \n "),
    "only a comment": Case(HTML, "", "<!-- robots <meta -->"),
    "only the word": Case(HTML, "", "robots"),
    "a meta of 1996 where nothing names robots": Case(
        META_1996, "document_state=static", "<meta name=document-state content=static>"
    ),
    "a frameset": Case(HTML, SAID, f"<html><head>{M}</head><frameset></frameset></html>"),
}

ENCODINGS = {
    "UTF-8 with a mark": Case(HTML, SAID, codecs.BOM_UTF8 + html_head(M).encode()),
    "UTF-16 with a mark": Case(HTML, SAID, html_head(M).encode("utf-16")),
    "UTF-16 big-endian with a mark": Case(HTML, SAID,
        codecs.BOM_UTF16_BE + html_head(M).encode("utf-16-be")),
    "UTF-16 with a mark, whatever the header says": sent_as("windows-1251",
        html_head(M).encode("utf-16")),
    "UTF-16 without any word of it": Case(CHOICE, "", html_head(M).encode("utf-16-be")),
    "an octet 0 before the first tag is not UTF-16": Case(HTML, SAID, "\0" + html_head(M),
        profile="google"),
    "an octet 0 in the first tag is not UTF-16": Case(HTML, SAID, "<\0!>" + html_head(M),
        profile="google"),
    "UTF-16 declared in ASCII is not true": read(f'<meta charset="utf-16">{M}'),
    "windows-1251": sent_as("windows-1251",
        html_head("<title>\u041f\u0440\u0438\u0432\u0435\u0442</title>" + M).encode("cp1251")),
    "Shift_JIS declared in the page": Case(HTML, SAID,
        html_head("<meta charset=shift_jis><title>\u30bd\u8868</title>" + M).encode("shift_jis")),
    "ISO-2022-JP": sent_as("iso-2022-jp",
        html_head("<title>\u3042\u3044</title>" + M).encode("iso2022_jp")),
    "octets that are not UTF-8": Case(HTML, SAID,
        html_head(f"<title>\xff</title>{M}").encode("latin-1")),
    "an encoding that does not exist": sent_as("nonsense", source=CHOICE),
    "an encoding that browsers do not know": sent_as("punycode", source=CHOICE),
    "a codec that is not text": sent_as("base64", source=CHOICE),
}  # fmt: skip

XHTML_PAGES = {
    "XHTML": Case(XML, SAID, xhtml(CLOSED), XHTML),
    "a script that closes itself": Case(XML, SAID, xhtml(f'<script src="a.js"/>{CLOSED}'), XHTML),
    "an entity of the DTD": Case(XML, SAID, xhtml(f"<title>a&nbsp;b</title>{CLOSED}"), XHTML),
    "in CDATA": Case(XML, "", xhtml(f"<style><![CDATA[{CLOSED}]]></style>"), XHTML),
    "in a comment": Case(XML, "", xhtml(f"<!-- {M} -->"), XHTML),
    "in the body": Case(REPEXT, "", xhtml("").replace("<p>", f"{CLOSED}<p>"), XHTML),
    "as text/html": Case(HTML, SAID, xhtml(CLOSED)),
    "as a mobile profile": Case(
        XML, SAID, xhtml(CLOSED), lines("application/vnd.wap.xhtml+xml; charset=utf-8")
    ),
}


@parameters(ELEMENTS)
def test_elements(case: Case) -> None:
    """A meta counts where a parser makes an element of it, in the head."""
    case.check()


@parameters(ENCODINGS)
def test_encodings(case: Case) -> None:
    """The mark counts before the header, and the header before the page."""
    case.check()


@parameters(XHTML_PAGES)
def test_xhtml(case: Case) -> None:
    """XHTML is read as HTML, however it is sent."""
    case.check()


@pytest.mark.parametrize("cls", [Response, TextResponse, XmlResponse])
def test_what_is_not_html_has_no_metas(cls: type[Response]) -> None:
    """By what Scrapy takes a response for; its header counts."""
    said = page_directives(response(html_head(M), [("X-Robots-Tag", "nofollow")], cls))
    assert said.restrictions == {"nofollow"}


def test_a_statement_is_kept_as_it_was_written() -> None:
    """Name, value, agent and source; those of other crawlers are left out."""
    page = (
        "<html><head>\n"
        '<meta name="Robots" content="NoIndex, max-snippet: 5, Nonsense">\n'
        '<meta name="mybot" content="nofollow">\n'
        '<meta name="otherbot" content="none">\n'
        '<meta name="URL" content="http://e.org/">\n'
        "</head><body>\n<p>text</p>"
    )
    headers = [("X-Robots-Tag", "noai, otherbot: none")]
    said = page_directives(response(page, headers), "mybot")
    assert [tuple(getattr(s, n) for n in s.__slots__) for s in said.statements] == [
        ("noai", None, "*", "X-Robots-Tag"),
        ("NoIndex", None, "*", "meta"),
        ("max-snippet", "5", "*", "meta"),
        ("Nonsense", None, "*", "meta"),
        ("nofollow", None, "mybot", "meta"),
        ("url", "http://e.org/", "*", "meta"),
    ]
    assert said.restrictions == {"noai", "noindex", "nofollow"}


@rows("end", [">", " data-x=1><p>text</p>", ""])
def test_a_name_behind_a_long_content_is_found(end: str) -> None:
    """HTML: attributes stand in any order, and have any length."""
    page = f'<html><head><meta content="noindex, {"x" * 5_000}" name=mybot{end}'
    assert Markup(page.encode()).may_name("mybot")


@rows("term", ["no&#97;i", "no&#x61;i", "n&#111;ai", "no&#x41;i", "noa&#105"])
def test_a_term_with_references_is_found(term: str) -> None:
    """HTML: references are decoded, so a page that has them may hold any term."""
    page = f'<html><head><meta name="robots" content="index, follow, {term}">'.encode()
    assert Markup(page).may_name("noai", "tdm-")
    assert not Markup(b'<meta name="robots" content="&#39;a&#39; &amp; b">').may_name("noai")


def test_a_page_that_names_nothing_is_not_parsed() -> None:
    """The words are searched for in the metas; the body costs nothing."""
    page = html_head('<meta name="viewport" content="a &amp; b">') + "x" * 5_000 + "robots mybot"
    markup = Markup(page.encode())
    assert not markup.may_name("robots", "mybot")
    assert markup.holds("robots")
    assert not {"_head", "_whole", "_octets"} & set(vars(markup))


def test_metas_are_yielded_for_whoever_asks() -> None:
    """By names; those of the body only if they are wanted."""
    markup = Markup(b"<meta name=A content=1><p><meta name=B content=2><meta name=c content=3>")
    first, second = Meta("a", "1", True), Meta("b", "2", False)
    assert list(markup.metas({"a", "b"})) == [first]
    assert list(markup.metas({"a", "b"}, everywhere=True)) == [first, second]


def test_links_are_yielded_by_relation() -> None:
    """Relations and types are read without regard to case; references are kept as written."""
    page = b'<head><link REL="License nofollow" type="Text/X" href=" /a "><link rel=license><p>'
    [link] = Markup(page).links("license")
    assert (link.rel, link.type, link.href) == (("license", "nofollow"), "text/x", "/a")


def test_a_mark_takes_precedence_over_the_header() -> None:
    """HTML section "Determining the character encoding": links are read by it as well."""
    page = '<html><head></head><body><a rel="nofollow" href="/привет">a</a></body></html>'
    markup = Markup(page.encode("utf-16"), "text/html; charset=windows-1251")
    assert [link.href for link in markup.anchors] == ["/привет"]
    assert markup.encoding == "utf-8"


@rows("octets", [b"", b"<!-- ", b"\x00", b"<meta name=robots"])
def test_a_page_without_an_element_says_nothing(octets: bytes) -> None:
    """HTML Living Standard: there is no error, and nothing to obey."""
    assert [*Markup(octets).metas(["robots"], everywhere=True)] == []


def test_elements_are_read_up_to_a_limit() -> None:
    """RFC 9309 section 3: pages of a million elements cost no more."""
    late = html_head("<meta>" * 4 * MOST_IN_HEAD + M)
    assert page_directives(response(late)).restrictions == set()
