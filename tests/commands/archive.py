"""Makes WARC files with warcio, as an archiver would."""

from __future__ import annotations

import gc
import warnings
from base64 import b32encode
from collections.abc import Mapping, Sequence
from hashlib import sha1
from io import BytesIO
from pathlib import Path

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


def digest(body: bytes) -> str:
    """The digest of a payload, as warcio writes it."""
    return "sha1:" + b32encode(sha1(body, usedforsecurity=False).digest()).decode()


Response = tuple[str, str, int, bytes]
"""URL, date, status, and the body; of a redirect, the body is where it leads.

Of status 304 it is a revisit record, and the body what it repeats."""


Fields = Sequence[tuple[str, str]]
"""Header fields by name."""


def write_archive(
    path: Path, *responses: Response, cut: str = "", fields: Mapping[str, Fields] | None = None
) -> Path:
    """An archive with some responses; `cut`: they say that they were cut, for this reason.

    `fields` are the header fields of some, by their URLs, instead of the usual ones.
    """
    with warnings.catch_warnings(), path.open("wb") as file:
        warnings.simplefilter("ignore", ResourceWarning)  # warcio leaves temporary files to the gc
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for response in responses:
            given = (fields or {}).get(response[0])
            writer.write_record(_record(writer, response, cut=cut, fields=given))
        gc.collect()
    return path


def _record(
    writer: WARCWriter, response: Response, *, cut: str, fields: Fields | None
) -> ArcWarcRecord:
    url, date, status, body = response
    if status == 304:
        return writer.create_revisit_record(
            url, digest(body), url, "2026-01-01T00:00:00Z", warc_headers_dict={"WARC-Date": date}
        )
    headers = [("Content-Type", "text/plain")]
    if fields is not None:
        headers = [*fields]
    elif 300 <= status < 400:
        headers.append(("Location", body.decode()))
    more = {"WARC-Date": date, **({"WARC-Truncated": cut} if cut else {})}
    http = StatusAndHeaders(f"{status} X", headers, protocol="HTTP/1.1")
    return writer.create_warc_record(
        url, "response", payload=BytesIO(body), http_headers=http, warc_headers_dict=more
    )
