"""What was sent and received as records of WARC 1.1 (ISO 28500): ``REP_WARC``.

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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

VERSION = "WARC/1.1"
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
SAME_PAYLOAD = f"{_PROFILE}identical-payload-digest"
NOT_MODIFIED = f"{_PROFILE}server-not-modified"

HEAD_NOTE = (
    "Bodies are octet by octet as sent, after the transfer coding. Heads are as Scrapy has "
    "normalised them, without the credentials of requests: not what was on the wire."
)
OWN_SIDE = "crawler"
"""The ``side`` of a failure on the crawler's own side."""

_SECRET = frozenset({b"authorization", b"proxy-authorization", b"cookie"})
_RENAMED = b"X-Archive-Orig-"


@dataclass(frozen=True, slots=True)
class Hop:
    """A response that led to another URI: its own URI, and its record."""

    uri: str
    record: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and the response to it; ``time`` is seconds since the epoch.

    ``record`` is the ID of the response record. ``repeats`` is the record whose payload this one
    has as well: of a 304 the copy that it confirms, "" if that is not known.
    """

    record: str
    time: float
    uri: str
    request: bytes
    response: bytes
    body: bytes
    status: int
    truncated: str = ""
    address: str = ""
    via: tuple[Hop, ...] = ()
    repeats: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A fetch without a conclusive response; ``last`` is the record of its last response.

    ``ours`` says that the crawler's own side failed.
    """

    record: str
    time: float
    uri: str
    cause: str
    status: int | None = None
    detail: str = ""
    last: str = ""
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the archive says about itself."""

    time: float
    file: str
    fields: Mapping[str, str]


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


_Records = Iterator[tuple[str, dict[str, str], bytes | None, bytes]]
"""Type, fields, head of HTTP if there is one, and body."""


class _Payload(NamedTuple):
    """A payload that was kept: its record, the newest one that repeats it, and what it is."""

    first: str
    newest: str = ""
    digest: str = ""
    date: str = ""
    status: int = 0


class RecordMaker:
    """Makes the octets of records. It remembers which payload each URI had last.

    A payload that is the same again is not kept again. Raises ``ImportError`` without warcio.
    """

    _most = 10_000
    """URIs of which the last payload is remembered; past that, all are forgotten."""

    def __init__(self) -> None:
        from warcio.statusandheaders import StatusAndHeaders
        from warcio.utils import Digester
        from warcio.warcwriter import WARCWriter

        self._head: Any = StatusAndHeaders
        self._digester: Any = Digester
        self._new_writer: Any = WARCWriter
        self._last: dict[str, _Payload] = {}

    def __call__(self, value: Beginning | Exchange | Failed) -> bytes:
        """Return the octets of all records of a value, each one a member of the gzip file."""
        out = BytesIO()
        writer = self._new_writer(out, gzip=True, warc_version=VERSION)
        if isinstance(value, Beginning):
            found = self._beginning(value)
        elif isinstance(value, Exchange):
            found = self._exchange(value)
        else:
            found = self._failed(value)
        for kind, fields, head, body in found:
            writer.write_record(self._record(writer, kind, fields, head, body))
        return out.getvalue()

    def _record(
        self, writer: Any, kind: str, fields: dict[str, str], head: bytes | None, body: bytes
    ) -> Any:
        http = None
        if head is not None:
            http = self._head(head.partition(b"\r\n")[0].decode("latin-1"), [], protocol="")
            # What warcio makes of the fields changes octets beyond ASCII.
            http.to_ascii_bytes = lambda _: head
        return writer.create_warc_record(
            fields.pop("WARC-Target-URI", None),
            kind,
            payload=BytesIO(body),
            length=len(body),
            http_headers=http,
            warc_headers_dict={name: value for name, value in fields.items() if value},
        )

    def _beginning(self, value: Beginning) -> _Records:
        fields = {"WARC-Filename": value.file, "WARC-Date": date(value.time)}
        yield "warcinfo", fields, None, _lines(value.fields)

    def _exchange(self, one: Exchange) -> _Records:
        common = {"WARC-Date": date(one.time), "WARC-Target-URI": one.uri}
        own = {
            **common,
            "WARC-Record-ID": f"<{one.record}>",
            "WARC-IP-Address": one.address,
            "WARC-Truncated": one.truncated,
        }
        kind, more = self._kind(one, own["WARC-Date"])
        yield kind, {**own, **more}, one.response, one.body if kind == "response" else b""
        beside = {**common, "WARC-Concurrent-To": f"<{one.record}>"}
        yield "request", dict(beside), one.request, b""
        said = {}
        if one.via:
            said = {"via": one.via[-1].uri, "hopsFromSeed": "R" * len(one.via)}
            said["viaRecord"] = one.via[-1].record
        if one.changed:
            said["note"] = "The response was made or changed by a component of the crawler."
        if said:
            yield "metadata", beside, None, _lines(said)

    def _kind(self, one: Exchange, when: str) -> tuple[str, dict[str, str]]:
        """Return the type of the record of a response, and the fields of that type."""
        if one.status == HTTPStatus.NOT_MODIFIED:
            known = self._last.get(one.uri)
            if known is None or not one.repeats or one.repeats not in known[:2]:
                known = _Payload(one.repeats)  # of another run, whose archive a reader may have
            else:
                self._last[one.uri] = known._replace(newest=one.record)
            return "revisit", _revisit(NOT_MODIFIED, one.uri, known)
        if not one.body or one.truncated:
            return "response", {}
        digester = self._digester("sha1")
        digester.update(one.body)
        digest = str(digester)
        known = self._last.get(one.uri)
        if known is not None and (known.digest, known.status) == (digest, one.status):
            self._last[one.uri] = known._replace(newest=one.record)
            return "revisit", _revisit(SAME_PAYLOAD, one.uri, known)
        if len(self._last) >= self._most:
            self._last.clear()
        self._last[one.uri] = _Payload(one.record, one.record, digest, when, one.status)
        return "response", {"WARC-Payload-Digest": digest}

    def _failed(self, one: Failed) -> _Records:
        fields = {
            "WARC-Record-ID": f"<{one.record}>",
            "WARC-Date": date(one.time),
            "WARC-Target-URI": one.uri,
            "WARC-Refers-To": f"<{one.last}>" if one.last else "",
        }
        said = {"outcome": "unreachable", "cause": one.cause, "detail": one.detail}
        if one.status is not None:
            said["status"] = str(one.status)
        if one.ours:
            said["side"] = OWN_SIDE
        yield "metadata", fields, None, _lines(said)


def _revisit(profile: str, uri: str, known: _Payload) -> dict[str, str]:
    return {
        "WARC-Profile": profile,
        "WARC-Refers-To": f"<{known.first}>" if known.first else "",
        "WARC-Refers-To-Target-URI": uri,
        "WARC-Refers-To-Date": known.date,
        "WARC-Payload-Digest": known.digest,
    }


def date(time: float) -> str:
    """Return seconds since the epoch as WARC 1.1 has them, to the microsecond."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _lines(fields: Mapping[str, str]) -> bytes:
    """Return fields as ``application/warc-fields``, each in one line."""
    lines = [f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items() if value]
    return "".join(lines).encode("utf-8", "backslashreplace")
