"""Decides whether the purposes of a crawl permit a request, before it is made.

``REP_PREFERENCES``: with ``report`` nothing is refused. With ``skip`` a request ends in
:class:`RobotsForbidden` if the robots.txt, or the tdmrep.json, of its site disallows one of
``REP_PURPOSES``. With ``drop`` the tdmrep.json refuses no request, because the page may say
otherwise and takes precedence: the items of the page are dropped instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy_rep import stats as names
from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.caching.context import Miss
from scrapy_rep.exceptions import RobotsForbidden
from scrapy_rep.preferences.statement import FILE, ROBOTS_TXT, Statement
from scrapy_rep.preferences.tdmrep import SILENT, Said
from scrapy_rep.preferences.vocabulary import DISALLOWED, PRODUCT_TOKEN, TDM
from scrapy_rep.protocol.policy import Decision
from scrapy_rep.protocol.verdict import Verdict
from scrapy_rep.usage.noted import Noted, note
from scrapy_rep.usage.tdmrep_files import TdmrepKey

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.caching.cache import RobotsCache
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.protocol.robotstxt import RobotsTxt
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_NAMES = {
    "content-usage": "Content-Usage",
    "content-signal": "Content-Signal",
    "tdmrep": "tdmrep.json",
}
_UNKNOWN = "tdmrep.json could not be fetched, and may reserve the rights of tdm"


class UseOfPages:
    """The part of the gate that asks what pages may be used for.

    ``tdmrep`` holds the tdmrep.json files, or is None if they are not fetched.
    """

    def __init__(self, settings: RepSettings, stats: RepStats, tdmrep: RobotsCache | None):
        self._stats = stats
        self._tdmrep = tdmrep
        self._purposes = settings.purposes if settings.preferences in ("skip", "drop") else ()
        self._tokens = settings.purpose_tokens
        self._asks_elsewhere = tdmrep is not None or bool(self._tokens)
        self._file_refuses = (
            tdmrep is not None and settings.preferences == "skip" and TDM in settings.purposes
        )
        self._unanswered: WeakSet[Request] = WeakSet()

    def concerns(self, cached: CachedRules) -> bool:
        """Return whether there may be anything to do for the requests that these rules govern.

        Most robots.txt files say nothing about use, and most crawls ask nothing else.
        """
        robots = cached.robots
        return self._asks_elsewhere or (robots is not None and robots.speaks_of_use)

    @property
    def refuses(self) -> bool:
        """Whether requests may be refused for what their pages would be used for."""
        return bool(self._purposes)

    def is_ready(
        self, request: Request, authority: Authority, cached: CachedRules, agent: tuple[str, ...]
    ) -> bool:
        """Return whether no tdmrep.json has to be fetched before a request; awaits nothing.

        A tdmrep.json that robots.txt disallows is not fetched.
        """
        if self._tdmrep is None or request in self._unanswered:
            return True
        key = TdmrepKey.of(authority)
        if not cached.allows(authority, key.robots_uri, agent):
            return True
        return not isinstance(self._tdmrep.consult(key, request), Miss)

    async def wait(
        self, request: Request, authority: Authority, cached: CachedRules, agent: tuple[str, ...]
    ) -> bool:
        """Fetch the tdmrep.json; return False if the closing crawl interrupted that."""
        if self._tdmrep is None or self.is_ready(request, authority, cached, agent):
            return True
        try:
            found = await self._tdmrep.lookup(TdmrepKey.of(authority), request)
        except DeadlineError:  # it counts as one that cannot be fetched
            self._unanswered.add(request)
            return True
        return not found.interrupted

    def admit(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> None:
        """Raise ``RobotsForbidden`` if a purpose of the crawl is disallowed for a page."""
        refused = self.refusal(request, url, authority, cached, agent)
        if refused is not None:
            self._stats.inc(names.PREFERENCES_SKIPPED)
            self._stats.forbidden(request.method, url, refused.verdict)
            raise refused

    def refusal(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> RobotsForbidden | None:
        """Return what :meth:`admit` would raise, and count nothing."""
        if not self._purposes:
            return None
        noted = self._said(request, url, authority, cached, agent)
        if noted is None:
            return None
        everything = noted.before_the_page
        for purpose in self._purposes:
            statement = everything.against(purpose)
            if statement is not None and (statement.source != FILE or self._file_refuses):
                verdict = Verdict(False, line=statement.line, reason=_reason(statement, purpose))
                return RobotsForbidden(verdict, authority, None, statement)
        if self._file_refuses and noted.file is None:
            return RobotsForbidden(Verdict(allowed=False, reason=_UNKNOWN), authority, None, None)
        return None

    def note(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> None:
        """Note what governs a request that goes on, if its site says anything."""
        noted = self._said(request, url, authority, cached, agent)
        if noted is not None:
            note(request, noted)

    def _said(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> Noted | None:
        """Return what a site says about a page before it is fetched; None if it says nothing."""
        robots = cached.robots
        speaks = robots is not None and robots.speaks_of_use
        tokens = tuple(self._of_tokens(robots, url)) if robots is not None else ()
        file = (
            SILENT if self._tdmrep is None else self._file(request, url, authority, cached, agent)
        )
        if not speaks and not tokens and file == SILENT:
            return None
        return Noted(url, agent, robots if speaks else None, tokens, file)

    def _of_tokens(self, robots: RobotsTxt, url: str) -> Iterator[Statement]:
        """Yield what the groups of other product tokens say about the purposes they stand for."""
        for purpose, tokens in self._tokens.items():
            for token in tokens:
                verdict = robots.refusal_by_name(url, token)
                if verdict is not None:
                    rule, line = str(verdict.rule or ""), verdict.line
                    vocabulary, source = PRODUCT_TOKEN, ROBOTS_TXT
                    yield Statement(vocabulary, purpose, token, DISALLOWED, source, line, rule)

    def _file(
        self,
        request: Request,
        url: str,
        authority: Authority,
        cached: CachedRules,
        agent: tuple[str, ...],
    ) -> Said | None:
        """Return what the tdmrep.json says about a URL; None if that is not known."""
        key = TdmrepKey.of(authority)
        if self._tdmrep is None or not cached.allows(authority, key.robots_uri, agent):
            return None
        found = self._tdmrep.consult(key, request)
        if isinstance(found, Miss):
            return None
        rules: Any = found.robots
        if rules is not None:
            said: Said | None = rules.about(url)
            return said
        return SILENT if found.decision is Decision.ALLOW_ALL else None


def _reason(statement: Statement, purpose: str) -> str:
    """Return the reason in words of this package: it holds no text of the site."""
    if statement.vocabulary == PRODUCT_TOKEN:
        said = f"the group of {statement.value}"
    else:
        said = _NAMES[statement.vocabulary]
    return f"{said} disallows {purpose}"
