"""One decision as a line of JSON; ``decisions.schema.json`` is the schema of the lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scrapy_rep.access.policy import Decision
from scrapy_rep.robotstxt.printable import without_login
from scrapy_rep.robotstxt.verdict import as_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.robotstxt.verdict import Verdict

SCHEMA_VERSION = 1

_MOST_KEPT = 1_000
"""Parts of lines that are kept as text; beyond that, all are dropped."""


class Basis(NamedTuple):
    """What a decision rests on: what is known of an authority, since when, and its digest.

    ``record`` and ``failure_record`` are the IDs of the records of the answer that counts and of
    the newest failed fetch in an archive, None if there is none.
    """

    since: float | None = None
    outcome: str = "unknown"
    status: int | None = None
    cause: str | None = None
    digest: str | None = None
    record: str | None = None
    failure_record: str | None = None

    @classmethod
    def of(cls, cached: CachedRules) -> Basis:
        """Return the basis that rules in memory are; this takes a digest of the octets."""
        answer, failure = cached.answer, cached.failure
        cause = None if failure is None else failure.cause
        failed = None if failure is None else failure.record or None
        if answer is None or cached.unreachable:  # a copy that is too old does not count
            since = None if failure is None else failure.since
            return cls(since, "unreachable", None, cause, None, None, failed)
        body = cached.body
        if body is not None:
            outcome = "stale" if failure is not None else "rules"
        else:
            outcome = "unavailable" if cached.decision is Decision.ALLOW_ALL else "denied"
        digest = None if body is None else digest_of(body)
        record = answer.record or None
        return cls(answer.fetched_at, outcome, answer.status, cause, digest, record, failed)


def version_of(cached: CachedRules) -> tuple[Decision, float | None, float | None]:
    """Return what tells rules in memory from those of the same authority after the next fetch."""
    answer, failure = cached.answer, cached.failure
    fetched_at = None if answer is None else answer.fetched_at
    return cached.decision, fetched_at, None if failure is None else failure.failed_at


def delay_of(pace: RequestedPace) -> float | None:
    """Return the interval in seconds that a pace asks for, as a line has it; None for none."""
    return round(pace.interval, 3) or None


class Decided(NamedTuple):
    """One decision, before it is written.

    If it is of the final URL of a response, ``requested`` is the page that was asked for.
    """

    time: float
    method: str
    url: str
    authority: Authority | None
    agent: tuple[str, ...]
    verdict: Verdict
    basis: Basis
    preferences: Mapping[str, str] | None = None
    cause: str | None = None
    delay: float | None = None
    requested: str | None = None


class Encoder:
    """Encodes lines; ``crawl`` names the run, ``profile`` is that of the crawl.

    Most of a line is the same for many requests. So those parts are kept as text, which makes a
    line in a third of the time that ``json.dumps`` takes for all of it.
    """

    def __init__(self, crawl: str, profile: str, urls: str):
        self._crawl = crawl
        self._profile = profile
        self._shown = _SHOWN[urls]
        self._bases: dict[tuple[Any, ...], str] = {}
        self._verdicts: dict[Verdict, str] = {}

    def __call__(self, value: Decided | Mapping[str, Any]) -> bytes:
        """Return a line without its end: ASCII, and no control character, whatever is in it."""
        if isinstance(value, Decided):
            return self._decision(value).encode("ascii")
        return _json({"crawl": self._crawl, **value}).encode("ascii")

    def _decision(self, one: Decided) -> str:
        time, method, url, authority, agent, verdict, basis, preferences, cause, delay, asked = one
        key = authority, agent, basis, cause, method
        rests_on = self._bases.get(key) or _keep(self._bases, key, self._basis(one))
        told = self._verdicts.get(verdict)
        if told is None:
            told = _keep(self._verdicts, verdict, _verdict(verdict))
        since = basis.since
        age = "null" if since is None else f"{max(time - since, 0.0):.3f}"
        times = f'"time":"{utc(time)}","age":{age},"delay":{"null" if delay is None else delay}'
        said = "null" if preferences is None else _json(preferences)
        urls = f'"url":{_quoted(self._shown(url, authority))},"requested":{self._requested(asked)}'
        return f'{{{rests_on},{times},{urls},{told},"preferences":{said}}}'

    def _requested(self, url: str | None) -> str:
        return "null" if url is None else _quoted(self._shown(url, None))

    def _basis(self, one: Decided) -> str:
        """Return what is the same for all requests to an authority, until its rules change."""
        said = {
            "crawl": self._crawl,
            "type": "decision",
            "authority": None if one.authority is None else str(one.authority),
            "method": one.method,
            "agent": one.agent,
            "profile": self._profile,
            "outcome": one.basis.outcome,
            "status": one.basis.status,
            "cause": one.cause or one.basis.cause,
            "digest": one.basis.digest,
            "record": one.basis.record,
            "failure_record": one.basis.failure_record,
        }
        return _json(said)[1:-1]


def _verdict(verdict: Verdict) -> str:
    without = None if verdict.without is None else as_plain(verdict.without)
    return _json({**as_plain(verdict), "override": verdict.override, "without": without})[1:-1]


Key = TypeVar("Key")


def _keep(kept: dict[Key, str], key: Key, text: str) -> str:
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = text
    return text


_json = json.JSONEncoder(separators=(",", ":")).encode
_quoted = json.encoder.encode_basestring_ascii


def utc(time: float) -> str:
    """Return a time in seconds since the epoch as RFC 3339 has it, to the millisecond."""
    milliseconds = int(time * 1_000)
    return f"{_second(milliseconds // 1_000)}.{milliseconds % 1_000:03}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def _full(url: str, authority: Authority | None) -> str:
    """Return a URL without the user information and the fragment."""
    return without_login(url.partition("#")[0])


def _path(url: str, authority: Authority | None) -> str:
    return _full(url, authority).partition("?")[0]


def url_digest(url: str, authority: Authority | None = None) -> str:
    """Return what ``REP_LOG_URLS = "hash"`` records of a URL of an authority.

    However the URL of the rules themselves is written, the digest is the same. A replay knows it by
    that, and they are always allowed (RFC 9309 section 2.2.2).
    """
    if authority is not None and authority.has_its_rules_at(url):
        url = authority.robots_uri
    return digest_of(_full(url, authority).encode("utf-8", "surrogatepass"))


def digest_of(octets: bytes) -> str:
    """Return the digest by which a line names octets."""
    return f"sha256:{sha256(octets).hexdigest()}"


_SHOWN: dict[str, Callable[[str, Authority | None], str]] = {
    "full": _full,
    "path": _path,
    "hash": url_digest,
}
