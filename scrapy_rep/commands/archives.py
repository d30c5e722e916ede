"""What archives hold: the responses of WARC files (ISO 28500), read with warcio.

A record decides only if it is whole. An archive that ends within a record or a gzip member, or in
which a record is longer or shorter than it says, raises :class:`DamagedError` at that place.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.outcome import Meaning, meaning_of
from scrapy_rep.commands.output import EndingError, usage_error, why
from scrapy_rep.gate.page_url import resource
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.sites.content_codings import plain_octets
from scrapy_rep.sites.redirects import RefusedError, resolved

MOST_OCTETS: Final = 64 << 20
"""Octets of a body that are decoded; crawlers cut bodies long before that."""
_DATE: Final = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?)?)?)?")
_STEP: Final = 1 << 16


class DamagedError(Exception):
    """An archive cannot be read beyond a place; the message says why, in one line."""


class _Gzip(gzip.GzipFile):
    """Checks the end and the sum of each member, which warcio does not."""

    def read(self, size: int | None = -1) -> bytes:
        """Return some octets; raise :class:`DamagedError`, which warcio does not catch."""
        try:
            return super().read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DamagedError(f"{self.name} is damaged: {error}") from None


class Record(NamedTuple):
    """A response, or what repeats one.

    ``uri`` is in normal form, and so is ``location``, where a redirect leads to. ``date`` is text
    that sorts by time. ``packed`` is the body, compressed: on average a quarter of it, so that
    those of many sites fit into memory. ``damage`` says why the record decides nothing, "" if it is
    sound.
    """

    id: str
    is_revisit: bool
    uri: str
    date: str
    status: int
    location: str
    refers_to: str
    digest: str
    packed: bytes
    damage: str

    @property
    def body(self) -> bytes:
        """The body, decoded and cut as a crawl would read it."""
        return zlib.decompress(self.packed)


def normal_uri(uri: str) -> str:
    """Return a URI without its fragment, with scheme, host and port in normal form."""
    try:
        authority, path = resource(uri)
    except ValueError:
        return uri
    return path if authority is None else f"{authority}{path}"


def read_records(
    file: str, wanted: Callable[[str], bool], most: int = MOST_OCTETS
) -> Iterator[Record]:
    """Yield the responses of an archive whose URIs are wanted, in their order.

    At most ``most`` octets of a body are read. Raises ``EndingError`` for a file that cannot be
    read or is not a WARC file, and :class:`DamagedError` where it is damaged.
    """
    from warcio.archiveiterator import ArchiveIterator

    try:
        with Path(file).open("rb") as octets:
            records = ArchiveIterator(_plain(octets, file), check_digests=True)
            records.INC_RECORD = ""  # what warcio writes to stderr beside counting the error
            last = None
            for record in records:
                _check(records, file)
                last = record
                found = _record(record, wanted, most)
                if found is not None:
                    yield found
            _check(records, file)
            if last is None or _is_cut(last) or (records.record, records.next_line) != (None, None):
                raise DamagedError(f"{file} is damaged: it ends within a record")
    except (EndingError, DamagedError):
        raise
    except (OSError, ValueError) as error:
        raise usage_error(f"cannot read {file}: {why(error)}") from None
    except Exception as error:  # noqa: BLE001  # whatever a broken file makes of the reader
        said = f"{file} is damaged: a record cannot be read ({type(error).__name__})"
        raise DamagedError(said) from None


def _check(records: Any, file: str) -> None:
    """Raise :class:`DamagedError` if a record was longer or shorter than it says."""
    if records.err_count:
        raise DamagedError(f"{file} is damaged: a Content-Length is wrong")


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
        start = stream.peek(8)[:8]
    except (EOFError, zlib.error, gzip.BadGzipFile):
        start = b""
    if start == b"filedesc":
        raise usage_error(f"{file} is an ARC file; only WARC files are read")
    if not start.startswith(b"WARC/"):
        raise usage_error(f"{file} is not a WARC file")
    return stream  # type: ignore[no-any-return]


def _record(record: Any, wanted: Callable[[str], bool], most: int) -> Record | None:
    """Return a record that is wanted; raise :class:`DamagedError` if the file ends within it."""
    is_revisit = record.rec_type == "revisit"
    if not is_revisit and (record.rec_type != "response" or record.http_headers is None):
        return None
    fields = record.rec_headers
    uri = normal_uri((fields.get_header("WARC-Target-URI") or "").strip("<>"))
    if not wanted(uri):
        return None
    http = record.http_headers
    code = (http.get_statuscode() if http is not None else "") or ""
    status = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
    location = http.get_header("Location") if http is not None else None
    body, damage = b"", ""
    try:
        if not is_revisit:
            body = _body(record, status, most)
    except ValueError as error:
        damage = f"its body cannot be read: {error}"
    while record.raw_stream.read(_STEP):  # the digests are those of the whole record
        pass
    if _is_cut(record):
        raise DamagedError(f"the archive ends within the record of {uri}")
    if record.digest_checker is not None and record.digest_checker.passed is False:
        damage = "its digest is wrong"
    date = (fields.get_header("WARC-Date") or "").strip().rstrip("Z")
    return Record(
        (fields.get_header("WARC-Record-ID") or "").strip("<>"),
        is_revisit,
        uri,
        date if _DATE.fullmatch(date) else "",
        status,
        _target(uri, location),
        (fields.get_header("WARC-Refers-To") or "").strip("<>"),
        fields.get_header("WARC-Payload-Digest") or "",
        zlib.compress(body, 1),
        damage,
    )


def _body(record: Any, status: int, most: int) -> bytes:
    """Return the body of a response as a crawl reads it; raise ``ValueError`` for a broken one.

    Only that of a success is decoded. A body that was cut loses its last line, which may lack its
    end.
    """
    # warcio would pass on what it cannot decode, as if it were the text.
    codings = []
    while (coding := record.http_headers.get_header("Content-Encoding")) is not None:
        codings.append(coding.encode())
        record.http_headers.remove_header("Content-Encoding")
    octets = record.content_stream().read(most + 1)
    is_cut = len(octets) > most or bool(record.rec_headers.get_header("WARC-Truncated"))
    length = record.http_headers.get_header("Content-Length") or ""
    if not is_cut and length.isdigit() and len(octets) < int(length):
        raise ValueError("it is shorter than its Content-Length")
    if meaning_of(status) is not Meaning.SUCCESS:
        return b""
    body, is_cut = plain_octets(octets, codings, most + 1, is_cut)
    return truncate(body + b"~", len(body)) if is_cut else body


def _target(uri: str, location: str | None) -> str:
    """Return where a redirect leads to, "" if a crawl does not follow it."""
    try:
        return "" if location is None else normal_uri(resolved(uri, location))
    except RefusedError:
        return ""


class Undecided(NamedTuple):
    """Why an archive does not say what a site allows; ``is_missing`` if nothing of it is there."""

    why: str
    is_missing: bool = False


class NewestResponses:
    """The newest response to a request for each robots.txt in an archive.

    ``max_size`` is how many octets of a body count, ``max_redirects`` how many hops are followed.
    Raises ``EndingError`` if the archive cannot be read to its end.
    """

    def __init__(self, file: str, max_size: int, max_redirects: int) -> None:
        self._file = file
        self._max_size = max_size
        self._max_redirects = max_redirects
        self._newest: dict[str, Record] = {}
        try:
            self._read(_is_robots_txt)
            asked: set[str] = set()
            for _ in range(max_redirects):
                # A target with another path may stand anywhere in the file.
                targets = {one.location for one in self._newest.values() if _leads_on(one)}
                targets -= asked | {uri for uri in targets if _is_robots_txt(uri)}
                if not targets:
                    break
                asked |= targets
                self._read(targets.__contains__)
        except DamagedError as error:
            raise usage_error(str(error)) from None

    def _read(self, wanted: Callable[[str], bool]) -> None:
        for found in read_records(self._file, wanted, self._max_size):
            before = self._newest.get(found.uri)
            if before is not None and found.date < before.date:
                continue
            if before is not None and found.is_revisit and _repeats(found, before):
                found = before._replace(date=found.date)
            self._newest[found.uri] = found

    def find(self, authority: Authority) -> tuple[int, bytes] | Undecided:
        """Return the status and the body of an authority, after redirects within the archive."""
        uri = authority.robots_uri
        for hop in range(self._max_redirects + 1):
            found = self._newest.get(uri)
            if found is None:
                said = "its redirect leads out of the archive" if hop else "no file"
                return Undecided(said, is_missing=True)
            if found.damage:
                return Undecided(f"the record in the archive decides nothing: {found.damage}")
            if found.is_revisit:
                return Undecided("the archive lacks the response that its record repeats")
            if meaning_of(found.status) is not Meaning.REDIRECT:
                return found.status, found.body
            if not found.location.startswith(("http://", "https://")):
                return found.status, b""  # a crawl follows no such redirect
            uri = found.location
        return 404, b""  # RFC 9309 section 2.3.1.2: unavailable after that many hops


def _is_robots_txt(uri: str) -> bool:
    """Return True if a URI in normal form is that of the rules of an authority."""
    return uri.startswith("http") and uri.endswith("/robots.txt") and uri.count("/") == 3


def _leads_on(found: Record) -> bool:
    return bool(found.location) and meaning_of(found.status) is Meaning.REDIRECT


def _repeats(found: Record, before: Record) -> bool:
    """Return True for a revisit of the response before it (ISO 28500 section 6.7).

    That of a status 304 may have no digest: it repeats the newest response.
    """
    return found.digest in ("", before.digest)
