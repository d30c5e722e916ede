"""What an archive holds of a request and a response."""

from __future__ import annotations

import time
from pathlib import Path

from scrapy import Request
from scrapy.http import Response
from warcio.archiveiterator import ArchiveIterator

from scrapy_rep.records.archive import Archive, head_of_request, head_of_response, warc_fields
from scrapy_rep.stats import RepStats


def test_credentials_are_not_archived() -> None:
    """Of the site, of the proxy, of a session."""
    secrets = dict.fromkeys(("Authorization", "Proxy-Authorization", "cookie"), "s3cret")
    request = Request("https://a.example:8443/robots.txt?a", headers={**secrets, "Accept": "*/*"})
    assert head_of_request(request) == (
        b"GET /robots.txt?a HTTP/1.1\r\nHost: a.example:8443\r\nAccept: */*\r\n\r\n"
    )


def test_cookies_are_not_archived() -> None:
    """Not those of a response either: one may be as good as a login."""
    headers = {"Set-Cookie": ["sid=s3cret; Path=/", "b=s3cret"], "X": "a"}
    head = head_of_response(Response("http://a/robots.txt", 200, headers, b"body"))
    assert head == b"HTTP/1.1 200 OK\r\nX: a\r\n\r\n"


def test_a_line_end_in_a_value_starts_no_field() -> None:
    """Whatever a component has put there."""
    headers = {"X": "a\r\nContent-Length: 3\r\n\r\nb", "Transfer-Encoding": "chunked"}
    head = head_of_response(Response("http://a/robots.txt", 599, headers, b"body"))
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 599 Unknown",
        b"X: a  Content-Length: 3    b",
        b"X-Archive-Orig-Transfer-Encoding: chunked",
        b"",
        b"",
    ]


def test_a_name_that_is_not_utf8_is_archived_escaped(tmp_path: Path) -> None:
    """Python has it with halves of surrogate pairs, which no record can hold."""
    archive = Archive(f"{tmp_path}/b\udce9.warc.gz", "0" * 32, RepStats(), time.time)
    archive.open()
    archive.close()
    [path] = tmp_path.iterdir()
    with path.open("rb") as stream:
        [record] = ArchiveIterator(stream)
    assert record.rec_headers.get_header("WARC-Filename") == archive.name
    assert archive.name.startswith("b\\udce9-")


def test_what_is_said_is_one_line() -> None:
    """The text of an exception may be anything."""
    said = warc_fields({"detail": "first\r\nviaRecord: urn:uuid:0\r\n\r\n\ud800"})
    assert said == b"detail: first viaRecord: urn:uuid:0 \\ud800\r\n"
