"""The elements of a page are read whether or not a header field may say something, too."""

from __future__ import annotations

from scrapy_rep import usage_preferences
from tests.pages.cases import response
from tests.preferences.answers import answers
from tests.rows import rows

FIELDS = {
    "no field": [],
    "Link": [("Link", '<https://e.org/feed>; rel="alternate"')],
    "X-Robots-Tag": [("X-Robots-Tag", "max-snippet: 20")],
    "Content-Usage": [("Content-Usage", "search=y")],
}
ELEMENTS = {
    "nothing": ("", "", 0),
    "a word in the text": ("<title>tdm-reservation and noai</title>", "", 0),
    "tdm-reservation": ('<meta name="tdm-reservation" content="1">', "tdm=n", 0),
    "with a reference": ('<meta name="&#116;dm-reservation" content="1">', "tdm=n", 0),
    "noai": ('<meta name="robots" content="noai">', "train-ai=n", 0),
    "noai with a reference": ('<meta name="robots" content="no&#97;i">', "train-ai=n", 0),
    "a licence": ('<link rel="license" type="application/rsl+xml" href="/l.xml">', "", 1),
}


@rows("lines", FIELDS.values())
@rows("element, answer, licenses", ELEMENTS.values())
def test_an_element_says_the_same_beside_any_field(
    lines: list[tuple[str, str]], element: str, answer: str, licenses: int
) -> None:
    """What a field adds is the answer about another category."""
    found = usage_preferences(response(f"<head>{element}</head><body>text</body>", lines))
    said = (answers(found) or "").split()
    assert [one for one in said if one != "search=y"] == answer.split()
    assert ("search=y" in said) == ("Content-Usage" in dict(lines))
    assert len(found.licenses) == licenses


def test_a_licence_beside_a_malformed_base_is_of_the_page() -> None:
    """HTML Living Standard, 4.2.3: such a base does not count."""
    link = '<base href="//[x/"><link rel="license" type="application/rsl+xml" href="/l.xml">'
    found = usage_preferences(response(f"<head>{link}</head><body>text</body>"))
    assert [one.url for one in found.licenses] == ["https://example.org/l.xml"]


def test_the_answers_leave_out_what_is_unknown() -> None:
    """draft-ietf-aipref-vocab-08 section 5.1."""
    found = usage_preferences(response("", [("Content-Usage", "train-ai=n, search=y")]))
    assert found.answers == {"train-ai": "disallowed", "search": "allowed"}
