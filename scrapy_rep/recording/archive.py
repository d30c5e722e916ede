"""The archive of a crawl: what each fetch of a robots.txt sent and received, ``REP_WARC``.

One file for each process and run. Its name is that of the setting with the time and a random part
before ``.warc.gz``, and ``.open`` at its end until the file is closed. Each record is a member of
the gzip file, and is written in one piece by a thread: a process that is killed leaves a file that
can be read up to its last whole record.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy_rep import stats as names
from scrapy_rep.access.outcome import Outcome, Unreachable
from scrapy_rep.recording import warc
from scrapy_rep.recording.background import BackgroundWriter, Written
from scrapy_rep.recording.versions import own_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.entry import Answer
    from scrapy_rep.stats import RepStats

SUFFIX = ".warc.gz"
NEEDS_WARCIO = "needs warcio: pip install 'scrapy_rep[evidence]'"
_OPEN = ".open"
_MOST_PENDING = 64 * 1024 * 1024
"""Octets of bodies that wait for a slow disk; what comes after that is lost, and counted."""


class Archive:
    """The file of ``REP_WARC`` for one run; ``clock()`` is in seconds since the epoch.

    Raises ``ValueError`` if the file cannot be made, or warcio is not installed. The file is kept
    from :meth:`open` on: a crawl that does not start leaves none. If it cannot be written, that is
    said once and the crawl goes on.
    """

    def __init__(
        self,
        path: str,
        run: str,
        stats: RepStats,
        clock: Callable[[], float],
    ):
        self._began = clock()
        when = warc.date(self._began)[:19].translate(str.maketrans("", "", "-T:"))
        self._path = Path(f"{path.removesuffix(SUFFIX)}-{when}-{run[:8]}{SUFFIX}")
        self._open_path = self._path.with_name(self._path.name + _OPEN)
        self._stats = stats
        self._run = run
        self.clock = clock
        self._lost = 0
        self._is_said = False
        try:
            self._make = warc.RecordMaker()
        except ImportError:
            raise ValueError(f"REP_WARC = {path!r} {NEEDS_WARCIO}") from None
        try:
            os.close(self._create())
            self._open_path.unlink()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ValueError(f"REP_WARC = {path!r} cannot be opened: {reason}") from None
        self._file: int | None = None
        self._is_open = False
        self._end = 0
        self._writer = BackgroundWriter(
            "archive", self._write, self._count_lost, most=_MOST_PENDING
        )

    @property
    def name(self) -> str:
        """The name of the file once it is closed."""
        return self._path.name

    def open(self) -> None:
        """Have the file made and begun, once."""
        if not self._is_open:
            self._is_open = True
            self._writer.add(warc.Beginning(self._began, self.name, _info(self._run)))

    def fetch(self, copy: Answer | None) -> FetchRecord:
        """Return what keeps the exchanges of one fetch; ``copy`` is what a 304 would confirm."""
        return FetchRecord(self, copy)

    def add(self, value: warc.Exchange | warc.Failed, octets: int) -> None:
        """Have the records of a value written."""
        self.open()  # a component may fetch before the crawl has started
        self._writer.add(value, octets + 1_000)

    def close(self) -> None:
        """Write what is left, give the file its name, and say how much was lost."""
        self._writer.close()
        try:
            if self._file is not None:
                os.close(self._file)
                self._open_path.rename(self._path)
        except OSError as error:
            self._say(error)
        if self._lost:
            self._stats.inc(names.ARCHIVE_LOST, self._lost)

    def _create(self) -> int:
        """Create the file and return its descriptor; raise ``OSError`` if it exists."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        return os.open(self._open_path, flags | getattr(os, "O_BINARY", 0), 0o600)

    def _write(self, values: Sequence[Any]) -> Written:
        """Write some values; the file ends with the last whole one."""
        count = 0
        try:
            if self._file is None:
                self._file = self._create()
            for value in values:
                rest = memoryview(self._make(value))
                size = len(rest)
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                self._end += size
                count += 1
        except Exception as error:  # noqa: BLE001  # whatever it is, the records are not there
            if self._file is not None:
                os.ftruncate(self._file, self._end)
                os.lseek(self._file, self._end, os.SEEK_SET)
            return Written(count, error)
        return Written(count)

    def _count_lost(self, values: int, error: Exception) -> None:
        """Count what is lost; called in the thread of the file, too."""
        self._say(error)
        self._lost += values

    def _say(self, error: Exception) -> None:
        if not self._is_said:
            self._is_said = True
            self._stats.archive_lost(error)


class FetchRecord:
    """The exchanges of one fetch, in the order of its hops."""

    def __init__(self, archive: Archive, copy: Answer | None):
        self._archive = archive
        self._copy = copy
        self._hops: list[warc.Hop] = []

    def received(
        self, request: Request, response: Response, cut: bool, *, changed: bool = False
    ) -> None:
        """Keep an exchange: ``cut`` if the body was cut at the limit.

        ``changed`` if a component of the crawler may have changed or made the response.
        """
        record = uuid4().urn
        uri, copy = request.url, self._copy
        confirms = copy.record if copy is not None and copy.uri == uri else ""
        one = warc.Exchange(
            record,
            self._archive.clock(),
            uri,
            warc.head_of_request(request),
            warc.head_of_response(response),
            response.body,
            response.status,
            truncated=_truncated(response, cut),
            address=str(getattr(response, "ip_address", None) or ""),
            via=tuple(self._hops),
            repeats=confirms,
            changed=changed,
        )
        self._archive.add(one, len(response.body))
        self._hops.append(warc.Hop(uri, record))

    def ended(self, authority: Authority, outcome: Outcome) -> Outcome:
        """Return the outcome with the ID of its record; archive a failure without a response."""
        last = self._hops[-1] if self._hops else None
        if not isinstance(outcome, Unreachable) or (
            last is not None and outcome.status is not None
        ):
            return replace(outcome, record=last.record if last is not None else "")
        uri = last.uri if last is not None else authority.robots_uri
        one = warc.Failed(
            uuid4().urn,
            self._archive.clock(),
            uri,
            str(outcome.cause),
            outcome.status,
            outcome.detail,
            last.record if last is not None else "",
            outcome.ours,
        )
        self._archive.add(one, len(one.detail))
        return replace(outcome, record=one.record)


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
