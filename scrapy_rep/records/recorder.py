"""Which decisions are recorded, and what a line says of them: ``REP_DECISION_LOG``."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import scrapy

from scrapy_rep import stats as names
from scrapy_rep.access.authority import authority_of
from scrapy_rep.access.policy import Decision
from scrapy_rep.exceptions import BY_PAGE_DIRECTIVE, RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.page_url import page_of
from scrapy_rep.preferences.robots_txt import preferences, speaks_of_use
from scrapy_rep.records import own_version
from scrapy_rep.records.lines import (
    SCHEMA_VERSION,
    DecisionLine,
    InForce,
    LoggedVerdict,
    OverrideEntry,
    RunLine,
    encoded,
)
from scrapy_rep.records.log_file import LogFile
from scrapy_rep.robotstxt.printable import without_login
from scrapy_rep.robotstxt.verdict import ROBOTS_TXT_ITSELF, Verdict

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.overrides.override import Override
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.sites.cached_rules import CachedRules
    from scrapy_rep.stats import RepStats

_NOT_LOGGED = ("store", "overrides", "decision_log", "warc")
"""Settings that a run's line leaves out: a possible password, paths, and what stands apart."""

BYPASSED = "dont_obey_robotstxt"
"""The reason of an override without a name: the request does not obey."""


class Basis(NamedTuple):
    """What a decision rests on: what is known of an authority, since when, and its digest."""

    since: float | None = None
    outcome: InForce = "unknown"
    status: int | None = None
    cause: str | None = None
    digest: str | None = None
    record: str | None = None
    failure_record: str | None = None

    @classmethod
    def of(cls, cached: CachedRules) -> Basis:
        """Return the basis of decisions by these rules; this computes a digest of the body."""
        answer, failure = cached.answer, cached.failure
        cause = None if failure is None else str(failure.cause)
        failed = None if failure is None else failure.record or None
        if answer is None or cached.unreachable:  # a copy that is too old does not count
            since = None if failure is None else failure.since
            return cls(since, "unreachable", None, cause, None, None, failed)
        body = cached.body
        if body is not None:
            outcome: InForce = "stale" if failure is not None else "rules"
        else:
            outcome = "unavailable" if cached.decision is Decision.ALLOW_ALL else "denied"
        digest = None if body is None else digest_of(body)
        record = answer.record or None
        return cls(answer.fetched_at, outcome, answer.status, cause, digest, record, failed)


_NOTHING = Basis()

_name_of = lru_cache(maxsize=1_024)(str)
"""The name of an authority. To look it up takes a third of the time that it takes to make it."""


class Run(NamedTuple):
    """A run of a crawler: its random name, its overrides, and the file of its archive."""

    name: str
    overrides: tuple[Override, ...] = ()
    archive: str | None = None


