"""Stored entries as plain values."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from math import inf, nan
from typing import Any

import pytest

from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.stores.json_form import _CHECKS, from_plain, to_plain
from scrapy_rep.stores.stored import StoredEntry
from tests.rows import rows
from tests.stores.samples import NOW, authority, entry, full_entry

FULL = StoredEntry(authority(1), full_entry(1), {"0a": full_entry(2).answer or Answer()})
MINIMAL = {"site": "https://host-0.example", "answer": {"status": 404, "fetched_at": NOW}}


@rows(
    "stored",
    FULL,
    *(
        StoredEntry(authority(), Entry(Answer(200, body, fetched_at=NOW)))
        for body in (
            *(b"", b"\xff\xfe", b"\xef\xbb\xbfAllow: /", "Disallow: /ü\n".encode()),
            *(b"\x00\r\n\x7f", b"\xed\xa0\x80", bytes(range(256))),
        )
    ),
    StoredEntry(authority(), Entry(Answer(404, uri="http://a/\udcff", fetched_at=NOW))),
)
def test_every_field_and_every_octet_survives(stored: StoredEntry) -> None:
    """Text where it is UTF-8, Base64 where it is not; a URI holds whatever a server sent."""
    line = json.dumps(to_plain(stored))
    assert "\n" not in line
    assert from_plain(json.loads(line)) == stored


def test_every_field_is_stored_but_for_what_concerns_one_crawl() -> None:
    """A new field needs a row of ``_CHECKS``, or its name here."""
    left_out = {Answer: {"proxied", "refused_to"}, Failure: {"error"}}
    for kind, names in left_out.items():
        assert {each.name for each in fields(kind)} - {*_CHECKS[kind]} == names


def test_rules_stand_as_text() -> None:
    """So that a line can be read and searched."""
    plain = to_plain(StoredEntry(authority(), entry(body=b"Allow: /")))
    assert plain["answer"]["body"] == "Allow: /"


def test_what_is_left_out_has_its_default() -> None:
    """A line by hand needs a status and a date."""
    read = from_plain(MINIMAL)
    assert read == StoredEntry(authority(), Entry(Answer(404, fetched_at=NOW)))


def _minimal(**fields: Any) -> dict[str, Any]:
    return {**MINIMAL, **fields}


def _with(part: str, **fields: Any) -> dict[str, Any]:
    plain = to_plain(FULL)
    plain[part] = {**plain[part], **fields}
    return plain


def _answer(**fields: Any) -> dict[str, Any]:
    return _with("answer", **fields)


@rows(
    "message, several",
    ("an entry is not an object", [None, []]),
    ("site is not a text", [{}]),
    ("neither an answer", [{"site": "https://a.example"}]),
    ("site: 'https://A.example' is not", [_minimal(site="https://A.example")]),
    ("site: 'ftp://a.example' is not", [_minimal(site="ftp://a.example")]),
    ("is not like", [_minimal(site="https://a.example/x")]),
    (
        "is not like https://example.org",
        [_minimal(site="https://"), _minimal(site="https://\ud800")],
    ),
    ("an entry has no field 'expires'", [_minimal(expires=1)]),
    ("answer is not an object", [_minimal(answer=5)]),
    ("refusals is not an object", [_minimal(refusals=x) for x in ([], {"a b": {}}, {"": {}})]),
    ("refusal is not an object", [_minimal(refusals={"aa": None})]),
    ("refusal has status 500", [_minimal(refusals={"aa": {"status": 500, "fetched_at": 1}})]),
    ("answer has no field 'x'", [_answer(x=1)]),
    ("status is not a whole number", [_answer(status=x) for x in ("200", True, -1, 2**31)]),
    ("cut_at is not a whole number", [_answer(cut_at=1.5)]),
    ("answer has status 503, which is a failure", [_answer(status=503)]),
    ("answer has status 0, which is a failure", [_answer(status=0)]),
    ("answer has status 429, which is a failure", [_answer(status=429, body=None)]),
    ("answer has status 200, and no body", [_answer(status=200, body=None)]),
    ("fetched_at is not a number", [_answer(fetched_at=x) for x in (None, True)]),
    ("fetched_at is out of range", [_answer(fetched_at=x) for x in (nan, inf, 10**400)]),
    ("lifetime is not a number", [_answer(lifetime="1")]),
    ("redirects is not a list", [_answer(redirects="http://a")]),
    ("a text of redirects is not a text", [_answer(redirects=[1])]),
    ("uri is not a text", [_answer(uri=None)]),
    ("body is not a text", [_answer(body=5)]),
    ("the Base64 of body is not a text", [_answer(body={})]),
    ("body has no field 'text'", [_answer(body={"base64": "", "text": ""})]),
    ("body: ", [_answer(body={"base64": text}) for text in "?ü"]),
    ("etag is not UTF-8", [_answer(etag="\ud800")]),
    ("count is not a whole number", [_with("failure", count=0.5)]),
    ("since is not a number", [_with("failure", since="x")]),
    ("retry_after is not a number", [_with("failure", retry_after=[])]),
    ("cause is not a text", [_with("failure", cause=None)]),
    ("failure has no field 'why'", [_with("failure", why=1)]),
)
def test_anything_else_is_an_error_of_one_line(message: str, several: list[Any]) -> None:
    """What comes from outside is checked, and never raises anything but ValueError."""
    for plain in several:
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            from_plain(plain)
        assert str(caught.value).isascii()
        assert "\n" not in str(caught.value)
