"""The page: one file that needs nothing, in which hostile text is text, and that all can read."""

from __future__ import annotations

import io
import re
from collections import Counter
from contextlib import closing
from functools import cache
from typing import Any

import pytest
from lxml import html

from scrapy_rep.records.page import page
from scrapy_rep.records.tally import Tally
from tests.records.samples import crawl, decision, digest, failure, lines, overridden, refusal, run

HOSTILE = [
    "<script>alert(1)</script>", "</style></title><img src=x onerror=alert(1)>", "]]><!--",
    "--></svg><a href='javascript:alert(1)'>", "\"'`&amp;&lt;\"onload='x",
    "\u202e\u2066gro.elpmaxe\u2069", "\x00\x01\x1b[31m\x7f\x85",
    "$x^2$ $\\frac{1}{0}$ {{ 7 * 7 }} {% raw %}", "\u2028\u2029\r\n\t\u00a0\u200b\ufeff\ufffe",
    "𐍈漢字العربية" * 30,
]  # fmt: skip


def page_of(*values: dict[str, Any]) -> str:
    """The page of one log."""
    with closing(Tally()) as tally:
        tally.add(io.BytesIO(lines(*values)))
        tally.end()
        return page(tally)


@cache
def whole() -> str:
    """The page of a crawl in which everything happens."""
    return page_of(*crawl())


@cache
def tree() -> Any:
    """That page, parsed."""
    return html.document_fromstring(whole())


def text_of(name: str, source: str = "") -> str:
    """The text of a section."""
    root = html.document_fromstring(source) if source else tree()
    return " ".join(root.get_element_by_id(name).text_content().split())


def test_the_page_needs_nothing_else() -> None:
    """No script, no style sheet, no picture, no font; links lead to its own sections alone."""
    loading = "script", "link", "img", "iframe", "object", "embed", "form", "base", "video"
    assert not [*tree().iter(*loading)]
    for element in tree().iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on"), name
            if name in ("href", "src"):
                assert value.startswith("#")
                assert tree().get_element_by_id(value[1:]) is not None
    assert not re.search(r"url\(|@import|@font-face|xlink", whole())
    policy = tree().find(".//meta[@http-equiv]").get("content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_the_page_says_what_happened() -> None:
    """Each section has the figures of the sample."""
    header = " ".join(tree().find(".//header").text_content().split())
    assert "2,401 decisions recorded 816 requests refused 12 sites" in header
    assert "2026-11-22 08:00:00 to 2026-11-22 10:59:55 UTC" in whole()
    used = text_of("overrides")
    assert "62 allowed allow, entry 1: our own site, ticket OPS-114 (crawl-team@example" in used


def test_the_course_is_drawn_with_boxes() -> None:
    """As many as there are intervals, each of its parts as high as its share; with words."""
    course = tree().find_class("course")[0]
    assert course.get("role") == "img"
    assert "2,401" in course.get("aria-label")
    heights = [
        [float(part.get("style")[8:-1]) for part in column.iter("span")]
        for column in course.iter("div")
        if column is not course
    ]
    assert len(heights) == 60
    assert max(map(sum, heights)) == pytest.approx(100, abs=0.1)
    assert "svg" not in whole()


def test_a_log_in_which_nothing_happened_has_no_empty_section() -> None:
    """No empty table, no figure without data."""
    root = html.document_fromstring(page_of(run(), decision()))
    assert [one.get("id") for one in root.iter("section")] == ["course", "runs"]
    assert "No decisions" in page_of(run())


def test_an_incomplete_log_is_called_that() -> None:
    """More was allowed than refusals and first decisions tell."""
    notice = "Not every decision is in this log."
    assert notice in page_of(run(decisions="refused"), refusal())
    assert notice not in whole()


def hostile(text: str) -> str:
    """The page of a log with some text wherever a log holds text."""
    site = f"https://{text}"
    without = {"allowed": False, "rule": text, "line": 1, "group": text, "reason": text}
    values = [
        run(agent=[text], profile=text, purposes=[text], versions={text[:40]: text}),
        refusal(1, site, text, url=site + text, group=text),
        refusal(200, site, text, url=site + text, group=text, digest=digest(2)),
        failure(400, site, text),
        decision(500, site, preferences={text: text}, delay=2.0),
        decision(600, site, allowed=False, reason=text),
        overridden(700, site, override=text, without=without),
        overridden(800, site, override=f"allow, entry 1: {text} ({text}, until 2027-01-01)"),
    ]
    return page_of(*values)


def shape(source: str) -> Counter[tuple[str, tuple[str, ...]]]:
    """The elements of a page with the names of their attributes."""
    root = html.document_fromstring(source)
    return Counter((str(one.tag), tuple(sorted(one.attrib))) for one in root.iter())


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_text(text: str) -> None:
    """It adds no element, no attribute, no comment; every character of the page can be seen."""
    source = hostile(text)
    assert shape(source) == shape(hostile("benign"))
    assert all(line.isprintable() for line in source.split("\n"))
    assert source.encode("utf-8")


def test_marks_that_change_the_direction_of_text_are_shown() -> None:
    """And what has a direction cannot change that of the words around it."""
    source = hostile(HOSTILE[5])
    assert r"\u202e\u2066gro.elpmaxe" in text_of("rules", source)
    assert all(
        element.getparent().tag == "bdi" or element.tag == "bdi" or not element.text_content()
        for element in html.document_fromstring(source).iterfind(".//td/div/*")
        if element.tag not in ("span", "code")
    )


def test_headings_and_tables_are_in_order() -> None:
    """One h1, then h2 for each section; each table has a caption, and headers with a scope."""
    headings = list(tree().iter("h1", "h2", "h3", "h4", "h5", "h6"))
    assert [one.tag for one in headings] == ["h1"] + ["h2"] * 9
    assert all(one.text_content().strip() for one in headings)
    names = [one.get("id") for one in tree().iterfind(".//*[@id]")]
    assert len(names) == len(set(names))
    assert tree().get("lang") == "en"
    for section in tree().iter("section"):
        assert tree().get_element_by_id(section.get("aria-labelledby")).tag == "h2"
    for table in tree().iter("table"):
        assert tree().get_element_by_id(table.get("aria-labelledby")).text_content()
        columns = len(table.findall("thead/tr/th[@scope='col']"))
        for row in table.iterfind("tbody/tr"):
            assert len(row) == columns
            assert row[0].get("scope") == "row"
            assert all(cell.get("data-label") for cell in row[1:])
