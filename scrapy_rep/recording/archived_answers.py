"""The answers and failures that archives hold, as a crawler learnt them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.http import Response

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import CLOCK_TOLERANCE, Answer, Entry, Failure
from scrapy_rep.access.outcome import (
    PROXY_AUTHENTICATION_REQUIRED,
    Cause,
    Meaning,
    meaning_of,
)
from scrapy_rep.access.policy import REFUSALS
from scrapy_rep.fetching.responses import decoded, lifetime_of, octets_of
from scrapy_rep.recording.decisions import digest_of, utc
from scrapy_rep.recording.warc import OWN_SIDE
from scrapy_rep.recording.warc_reader import ArchiveIndex, Kept, normal_uri
from scrapy_rep.settings import RepSettings

if TYPE_CHECKING:
    from scrapy_rep.recording.recorded_run import RecordedRun

_MOST_READ = 256
"""Responses that are kept decoded, and files that are kept parsed."""

_ROUNDING = 0.002
"""Seconds by which the time of an answer may seem too early: a log has milliseconds."""

_TOLERANCE = CLOCK_TOLERANCE + _ROUNDING
"""Seconds by which an answer may be ahead of a clock that is not the one it was dated by."""

_LATE = 60.0
"""Seconds, beside the time of a fetch, by which an answer may be dated after its record.

