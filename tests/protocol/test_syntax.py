"""Octets become lines, and lines become records."""

import pytest

from scrapy_rep.protocol.profiles import PROFILES
from scrapy_rep.protocol.syntax import Record, records, text_of, truncate
from tests.rows import rows

RFC = PROFILES["rfc9309"]


def read(body: bytes, profile: str = "rfc9309") -> list[Record]:
    """All records of a body."""
    chosen = PROFILES[profile]
    return list(records(text_of(body, chosen).decode("latin-1"), chosen))


def test_a_record_has_a_line_a_key_and_a_value() -> None:
    """RFC 9309 section 2.2: lines count from 1, whatever ends them."""
    body = b"User-agent: a\r\n\r# x\nDisallow: /b # y\n\n Sitemap : z "
    assert read(body) == [
        Record(1, "user-agent", "a"),
        Record(4, "disallow", "/b"),
        Record(6, "sitemap", "z"),
    ]


def test_lenient_readings_are_reported() -> None:
    """RFC 9309 section 2.2.4: misspellings and missing colons are accepted, and told apart."""
    found = read(b"useragent: a\ndisalow: /b\nallow /c\nCrawl delay: 1\nDisallow: /d")
    assert [record.lenient for record in found] == [True, True, True, True, False]
    assert [record.key for record in found] == [
        "user-agent",
        "disallow",
        "allow",
        "crawl-delay",
        "disallow",
    ]


def test_the_value_may_hold_colons() -> None:
    """RFC 9309 section 2.2: the first colon ends the key."""
    assert read(b"Sitemap:https://e.org:80/") == [Record(1, "sitemap", "https://e.org:80/")]


@rows("limit", range(60))
def test_truncation_keeps_whole_lines_only(limit: int) -> None:
    """RFC 9309 section 2.5: the partial last line is dropped."""
    body = b"User-agent: *\r\nDisallow: /a\rDisallow: /b\n\nDisallow: /c"
    kept = truncate(body, limit)
    assert len(kept) <= limit
    assert body.startswith(kept)
    lines = text_of(body, RFC).split(b"\n")
    kept_lines = text_of(kept, RFC).split(b"\n")
    assert all(line in lines for line in kept_lines)


def test_truncation_leaves_a_body_within_the_limit_alone() -> None:
    """RFC 9309 section 2.5: at the limit nothing is lost."""
    body = b"Disallow: /private"
    assert truncate(body, len(body)) is body
    assert truncate(body, len(body) - 1) == b""


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_truncation_finds_the_lines_of_utf16(coding: str) -> None:
    """RFC 9309 section 2.5; U+0A0A and U+0D41 hold the octets of line ends but are none."""
    text = "\ufeffDisallow: /\u0a0a\u0d41\r\nDisallow: /\U0001f600\u0a0a\n\u0a00Disallow: /x"
    body = text.encode(coding)
    for limit in range(len(body)):
        kept = truncate(body, limit)
        assert len(kept) <= limit
        assert body.startswith(kept)
        whole = text.replace("\r", "\n").split("\n")
        assert all(line in whole for line in kept.decode(coding).replace("\r", "\n").split("\n"))


def test_truncation_survives_broken_utf16() -> None:
    """RFC 9309 section 2.5: any octets are a body."""
    for body in (b"\xff\xfe" + b"\xd8" * 99, b"\xfe\xff" + b"\xd8\x00" * 50, b"\xff\xfe\n"):
        for limit in range(len(body)):
            assert body.startswith(truncate(body, limit))


def test_indentation_is_dropped_and_lines_keep_their_numbers() -> None:
    """RFC 9309 section 2.2: ``*WS`` before a key."""
    assert read(b"  allow: b\n\t\n \tdisallow: d") == [
        Record(1, "allow", "b"),
        Record(3, "disallow", "d"),
    ]
