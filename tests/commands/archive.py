"""Makes WARC files with warcio, as an archiver would."""

from __future__ import annotations

import gc
import warnings
from io import BytesIO
from pathlib import Path

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

Response = tuple[str, str, int, bytes]
"""URL, date, status, and the body; of a redirect, the body is where it leads."""


def write_archive(path: Path, *responses: Response, cut: bool = False) -> Path:
    """An archive with some responses; `cut`: they say that they were cut."""
    with warnings.catch_warnings(), path.open("wb") as file:
        warnings.simplefilter("ignore", ResourceWarning)  # warcio leaves temporary files to the gc
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for response in responses:
            writer.write_record(_record(writer, response, cut=cut))
        gc.collect()
    return path


def _record(writer: WARCWriter, response: Response, *, cut: bool) -> ArcWarcRecord:
    url, date, status, body = response
    headers = [("Content-Type", "text/plain")]
    if 300 <= status < 400:
        headers.append(("Location", body.decode()))
    more = {"WARC-Date": date, **({"WARC-Truncated": "length"} if cut else {})}
    http = StatusAndHeaders(f"{status} X", headers, protocol="HTTP/1.1")
    return writer.create_warc_record(
        url, "response", payload=BytesIO(body), http_headers=http, warc_headers_dict=more
    )
