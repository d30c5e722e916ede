"""What archives hold: the responses of WARC files (ISO 28500); warcio reads what is in a record.

A record decides only if it is whole. An archive that ends within a record or a gzip member, or in
which a record is longer or shorter than it says, raises :class:`DamagedError` at that place.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from itertools import takewhile
from typing import Any, BinaryIO, Final, NamedTuple

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.outcome import Meaning, meaning_of
from scrapy_rep.commands.output import EndingError, described
from scrapy_rep.commands.sources import DamagedError, opened
from scrapy_rep.gate.page_url import resource
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.sites.content_codings import plain_octets
from scrapy_rep.sites.redirects import RefusedError, resolved

_MOST_OCTETS: Final = 64 << 20
"""Octets of a body that are decoded; crawlers cut bodies long before that."""
_STEP: Final = 1 << 16


class Record(NamedTuple):
    """A response, or what repeats one.

    ``uri`` is in normal form, and so is ``location``, where a redirect leads to, "" if it leads
    nowhere. ``date`` is text that sorts by time. ``packed`` is the body, compressed: on average a
    quarter of it, so that those of many sites fit into memory. ``damage`` says why the record
    decides nothing, "" if it is sound.
    """

    id: str
    uri: str
    date: str
    refers_to: str
    digest: str
    is_revisit: bool
    damage: str
    status: int = 0
    location: str = ""
    packed: bytes = zlib.compress(b"")

    @property
    def body(self) -> bytes:
        """The body, decoded."""
        return zlib.decompress(self.packed)


def read_records(file: str, wanted: Callable[[str], bool]) -> Iterator[Record]:
    """Yield the responses of an archive whose URIs are wanted, in their order.

    Raises ``EndingError`` for a file that cannot be read or is not a WARC file, and
    :class:`DamagedError` where it is damaged.
    """
    with opened(file) as stream:
        if not stream.peek(5).startswith(b"WARC/"):
            raise EndingError(f"{file} is not a WARC file")
        for line in stream:
            if not line.strip():  # between records
                continue
            head = [line, *takewhile(bytes.strip, stream)]
            fields = _fields(head)
            length = fields.get("content-length", "")
            if not line.startswith(b"WARC/") or not length.isdecimal():
                raise DamagedError(file, "a Content-Length is wrong")
            kind, uri = fields.get("warc-type"), _normal(fields.get("warc-target-uri", ""))
            block = _block(file, stream, int(length))
            if kind in ("response", "revisit") and wanted(uri):
                yield _record(uri, fields, b"".join((*head, b"\r\n", *block)))
            for _ in block:  # of a record that is not wanted
                pass


def _fields(head: list[bytes]) -> dict[str, str]:
    """Return the fields of a record by their names, which are in lower case."""
    pairs = (line.decode("utf-8", "replace").partition(":") for line in head)
    return {name.strip().lower(): value.strip().strip("<>") for name, _, value in pairs}


def _block(file: str, stream: BinaryIO, left: int) -> Iterator[bytes]:
    """Yield the block of a record, piece by piece; raise :class:`DamagedError` if it is cut."""
    while left:
        octets = stream.read(min(left, _STEP))
        if not octets:
            raise DamagedError(file, "it ends within a record")
        left -= len(octets)
        yield octets


def _normal(uri: str) -> str:
    """Return a URI without its fragment, with scheme, host and port in normal form."""
    try:
        authority, path = resource(uri)
    except ValueError:
        return uri
    return path if authority is None else f"{authority}{path}"


def _record(uri: str, fields: Mapping[str, str], octets: bytes) -> Record:
    """Return a record that is whole."""
    names = ("warc-record-id", "warc-date", "warc-refers-to", "warc-payload-digest")
    of_record, date, refers_to, digest = (fields.get(name, "") for name in names)
    is_revisit = fields["warc-type"] == "revisit"
    damage = "the archive lacks the response that its record repeats" if is_revisit else ""
    found = Record(of_record, uri, date.rstrip("Z"), refers_to, digest, is_revisit, damage)
    return found if is_revisit else _response(found, octets)


def _response(found: Record, octets: bytes) -> Record:
    """Return a record with its response."""
    from warcio.archiveiterator import ArchiveIterator

    body = b""
    try:
        record = next(ArchiveIterator(BytesIO(octets), check_digests=True))
        status = int(record.http_headers.get_statuscode())
        meaning, location = meaning_of(status), ""
        if meaning is Meaning.REDIRECT:
            location = _target(found.uri, record.http_headers.get_header("Location"))
        if meaning is Meaning.SUCCESS:
            body = _body(record)
        while record.raw_stream.read(_STEP):  # the digests are those of the whole record
            pass
        damage = "its digest is wrong" if record.digest_checker.passed is False else ""
    except Exception as error:  # noqa: BLE001  # whatever a broken record makes of the reader
        return found._replace(damage=f"its record cannot be read: {described(error)}")
    return found._replace(
        damage=damage, status=status, location=location, packed=zlib.compress(body, 1)
    )


def _body(record: Any) -> bytes:
    """Return the body of a success as a crawl reads it; raise ``ValueError`` for a broken one.

    A body that was cut loses its last line, which may lack its end.
    """
    http = record.http_headers
    # warcio would pass on what it cannot decode, as if it were the text.
    codings = []
    while (coding := http.get_header("Content-Encoding")) is not None:
        codings.append(coding.encode())
        http.remove_header("Content-Encoding")
    octets = record.content_stream().read()
    is_cut = bool(record.rec_headers.get_header("WARC-Truncated"))
    length = http.get_header("Content-Length") or ""
    if not is_cut and length.isdecimal() and len(octets) < int(length):
        raise ValueError("its body is shorter than its Content-Length")
    body, is_cut = plain_octets(octets, codings, _MOST_OCTETS, is_cut)
    return truncate(body + b"~", len(body)) if is_cut else body


def _target(uri: str, location: str | None) -> str:
    """Return where a redirect leads to, "" if a crawl does not follow it."""
    try:
        return "" if location is None else _normal(resolved(uri, location))
    except RefusedError:
        return ""


class NewestResponses:
    """The newest response to a request for each robots.txt in an archive.

    ``max_redirects`` is how many hops are followed. Raises ``EndingError`` if the archive cannot be
    read to its end.
    """

    def __init__(self, file: str, max_redirects: int) -> None:
        self._max_redirects = max_redirects
        self._newest: dict[str, Record] = {}
        self._read(file, _is_robots_txt)
        asked: set[str] = set()
        for _ in range(max_redirects):
            # A target with another path may stand anywhere in the file.
            targets = {one.location for one in self._newest.values() if one.location}
            targets -= asked | {uri for uri in targets if _is_robots_txt(uri)}
            if not targets:
                break
            asked |= targets
            self._read(file, targets.__contains__)

    def _read(self, file: str, wanted: Callable[[str], bool]) -> None:
        for found in read_records(file, wanted):
            before = self._newest.get(found.uri)
            if before is not None and found.date < before.date:
                continue
            # ISO 28500 section 6.7. After a 304 a revisit may have no digest.
            if before is not None and found.is_revisit and found.digest in ("", before.digest):
                found = before._replace(date=found.date)
            self._newest[found.uri] = found

    def find(self, authority: Authority) -> Record | None:
        """Return the answer of an authority, after redirects; None if the archive lacks it."""
        found = last = self._newest.get(authority.robots_uri)
        for _ in range(self._max_redirects + 1):
            if found is None or found.damage or not found.location:
                return found
            last, found = found, self._newest.get(found.location)
        # RFC 9309 section 2.3.1.2: unavailable after that many hops.
        return None if last is None else last._replace(status=404)


def _is_robots_txt(uri: str) -> bool:
    """Return True if a URI in normal form is that of the rules of an authority."""
    return uri.startswith("http") and uri.endswith("/robots.txt") and uri.count("/") == 3
