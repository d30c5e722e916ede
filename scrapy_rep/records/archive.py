"""The archive of a crawl: what each fetch of a robots.txt sent and received, ``REP_WARC``.

One file for each process and run. Its name is that of the setting with the time and a random part
before ``.warc.gz``, and ``.open`` at its end until the file is closed. Each record is a member of
the gzip file: a process that is killed leaves a file that can be read up to its last whole record.
"""

from __future__ import annotations

import os
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy_rep import stats as names
from scrapy_rep.access.outcome import Outcome, Unreachable
from scrapy_rep.records import NEEDS_WARCIO, own_version, warc

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.entry import Answer
    from scrapy_rep.stats import RepStats

_SUFFIX = ".warc.gz"
_OPEN = ".open"


class Archive:
    """The file of ``REP_WARC`` for one run; ``clock()`` is in seconds since the epoch.

    Raises ``ValueError`` if warcio is not installed, or the folder cannot be written to. The file
    is made by :meth:`open`, so that a crawl that does not start leaves none. If it cannot be
    written, that is said once and the crawl goes on.
    """

    def __init__(self, path: str, run: str, stats: RepStats, clock: Callable[[], float]):
        self.clock = clock
        self._began = clock()
        when = warc.date(self._began)[:19].translate(str.maketrans("", "", "-T:"))
        self._path = Path(f"{path.removesuffix(_SUFFIX)}-{when}-{run[:8]}{_SUFFIX}")
        self._open_path = self._path.with_name(self._path.name + _OPEN)
        self._stats = stats
        self._run = run
        self._lost = 0
        self._file: int | None = None
        self._is_begun = False
        self._end = 0
        try:
            self._make = warc.RecordMaker()
        except ImportError:
            raise ValueError(f"REP_WARC = {path!r} {NEEDS_WARCIO}") from None
        if not os.access(self._path.parent, os.W_OK | os.X_OK):
            raise ValueError(f"REP_WARC = {path!r}: no file can be made in {self._path.parent}")

    @property
    def name(self) -> str:
        """The name of the file once it is closed."""
        return self._path.name

    def open(self) -> None:
        """Make the file and begin it, once."""
        if not self._is_begun:
            self._is_begun = True
            fields = {"WARC-Filename": self.name, "WARC-Date": warc.date(self._began)}
            self._write(self._make("warcinfo", fields, warc.lines(_info(self._run))))

    def fetch(self, copy: Answer | None) -> FetchRecord:
        """Return what keeps the exchanges of one fetch; ``copy`` is what a 304 would confirm."""
        return FetchRecord(self, copy)

    def add(self, *records: tuple[str, dict[str, str], bytes, bytes | None]) -> None:
        """Write records that belong together: type, fields, body, and head of HTTP."""
        self.open()  # a component may fetch before the crawl has started
        try:
            octets = b"".join([self._make(*record) for record in records])
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

    def _write(self, octets: bytes) -> None:
        """Append octets; the file ends with the last ones that could be written whole."""
        try:
            if self._file is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
                self._file = os.open(self._open_path, flags | getattr(os, "O_BINARY", 0), 0o600)
            rest = memoryview(octets)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self._end += len(octets)
        except OSError as error:
            self._lose(error, 1)
            if self._file is not None:
                os.ftruncate(self._file, self._end)
                os.lseek(self._file, self._end, os.SEEK_SET)

    def _lose(self, error: Exception, count: int) -> None:
        if not self._lost:
            self._stats.archive_lost(error)
        self._lost += count


class FetchRecord:
    """The exchanges of one fetch, in the order of its hops."""

    def __init__(self, archive: Archive, copy: Answer | None):
        self._archive = archive
        self._copy = copy
        self._hops: list[tuple[str, str]] = []
        """The URI of each hop, and its record."""

    def received(
        self, request: Request, response: Response, cut: bool, *, changed: bool = False
    ) -> None:
        """Keep an exchange: ``cut`` if the body was cut at the limit.

        ``changed`` if a component of the crawler may have changed or made the response.
        """
        record, uri = uuid4().urn, request.url
        common = {"WARC-Date": warc.date(self._archive.clock()), "WARC-Target-URI": uri}
        own = {
            **common,
            "WARC-Record-ID": f"<{record}>",
            "WARC-IP-Address": str(getattr(response, "ip_address", None) or ""),
            "WARC-Truncated": _truncated(response, cut),
        }
        kind, body = "response", response.body
        copy = self._copy
        if response.status == HTTPStatus.NOT_MODIFIED and copy is not None and copy.uri == uri:
            kind, body = "revisit", b""
            own["WARC-Profile"] = warc.NOT_MODIFIED
            own["WARC-Refers-To-Target-URI"] = uri
            own["WARC-Refers-To"] = f"<{copy.record}>" if copy.record else ""
        beside = {**common, "WARC-Concurrent-To": f"<{record}>"}
        records: list[tuple[str, dict[str, str], bytes, bytes | None]] = [
            (kind, own, body, warc.head_of_response(response)),
            ("request", beside, b"", warc.head_of_request(request)),
        ]
        said = {}
        if self._hops:
            said["via"], said["viaRecord"] = self._hops[-1]
            said["hopsFromSeed"] = "R" * len(self._hops)
        if changed:
            said["note"] = "The response was made or changed by a component of the crawler."
        if said:
            records.append(("metadata", dict(beside), warc.lines(said), None))
        self._archive.add(*records)
        self._hops.append((uri, record))

    def ended(self, authority: Authority, outcome: Outcome) -> Outcome:
        """Return the outcome with the ID of its record; archive a failure without a response."""
        uri, last = self._hops[-1] if self._hops else (authority.robots_uri, "")
        if not isinstance(outcome, Unreachable) or (last and outcome.status is not None):
            return replace(outcome, record=last)
        record = uuid4().urn
        fields = {
            "WARC-Record-ID": f"<{record}>",
            "WARC-Date": warc.date(self._archive.clock()),
            "WARC-Target-URI": uri,
            "WARC-Refers-To": f"<{last}>" if last else "",
        }
        said = {
            "outcome": "unreachable",
            "cause": str(outcome.cause),
            "detail": outcome.detail,
            "status": "" if outcome.status is None else str(outcome.status),
            "side": "crawler" if outcome.ours else "",
        }
        self._archive.add(("metadata", fields, warc.lines(said), None))
        return replace(outcome, record=record)


def _info(run: str) -> dict[str, str]:
    """Return the fields of ``warcinfo``."""
    return {
        "software": f"scrapy_rep/{own_version() or 'unknown'}",
        "format": "WARC File Format 1.1",
        "isPartOf": run,
        "description": f"The exchanges of robots.txt of one run of a crawler. {warc.HEAD_NOTE}",
    }


def _truncated(response: Response, cut: bool) -> str:
    """Return why a body is not whole, as WARC 1.1 section 5.13 names it."""
    if "download_stopped" in response.flags:
        return "length" if cut else "unspecified"
    return "disconnect" if "dataloss" in response.flags else ""
