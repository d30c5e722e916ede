"""Which decisions are recorded, and what a line says of them: ``REP_DECISION_LOG``."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import scrapy

from scrapy_rep import stats as names
from scrapy_rep.access.outcome import Cause
from scrapy_rep.records import own_version, unrecorded
from scrapy_rep.records.lines import (
    SCHEMA_VERSION,
    DecisionLine,
    LoggedVerdict,
    OverrideEntry,
    RunLine,
    encoded,
    rule_of,
)
from scrapy_rep.records.log_file import LogFile
from scrapy_rep.robotstxt.printable import without_login

if TYPE_CHECKING:
    from scrapy_rep.access.in_force import RulesInForce
    from scrapy_rep.overrides.override import Override
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.signals import RobotsDecision
    from scrapy_rep.stats import RepStats

_NOT_LOGGED = ("store", "overrides", "decision_log", "warc")
"""Settings that the line of a run leaves out: they may hold a password or a path, or, as for
overrides, have a field of their own."""


class Run(NamedTuple):
    """A run of a crawler: its random name, its overrides, and the file of its archive."""

    name: str
    overrides: tuple[Override, ...] = ()
    archive: str | None = None


class DecisionRecorder:
    """Writes the decisions of a crawl to ``REP_DECISION_LOG``.

    With ``REP_DECISIONS = "refused"`` these are the refusals, the first decision after rules are
    loaded into memory, and each override; with ``"all"`` it is each decision. ``clock()`` is in
    seconds since the epoch. Raises ``ValueError`` if the file cannot be opened.

    A line that cannot be written is lost and counted. If ``REP_DECISION_LOG_REQUIRED`` is on, an
    allowed request whose line cannot be written is refused.
    """

    def __init__(
        self, settings: RepSettings, stats: RepStats, clock: Callable[[], float], run: Run
    ):
        self._settings = settings
        self._stats = stats
        self._clock = clock
        self._as_logged = _AS_LOGGED[settings.log_urls]
        self._run = run
        self._recorded: WeakSet[RulesInForce] = WeakSet()
        """The rules by which a decision has been recorded."""
        self._digests: WeakKeyDictionary[RulesInForce, str] = WeakKeyDictionary()
        self._run_line: RunLine | None = None
        """The first line, until it is written."""
        self._lost = 0
        self._has_warned = self._is_closed = False
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

    def decided(self, decision: RobotsDecision) -> None:
        """Record a decision, if ``REP_DECISIONS`` asks for it.

        Raises what kept its line from being written, if its request goes on and
        ``REP_DECISION_LOG_REQUIRED`` is on.
        """
        rules, goes_on = decision.rules, decision.error is None
        is_first = rules.outcome != "unknown" and rules not in self._recorded
        is_override = decision.verdict.override is not None
        if goes_on and not (self._settings.decisions == "all" or is_first or is_override):
            return
        error = self._append(decision)
        if self._is_closed:
            self._file.close()
        if error is None or not self._settings.decision_log_required:
            self._recorded.add(rules)
            return
        self._recorded.discard(rules)  # the next request is the first one that is recorded
        if goes_on:
            reason = f"{Cause.ERROR}: {unrecorded(error)}"
            self._stats.unreachable(decision.request.method, decision.url, reason)
            raise error

    def close(self) -> None:
        """Close the file, and say how much was lost. A later decision opens it for its line."""
        self._is_closed = True
        self._file.close()
        self._lost += self._run_line is not None
        if self._lost:
            self._stats.inc(names.DECISIONS_LOST, self._lost)

    def _line(self, decision: RobotsDecision) -> DecisionLine:
        now = self._clock()
        verdict, rules, authority = decision.verdict, decision.rules, decision.authority
        requested, without = decision.requested, verdict.without
        cause = getattr(decision.error, "cause", None) or rules.cause
        age = None if rules.since is None else max(now - rules.since, 0.0)
        return DecisionLine(
            crawl=self._run.name,
            time=datetime.fromtimestamp(now, timezone.utc),
            authority=None if authority is None else str(authority),
            method=decision.request.method,
            url=self._as_logged(decision.url),
            requested=None if requested is None else self._as_logged(requested),
            agent=decision.agent,
            allowed=verdict.allowed,
            rule=rule_of(verdict),
            line=verdict.line,
            group=verdict.group,
            reason=verdict.reason,
            outcome=rules.outcome,
            status=rules.status,
            cause=cause,
            digest=self._digest_of(rules),
            record=rules.exchange or None,
            failure_record=rules.failed_exchange or None,
            age=None if age is None else int(age * 1_000) / 1_000,
            delay=decision.delay,
            preferences=decision.preferences,
            override=verdict.override,
            without=None if without is None else LoggedVerdict.of(without),
        )

    def _digest_of(self, rules: RulesInForce) -> str | None:
        """Return the digest of the octets of rules, reckoned once; None if there are none."""
        if rules.body is None:
            return None
        if rules not in self._digests:
            self._digests[rules] = digest_of(rules.body)
        return self._digests[rules]

    def _append(self, decision: RobotsDecision | None = None) -> Exception | None:
        """Append a line, after that of the run; return what kept it from being written."""
        try:
            line = None if decision is None else encoded(self._line(decision))
            if self._run_line is not None:
                self._file.append(encoded(self._run_line))
                self._run_line = None
            if line is not None:
                self._file.append(line)
        except Exception as error:  # noqa: BLE001  # a fault is no permission
            if not self._has_warned:
                self._has_warned = True
                then = "the crawl goes on without it"
                if self._settings.decision_log_required:
                    then = "a request whose decision it has to hold is refused until it works"
                self._stats.own_fault("Writing the decision log", error, then)
            self._lost += decision is not None
            return error
        return None


def digest_of(octets: bytes) -> str:
    """Return the digest by which a line names octets."""
    return f"sha256:{sha256(octets).hexdigest()}"


def _full(url: str) -> str:
    """Return a URL without the user information and the fragment."""
    return without_login(url.partition("#")[0])


_AS_LOGGED: dict[str, Callable[[str], str]] = {
    "full": _full,
    "path": lambda url: _full(url).partition("?")[0],
    "hash": lambda url: digest_of(_full(url).encode("utf-8", "surrogatepass")),
}
"""How a URL is written to the log, by the value of ``REP_LOG_URLS``."""
