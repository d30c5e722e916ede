"""robots.txt files from an archive: the responses of a WARC file (ISO 28500)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from urllib.parse import urljoin

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.access.outcome import Meaning, meaning_in_archive, meaning_of
from scrapy_rep.access.policy import Policy
from scrapy_rep.commands.endings import EndingError, Status, usage_error, why
from scrapy_rep.commands.sources import authority_named, instead_of_rules
from scrapy_rep.fetching.content_codings import plain_octets
from scrapy_rep.recording.archive import NEEDS_WARCIO
from scrapy_rep.robotstxt.text import truncate

UNRESOLVED = 0
"""The status of a revisit record whose response the archive lacks: what it said is not known."""
_UNREADABLE = -1
"""The status of a success whose body cannot be decoded; a crawl takes it for unreachable."""
_TIME = re.compile(r"@(\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?)$")


class Archived(NamedTuple):
    """A response to a request for a robots.txt: when it came, and what it said."""

    authority: Authority
    date: str
    status: int
    location: str
    body: bytes
    digest: str
    """Of the payload, as the archive says, or ""."""


class Locator(NamedTuple):
    """Which response is meant: an archive, an authority, and the latest date that counts, or ""."""

    file: str
    authority: Authority
    until: str


def parse_locator(text: str) -> Locator:
    """Return what ``FILE#URL`` or ``FILE#URL@TIME`` names; raise ``EndingError``."""
    time = _TIME.search(text)
    file, _, url = (text[: time.start()] if time else text).partition("#")
    if not file or not url:
        raise usage_error(f"{text} is not FILE#URL or FILE#URL@TIME")
    return Locator(file, authority_named(url), time.group(1) if time else "")


def responses(file: str, max_size: int) -> Iterator[Archived]:
    """Yield the responses for robots.txt files in the order of an archive; raise ``EndingError``.

    Of a body one octet more than ``max_size`` is read, which shows that there is more. A body that
    was cut when it was archived loses its last, partial line.
    """
    try:
        from warcio.archiveiterator import ArchiveIterator
    except ImportError:
        raise usage_error(f"reading archives {NEEDS_WARCIO}") from None
    try:
        with Path(file).open("rb") as stream:
            for record in ArchiveIterator(stream):
                found = _response(record, max_size)
                if found is not None:
                    yield found
    except OSError as error:
        raise usage_error(f"cannot read {file}: {why(error)}") from None
    except EndingError:
        raise
    except Exception as error:  # noqa: BLE001  # of a file that is not an archive
        raise usage_error(f"{file} is not a WARC file: {type(error).__name__}") from None


def _response(record: Any, max_size: int) -> Archived | None:
    is_revisit = record.rec_type == "revisit"
    if not is_revisit and (record.rec_type != "response" or record.http_headers is None):
        return None
    url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
    try:
        authority = authority_of(url)
    except ValueError:
        return None
    if authority is None or not authority.has_its_rules_at(url):
        return None
    digest = record.rec_headers.get_header("WARC-Payload-Digest") or ""
    if is_revisit:
        date = record.rec_headers.get_header("WARC-Date") or ""
        return Archived(authority, date, UNRESOLVED, "", b"", digest)
    code = record.http_headers.get_statuscode() or ""
    status = int(code) if code.isdigit() else _UNREADABLE
    try:
        body = _body(record, max_size)
    except ValueError:
        body = b""
        status = _UNREADABLE if meaning_of(status) is Meaning.SUCCESS else status
    date = record.rec_headers.get_header("WARC-Date") or ""
    return Archived(authority, date, status, _location(record, url), body, digest)


def _body(record: Any, max_size: int) -> bytes:
    """Return the body of a response as a crawl reads it; raise ``ValueError`` for a broken one."""
    # warcio would pass on what it cannot decode, as if it were the text.
    codings = [text.encode() for text in _removed(record.http_headers, "Content-Encoding")]
    octets = record.content_stream().read(max_size + 1)
    is_cut = len(octets) > max_size or bool(record.rec_headers.get_header("WARC-Truncated"))
    body, is_cut = plain_octets(octets, codings, max_size + 1, is_cut)
    return truncate(body + b"~", len(body)) if is_cut else body


