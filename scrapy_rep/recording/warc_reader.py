"""Reads archives for a replay: the records of fetches, by their IDs and by the site they are of."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from scrapy_rep.access.authority import Authority, authority_of

_MOST_OCTETS = 64 * 1024 * 1024
"""Octets of the longest body that is read; the crawler cuts bodies long before that."""


_PEEKED, _GZIP, _RECORD = 1_024, b"\x1f\x8b", b"WARC/"


class ArchiveError(ValueError):
    """What is wrong with an archive, in one line."""


class Kept(NamedTuple):
    """A record of a fetch: a response, what repeats one, or a failure.

    ``time`` is seconds since the epoch. ``fields`` are those of the head, of a failure what it
    says. ``refers_to`` is the ID of the record that has the payload, or of the last response before
    a failure. ``is_sound`` says that the digests are right, and that no other record has its ID and
    says something else. ``run`` says which run made the archive.
    """

    id: str
    kind: str
    uri: str
    time: float
    status: int
    fields: tuple[tuple[str, str], ...]
    refers_to: str
    digest: str
    is_cut: bool
    is_sound: bool
    start: int
    length: int
    run: str


class ArchiveIndex(AbstractContextManager["ArchiveIndex"]):
    """The records of some archives; bodies are kept compressed in a temporary file.

    A context, at whose end the file is deleted.
    """

    def __init__(self) -> None:
        self._bodies = TemporaryFile()  # noqa: SIM115  # closed by __exit__
        self._records: dict[str, Kept] = {}
        self._via: dict[str, str] = {}
        self._run = ""
        self._of_uri: dict[str, list[Kept]] = {}
        self._of_file: dict[str, list[Kept]] | None = None

    def __exit__(self, *_: object) -> None:
        self._bodies.close()

    def add(self, path: str) -> bool:
        """Read an archive; return False if it ends within a record, as after a crash.

        Raises ``OSError``, ``ImportError`` without warcio, and ``ArchiveError``.
        """
        from warcio.archiveiterator import ArchiveIterator

        count, self._run = 0, ""
        with Path(path).open("rb") as stream:
            if not _begins_like_a_record(stream.peek(_PEEKED)):
                raise ArchiveError(f"{path} is not a WARC file")
            try:
                for record in ArchiveIterator(stream, check_digests=True):
                    if record.rec_headers.get_header("WARC-Record-ID"):
                        count += 1
                    if not self._add(record):
                        return False
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001  # whatever a broken file makes of the reader
                if not count:
                    said = f"{path} is not a WARC file: {type(error).__name__}"
                    raise ArchiveError(said) from None
                return False
        if not count:
            raise ArchiveError(f"{path} is not a WARC file: it has no records")
        return True

    def get(self, record: str) -> Kept | None:
        """Return the record with an ID."""
        return self._records.get(record)

    def hops(self, kept: Kept) -> list[Kept]:
        """Return the responses of the fetch that led to a record, first to last, and itself."""
        found = [kept]
        seen = {kept.id}
        while (before := self._before(found[-1])) not in seen and before in self._records:
            found.append(self._records[before])
            seen.add(before)
        return found[::-1]

    def missing_hop(self, kept: Kept) -> str:
        """Return the ID of a response that led to a record and is in no archive, "" for none."""
        before = self._before(self.hops(kept)[0])
        return "" if before in self._records else before

    def _before(self, kept: Kept) -> str:
        """Return the ID of the response that led to a record, "" if it is the first of a fetch."""
        return kept.refers_to if kept.kind == "failure" else self._via.get(kept.id, "")

    def of_uri(self, uri: str) -> list[Kept]:
        """Return the responses that came from a URI itself, in the order of the archives."""
        return self._of_uri.get(uri, [])

    def of_file(self, uri: str) -> list[Kept]:
        """Return the records of all fetches that began at a URI, by time."""
        if self._of_file is None:
            self._of_file = {}
            for kept in self._records.values():
                if self.missing_hop(kept):
                    continue  # nothing says where the fetch began
                first = self.hops(kept)[0]
                self._of_file.setdefault(normal_uri(first.uri), []).append(kept)
            for several in self._of_file.values():
                several.sort(key=lambda kept: kept.time)
        return self._of_file.get(normal_uri(uri), [])

    def body(self, kept: Kept) -> bytes:
        """Return the octets of the payload that a response has itself."""
        self._bodies.seek(kept.start)
        return zlib.decompress(self._bodies.read(kept.length))

    def _add(self, record: Any) -> bool:
        """Keep a record of a fetch; return False if the file ends within it."""
        kind, fields = record.rec_type, _Fields(record.rec_headers)
        body = record.raw_stream.read(_MOST_OCTETS + 1)
        if len(body) <= _MOST_OCTETS and getattr(record.raw_stream, "limit", 0) > 0:
            return False
        is_sound = record.digest_checker is None or record.digest_checker.passed is not False
        about = fields["WARC-Concurrent-To"]
        said: tuple[tuple[str, str], ...] = ()
        if kind == "metadata":
            said = tuple(_said(body).items())
            if via := dict(said).get("viaRecord"):
                self._via.setdefault(about, via)
        elif kind == "warcinfo":
            self._run = _said(body).get("isPartOf", "")
        is_failure = kind == "metadata" and ("outcome", "unreachable") in said
        http = record.http_headers
        if not is_failure and (kind not in ("response", "revisit") or http is None):
            return True
        packed = zlib.compress(body, 1) if kind == "response" else b""
        start = self._bodies.seek(0, 2)
        self._bodies.write(packed)
        kept = Kept(
            fields["WARC-Record-ID"],
            "failure" if is_failure else kind,
            fields["WARC-Target-URI"],
            _seconds(fields["WARC-Date"]),
            0 if is_failure else _status(http.get_statuscode()),
            said if is_failure else tuple(http.headers),
            fields["WARC-Refers-To"],
            fields["WARC-Payload-Digest"],
            bool(fields["WARC-Truncated"]),
            is_sound and len(body) <= _MOST_OCTETS,
            start,
            len(packed),
            self._run,
        )
        known = self._records.get(kept.id)
        if known is not None and not self._is_same(known, kept):
            kept = known._replace(is_sound=False)  # nothing says which of them is the right one
            self._of_uri[known.uri].remove(known)
        elif known is not None:
            return True
        if kept.id:
            self._records[kept.id] = kept
            self._of_uri.setdefault(kept.uri, []).append(kept)
        return True

    def _is_same(self, one: Kept, other: Kept) -> bool:
        """Return whether two records of one ID say the same, as where an archive comes twice."""
        if one != other._replace(start=one.start, length=one.length, run=one.run):
            return False
        return not one.length or self.body(one) == self.body(other)


def _begins_like_a_record(octets: bytes) -> bool:
    """Return whether a file may be an archive, by its first octets.

    ``warcio`` looks for the end of the first line, which takes hours in a large file of zeros.
    """
    try:
        plain = zlib.decompressobj(31).decompress(octets) if octets[:2] == _GZIP else octets
    except zlib.error:
        return False
    return plain.startswith(_RECORD) or _RECORD.startswith(plain)


class _Fields:
    """The fields of a record; a missing one is "". IDs and URIs stand without their brackets."""

    def __init__(self, fields: Any):
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        return (self._fields.get_header(name) or "").strip().strip("<>")


def _said(body: bytes) -> Mapping[str, str]:
    lines = body.decode("utf-8", "replace").split("\r\n")
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def _status(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _seconds(date: str) -> float:
    """Return a WARC-Date in seconds since the epoch, 0 if it is not one."""
    try:
        return (
            datetime.fromisoformat(date.replace("Z", "+00:00")).astimezone(timezone.utc).timestamp()
        )
    except (ValueError, OverflowError):
        return 0.0


def normal_uri(uri: str) -> str:
    """Return a URI with its authority in normal form, for comparison."""
    try:
        authority: Authority | None = authority_of(uri)
    except ValueError:
        return uri
    end = uri.find("/", 8)
    return uri if authority is None else f"{authority}{uri[end:] if end >= 0 else '/'}"