The date is that of the event loop's next iteration, which may be long in coming.
"""


class UndecidableError(Exception):
    """A decision cannot be made again; the message says why."""


class MismatchError(Exception):
    """The archive contradicts the log; the message says how."""


class _Body(NamedTuple):
    """The octets of a body that are parsed, whether there were more, or why there are none."""

    octets: bytes
    cut: bool
    error: str = ""


class ArchivedAnswers:
    """What the records of some archives come to."""

    def __init__(self, archives: ArchiveIndex):
        self._archives = archives
        self._read: OrderedDict[tuple[str, int], _Body] = OrderedDict()

    def answer(self, line: Mapping[str, Any], run: RecordedRun, authority: Authority) -> Answer:
        """Return the answer that a decision of a run followed."""
        since = run.now - (line["age"] or 0.0)
        record = line["record"]
        if record is not None:
            kept = self._archives.get(record)
            if kept is None:
                raise UndecidableError(f"the record {record} is in no archive")
        else:
            kept = self._find_answer(line, run, authority, since)
        self._check_site(kept, authority)
        answer = self._answer_of(self._ended(kept, run), run.settings, since)
        _check_not_before(kept, since, run)
        _check_not_after(kept, since, run)
        return answer

    def _ended(self, kept: Kept, run: RecordedRun) -> Kept:
        """Return the record at which a fetch ends by the limit of redirects of another profile.

        Raise if it would follow a redirect that the recorded run did not.
        """
        limit = run.settings.max_redirects
        if limit == run.redirects_followed:
            return kept  # whatever the limit of the run was that fetched it
        hops = self._archives.hops(kept)
        followed = len(hops) - 1
        if followed > limit and meaning_of(hops[limit].status) is Meaning.REDIRECT:
            return hops[limit]
        is_redirect = kept.kind != "failure" and meaning_of(kept.status) is Meaning.REDIRECT
        if is_redirect and run.redirects_followed <= followed < limit:
            raise UndecidableError(f"the redirect in the record {kept.id} would be followed")
        return kept

    def _check_site(self, kept: Kept, authority: Authority) -> None:
        """Raise if a record is of another site, or if a response that led to it is not sound."""
        missing = self._archives.missing_hop(kept)
        if missing:
            said = f"the record {missing}, which led to {kept.id}, is in no archive"
            raise UndecidableError(said)
        hops = self._archives.hops(kept)
        if normal_uri(hops[0].uri) != authority.robots_uri:
            raise MismatchError(f"the record {kept.id} is of {hops[0].uri}")
        _check_sound(*hops)

    def _find_answer(
        self, line: Mapping[str, Any], run: RecordedRun, authority: Authority, since: float
    ) -> Kept:
        """Return the record of an answer whose ID the log lacks."""
        several = self._archives.of_file(authority.robots_uri)
        before = [kept for kept in several if kept.time <= since + _ahead(kept, run)]
        for kept in reversed(before):
            try:
                answer = self._answer_of(kept, run.settings, since)
            except (MismatchError, UndecidableError):
                continue
            digest = None if answer.body is None else digest_of(answer.body)
            if digest == line["digest"] and answer.status == line["status"]:
                return kept
        raise UndecidableError(f"no archive has the answer of {authority} that was followed")

    def _answer_of(self, kept: Kept, settings: RepSettings, fetched_at: float) -> Answer:
        """Return the answer that a record holds; raise if it holds none."""
        whole = self._payload_of(kept)
        _check_sound(kept, whole)
        hops = tuple(hop.uri for hop in self._archives.hops(kept)[1:])
        meaning = meaning_of(whole.status)
        if meaning is Meaning.SUCCESS:
            body = self._octets(whole, settings.max_size)
            if body.error:
                raise MismatchError(
                    f"the body in the record {kept.id} cannot be read: {body.error}"
                )
            octets: bytes | None = body.octets
            cut = settings.max_size if body.cut else None
        elif meaning is Meaning.UNAVAILABLE or (
            meaning is Meaning.REDIRECT and len(hops) >= settings.max_redirects
        ):
            octets = cut = None
        else:
            raise MismatchError(f"status {whole.status} in the record {kept.id} is not an answer")
        life = lifetime_of(_response(kept, b""), kept.time)
        uri = self._archives.hops(kept)[-1].uri
        return Answer(
            whole.status, octets, uri, hops, fetched_at=fetched_at, lifetime=life, cut_at=cut
        )

    def _payload_of(self, kept: Kept) -> Kept:
        """Return the response whose payload a record repeats; itself if it repeats none."""
        seen: set[str] = set()
        while kept.kind == "revisit":
            seen.add(kept.id)
            target = self._archives.get(kept.refers_to)
            if target is None and kept.digest:
                same = self._archives.of_uri(kept.uri)
                target = next((one for one in same if one.digest == kept.digest), None)
            if target is None or target.id in seen:
                raise UndecidableError(f"what the record {kept.id} repeats is in no archive")
            kept = target
        if kept.kind == "failure":
            raise MismatchError(f"the record {kept.id} is of a failure")
        return kept

    def _octets(self, kept: Kept, limit: int) -> _Body:
        """Return the octets of a body that are parsed, as after a fetch."""

        def read() -> _Body:
            flags = ["download_stopped"] if kept.is_cut else []
            response = _response(kept, self._archives.body(kept), flags)
            try:
                plain, cut = decoded(response, limit)
                return _Body(*octets_of(plain, limit, cut))
            except ValueError as error:
                return _Body(b"", False, str(error))

        body: _Body = remembered(self._read, (kept.id, limit), read)
        return body

    def failure(self, line: Mapping[str, Any], run: RecordedRun, authority: Authority) -> Failure:
        """Return the failure that a decision of a run rests on."""
        record, now = line["failure_record"], run.now
        if record is not None:
            kept = self._archives.get(record)
        else:
            kept = next(reversed(self._known(authority.robots_uri, run)), None)
        if kept is None:
            raise UndecidableError(f"the failure of {authority} is in no archive")
        self._check_site(kept, authority)
        if self._ended(kept, run) is not kept:
            raise UndecidableError("the fetch that failed took more redirects than are followed")
        _check_not_before(kept, now, run)
        if line["outcome"] == "unreachable":  # else the age is that of the good copy
            _check_not_after(kept, now - (line["age"] or 0.0), run)
        return _failure_at(now, kept)

    def entry_at(self, uri: str, run: RecordedRun) -> Entry | None:
        """Return what a run knew of the file at a URI, by the newest fetch before its ``now``."""
        several = self._known(uri, run)
        if not several:
            return None
        kept = several[-1]
        _check_sound(kept)
        try:
            ended = self._ended(kept, run)
            answer = self._answer_of(ended, run.settings, min(kept.time, run.now))
        except MismatchError:
            return Entry(failure=_failure_of(kept, run.now))
        if answer.status in REFUSALS:
            return Entry(refusal=answer)
        return Entry(answer)

    def _known(self, uri: str, run: RecordedRun) -> list[Kept]:
        """Return the records of the fetches of a file that came before ``now``, by time.

        Raise if the clock of the run was set back, so that the times do not tell their order.
        """
        several = self._archives.of_file(uri)
        before = [kept for kept in several if kept.time <= run.now + _ahead(kept, run)]
        if run.times.is_set_back:
            own = [kept for kept in several if kept.run == run.name]
            if len(own) > 1:
                said = "the clock of its run was set back, so it is not known which answer of"
                raise UndecidableError(f"{said} {uri} came last")
            if own and not before:
                raise _contradicted(own[0], run)
        return before


def _check_sound(*several: Kept) -> None:
    """Raise if the digests of a record are not those of its octets."""
    for kept in several:
        if not kept.is_sound:
            raise MismatchError(f"the record {kept.id} is damaged")


def _ahead(kept: Kept, run: RecordedRun) -> float:
    """Return by how many seconds a record of a run may be dated after what rests on it.

    A crawler whose clock was set back believes what it knows up to this.
    """
    is_own = kept.run == run.name
    return _TOLERANCE if is_own and run.times.is_set_back else _ROUNDING


def _check_not_before(kept: Kept, since: float, run: RecordedRun) -> None:
    """Raise if a record is dated after what a line says rests on it.

    The clock of the crawler of another run may be ahead, within a tolerance.
    """
    is_own = kept.run == run.name
    if since < kept.time - (_ahead(kept, run) if is_own else _TOLERANCE):
        raise _contradicted(kept, run)


def _check_not_after(kept: Kept, since: float, run: RecordedRun) -> None:
    """Raise if a line dates a fetch later than its record may be."""
    if since > kept.time + run.settings.timeout + _LATE:
        raise _contradicted(kept, run)


def _contradicted(kept: Kept, run: RecordedRun) -> Exception:
    """Return what is raised if the times of a line and of a record do not fit.

    If the clock of their run was moved, this may have been while the fetch was under way.
    """
    said = f"the record {kept.id}, which is of {utc(kept.time)}"
    if kept.run == run.name and run.times.is_set_back:
        text = "the clock of its run was set back, so its time and its age say nothing of"
        return UndecidableError(f"{text} {said}")
    return MismatchError(f"its time and its age contradict {said}")


def _failure_of(kept: Kept, now: float) -> Failure | None:
    """Return the failure of a record; None for a hop, after which the fetch went on."""
    try:
        return _failure_at(now, kept)
    except MismatchError:
        return None


def _failure_at(now: float, kept: Kept) -> Failure:
    """Return the failure of a record; raise if it is not of one. A 407 comes from a proxy."""
    fields = dict(kept.fields) if kept.kind == "failure" else {}
    ours = kept.status == PROXY_AUTHENTICATION_REQUIRED or fields.get("side") == OWN_SIDE
    return Failure(since=now, failed_at=now, cause=_cause_of(kept), ours=ours)


def _cause_of(kept: Kept) -> str:
    """Return why a fetch failed, as an entry has it; raise if it did not fail."""
    if kept.kind == "failure":
        said = dict(kept.fields)
        status = said.get("status")
        return f"{said.get('cause', '')} {status}" if status else said.get("cause", "")
    meaning = meaning_of(kept.status)
    if kept.status == PROXY_AUTHENTICATION_REQUIRED:
        return f"{Cause.PROXY} {kept.status}"
    if meaning in (Meaning.UNREACHABLE, Meaning.NOT_MODIFIED):
        return f"{Cause.STATUS} {kept.status}"
    raise MismatchError(f"the record {kept.id} is not of a failure")


def _response(kept: Kept, body: bytes, flags: list[str] | None = None) -> Response:
    headers: dict[str, list[str]] = {}
    for name, value in kept.fields:
        headers.setdefault(name, []).append(value)
    return Response(kept.uri, kept.status, headers, body, flags)


def remembered(kept: OrderedDict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """Return what is kept under a key, made now if need be; the oldest go first."""
    if key not in kept:
        kept[key] = make()
        if len(kept) > _MOST_READ:
            kept.popitem(last=False)
    return kept[key]
