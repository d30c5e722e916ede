"""No page costs more than it may, and none makes the reading of page directives fail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import HtmlResponse, Response

from scrapy_rep import PageDirectives, page_directives
from scrapy_rep.gate.page_responses import page_source
from scrapy_rep.pages.directives import read
from scrapy_rep.pages.links import urls_not_to_follow
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.hostile.test_budgets import calibration, quickest
from tests.pages.cases import response
from tests.rows import deep, first
from tests.timed import timed

MOST = 0.050
"""Seconds for a page in a crawl, on a machine where the calibration takes 20 ms."""

KB512 = 512 * 1024
META = "<meta name=robots content=nofollow>"


def filled(start: str, unit: str, size: int = KB512, end: str = "") -> str:
    """A page of that size that repeats something."""
    return start + unit * ((size - len(start) - len(end)) // len(unit)) + end


def distinct(form: str, size: int = KB512) -> str:
    """A page of that size whose parts all differ."""
    part = form.format(0)
    return META + "".join(form.format(n) for n in range(size // len(part)))


PAGES: dict[str, tuple[str, Any]] = {
    "metas": ("", META * 1_000_000),
    "metas without a name": (META, "<meta>" * 1_000_000),
    "metas with an empty name": (META, "<meta name>" * 500_000),
    "metas that differ": ("", distinct("<meta name=robots content=x{}>")),
    "long metas": ("", distinct("<meta name=robots content='" + "noindex," * 500 + "{}'>")),
    "one meta of many terms": ("", filled("<meta name=robots content='", "noindex,", end="'>")),
    "one meta of many colons": ("", filled("<meta name=robots content='", "a:", end="'>")),
    "one meta of dates": (
        "",
        filled("<meta name=robots content='", "unavailable_after:1,1,", end="'>"),
    ),
    "one meta of many attributes": (META, f"<meta {distinct(' a{}=b', 400_000)}>"),
    "carriage returns": (META, filled("", "\r")),
    "line feeds": (META, filled("", "\n")),
    "10,000 line feeds": (META, filled("", "<!--" + "x" * 50 + "-->\n")),
    "elements that may be in the head": (META, filled("<head>", "<title></title><base>")),
    "names": ("", filled("", '<meta name="')),
    "names without an end": (META, filled("<meta ", "name=")),
    "references": ("", filled('<meta name="', "&#114;")),
    "references that are long": ("", filled('<meta name="&', "#0000000000")),
    "links": (META, filled("", "<link>")),
    "open elements": (META, filled("", "<div>")),
    "open elements in the head": (META, filled("<head>", "<x-y>")),
    "closed elements in the head": (META, filled("<head>", "<x-y></x-y>")),
    "templates": (META, filled("<head>", "<template><meta name=robots>")),
    "comments": (META, filled("", "<!---->")),
    "a comment without an end": (META, filled("<!--", "- ->")),
    "a script without an end": (META, filled("<script>", "</scrip")),
    "a title without an end": (META, filled("<title>", "&a")),
    "less-than signs": (META, filled("", "<")),
    "20 MB without a greater-than sign": (META + "<", "x" * 20_000_000),
    "20 MB in one value": ("<meta name=robots content='", "x" * 20_000_000),
    "zero octets": (META, filled("<title>", "\0")),
    "declarations": (META, filled("", "<!")),
    "instructions": (META, filled("", "<?")),
    "spaces": (META, filled("", " ")),
}

HEADERS = {
    "64 KB of terms": [("X-Robots-Tag", "noindex," * 8_000)],
    "64 KB of names": [("X-Robots-Tag", "mybot:" * 11_000)],
    "64 KB of dates": [("X-Robots-Tag", "unavailable_after:1," * 3_000)],
    "64 KB of spaces": [("X-Robots-Tag", "noindex" + " " * 60_000)],
    "64 KB of one word": [("X-Robots-Tag", "a" * 65_000)],
    "a thousand lines": [("X-Robots-Tag", "noindex")] * 1_000,
}


def in_a_crawl(page: Response, profile: str = "rfc9309") -> PageDirectives:
    """What the spider middleware reads."""
    return read(page_source(page), ("mybot",), PROFILES[profile])


def most() -> float:
    """The bound on this machine."""
    return MOST * max(1.0, calibration())


@timed
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())
def test_no_page_takes_long(page: tuple[str, str]) -> None:
    """Whatever its author did; what it says before that is read."""
    start, rest = page
    given = response(start + rest)
    assert quickest(lambda: in_a_crawl(given)) < most()
    if start == META:
        assert in_a_crawl(given).restrictions == {"nofollow"}


@timed
@pytest.mark.parametrize("lines", HEADERS.values(), ids=HEADERS.keys())
def test_no_header_takes_long(lines: list[tuple[str, str]]) -> None:
    """At most 8 KB of a field are read."""
    given = response("", lines)
    assert quickest(lambda: in_a_crawl(given)) < most()


CJK = "".join(map(chr, range(0x4E00, 0x9E00)))
LINKS = {
    "closed": distinct("<a rel=nofollow href=/{}>"),
    "open": distinct("<a href=/{}>") + "<a rel=nofollow href=/x>",
    "broken": distinct("<a rel=nofollow href=//[{}>"),
    "dots": filled("<a rel=nofollow href='", "../"),
    "equal": filled("", "<a rel=nofollow href=x>"),
    "a long name": f"<a rel=nofollow href=//{CJK}>",
    "names": distinct(f"<a rel=nofollow href=//{CJK[:60]}{{}}>", 200_000),
    "a base with a name": f"<base href=//{CJK[:60]}>" + distinct("<a rel=nofollow href={}>"),
    "relations": filled("<a rel='", "nofollow ", end="' href=x>"),
}


@timed
@pytest.mark.parametrize("name", LINKS)
def test_no_page_of_links_takes_long(name: str) -> None:
    """`REP_LINK_NOFOLLOW` reads the whole page: four times the bound."""
    markup = page_source(response(LINKS[name])).markup
    assert quickest(lambda: urls_not_to_follow(markup, "https://e.org/")) < 4 * most()


@pytest.mark.parametrize("profile", first(1, PROFILES))
def test_all_of_a_hostile_page_can_be_asked_for(profile: str) -> None:
    """In each profile, with all that the function reads."""
    for start, rest in PAGES.values():
        page_directives(response(start + rest), "mybot", profile)


MARKUP = [
    *("<meta", " name=", "robots", '"', "'", " content=", "noindex", ",", ":", ">", "/>", "<!--"),
    *("-->", "<title>", "</title>", "<head>", "</head>", "<body>", "<template>", "<script>", "&#"),
    *("unavailable_after", "max-snippet", "mybot", "\0", "\ufeff", "<!DOCTYPE", "<![CDATA[", "]]>"),
]
CODINGS = ["utf-8", "utf-16", "utf-32", "gb18030", "iso-2022-jp", "idna", "utf-7", "zip", "x", ""]
KINDS = ["text/html", "application/xhtml+xml", "text/xml"]
KINDS += [f"text/html; charset={coding}" for coding in CODINGS]


def octets_of(parts: list[str]) -> bytes:
    """Markup in UTF-8."""
    return "".join(parts).encode("utf-8", "surrogatepass")


@settings(max_examples=deep(25, 2_000))
@given(
    st.lists(st.sampled_from(MARKUP) | st.text(max_size=5), max_size=60).map(octets_of)
    | st.binary(max_size=200).map(b"<meta name=robots content=noindex>".__add__),
    st.sampled_from(KINDS),
    st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=60),
    st.sampled_from([*PROFILES]),
)
def test_nothing_makes_it_raise(page: bytes, kind: str, line: str, profile: str) -> None:
    """Any markup, any octets, any header, in any profile: the restrictions are of a closed list."""
    lines = {"Content-Type": kind, "X-Robots-Tag": line.encode("latin-1")}
    given = HtmlResponse("https://e.org/", headers=lines, body=page)
    for agent in (None, "mybot"):
        said = page_directives(given, agent, profile)
        assert said.restrictions <= {
            "noindex", "nofollow", "nosnippet", "notranslate", "noimageindex", "noarchive",
            "nocache", "noai", "noimageai", "noml",
        }  # fmt: skip
    markup = page_source(given).markup
    if markup is not None:
        urls_not_to_follow(markup, "https://e.org/")