def _removed(headers: Any, name: str) -> list[str]:
    """Remove the fields of a name; return their values."""
    found = []
    while (value := headers.get_header(name)) is not None:
        found.append(value)
        headers.remove_header(name)
    return found


def _location(record: Any, url: str) -> str:
    """Return where a redirect leads to, "" if it does not say, or not in a URL."""
    location = record.http_headers.get_header("Location")
    try:
        return urljoin(url, str(location)) if location else ""
    except ValueError:
        return ""


def _repeats(found: Archived, before: Archived | _KeptResponse | None) -> bool:
    """Return True for a revisit of the response before it (ISO 28500 section 6.7).

    That of a status 304 may have no digest: it repeats the newest response.
    """
    return found.status == UNRESOLVED and before is not None and found.digest in ("", before.digest)


def body_at(locator: Locator, policy: Policy) -> bytes:
    """Return what a crawl follows after the newest response that counts.

    Raises ``EndingError`` without one, and for a response that leaves the rules undefined.
    """
    file, authority, until = locator
    newest: Archived | None = None
    for found in responses(file, policy.max_size):
        # A date without a time includes its whole day.
        in_time = not until or found.date[: len(until)] <= until
        if found.authority != authority or not in_time:
            continue
        if newest is None or found.date >= newest.date:
            again = newest if _repeats(found, newest) else None
            newest = again._replace(date=found.date) if again is not None else found
    if newest is None:
        raise EndingError(Status.UNKNOWN, f"{file} has no robots.txt of {authority}")
    meaning = meaning_in_archive(newest.status)
    if meaning is Meaning.SUCCESS:
        return newest.body
    if meaning is Meaning.UNAVAILABLE:
        return instead_of_rules(newest.status, policy)
    if newest.status == UNRESOLVED:
        said = f"the newest record of {authority} in {file} repeats one that it lacks"
        raise EndingError(Status.UNKNOWN, said)
    if newest.status == _UNREADABLE:
        raise EndingError(Status.UNKNOWN, f"the answer of {authority} in {file} is not readable")
    said = f"{authority} answered with status {newest.status} in {file}"
    raise EndingError(Status.UNKNOWN, said)


class _KeptResponse(NamedTuple):
    """A response whose body lies, compressed, in a temporary file."""

    date: str
    status: int
    location: str
    start: int
    length: int
    digest: str


class NewestResponses:
    """The newest response of each authority in an archive.

    ``max_size`` is how many octets of a body count, ``max_redirects`` how many hops are followed.
    """

    def __init__(self, file: str, max_size: int, max_redirects: int) -> None:
        self._max_redirects = max_redirects
        self._bodies = TemporaryFile()  # noqa: SIM115  # it is deleted when this object is
        self._kept: dict[Authority, _KeptResponse] = {}
        for found in responses(file, max_size):
            before = self._kept.get(found.authority)
            if before is not None and found.date < before.date:
                continue
            if before is not None and _repeats(found, before):
                self._kept[found.authority] = before._replace(date=found.date)
            else:
                self._keep(found)

    def _keep(self, found: Archived) -> None:
        packed = zlib.compress(found.body, 1)
        start = self._bodies.seek(0, 2)
        self._bodies.write(packed)
        self._kept[found.authority] = _KeptResponse(
            found.date, found.status, found.location, start, len(packed), found.digest
        )

    def find(self, authority: Authority) -> tuple[int, bytes] | None:
        """Return the status and the body of an authority, after redirects within the archive.

        None if the archive lacks it, or the target of a redirect.
        """
        for _ in range(self._max_redirects + 1):
            kept = self._kept.get(authority)
            if kept is None:
                return None
            if meaning_of(kept.status) is not Meaning.REDIRECT:
                self._bodies.seek(kept.start)
                return kept.status, zlib.decompress(self._bodies.read(kept.length))
            try:
                target = authority_of(kept.location)
            except ValueError:
                target = None
            if target is None:  # a crawl follows no such redirect
                return kept.status, b""
            if kept.location != target.robots_uri:
                return None
            authority = target
        return 404, b""  # RFC 9309 section 2.3.1.2: unavailable after that many hops
