"""Decides recorded decisions again, from the archive of what each site answered: offline.

A line of a decision log names the records of the responses that the decision rests on. From these
the entry of the authority is made again, by the same steps as after a fetch: the status decides the
outcome, the body is decoded and cut at the limit, policy says what the entry means at the time of
the decision, and the rules, the overrides, the purposes and the pace are asked in the order of the
gate. What the log says of the verdict and its basis must come out again.

A copy from a store may have been archived by another run. If its record is not known, it is looked
for by the site, the digest and the time.

There are four results (:class:`Result`). What does not follow from a robots.txt is not decided
again: a page that asks not to follow its links, a request that does not obey, and a failure of the
crawler itself. Such a line is counted apart. Only two things are checked: its verdict is that of
its reason, and it names nothing that only a robots.txt can say.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from enum import Enum
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from scrapy import Request

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.access.entry import Entry
from scrapy_rep.access.outcome import Cause
from scrapy_rep.access.policy import REFUSALS, Decision, Standing, standing
from scrapy_rep.caching.cached_rules import CachedRules
from scrapy_rep.gate.page_url import Asked
from scrapy_rep.nofollow import is_by_nofollow
from scrapy_rep.recording.archived_answers import (
    ArchivedAnswers,
    MismatchError,
    UndecidableError,
    remembered,
)
from scrapy_rep.recording.chronology import seconds
from scrapy_rep.recording.decisions import Basis, url_digest
from scrapy_rep.recording.recorded_run import Judged, RecordedRun
from scrapy_rep.recording.warc_reader import ArchiveIndex
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from scrapy_rep.robotstxt.verdict import ROBOTS_TXT_ITSELF, Verdict, as_plain
from scrapy_rep.settings import RepSettings

_RESTS_ON = {
    "rules": {"status", "digest", "record", "age"},
    "stale": {"status", "digest", "record", "failure_record", "age"},
    "unavailable": {"status", "record", "age"},
    "denied": {"status", "record", "age"},
    "unreachable": {"failure_record", "age"},
    "unknown": set[str](),
}
"""The fields about its basis that a line may have, by its outcome; the others are null."""

_WITHOUT_RECORD = frozenset({str(cause) for cause in (Cause.ERROR, Cause.CLOSING)})
"""Why a robots.txt may be unreachable although no fetch ended, so that no archive has a record.

What another component dropped (``Cause.DROPPED``) is not the site's fault either, but that is a
fetch: its record has to be in an archive.
"""


class Result(Enum):
    """What came of deciding again."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNKNOWN = "cannot be decided"
    ELSEWHERE = "does not follow from a robots.txt"


class Replayed(NamedTuple):
    """The result for one decision, and why; ``verdict`` is that of the replay, if it has one."""

    result: Result
    why: str = ""
    verdict: Verdict | None = None


class Replay:
    """Decides again from archives; ``agent`` replaces that of the log."""

    def __init__(self, archives: ArchiveIndex, agent: tuple[str, ...] | None = None):
        self._answers = ArchivedAnswers(archives)
        self._agent = agent
        self._parsed: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def decide(
        self, line: Mapping[str, Any], run: RecordedRun, *, compares: bool = True
    ) -> Replayed:
        """Return what comes of a decision; without ``compares`` the verdict alone counts."""
        contradiction = _contradiction(line)
        if contradiction:
            return Replayed(Result.DIFFERS, contradiction)
        elsewhere = _elsewhere(line)
        try:
            if elsewhere is None:
                return self._decide_from_archives(line, run, compares)
            if line["authority"] is not None:
                _url_and_authority(line)
            return _compared(line, elsewhere, run, Result.ELSEWHERE)
        except UndecidableError as error:
            return Replayed(Result.UNKNOWN, str(error))
        except MismatchError as error:
            return Replayed(Result.DIFFERS, str(error))

    def _decide_from_archives(
        self, line: Mapping[str, Any], run: RecordedRun, compares: bool
    ) -> Replayed:
        """Decide again by what the archives hold."""
        url, authority = _url_and_authority(line)
        run.now = seconds(line["time"])
        if line["outcome"] == "unknown" and _is_of_the_rules(line["url"], authority):
            # Allowed, whatever they say (RFC 9309 section 2.2.2).
            verdict = Verdict(allowed=True, reason=ROBOTS_TXT_ITSELF)
            return _compared(line, _Elsewhere("", verdict), run, Result.AGREES)
        cached = self._cached(line, run, authority)
        agent = self._agent or tuple(line["agent"])
        page = url or _page_of(line["url"], authority, run, cached)
        asked = Asked(Request(page), page, authority, agent)
        if line["requested"] is not None:
            judged = run.judged_final_url(asked, cached)
        else:
            judged = run.judged(asked, cached)
        if not compares:
            return Replayed(Result.AGREES, "", judged.verdict)
        differences = _differences(line, judged, Basis.of(cached), run.settings.profile)
        if not differences:
            return Replayed(Result.AGREES, "", judged.verdict)
        if run.settings.log_urls == "path" and not {"digest", "outcome", "status"} & {*differences}:
            raise UndecidableError("the query of its URL is not in the log")
        return Replayed(Result.DIFFERS, "; ".join(differences.values()), judged.verdict)

    def _cached(
        self, line: Mapping[str, Any], run: RecordedRun, authority: Authority
    ) -> CachedRules:
        """Return the rules as they were in memory when a decision was made."""
        settings, now = run.settings, run.now
        answer = failure = None
        outcome = line["outcome"]
        if outcome == "unknown":
            entry = self._answers.entry_at(authority.robots_uri, run)
            if entry is None:
                raise UndecidableError("what was known of the site is not in the log")
        else:
            if outcome != "unreachable":
                answer = self._answers.answer(line, run, authority)
            if outcome in ("stale", "unreachable"):
                failure = self._answers.failure(line, run, authority)
            is_refusal = answer is not None and answer.status in REFUSALS
            entry = Entry(None if is_refusal else answer, answer if is_refusal else None, failure)
        current = standing(entry, now, settings.policy)
        if current.decision is Decision.WAIT:
            said = "what was followed was no longer in force"
            raise UndecidableError(said) if outcome == "unknown" else MismatchError(said)
        return CachedRules(entry, current, self._rules(current, settings), now)

    def _rules(self, current: Standing, settings: RepSettings) -> RobotsTxt | None:
        """Return the rules in force, parsed once."""
        body = current.body
        if body is None:
            return None
        profile, most = settings.profile, settings.max_size
        key = sha256(body).digest(), profile, most
        parse = partial(RobotsTxt.parse, body, profile=profile, max_size=most)
        robots: RobotsTxt = remembered(self._parsed, key, parse)
        return robots


