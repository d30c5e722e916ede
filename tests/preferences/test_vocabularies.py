"""Each vocabulary is read wherever its row says so, known to the linter, and in the guide.

The tests go by ``VOCABULARIES``. A new row needs a sample of each of its places, below.
"""

from __future__ import annotations

from pathlib import Path

from scrapy.http import Headers

import scrapy_rep
from scrapy_rep import RobotsTxt
from scrapy_rep.linting.checks import lint
from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.source import PageSource
from scrapy_rep.preferences.page import of_response, speaks
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.robots_txt import speaks_of_use
from scrapy_rep.preferences.vocabularies import CATEGORIES, PRODUCT_TOKEN, VOCABULARIES, Vocabulary
from scrapy_rep.robotstxt.profiles import RFC9309
from tests.rows import rows

URL = "https://example.org/a"
GUIDE = Path(scrapy_rep.__file__).parent.parent / "docs" / "guides" / "preferences.rst"

LINES = {
    "Content-Usage": "train-ai=n",
    "Content-Signal": "ai-train=no",
    "License": "https://example.org/license.xml",
}
"""A value of each line in a robots.txt; those with labels disallow a use."""

FIELDS = {
    "Content-Usage": "train-ai=n",
    "Content-Signal": "ai-train=no",
    "Tdm-Reservation": "1",
    "Tdm-Policy": "https://example.org/policy",
    "X-Robots-Tag": "noml",
    "Link": '<https://example.org/l>; rel="license"; type="application/rsl+xml"',
}
METAS = {
    "tdm-": '<meta name="tdm-reservation" content="1">',
    "noai": '<meta name="robots" content="noai">',
    "noimageai": '<meta name="robots" content="noimageai">',
    "noml": '<meta name="robots" content="noml">',
}

PLACES = [
    (each.name, kind, place)
    for each in VOCABULARIES.values()
    for kind, places in (
        ("line", (each.line,) if each.line else ()),
        ("field", each.fields),
        ("meta", each.metas),
    )
    for place in places
]


def of_page(fields: dict[str, str], head: str = "") -> tuple[bool, Preferences]:
    """Whether a page is read at all, and what it says."""
    source = PageSource(Headers(fields), Markup(f"<html><head>{head}</head></html>".encode()))
    return speaks(source), of_response(source, URL, ["mybot"], RFC9309)


def of_robots_txt(line: str, value: str) -> tuple[bool, Preferences]:
    """Whether a robots.txt is read for such lines at all, and what it says."""
    robots = RobotsTxt.parse(f"User-agent: *\nDisallow: /x\n{line}: {value}\n")
    said = robots.preferences(URL, "mybot")
    return speaks_of_use(robots), said


@rows("name, kind, place", PLACES)
def test_each_vocabulary_is_read_where_its_row_says(name: str, kind: str, place: str) -> None:
    """What is not searched for is not read, and what is not read is not obeyed."""
    samples = {"line": LINES, "field": FIELDS, "meta": METAS}[kind]
    assert place in samples, f"add a sample of the {kind} {place} of {name} to {__name__}"
    if kind == "line":
        is_read, said = of_robots_txt(place, samples[place])
    else:
        is_read, said = of_page({place: samples[place]} if kind == "field" else {},
                                samples[place] if kind == "meta" else "")  # fmt: skip
    assert is_read, f"{place} of {name} is not searched for"
    found = [one.vocabulary for one in said.statements] or ["rsl" for _ in said.licenses]
    assert found == [name], f"the {kind} {place} of {name} is not read"


@rows("row", VOCABULARIES.values())
def test_each_vocabulary_is_written_somewhere(row: Vocabulary) -> None:
    """Product tokens are groups of the robots.txt, which the operator chooses."""
    assert row.name == PRODUCT_TOKEN or row.line or row.fields or row.metas
    assert {*row.counts_for.values()} <= {*CATEGORIES}


@rows("row", [each for each in VOCABULARIES.values() if each.line])
def test_each_line_is_known_to_the_linter(row: Vocabulary) -> None:
    """It is no line without effect, and its place before the first group is looked at."""
    line = f"{row.line}: {LINES[row.line]}\n"
    assert lint(f"User-agent: *\nDisallow: /x\n{line}".encode()) == []
    before = [one.code for one in lint(f"{line}User-agent: *\nDisallow: /x\n".encode())]
    assert before == (["signal-before-group"] if row.counts_for else [])


@rows("row", [each for each in VOCABULARIES.values() if each.has_path])
def test_the_longest_path_counts(row: Vocabulary) -> None:
    """draft-ietf-aipref-attach-05 section 3, for each vocabulary whose lines are rules."""
    body = f"User-agent: *\nDisallow: /x\n{row.line}: /a {LINES[row.line]}\n{row.line}: /ab x\n"
    for path, number in (("/a", 3), ("/ab", 4), ("/", None)):
        said = RobotsTxt.parse(body).preferences(f"https://example.org{path}", "mybot")
        assert [one.line for one in said.statements] == ([number] if number else [])


@rows("row", VOCABULARIES.values())
def test_the_guide_has_each_vocabulary_and_its_labels(row: Vocabulary) -> None:
    """In the table of what is read."""
    table = GUIDE.read_text("utf-8").partition("What is read")[2].partition("What is not read")[0]
    assert f"* - ``{row.name}``\n" in table, f"{GUIDE.name} has no row for {row.name}"
    labels = row.counts_for if row.name != PRODUCT_TOKEN else ()
    missing = [label for label in labels if f"``{label}``" not in table]
    assert not missing, f"{GUIDE.name} does not name {missing} of {row.name}"
