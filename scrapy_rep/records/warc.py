"""What was sent and received as records of WARC 1.1 (ISO 28500).

A body is kept octet by octet as the server sent it, after the transfer coding and before any
content coding is undone. The head is not: Scrapy writes the names of fields in title case, changes
their order, and does not keep the reason phrase. ``warcinfo`` says so. Three things are changed on
purpose:

- a field that would describe the octets of the connection and not those of the record is renamed
  to ``X-Archive-Orig-...``: ``Transfer-Encoding``, and a ``Content-Length`` that is not that of the
  body;
- credentials are left out of requests;
- line ends within a value become spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

VERSION = "WARC/1.1"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

HEAD_NOTE = (
    "Bodies are byte for byte as sent, after the transfer coding. Heads are as Scrapy has "
    "normalised them, without the credentials of requests: not what was on the wire."
)


_SECRET = frozenset({b"authorization", b"proxy-authorization", b"cookie"})
_RENAMED = b"X-Archive-Orig-"


def head_of_request(request: Request) -> bytes:
    """Return the head of a request as it is archived, with its empty line."""
    parts = urlsplit(request.url)
    target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    lines = [f"{request.method} {target} HTTP/1.1".encode()]
    if "Host" not in request.headers:
        lines.append(b"Host: " + parts.netloc.rpartition("@")[2].encode())
    for name, values in request.headers.items():
        if name.lower() not in _SECRET:
            lines += [_field(name, value) for value in values]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def head_of_response(response: Response) -> bytes:
    """Return the head of a response as it is archived, with its empty line."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {response.status} {phrase}".encode()]
    for name, values in response.headers.items():
        for value in values:
            low = name.lower()
            other = low == b"content-length" and value.strip() != b"%d" % len(response.body)
            renamed = other or low == b"transfer-encoding"
            lines.append(_field(_RENAMED + name if renamed else name, value))
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _field(name: bytes, value: bytes) -> bytes:
    return b": ".join(part.replace(b"\r", b" ").replace(b"\n", b" ") for part in (name, value))


class RecordMaker:
    """Makes the octets of records, each one a member of a gzip file.

    Raises ``ImportError`` without warcio.
    """

    def __init__(self) -> None:
        from warcio.statusandheaders import StatusAndHeaders
        from warcio.warcwriter import WARCWriter

        self._head: Any = StatusAndHeaders
        self._new_writer: Any = WARCWriter

    def __call__(
        self, kind: str, fields: Mapping[str, str], body: bytes, head: bytes | None = None
    ) -> bytes:
        """Return a record; fields without a value are left out, ``head`` is that of HTTP."""
        given = {name: value for name, value in fields.items() if value}
        http = None
        if head is not None:
            http = self._head(head.partition(b"\r\n")[0].decode("latin-1"), [], protocol="")
            # What warcio makes of the fields changes octets beyond ASCII.
            http.to_ascii_bytes = lambda _: head
        out = BytesIO()
        writer = self._new_writer(out, gzip=True, warc_version=VERSION)
        record = writer.create_warc_record(
            given.pop("WARC-Target-URI", None),
            kind,
            payload=BytesIO(body),
            length=len(body),
            http_headers=http,
            warc_headers_dict=given,
        )
        writer.write_record(record)
        return out.getvalue()


def date(time: float) -> str:
    """Return seconds since the epoch as WARC 1.1 has them, to the microsecond."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lines(fields: Mapping[str, str]) -> bytes:
    """Return fields as ``application/warc-fields``, each in one line."""
    told = [f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items() if value]
    return "".join(told).encode("utf-8", "backslashreplace")
