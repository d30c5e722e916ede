"""Stored entries as plain values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores.json_form import from_plain, to_plain
from scrapy_rep.stores.stored import StoredEntry
from tests.rows import rows
from tests.stores.samples import NOW, authority, entry, full_entry

FULL = StoredEntry(authority(1), full_entry(1), {"0a": full_entry(2).answer or Answer()})
MINIMAL = {"site": "https://host-0.example", "answer": {"status": 404, "fetched_at": NOW}}


@rows(
    "stored",
    [
        FULL,
        *(
            StoredEntry(authority(), Entry(Answer(200, body, fetched_at=NOW)))
            for body in (
                *(b"", b"\xff\xfe", b"\xef\xbb\xbfAllow: /", "Disallow: /ü\n".encode()),
                *(b"\x00\r\n\x7f", b"\xed\xa0\x80", bytes(range(256))),
            )
        ),
        StoredEntry(authority(), Entry(Answer(404, uri="http://a/\udcff", fetched_at=NOW))),
    ],
)
def test_every_field_and_every_octet_survives(stored: StoredEntry) -> None:
    """Text where it is UTF-8, Base64 where it is not; a URI holds whatever a server sent."""
    line = json.dumps(to_plain(stored))
    assert "\n" not in line
    assert from_plain(json.loads(line)) == stored


def test_rules_stand_as_text() -> None:
    """So that a line can be read and searched."""
    plain = to_plain(StoredEntry(authority(), entry(body=b"Allow: /")))
    assert plain["answer"]["body"] == "Allow: /"


def test_what_is_left_out_has_its_default() -> None:
    """A line by hand needs a status and a date."""
    read = from_plain(MINIMAL)
    assert read == StoredEntry(authority(), Entry(Answer(404, fetched_at=NOW)))


def _with(part: str, **fields: Any) -> dict[str, Any]:
    plain = to_plain(FULL)
    plain[part] = {**plain[part], **fields}
    return plain


@rows(
    "plain, message",
    [
        (None, "an entry is not an object"),
        ([], "an entry is not an object"),
        ({}, "site is not a text"),
        ({"site": "https://a.example"}, "neither an answer"),
        ({**MINIMAL, "site": "https://A.example"}, "site: 'https://A.example' is not"),
        ({**MINIMAL, "site": "ftp://a.example"}, "site: 'ftp://a.example' is not"),
        ({**MINIMAL, "site": "https://a.example/x"}, "is not like"),
        ({**MINIMAL, "site": "https://\ud800"}, "is not like https://example.org"),
        ({**MINIMAL, "site": "https://"}, "is not like https://example.org"),
        ({**MINIMAL, "expires": 1}, "an entry has no field 'expires'"),
        ({**MINIMAL, "answer": 5}, "answer is not an object"),
        ({**MINIMAL, "refusals": []}, "refusals is not an object"),
        ({**MINIMAL, "refusals": {"a b": {}}}, "refusals is not an object"),
        ({**MINIMAL, "refusals": {"": {}}}, "refusals is not an object"),
        ({**MINIMAL, "refusals": {"aa": None}}, "refusal is not an object"),
        (_with("answer", x=1), "answer has no field 'x'"),
        (_with("answer", status="200"), "status is not a whole number"),
        (_with("answer", status=True), "status is not a whole number"),
        (_with("answer", status=-1), "status is not a whole number"),
        (_with("answer", status=2**31), "status is not a whole number"),
        (_with("answer", cut_at=1.5), "cut_at is not a whole number"),
        (_with("answer", status=503), "answer has status 503, which is a failure"),
        (_with("answer", status=0), "answer has status 0, which is a failure"),
        (_with("answer", status=200, body=None), "answer has status 200, and no body"),
        (_with("answer", status=429, body=None), "answer has status 429, which is a failure"),
        (
            {**MINIMAL, "refusals": {"aa": {"status": 500, "fetched_at": 1}}},
            "refusal has status 500",
        ),
        (_with("answer", fetched_at=None), "fetched_at is not a number"),
        (_with("answer", fetched_at=True), "fetched_at is not a number"),
        (_with("answer", fetched_at=float("nan")), "fetched_at is out of range"),
        (_with("answer", fetched_at=float("inf")), "fetched_at is out of range"),
        (_with("answer", fetched_at=10**400), "fetched_at is out of range"),
        (_with("answer", lifetime="1"), "lifetime is not a number"),
        (_with("answer", redirects="http://a"), "redirects is not a list"),
        (_with("answer", redirects=[1]), "a text of redirects is not a text"),
        (_with("answer", uri=None), "uri is not a text"),
        (_with("answer", body=5), "body is not a text"),
        (_with("answer", body={}), "the Base64 of body is not a text"),
        (_with("answer", body={"base64": "", "text": ""}), "body has no field 'text'"),
        (_with("answer", body={"base64": "?"}), "body: "),
        (_with("answer", body={"base64": "ü"}), "body: "),
        (_with("answer", etag="\ud800"), "etag is not UTF-8"),
        (_with("failure", count=0.5), "count is not a whole number"),
        (_with("failure", since="x"), "since is not a number"),
        (_with("failure", retry_after=[]), "retry_after is not a number"),
        (_with("failure", cause=None), "cause is not a text"),
        (_with("failure", why=1), "failure has no field 'why'"),
    ],
)
def test_anything_else_is_an_error_of_one_line(plain: Any, message: str) -> None:
    """What comes from outside is checked, and never raises anything but ValueError."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message follows)
        from_plain(plain)
    assert message in str(caught.value)
    assert str(caught.value).isascii()
    assert "\n" not in str(caught.value)
