"""Makes WARC files with warcio, as an archiver would."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

Response = tuple[str, str, int, bytes]
"""URL, date, status, and the body; of a redirect, the body is where it leads."""


def write_archive(path: Path, *responses: Response, cut: bool = False) -> Path:
    """An archive with some responses; `cut`: they say that they were cut."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for url, date, status, body in responses:
            headers = [("Content-Type", "text/plain")]
            if 300 <= status < 400:
                headers.append(("Location", body.decode()))
            more = {"WARC-Date": date, **({"WARC-Truncated": "length"} if cut else {})}
            http = StatusAndHeaders(f"{status} X", headers, protocol="HTTP/1.1")
            record = writer.create_warc_record(
                url, "response", payload=BytesIO(body), http_headers=http, warc_headers_dict=more
            )
            with warnings.catch_warnings():  # warcio leaves a temporary file to be collected
                warnings.simplefilter("ignore", ResourceWarning)
                writer.write_record(record)
    return path
