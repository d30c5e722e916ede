"""Which decisions are recorded, and what follows if they cannot be: ``REP_DECISION_LOG``."""

from __future__ import annotations

import platform
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import scrapy

from scrapy_rep import stats as names
from scrapy_rep.awaiting import from_thread
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.preferences.vocabulary import CATEGORIES, UNKNOWN
from scrapy_rep.protocol.authority import authority_of
from scrapy_rep.protocol.verdict import Verdict
from scrapy_rep.recording.appending import LineFile
from scrapy_rep.recording.decisions import SCHEMA_VERSION, Basis, Decided, Encoder, since_of, utc

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.page_url import Asked
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_MOST_KNOWN = 10_000
"""Authorities whose entries are known as recorded; past that one may be recorded as first again."""

_NOTHING = Basis()


class DecisionRecorder:
    """Writes the decisions of a crawl to ``REP_DECISION_LOG``.

    With ``REP_DECISIONS = "refused"`` these are the refusals, the first decision by each entry of
    an authority, and each override; with ``"all"`` it is each decision. ``known(authority)``
    returns what memory holds; ``clock()`` is in seconds since the epoch. Raises ``ValueError`` if
    the file cannot be opened.
    """

    def __init__(
        self,
        settings: RepSettings,
        stats: RepStats,
        known: Callable[[Authority], CachedRules | None],
        clock: Callable[[], float],
    ):
        self.is_required = settings.decision_log_required
        self._settings = settings
        self._stats = stats
        self._known = known
        self._clock = clock
        self._all = settings.decisions == "all"
        self._bases: OrderedDict[Authority, Basis] = OrderedDict()
        self._lost = 0
        self._is_said = False
        encoder = Encoder(uuid4().hex, settings.profile, settings.log_urls)
        try:
            self._file = LineFile(
                str(settings.decision_log), encoder, self._count_lost, keeps=self.is_required
            )
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            name = f"REP_DECISION_LOG = {settings.decision_log!r}"
            raise ValueError(f"{name} cannot be opened: {said}") from None

    def open(self, agent: tuple[str, ...]) -> None:
        """Write what all decisions of the run depend on."""
        settings = self._settings
        self._file.add(
            {
                "type": "run",
                "schema": SCHEMA_VERSION,
                "time": utc(self._clock()),
                "versions": {
                    "scrapy_rep": _own_version(),
                    "scrapy": scrapy.__version__,
                    "python": platform.python_version(),
                },
                "profile": settings.profile,
                "agent": agent,
                "policy": asdict(settings.policy),
                "crawl_delay": settings.crawl_delay,
                "max_crawl_delay": settings.max_crawl_delay,
                "preferences": settings.preferences,
                "purposes": settings.purposes,
                "decisions": settings.decisions,
                "log_urls": settings.log_urls,
            }
        )

    def passed(self, asked: Asked, cached: CachedRules, verdict: Verdict | None) -> None:
        """Record a request that goes on; ``verdict`` is None if no override has a say in it."""
        request, url, authority, agent = asked
        basis = self._bases.get(authority)
        is_first = basis is None or basis.since != since_of(cached)
        if not (is_first or self._all or verdict is not None):
            return
        verdict = verdict or cached.verdict(authority, url, agent)
        if is_first or self._all or verdict.override is not None:
            if is_first or basis is None:
                basis = self._learn(authority, cached)
            preferences = _preferences(cached, url, agent)
            args = (self._clock(), request.method, url, authority, agent, verdict, basis)
            self._file.add(Decided(*args, preferences, delay=_delay(cached, agent, args[0])))

    def refused(self, request: Request, url: str, agent: tuple[str, ...], error: Exception) -> None:
        """Record a refusal; an error that is not one is ignored."""
        if not isinstance(error, (RobotsForbidden, RobotsUnreachable)):
            return
        authority, basis = error.authority, _NOTHING
        cached = None if authority is None else self._known(authority)
        if authority is not None and cached is not None:
            basis = self._bases.get(authority, _NOTHING)
            if basis.since != since_of(cached) or basis is _NOTHING:
                basis = self._learn(authority, cached)
        statement, cause = getattr(error, "statement", None), getattr(error, "cause", None)
        said = None if statement is None else {str(statement.category): str(statement.answer)}
        args = (self._clock(), request.method, url, authority, agent, error.verdict, basis)
        self._file.add(Decided(*args, said, cause))

    def bypassed(self, request: Request, agent: tuple[str, ...]) -> None:
        """Record a request that does not obey: an override without a name."""
        try:
            authority = authority_of(request.url)
        except ValueError:
            authority = None
        verdict = Verdict(allowed=True, reason="dont_obey_robotstxt", override="without a name")
        args = (self._clock(), request.method, request.url, authority, agent, verdict, _NOTHING)
        self._file.add(Decided(*args))

    async def confirm(self) -> None:
        """Return when all is written; raise what kept it from that."""
        if not self._file.is_written:
            await from_thread(self._file.confirmed())

    def close(self) -> None:
        """Write what is left, and say how much was lost."""
        self._file.close()
        if self._lost:
            self._stats.inc(names.DECISIONS_LOST, self._lost)

    def _learn(self, authority: Authority, cached: CachedRules) -> Basis:
        basis = self._bases[authority] = Basis.of(cached)._replace(since=since_of(cached))
        self._bases.move_to_end(authority)
        if len(self._bases) > _MOST_KNOWN:
            self._bases.popitem(last=False)
        return basis

    def _count_lost(self, lines: int, error: Exception) -> None:
        """Say once that lines are lost; called in the thread of the file, too."""
        if not self._is_said:
            self._is_said = True
            self._stats.decisions_lost(error, required=self.is_required)
        self._lost += lines


def _own_version() -> str | None:
    try:
        return version("scrapy_rep")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return None


def _delay(cached: CachedRules, agent: tuple[str, ...], now: float) -> float | None:
    """Return the interval in seconds that the rules ask of ``agent`` now; None for none.

    It is null at an authority that has overrides, which may set another pace.
    """
    pace = cached.pace
    return (pace.asked(now) or None) if pace is not None and pace.agent == agent else None


def _preferences(cached: CachedRules, url: str, agent: tuple[str, ...]) -> dict[str, Any] | None:
    """Return what the robots.txt says about the use of a page, by purpose; None if nothing."""
    robots = cached.robots
    if robots is None or not robots.speaks_of_use:
        return None
    said = robots.preferences(url, agent)
    if said is None:
        return None
    return {name: said[name] for name in CATEGORIES if said[name] != UNKNOWN} or None