class DecisionRecorder:
    """Writes the decisions of a crawl to ``REP_DECISION_LOG``.

    With ``REP_DECISIONS = "refused"`` these are the refusals, the first decision after rules are
    loaded into memory, and each override; with ``"all"`` it is each decision. ``known(authority)``
    returns what memory holds, usable or not; ``clock()`` is in seconds since the epoch. Raises
    ``ValueError`` if the file cannot be opened.

    A line that cannot be written is lost and counted. If ``REP_DECISION_LOG_REQUIRED`` is on, the
    methods that record an allowed request raise the error that kept its line from being written.
    """

    def __init__(
        self,
        settings: RepSettings,
        stats: RepStats,
        known: Callable[[Authority], CachedRules | None],
        clock: Callable[[], float],
        run: Run,
    ):
        self._is_required = settings.decision_log_required
        self._settings = settings
        self._stats = stats
        self._known = known
        self._clock = clock
        self._records_all = settings.decisions == "all"
        self._shown = _SHOWN[settings.log_urls]
        self._run = run
        self._overridden = {one.authority for one in run.overrides}
        self._read_pace = settings.pace_policy.read
        self._run_line: RunLine | None = None
        """The first line, until it is written."""
        self._lost = 0
        self._is_said = False
        try:
            self._file = LogFile(str(settings.decision_log))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            name = f"REP_DECISION_LOG = {settings.decision_log!r}"
            raise ValueError(f"{name} cannot be opened: {reason}") from None

    def open(self, agent: tuple[str, ...]) -> None:
        """Write what all decisions of the run depend on."""
        settings = asdict(self._settings)
        self._run_line = RunLine(
            crawl=self._run.name,
            schema=SCHEMA_VERSION,
            time=datetime.fromtimestamp(self._clock(), timezone.utc),
            versions={
                "scrapy_rep": own_version(),
                "scrapy": scrapy.__version__,
                "python": platform.python_version(),
            },
            agent=agent,
            settings={name: settings[name] for name in settings if name not in _NOT_LOGGED},
            overrides=[
                OverrideEntry(
                    **{**asdict(one), "authority": str(one.authority), "until": str(one.until)}
                )
                for one in self._run.overrides
            ],
            archive=self._run.archive,
        )
        self._append()

    def wants_verdict(self, cached: CachedRules) -> bool:
        """Return whether the next request by these rules is recorded if it goes on."""
        return self._records_all or cached.basis is None

    def passed(
        self,
        asked: Asked,
        cached: CachedRules,
        verdict: Verdict | None,
        requested: str | None = None,
    ) -> None:
        """Record a request that goes on; ``verdict`` is given if it is wanted, or overridden.

        ``requested`` is given for the final URL of a response: the page that was asked for.
        """
        _, url, _, agent = asked
        if verdict is None or not (self.wants_verdict(cached) or verdict.override is not None):
            return
        if cached.basis is None:
            cached.basis = Basis.of(cached)
        line = self._line(*asked, verdict, cached.basis)
        if requested is None:
            line.preferences = _preferences(cached, url, agent)
            line.delay = self._delay(cached, asked)
        else:
            line.requested = self._shown(requested)
        try:
            self._append_required(line)
        except Exception:
            cached.basis = None  # the next request is the first one that is recorded
            raise

    def passed_without_rules(self, asked: Asked) -> None:
        """Record a request for rules that are not known; it rests on nothing."""
        if self._records_all:
            verdict = Verdict(allowed=True, reason=ROBOTS_TXT_ITSELF)
            self._append_required(self._line(*asked, verdict))

    def refused(
        self, request: Request, agent: tuple[str, ...], error: Exception, final_url: str = ""
    ) -> None:
        """Record the refusal of a request, or of a response by its final URL.

        An error that is not a refusal is ignored.
        """
        if not isinstance(error, (RobotsForbidden, RobotsUnreachable)):
            return
        authority, basis = error.authority, _NOTHING
        cached = None if authority is None else self._known(authority)
        if cached is not None and _rests_on(cached, error):
            if cached.basis is None:
                cached.basis = Basis.of(cached)
            basis = cached.basis
        statement, cause = getattr(error, "statement", None), getattr(error, "cause", None)
        page = _page_of(request)
        line = self._line(request, final_url or page, authority, agent, error.verdict, basis)
        if final_url:
            line.requested = self._shown(page)
        if statement is not None:
            line.preferences = {str(statement.category): str(statement.answer)}
        if cause:
            line.cause = str(cause)
        self._append(line)

    def bypassed(self, request: Request, agent: tuple[str, ...]) -> None:
        """Record a request that does not obey: an override without a name."""
        try:
            authority = authority_of(request.url)
        except ValueError:
            authority = None
        verdict = Verdict(allowed=True, reason=BYPASSED, override="without a name")
        self._append_required(self._line(request, request.url, authority, agent, verdict))

    def close(self) -> None:
        """Close the file, and say how much was lost."""
        self._file.close()
        self._lost += self._run_line is not None
        if self._lost:
            self._stats.inc(names.DECISIONS_LOST, self._lost)

    def _line(
        self,
        request: Request,
        url: str,
        authority: Authority | None,
        agent: tuple[str, ...],
        verdict: Verdict,
        basis: Basis = _NOTHING,
    ) -> DecisionLine:
        now = self._clock()
        since, rule, without = basis.since, verdict.rule, verdict.without
        return DecisionLine(
            self._run.name,
            datetime.fromtimestamp(now, timezone.utc),
            None if authority is None else _name_of(authority),
            request.method,
            self._shown(url),
            None,
            agent,
            verdict.allowed,
            None if rule is None else str(rule),
            verdict.line,
            verdict.group,
            verdict.reason,
            *basis[1:],
            None if since is None else max(int((now - since) * 1_000) / 1_000, 0.0),
            override=verdict.override,
            without=None if without is None else LoggedVerdict.of(without),
        )

    def _delay(self, cached: CachedRules, asked: Asked) -> float | None:
        """Return the interval in seconds that the rules ask for; None if none, or overridden."""
        if cached.robots is None or asked.authority in self._overridden:
            return None
        pace = self._read_pace(cached.robots, asked.agent)
        return None if pace is None else round(pace.interval, 3) or None

    def _append(self, line: DecisionLine | None = None) -> Exception | None:
        """Append a line, after that of the run; return what kept it from being written."""
        try:
            if self._run_line is not None:
                self._file.append(encoded(self._run_line))
                self._run_line = None
            if line is not None:
                self._file.append(encoded(line))
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            if not self._is_said:
                self._is_said = True
                then = "the crawl goes on without it"
                if self._is_required:
                    then = "no request passes until it works"
                self._stats.own_fault("Writing the decision log", error, then)
            self._lost += line is not None
            return error
        return None

    def _append_required(self, line: DecisionLine) -> None:
        """Append the line of a request that goes on; raise if that failed and is required."""
        error = self._append(line)
        if error is not None and self._is_required:
            raise error


def _page_of(request: Request) -> str:
    """Return the URL of the page that was asked for; that of the request if it names none."""
    try:
        return page_of(request)
    except ValueError:
        return request.url


def _rests_on(cached: CachedRules, error: RobotsForbidden | RobotsUnreachable) -> bool:
    """Return whether a refusal follows from what is known of the site.

    Otherwise the crawler failed, or the page that the request was found on refused it.
    """
    if isinstance(error, RobotsUnreachable):
        return cached.unreachable and cached.cause == error.cause
    return error.by != BY_PAGE_DIRECTIVE


def _preferences(cached: CachedRules, url: str, agent: tuple[str, ...]) -> dict[str, str] | None:
    """Return what a robots.txt says about the use of a page, by category; None if nothing."""
    robots = cached.robots
    if robots is None or not speaks_of_use(robots):
        return None
    said = preferences(robots, url, agent)
    return None if said is None else said.answers or None


def digest_of(octets: bytes) -> str:
    """Return the digest by which a line names octets."""
    return f"sha256:{sha256(octets).hexdigest()}"


def _full(url: str) -> str:
    """Return a URL without the user information and the fragment."""
    return without_login(url.partition("#")[0])


_SHOWN: dict[str, Callable[[str], str]] = {
    "full": _full,
    "path": lambda url: _full(url).partition("?")[0],
    "hash": lambda url: digest_of(_full(url).encode("utf-8", "surrogatepass")),
}
