"""Which decisions are recorded, and what follows if they cannot be: ``REP_DECISION_LOG``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_rep import stats as names
from scrapy_rep.access.authority import authority_of
from scrapy_rep.awaiting import from_thread
from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
from scrapy_rep.gate.page_url import page_of
from scrapy_rep.nofollow import is_by_nofollow
from scrapy_rep.preferences.robots_txt import preferences, speaks_of_use
from scrapy_rep.recording.appending import LineFile
from scrapy_rep.recording.decisions import (
    SCHEMA_VERSION,
    Basis,
    Decided,
    Encoder,
    delay_of,
    utc,
    version_of,
)
from scrapy_rep.recording.versions import versions
from scrapy_rep.robotstxt.verdict import ROBOTS_TXT_ITSELF, Verdict

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.overrides.override import Override
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_MOST_KNOWN = 10_000
"""Authorities whose basis is remembered; past that, a decision may count as the first again."""

_NOTHING = Basis()


class Run(NamedTuple):
    """A run of a crawler: its random name, its overrides, and the file of its archive."""

    name: str
    overrides: tuple[Override, ...] = ()
    archive: str | None = None


class DecisionRecorder:
    """Writes the decisions of a crawl to ``REP_DECISION_LOG``.

    With ``REP_DECISIONS = "refused"`` these are the refusals, the first decision by each entry of
    an authority, and each override; with ``"all"`` it is each decision. ``known(authority)``
    returns what memory holds, usable or not; ``clock()`` is in seconds since the epoch. Raises
    ``ValueError`` if the file cannot be opened.
    """

    def __init__(
        self,
        settings: RepSettings,
        stats: RepStats,
        known: Callable[[Authority], CachedRules | None],
        clock: Callable[[], float],
        run: Run,
    ):
        self.is_required = settings.decision_log_required
        self._settings = settings
        self._stats = stats
        self._known = known
        self._clock = clock
        self._records_all = settings.decisions == "all"
        self._run = run
        self._bases: OrderedDict[Authority, tuple[Any, Basis]] = OrderedDict()
        self._lost = 0
        self._is_said = False
        encoder = Encoder(run.name, settings.profile, settings.log_urls)
        try:
            self._file = LineFile(
                str(settings.decision_log), encoder, self._count_lost, keeps=self.is_required
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            name = f"REP_DECISION_LOG = {settings.decision_log!r}"
            raise ValueError(f"{name} cannot be opened: {reason}") from None

    def open(self, agent: tuple[str, ...]) -> None:
        """Write what all decisions of the run depend on."""
        settings = self._settings
        self._file.add(
            {
                "type": "run",
                "schema": SCHEMA_VERSION,
                "time": utc(self._clock()),
                "versions": versions(),
                "profile": settings.profile,
                "agent": agent,
                "policy": asdict(settings.policy),
                "by_profile": settings.by_profile,
                "timeout": settings.timeout,
                "crawl_delay": settings.crawl_delay,
                "max_crawl_delay": settings.max_crawl_delay,
                "over_max_crawl_delay": settings.over_max_crawl_delay,
                "preferences": settings.preferences,
                "purposes": settings.purposes,
                "purpose_tokens": settings.purpose_tokens,
                "overrides": [_plain_override(one) for one in self._run.overrides],
                "decisions": settings.decisions,
                "log_urls": settings.log_urls,
                "archive": self._run.archive,
            }
        )

    def wants_verdict(self, cached: CachedRules) -> bool:
        """Return whether the next request by these rules is recorded if it goes on."""
        return self._records_all or cached.basis is None

    def passed(
        self,
        asked: Asked,
        cached: CachedRules,
        verdict: Verdict | None,
        *,
        requested: str | None = None,
    ) -> None:
        """Record a request that goes on; ``verdict`` is None if it was not needed so far.

        ``requested`` is given for the final URL of a response: the page that was asked for.
        """
        request, url, authority, agent = asked
        is_first = self._note_basis(authority, cached)
        if not (is_first or self._records_all or verdict is not None):
            return
        if verdict is None:
            verdict = cached.verdict(authority, url, agent)
        if is_first or self._records_all or verdict.override is not None:
            now = self._clock()
            decided = Decided(now, request.method, url, authority, agent, verdict, cached.basis)
            if requested is None:
                said, delay = preferences_of(cached, url, agent), _delay(cached, agent)
                decided = decided._replace(preferences=said, delay=delay)
            self._file.add(decided._replace(requested=requested))

    def passed_without_rules(self, asked: Asked) -> None:
        """Record a request for rules that are not known; it rests on nothing."""
        if self._records_all:
            request, url, authority, agent = asked
            verdict = Verdict(allowed=True, reason=ROBOTS_TXT_ITSELF)
            args = (self._clock(), request.method, url, authority, agent, verdict, _NOTHING)
            self._file.add(Decided(*args))

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
        if authority is not None and cached is not None and _rests_on(cached, error):
            self._note_basis(authority, cached)
            basis = cached.basis
        statement, cause = getattr(error, "statement", None), getattr(error, "cause", None)
        answers = None if statement is None else {str(statement.category): str(statement.answer)}
        page = _page_of(request)
        url, requested = (final_url, page) if final_url else (page, None)
        args = (self._clock(), request.method, url, authority, agent, error.verdict, basis)
        self._file.add(Decided(*args, answers, cause, requested=requested))

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

    def _note_basis(self, authority: Authority, cached: CachedRules) -> bool:
        """Note what decisions by these rules rest on; return True if none is recorded so far."""
        if cached.basis is not None:
            return False
        found = version_of(cached)
        version, basis = self._bases.get(authority, (None, _NOTHING))
        is_new: bool = version != found
        if is_new:
            basis = Basis.of(cached)
            self._bases[authority] = found, basis
            self._bases.move_to_end(authority)
            if len(self._bases) > _MOST_KNOWN:
                self._bases.popitem(last=False)
        cached.note_basis(basis)
        return is_new

    def _count_lost(self, lines: int, error: Exception) -> None:
        """Say once that lines are lost; called in the thread of the file, too."""
        if not self._is_said:
            self._is_said = True
            self._stats.decisions_lost(error, required=self.is_required)
        self._lost += lines


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
    return not is_by_nofollow(error.verdict.reason)


def _plain_override(one: Override) -> dict[str, Any]:
    """Return an override as plain values."""
    return {
        "entry": one.entry,
        "authority": str(one.authority),
        "action": one.action,
        "paths": one.paths,
        "value": one.value,
        "reason": one.reason,
        "by": one.by,
        "until": one.until.isoformat(),
    }


def _delay(cached: CachedRules, agent: tuple[str, ...]) -> float | None:
    """Return the interval in seconds that the rules ask of ``agent``; None for none.

    It is None at an authority that has overrides, which may set another pace: there
    :class:`scrapy_rep.gate.judge.Judge` never asks the cache for the pace, so that none is read.
    """
    pace = cached.pace
    return delay_of(pace) if pace is not None and pace.agent == agent else None


def preferences_of(cached: CachedRules, url: str, agent: tuple[str, ...]) -> dict[str, str] | None:
    """Return what a robots.txt says about the use of a page, by category; None if nothing."""
    robots = cached.robots
    if robots is None or not speaks_of_use(robots):
        return None
    said = preferences(robots, url, agent)
    return None if said is None else said.answers or None