def _contradiction(line: Mapping[str, Any]) -> str:
    """Return how a line contradicts itself, "" if it does not."""
    outcome, named = line["outcome"], _RESTS_ON[line["outcome"]]
    for name in ("status", "digest", "record", "failure_record", "age"):
        if line[name] is not None and name not in named:
            return f"its {name} is {line[name]!r}, although its outcome is {outcome}"
    return "" if line["age"] is not None or not named else f"its outcome is {outcome}, without age"


class _Elsewhere(NamedTuple):
    """Why a decision follows from something other than a robots.txt, and the verdict that does."""

    why: str
    verdict: Verdict
    basis: Basis = Basis()


def _elsewhere(line: Mapping[str, Any]) -> _Elsewhere | None:
    """Return from what else a decision follows, None if from a robots.txt."""
    reason, outcome = line["reason"], line["outcome"]
    refused = Verdict(allowed=False, reason=reason)
    if reason == "unreachable" and (
        outcome == "unknown"
        or (
            outcome == reason
            and line["cause"] in _WITHOUT_RECORD
            and line["failure_record"] is None
        )
    ):
        basis = Basis(outcome=outcome, cause=line["cause"])
        return _Elsewhere(f"the crawler failed: {line['cause']}", refused, basis)
    if outcome != "unknown":
        return None
    if reason == "dont_obey_robotstxt":
        verdict = Verdict(allowed=True, reason=reason, override="without a name")
        return _Elsewhere("the request did not obey", verdict)
    if is_by_nofollow(reason):
        return _Elsewhere("a page asked not to follow its links", refused)
    return _Elsewhere("its URL names no authority", refused) if line["authority"] is None else None


def _compared(
    line: Mapping[str, Any], found: _Elsewhere, run: RecordedRun, result: Result
) -> Replayed:
    """Return ``result``; DIFFERS if a line without a record says more than its verdict."""
    judged = Judged(found.verdict, None)
    differences = _differences(line, judged, found.basis, run.settings.profile)
    if line["cause"] != found.basis.cause:
        differences["cause"] = f"cause is {found.basis.cause!r}, in the log {line['cause']!r}"
    if differences:
        return Replayed(Result.DIFFERS, "; ".join(differences.values()), found.verdict)
    return Replayed(result, found.why, found.verdict)


def _url_and_authority(line: Mapping[str, Any]) -> tuple[str | None, Authority]:
    """Return the URL, None if the log has only its digest, and the authority."""
    url: str = line["url"]
    try:
        authority = authority_of(f"{line['authority']}/")
        url.encode()
        own = authority if url.startswith("sha256:") else authority_of(url)
    except ValueError as error:
        raise MismatchError(f"its URL or its authority is not one: {error}") from None
    if authority is None or own != authority or str(authority) != line["authority"]:
        raise MismatchError(f"its URL is not of {line['authority']}")
    return None if url.startswith("sha256:") else url, authority


def _page_of(digest: str, authority: Authority, run: RecordedRun, cached: CachedRules) -> str:
    """Return a URL that is decided as the hashed one; raise if that depends on the URL."""
    if _is_of_the_rules(digest, authority):
        return authority.robots_uri
    if cached.robots is not None or authority in run.overrides:
        raise UndecidableError("its URL is not in the log")
    return f"{authority}/"


def _is_of_the_rules(shown: str, authority: Authority) -> bool:
    """Return whether the URL of a line, or its digest, is that of the rules themselves."""
    return authority.has_its_rules_at(shown) or shown == url_digest(authority.robots_uri)


def _differences(
    line: Mapping[str, Any], judged: Judged, basis: Basis, profile: str
) -> dict[str, str]:
    """Return what a line says otherwise than the replay, by the names of the fields."""
    verdict = judged.verdict
    found = {
        **as_plain(verdict),
        "override": verdict.override,
        "without": None if verdict.without is None else as_plain(verdict.without),
        "preferences": judged.preferences,
        "profile": profile,
    }
    if line["delay"] is not None:  # a null says nothing: a throttler may keep the pace
        found["delay"] = judged.delay
    if line["outcome"] != "unknown":
        found.update({"outcome": basis.outcome, "status": basis.status, "digest": basis.digest})
        found["cause"] = basis.cause
    return {
        name: f"{name} is {value!r}, in the log {line[name]!r}"
        for name, value in found.items()
        if value != line[name]
    }
