"""What responses say about use: header fields and metas, row by row, each with its source.

Sources: `attach` is draft-ietf-aipref-attach-05, `vocab` draft-ietf-aipref-vocab-08, `sf` RFC
9651, `tdmrep` the TDM Reservation Protocol of 2024-05-10, `rsl` RSL 1.0, `link` RFC 8288, `choice`
what no document says; docs/guides/preferences.rst names the choices.
"""

from __future__ import annotations

from html import escape

from scrapy.http import Headers

from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.source import PageSource
from scrapy_rep.preferences.page import of_response
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.vocabularies import RESERVATION
from scrapy_rep.robotstxt.profiles import RFC9309
from tests.preferences.answers import answers
from tests.rows import rows

URL = "https://example.org/a/page"
RSL = "application/rsl+xml"

# source, header lines, metas, terms, answers
ROWS: list[tuple[str, list[str], list[str], list[str], str]] = [
    ("attach 2: the field", ["Content-Usage: train-ai=n"], [], [], "train-ai=n"),
    ("attach 2: three labels", ["Content-Usage: train-ai=n, ai-use=n, search=y"], [], [],
     "train-ai=n ai-use=n search=y"),
    ("sf 4.2: lines are one Dictionary", ["Content-Usage: train-ai=n", "Content-Usage: search=y"],
     [], [], "train-ai=n search=y"),
    ("sf 4.2: the last line counts", ["Content-Usage: train-ai=n", "Content-Usage: train-ai=y"],
     [], [], "train-ai=y"),
    ("sf 4.2: an error in one line spoils all", ["Content-Usage: train-ai=n", "Content-Usage: %"],
     [], [], ""),
    ("sf 4.2: an empty field says nothing", ["Content-Usage: "], [], [], ""),
    ("attach 2: no path in the field", ["Content-Usage: /a train-ai=n"], [], [], ""),
    ("choice: too long says nothing", ["Content-Usage: train-ai=n, a=" + "x" * 8192], [], [], ""),
    ("choice: lines that are too long together", ["Content-Usage: train-ai=n",
     "Content-Usage: a=" + "x" * 8180], [], [], ""),
    ("choice: not ASCII says nothing", ["Content-Usage: train-ai=n, b=\xe9"], [], [], ""),
    ("choice: a Content-Signal field forbids", ["Content-Signal: ai-train=no"], [], [],
     "train-ai=n"),
    ("choice: and never allows", ["Content-Signal: ai-train=yes, search=yes, ai-input=yes"], [], [],
     ""),
    ("choice: and lifts nothing", ["Content-Signal: ai-train=yes", "Content-Usage: train-ai=n"],
     [], [], "train-ai=n"),
    ("choice: its lines add up", ["Content-Signal: ai-train=no", "Content-Signal: search=no"], [],
     [], "train-ai=n search=n"),
    ("tdmrep: field, 1 is reserved", ["tdm-reservation: 1"], [], [], "tdm=n"),
    ("tdmrep: field, 0 is not", ["tdm-reservation: 0"], [], [], "tdm=y"),
    ("tdmrep: field, else unset", ["tdm-reservation: 2"], [], [], ""),
    ("tdmrep: field, else unset", ["tdm-reservation: yes"], [], [], ""),
    ("tdmrep: field, else unset", ['tdm-reservation: "1"'], [], [], ""),
    ("tdmrep: field, empty", ["tdm-reservation: "], [], [], ""),
    ("choice: field, joined by a proxy", ["tdm-reservation: 0, 1"], [], [], "tdm=n"),
    ("choice: field, two lines, strictest", ["tdm-reservation: 1", "tdm-reservation: 0"], [], [],
     "tdm=n"),
    ("tdmrep: a policy alone reserves nothing", ["tdm-policy: https://e.org/p"], [], [], ""),
    ("tdmrep: meta", [], ["tdm-reservation: 1"], [], "tdm=n"),
    ("tdmrep: meta", [], ["tdm-reservation: 0"], [], "tdm=y"),
    ("tdmrep: meta, name without case", [], ["TDM-Reservation: 1"], [], "tdm=n"),
    ("tdmrep: meta, white space", [], ["tdm-reservation:  1 "], [], "tdm=n"),
    ("tdmrep: meta is stronger than the field", ["tdm-reservation: 1"], ["tdm-reservation: 0"], [],
     "tdm=y"),
    ("tdmrep: meta is stronger than the field", ["tdm-reservation: 0"], ["tdm-reservation: 1"], [],
     "tdm=n"),
    ("tdmrep: an unset meta resets nothing", ["tdm-reservation: 1"], ["tdm-reservation: x"], [],
     "tdm=n"),
    ("choice: two metas, strictest", [], ["tdm-reservation: 0", "tdm-reservation: 1"], [],
     "tdm=n"),
    ("choice: Content-Usage says nothing on tdm", ["Content-Usage: tdm=n"], [], [], ""),
    ("choice: noai", [], [], ["noai"], "train-ai=n"),
    ("choice: noai without case", [], [], ["NoAI"], "train-ai=n"),
    ("choice: noimageai", [], [], ["noimageai"], "train-ai=n"),
    ("choice: noml", [], [], ["noml"], "train-ai=n"),
    ("choice: other terms say nothing on use", [], [], ["noindex", "nosnippet", "noarchive"], ""),
    ("choice: noai beats Content-Usage", ["Content-Usage: train-ai=y"], [], ["noai"],
     "train-ai=n"),
    ("choice: nothing lifts noai", ["Content-Usage: train-ai=n"], [], ["all", "index"],
     "train-ai=n"),
    ("attach: nothing is said", [], [], [], ""),
]  # fmt: skip

