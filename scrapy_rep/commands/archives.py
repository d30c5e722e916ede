"""What archives hold: the responses of WARC files (ISO 28500), read with warcio.

A record decides only if it is whole. An archive that ends within a record or a gzip member, or in
which a record is longer or shorter than it says, raises :class:`DamagedError` at that place.
"""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Callable, Iterator
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from scrapy.http import Headers

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.outcome import Meaning, meaning_of
from scrapy_rep.commands.output import EndingError
from scrapy_rep.commands.sources import DamagedError, absolute
from scrapy_rep.gate.page_url import resource
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.sites.content_codings import plain_octets
from scrapy_rep.sites.responses import has_mark_of_proxy

_MOST_OCTETS: Final = 64 << 20
"""Octets of a body that are decoded; crawlers cut bodies long before that."""
_DATE: Final = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?)?)?)?")
_CODINGS: Final = "content-encoding"
_STEP: Final = 1 << 16


class _Gzip(GzipFile):
    """Checks the end and the sum of each member, which warcio does not."""

    def read(self, size: int | None = -1) -> bytes:
        """Return some octets; raise :class:`DamagedError`, which warcio does not catch."""
        try:
            return super().read(size)
        except (EOFError, zlib.error, BadGzipFile) as error:
            raise DamagedError(str(self.name), error) from None


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

    Each is held back until the next one has been read: before that, its gzip member may still turn
    out to be damaged. Raises ``OSError`` or ``EndingError`` for a file that cannot be read or is
    not a WARC file, and :class:`DamagedError` where it is damaged.
    """
    from warcio.archiveiterator import ArchiveIterator

    try:
        with Path(file).open("rb") as octets:
            records = ArchiveIterator(_plain(octets, file), check_digests=True)
            # What warcio writes to stderr: it quotes the file as it is.
            records.INC_RECORD = ""
            logging.getLogger("warcio").setLevel(logging.CRITICAL)
            last = held = None
            for record in records:
                _check(records, file)
                last = record
                if held is not None:
                    yield held
                held = _record(record, wanted, file)
            _check(records, file)
            if last is None or _is_cut(last) or (records.record, records.next_line) != (None, None):
                raise DamagedError(file, "it ends within a record")
            if held is not None:
                yield held
    except (EndingError, OSError):
        raise
    except Exception as error:  # noqa: BLE001  # whatever a broken file makes of the reader
        raise DamagedError(file, f"a record cannot be read ({type(error).__name__})") from None


def _check(records: Any, file: str) -> None:
    """Raise :class:`DamagedError` if a record was longer or shorter than it says."""
    if records.err_count:
        raise DamagedError(file, "a Content-Length is wrong")


def _is_cut(record: Any) -> bool:
    """Return True if the file ended within a record that was read to its end."""
    limit: int = getattr(record.raw_stream, "limit", 0)
    length = record.rec_headers.get_header("Content-Length") or ""
    return limit > 0 or not length.strip().isdigit()


def _plain(octets: Any, file: str) -> BinaryIO:
    """Return the stream beneath gzip, if that is a WARC file; raise ``EndingError``."""
    stream: Any = octets
    try:
        if octets.peek(2)[:2] == b"\x1f\x8b":
            stream = _Gzip(fileobj=octets)
        start = stream.peek(5)[:5]
    except (EOFError, zlib.error, BadGzipFile):
        start = b""
    if start != b"WARC/":
        raise EndingError(f"{file} is not a WARC file")
    return stream  # type: ignore[no-any-return]


def _normal(uri: str) -> str:
    """Return a URI without its fragment, with scheme, host and port in normal form."""
    try:
        authority, path = resource(uri)
    except ValueError:
        return uri
    return path if authority is None else f"{authority}{path}"


def _record(record: Any, wanted: Callable[[str], bool], file: str) -> Record | None:
    """Return a record that is wanted; raise :class:`DamagedError` if the file ends within it."""
    is_revisit = record.rec_type == "revisit"
    if not is_revisit and (record.rec_type != "response" or record.http_headers is None):
        return None
    uri = _normal(_field(record, "WARC-Target-URI"))
    if not wanted(uri):
        return None
    date = _field(record, "WARC-Date").rstrip("Z")
    body, status, location = b"", 0, ""
    damage = "the archive lacks the response that its record repeats" if is_revisit else ""
    if not is_revisit:
        code = record.http_headers.get_statuscode() or ""
        status = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
        if meaning_of(status, temporary=frozenset()) is Meaning.REDIRECT:
            named = record.http_headers.get_header("Location")
            location = "" if named is None else _normal(absolute(uri, named))
        try:
            body = _body(record, status)
        except ValueError as error:
            damage = f"its body cannot be read: {error}"
        if has_mark_of_proxy(uri, status, _headers(record.http_headers)):
            damage = "a proxy of the crawler may have made it, and not the site"
    while record.raw_stream.read(_STEP):  # the digests are those of the whole record
        pass
    if _is_cut(record):
        raise DamagedError(file, f"it ends within the record of {uri}")
    if record.digest_checker is not None and record.digest_checker.passed is False:
        damage = "its digest is wrong"
    return Record(
        id=_field(record, "WARC-Record-ID"),
        uri=uri,
        date=date if _DATE.fullmatch(date) else "",
        refers_to=_field(record, "WARC-Refers-To"),
        digest=_field(record, "WARC-Payload-Digest"),
        is_revisit=is_revisit,
        damage=damage,
        status=status,
        location=location,
        packed=zlib.compress(body, 1),
    )


def _headers(http: Any) -> Headers:
    """Return the header fields of a response as a crawl has them."""
    headers = Headers()
    for name, value in http.headers:
        headers.appendlist(name, value)
    return headers


def _field(record: Any, name: str) -> str:
    """Return a field of WARC without the brackets that a URI may have; "" if it is missing."""
    return (record.rec_headers.get_header(name) or "").strip().strip("<>")


def _body(record: Any, status: int) -> bytes:
    """Return the body of a response as a crawl reads it; raise ``ValueError`` for a broken one.

    Only that of a success is decoded. A body that was cut at a limit loses its last line, which may
    lack its end. One that was cut for another reason, such as a lost connection, is not read: the
    rest of it may forbid anything.
    """
    http = record.http_headers
    codings = [value.encode() for name, value in http.headers if name.lower() == _CODINGS]
    # warcio would pass on what it cannot decode, as if it were the text.
    http.headers = [field for field in http.headers if field[0].lower() != _CODINGS]
    octets = record.content_stream().read(_MOST_OCTETS + 1)
    reason = (record.rec_headers.get_header("WARC-Truncated") or "").strip().lower()
    is_cut = len(octets) > _MOST_OCTETS or bool(reason)
    length = http.get_header("Content-Length") or ""
    if not is_cut and length.isdigit() and len(octets) < int(length):
        raise ValueError("it is shorter than its Content-Length")
    if meaning_of(status, temporary=frozenset()) is not Meaning.SUCCESS:
        return b""
    if reason not in ("", "length"):  # WARC 1.1 section 5.13
        raise ValueError("it was cut, and not at a limit")
    body, is_cut = plain_octets(octets, codings, _MOST_OCTETS, is_cut)
    return truncate(body, len(body) - 1) if is_cut else body


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
