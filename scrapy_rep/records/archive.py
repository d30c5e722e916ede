"""The archive of a crawl: what each fetch of a robots.txt sent and received, ``REP_WARC``.

One file of the format WARC 1.1 (ISO 28500) for each process and run. Its name is that of the
setting with the time and a random part before ``.warc.gz``, and ``.open`` at its end until the file
is closed. Each record is a member of the gzip file: a process that is killed leaves a file that can
be read up to its last whole record.

A body is kept octet by octet as the server sent it, after the transfer coding and before any
content coding is undone. The head is not: Scrapy writes the names of fields in title case, changes
their order, and does not keep the reason phrase. ``warcinfo`` says so. Three things are changed on
purpose:

- a field that would describe the octets of the connection and not those of the record is renamed
  to ``X-Archive-Orig-...``: ``Transfer-Encoding``, and a ``Content-Length`` that is not that of the
  body;
- credentials are left out of requests, and cookies of responses, too;
- line ends within a value become spaces.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from http.client import responses as phrases
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_rep import stats as names
from scrapy_rep.records import needs, own_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_rep.access.outcome import Unreachable
    from scrapy_rep.signals import RobotsExchange
    from scrapy_rep.stats import RepStats

_SUFFIX = ".warc.gz"
_OPEN = ".open"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_SECRET = frozenset({b"authorization", b"proxy-authorization", b"cookie", b"set-cookie"})
_RENAMED = b"X-Archive-Orig-"

_Record = tuple[str, dict[str, str], bytes, bytes | None]
"""Type, fields, body, and head of HTTP."""

_ABOUT = (
    "The exchanges of robots.txt of one run of a crawler. Bodies are byte for byte as sent, after "
    "the transfer coding. Heads are as Scrapy has normalised them, without credentials and "
    "cookies: not what was on the wire."
)


class Archive:
    """The file of ``REP_WARC`` for one run; ``clock()`` is in seconds since the epoch.

    Raises ``ValueError`` if warcio is not installed, or the folder cannot be written to. The file
    is made by :meth:`open`, so that a crawl that does not start leaves none. If it cannot be
    written, that is said once and the crawl goes on.
    """

    def __init__(self, path: str, run: str, stats: RepStats, clock: Callable[[], float]):
        self._clock = clock
        self._began = clock()
        when = _date(self._began)[:19].translate(str.maketrans("", "", "-T:"))
        self._path = Path(f"{path.removesuffix(_SUFFIX)}-{when}-{run[:8]}{_SUFFIX}")
        self._open_path = self._path.with_name(self._path.name + _OPEN)
        self._stats = stats
        self._run = run
        self._lost = 0
        self._file: int | None = None
        self._is_begun = False
        self._end = 0
        try:
            from warcio.statusandheaders import StatusAndHeaders
            from warcio.warcwriter import WARCWriter
        except ImportError:
            raise ValueError(f"REP_WARC = {path!r} {needs('warcio')}") from None
        self._head: Any = StatusAndHeaders
        self._new_writer: Any = WARCWriter
        if not os.access(self._path.parent, os.W_OK | os.X_OK):
            raise ValueError(f"REP_WARC = {path!r}: no file can be made in {self._path.parent}")

    @property
    def name(self) -> str:
        """The name of the file once it is closed; bytes that are not UTF-8 are shown escaped."""
        return self._path.name.encode("utf-8", "backslashreplace").decode()

    def open(self) -> None:
        """Make the file and begin it, once."""
        if not self._is_begun:
            self._is_begun = True
            fields = {"WARC-Filename": self.name, "WARC-Date": _date(self._began)}
            about = {
                "software": f"scrapy_rep/{own_version() or 'unknown'}",
                "format": "WARC File Format 1.1",
                "isPartOf": self._run,
                "description": _ABOUT,
            }
            self._write(self._octets("warcinfo", fields, warc_fields(about)))

    def fetched(self, exchange: RobotsExchange) -> None:
        """Keep an exchange, or the failure of a fetch."""
        if exchange.failure is not None:
            self._add(_failure(exchange, exchange.failure, self._clock()))
        elif exchange.request is not None and exchange.response is not None:
            self._add(*_exchange(exchange, exchange.request, exchange.response, self._clock()))

    def _add(self, *records: _Record) -> None:
        """Write records that belong together."""
        self.open()  # a component may fetch before the crawl has started
        try:
            octets = b"".join([self._octets(*record) for record in records])
        except Exception as error:  # noqa: BLE001  # whatever a header makes of the writer
            self._lose(error, 1)
        else:
            self._write(octets)

    def close(self) -> None:
        """Give the file its name, and say how much was lost."""
        try:
            if self._file is not None:
                os.close(self._file)
                self._open_path.rename(self._path)
        except OSError as error:
            self._lose(error, 0)
        if self._lost:
            self._stats.inc(names.ARCHIVE_LOST, self._lost)

    def _octets(
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
        writer = self._new_writer(out, gzip=True, warc_version="WARC/1.1")
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

    def _write(self, octets: bytes) -> None:
        """Append octets; the file ends with the last ones that could be written whole."""
        try:
            if self._file is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
                self._file = os.open(self._open_path, flags, 0o600)
            rest = memoryview(octets)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self._end += len(octets)
        except OSError as error:
            self._lose(error, 1)
            with suppress(OSError):  # of a file that has gone, as on a network
                if self._file is not None:
                    os.ftruncate(self._file, self._end)
                    os.lseek(self._file, self._end, os.SEEK_SET)

    def _lose(self, error: Exception, count: int) -> None:
        if not self._lost:
            self._stats.own_fault("Writing the archive", error, "the crawl goes on without it")
        self._lost += count


def _exchange(
    exchange: RobotsExchange, request: Request, response: Response, now: float
) -> list[_Record]:
    """Return the records of a response, of its request, and of what was changed in between."""
    common = {"WARC-Date": _date(now), "WARC-Target-URI": exchange.uri}
    own = {
        **common,
        "WARC-Record-ID": f"<{exchange.id}>",
        "WARC-IP-Address": str(response.ip_address or ""),
        "WARC-Truncated": _truncated(response, exchange.is_cut),
    }
    kind, body, copy = "response", response.body, exchange.copy
    if copy is not None:
        kind, body = "revisit", b""
        own["WARC-Profile"] = _NOT_MODIFIED
        own["WARC-Refers-To-Target-URI"] = exchange.uri
        own["WARC-Refers-To"] = f"<{copy.exchange}>" if copy.exchange else ""
    beside = {**common, "WARC-Concurrent-To": f"<{exchange.id}>"}
    records: list[_Record] = [
        (kind, own, body, head_of_response(response)),
        ("request", beside, b"", head_of_request(request)),
    ]
    if exchange.is_changed:
        note = {"note": "The response was made or changed by a component of the crawler."}
        records.append(("metadata", beside, warc_fields(note), None))
    return records


def _failure(exchange: RobotsExchange, failure: Unreachable, now: float) -> _Record:
    """Return the record of a fetch that failed without a response."""
    fields = {
        "WARC-Record-ID": f"<{exchange.id}>",
        "WARC-Date": _date(now),
        "WARC-Target-URI": exchange.uri,
        "WARC-Refers-To": f"<{exchange.previous}>" if exchange.previous else "",
    }
    failed = {
        "outcome": "unreachable",
        "cause": str(failure.cause),
        "detail": failure.detail,
        "status": "" if failure.status is None else str(failure.status),
        "side": "crawler" if failure.ours else "",
    }
    return "metadata", fields, warc_fields(failed), None


def _truncated(response: Response, cut: bool) -> str:
    """Return why a body is not whole, as WARC 1.1 section 5.13 names it."""
    if "download_stopped" in response.flags:
        return "length" if cut else "unspecified"
    return "disconnect" if "dataloss" in response.flags else ""


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
    phrase = phrases.get(response.status, "Unknown")
    lines = [f"HTTP/1.1 {response.status} {phrase}".encode()]
    for name, values in response.headers.items():
        low = name.lower()
        for value in values if low not in _SECRET else ():
            other = low == b"content-length" and value.strip() != b"%d" % len(response.body)
            renamed = other or low == b"transfer-encoding"
            lines.append(_field(_RENAMED + name if renamed else name, value))
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _field(name: bytes, value: bytes) -> bytes:
    return b": ".join(part.replace(b"\r", b" ").replace(b"\n", b" ") for part in (name, value))


def _date(time: float) -> str:
    """Return seconds since the epoch as WARC 1.1 has them, to the microsecond."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def warc_fields(fields: Mapping[str, str]) -> bytes:
    """Return fields as ``application/warc-fields``, each in one line."""
    lines = [f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items() if value]
    return "".join(lines).encode("utf-8", "backslashreplace")