# source, what the page names, the licences
LICENSES: list[tuple[str, list[str], list[tuple[str, str, str]], list[str]]] = [
    ("rsl: Link field after one with an escape", [
        f'<https://e.org/b>; title="5\\" disk", <https://e.org/c.xml>; rel=license; type="{RSL}"',
    ], [], ["https://e.org/c.xml"]),
    ("link B.4: a quoted string without an end", [
        f'<https://e.org/b>; title="5, <https://e.org/c.xml>; rel=license; type={RSL}',
    ], [], []),
    ("link B.1: it ends with its field", [
        '<https://e.org/b>; title="5', f'<https://e.org/c.xml>; rel="license"; type="{RSL}"',
    ], [], ["https://e.org/c.xml"]),
    ("rsl: Link field", [f'<https://e.org/l.xml>; rel="license"; type="{RSL}"'], [],
     ["https://e.org/l.xml"]),
    ("rsl: without quotes", [f"<https://e.org/l.xml>;rel=license;type={RSL}"], [],
     ["https://e.org/l.xml"]),
    ("link 3: parameter names without case", [f"<https://e.org/l.xml>; REL=License; TYPE={RSL}"],
     [], ["https://e.org/l.xml"]),
    ("link 3.3: several relations", [f'<https://e.org/l.xml>; rel="me license"; type="{RSL}"'], [],
     ["https://e.org/l.xml"]),
    ("link 3.3: the first rel counts", [f"<https://e.org/l>; rel=me; rel=license; type={RSL}"], [],
     []),
    ("link 3: relative", [f"<../l.xml>; rel=license; type={RSL}"], [],
     ["https://example.org/l.xml"]),
    ("link 3.2: an anchor is another resource", [
        f'<https://e.org/l.xml>; rel=license; type={RSL}; anchor="/b"'], [], []),
    ("link 3: several in a line", [
        f'<https://e.org/a>; rel=next, <https://e.org/b>; rel="license"; type="{RSL}"'], [],
     ["https://e.org/b"]),
    ("link 3: a comma in a target", [f"<https://e.org/a,b>; rel=license; type={RSL}"], [],
     ["https://e.org/a,b"]),
    ("link 3: a semicolon in quotes", [
        f'<https://e.org/a>; title="x; y, <z>"; rel=license; type={RSL}'], [], ["https://e.org/a"]),
    ("rsl: another type is another licence", [
        "<https://creativecommons.org/licenses/by/4.0/>; rel=license"], [], []),
    ("rsl: another type is another licence", [
        "<https://e.org/l.html>; rel=license; type=text/html"], [], []),
    ("choice: parameters of the type", [
        f'<https://e.org/l>; rel=license; type="{RSL}; charset=utf-8"'], [], ["https://e.org/l"]),
    ("rsl: only http and https", [f"<ftp://e.org/l>; rel=license; type={RSL}"], [], []),
    ("choice: what is no URL", [f"<https://[::e/l>; rel=license; type={RSL}"], [], []),
    ("link 3: no link at all", ["license"], [], []),
    ("rsl: link element", [], [("license", RSL, "https://e.org/l")], ["https://e.org/l"]),
    ("rsl: link element, relative", [], [("license", RSL, "/l.xml")],
     ["https://example.org/l.xml"]),
    ("rsl: link element of another type", [], [("license", "", "https://e.org/l")], []),
    ("rsl: link element of another relation", [], [("next", RSL, "https://e.org/l")], []),
    ("rsl: each once, by source", [f"<https://e.org/l>; rel=license; type={RSL}"] * 2,
     [("license", RSL, "https://e.org/l")] * 2, ["https://e.org/l", "https://e.org/l"]),
]  # fmt: skip


