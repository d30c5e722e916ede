"""Reads archives with warcio, and checks that FastWARC reads the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator


class Read(NamedTuple):
    """A record: its type, its fields, its HTTP status and fields, and its octets."""

    kind: str
    fields: dict[str, str]
    status: int
    http: list[tuple[str, str]]
    body: bytes

    @property
    def id(self) -> str:
        """Its ID."""
        return self.fields["WARC-Record-ID"].strip("<>")

    @property
    def uri(self) -> str:
        """The URI that it is about."""
        return self.fields.get("WARC-Target-URI", "")

    @property
    def said(self) -> dict[str, str]:
        """The fields of a `warcinfo` or `metadata` record."""
        lines = self.body.decode().splitlines()
        return dict(line.split(": ", 1) for line in lines)


def archives(folder: Path) -> list[Path]:
    """The archives in a folder, by their names; none is open."""
    found = sorted(folder.glob("*.warc.gz*"))
    assert all(re.fullmatch(r"robots-\d{14}-[0-9a-f]{8}\.warc\.gz", one.name) for one in found)
    return found


def records(path: Path) -> list[Read]:
    """All records, with both readers, the digests verified by both."""
    found = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            http = record.http_headers
            status = int(http.get_statuscode()) if http and record.rec_type != "request" else 0
            body = record.raw_stream.read()
            fields = dict(record.rec_headers.headers)
            pairs = list(http.headers) if http else []
            found.append(Read(record.rec_type, fields, status, pairs, body))
    assert [(one.id, one.body) for one in found] == with_fastwarc(path)
    return found


def with_fastwarc(path: Path) -> list[tuple[str, bytes]]:
    """ID and payload of all records, by FastWARC."""
    found = []
    with path.open("rb") as stream:
        for record in FastIterator(stream, parse_http=False):
            assert record.verify_block_digest()
            record.parse_http()
            if record.headers["WARC-Type"] in ("request", "response"):
                assert record.verify_payload_digest()
            found.append((record.record_id.strip("<>"), record.reader.read()))
    return found