def pairs(lines: list[str]) -> list[tuple[str, str]]:
    """Names and values."""
    return [(name, value.removeprefix(" ")) for name, _, value in (x.partition(":") for x in lines)]


def page(
    fields: list[str],
    metas: list[str] | None = None,
    terms: list[str] | None = None,
    links: list[tuple[str, str, str]] | None = None,
) -> Preferences:
    """What a response with these header lines, metas, robots terms and link elements says."""
    headers = Headers()
    for name, value in pairs(fields):
        headers.appendlist(name, value.encode("latin-1"))
    elements = [("name", name, "content", content) for name, content in pairs(metas or [])]
    elements += [("name", "robots", "content", term) for term in terms or ()]
    body = "".join(f'<meta {a}="{escape(b)}" {c}="{escape(d)}">' for a, b, c, d in elements)
    for rel, kind, href in links or ():
        body += f'<link rel="{escape(rel)}" type="{escape(kind)}" href="{escape(href)}">'
    source = PageSource(headers, Markup(f"<html><head>{body}</head>".encode()))
    return of_response(source, URL, ("mybot",), RFC9309)


@rows("source, fields, metas, terms, expected", ROWS)
def test_a_response_says(
    source: str, fields: list[str], metas: list[str], terms: list[str], expected: str
) -> None:
    """The answers of the response alone, by the document that is named in the row."""
    assert answers(page(fields, metas, terms)) == expected


@rows("source, fields, links, expected", LICENSES)
def test_a_response_names_licences(
    source: str, fields: list[str], links: list[tuple[str, str, str]], expected: list[str]
) -> None:
    """RSL 1.0: the URLs, and nothing that has to be fetched to know them."""
    found = page([f"Link: {field}" for field in fields], links=links)
    assert [one.url for one in found.licenses] == expected
    assert answers(found) == ""


def test_a_policy_counts_only_with_a_reservation() -> None:
    """TDMRep: it is ignored without one, and may come from another place than the reservation."""
    free = page(["tdm-reservation: 0", "tdm-policy: https://e.org/p"])
    assert free.tdm == (False, None, "header")
    policy = page(["tdm-policy: https://e.org/p"], ["tdm-reservation: 1"])
    assert policy.tdm == (True, "https://e.org/p", "meta")
    odd = page(["tdm-reservation: 1", "tdm-policy: no url"])
    assert odd.tdm == (True, None, "header")


def test_the_statement_against_mining_is_that_of_the_place_that_counts() -> None:
    """A weaker place that reserves is not the reason if a stronger one does."""
    found = page(["tdm-reservation: 1"], ["tdm-reservation: 1"])
    against = found.against("tdm")
    assert (against.source, against.label) == ("meta", RESERVATION)


def test_a_response_that_says_nothing_is_false() -> None:
    """So that nothing is kept of it."""
    assert not page(["Link: <https://e.org/a>; rel=next"])
    assert page(["tdm-policy: https://e.org/p"])
    assert page([], ["tdm-reservation: x"])
