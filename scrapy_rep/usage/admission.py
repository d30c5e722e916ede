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

from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.caching.context import Miss
from scrapy_rep.exceptions import RobotsForbidden
from scrapy_rep.preferences.statement import FILE, ROBOTS_TXT, Statement
from scrapy_rep.preferences.tdmrep import SILENT, Said
from scrapy_rep.preferences.vocabulary import DISALLOWED, PRODUCT_TOKEN, TDM
from scrapy_rep.protocol.policy import Decision
from scrapy_rep.protocol.verdict import Verdict
from scrapy_rep.usage.noted import Noted
from scrapy_rep.usage.tdmrep_files import TdmrepKey

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.caching.cache import RobotsCache
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.overrides.application import AppliedOverrides
    from scrapy_rep.page_url import Asked
    from scrapy_rep.protocol.robotstxt import RobotsTxt
    from scrapy_rep.settings import RepSettings

_NAMES = {
    "content-usage": "Content-Usage",
    "content-signal": "Content-Signal",
    "tdmrep": "tdmrep.json",
}
_UNKNOWN = "tdmrep.json could not be fetched, and may reserve the rights of tdm"


class UseOfPages:
    """The part of the gate that asks what pages may be used for.

    ``tdmrep`` holds the tdmrep.json files, or is None if they are not fetched. ``overrides`` say
    which of them may be fetched, as they do of pages.
    """

    def __init__(
        self,
        settings: RepSettings,
        tdmrep: RobotsCache | None,
        overrides: AppliedOverrides | None = None,
    ):
        self._tdmrep = tdmrep
        self._overrides = overrides
        self.reads_files = tdmrep is not None
        """Whether tdmrep.json files are fetched."""
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

    def is_ready(self, asked: Asked, cached: CachedRules) -> bool:
        """Return whether no tdmrep.json has to be fetched before a request; awaits nothing."""
        if self._tdmrep is None or asked.request in self._unanswered:
            return True
        return not isinstance(self._consult(self._tdmrep, asked, cached), Miss)

    async def wait(self, asked: Asked, cached: CachedRules) -> bool:
        """Fetch the tdmrep.json; return False if the closing crawl interrupted that."""
        if self._tdmrep is None or self.is_ready(asked, cached):
            return True
        try:
            found = await self._tdmrep.lookup(TdmrepKey.of(asked.authority), asked.request)
        except DeadlineError:  # it counts as one that cannot be fetched
            self._unanswered.add(asked.request)
            return True
        return not found.interrupted

    def said(self, asked: Asked, cached: CachedRules) -> Noted | None:
        """Return what a site says about a page before it is fetched; None if it says nothing."""
        url, robots = asked.url, cached.robots
        speaks = robots is not None and robots.speaks_of_use
        tokens = tuple(self._of_tokens(robots, url)) if robots is not None else ()
        file = SILENT if self._tdmrep is None else self._file(self._tdmrep, asked, cached)
        if not speaks and not tokens and file == SILENT:
            return None
        return Noted(url, asked.agent, robots if speaks else None, tokens, file)

    def refusal(self, asked: Asked, noted: Noted | None) -> RobotsForbidden | None:
        """Return what a request ends in if a purpose of the crawl is disallowed for its page.

        ``noted`` is what the site says about the page.
        """
        if noted is None or not self._purposes:
            return None
        everything = noted.before_the_page
        for purpose in self._purposes:
            statement = everything.against(purpose)
            if statement is not None and (statement.source != FILE or self._file_refuses):
                verdict = Verdict(False, line=statement.line, reason=_reason(statement, purpose))
                return RobotsForbidden(verdict, asked.authority, statement)
        if self._file_refuses and noted.file is None:
            return RobotsForbidden(Verdict(allowed=False, reason=_UNKNOWN), asked.authority)
        return None

    def _of_tokens(self, robots: RobotsTxt, url: str) -> Iterator[Statement]:
        """Yield what the groups of other product tokens say about the purposes they stand for."""
        for purpose, tokens in self._tokens.items():
            for token in tokens:
                verdict = robots.refusal_by_name(url, token)
                if verdict is not None:
                    rule, line = str(verdict.rule or ""), verdict.line
                    vocabulary, source = PRODUCT_TOKEN, ROBOTS_TXT
                    yield Statement(vocabulary, purpose, token, DISALLOWED, source, line, rule)

    def _file(self, tdmrep: RobotsCache, asked: Asked, cached: CachedRules) -> Said | None:
        """Return what the tdmrep.json says about a URL; None if that is not known."""
        found = self._consult(tdmrep, asked, cached)
        if found is None or isinstance(found, Miss):
            return None
        rules: Any = found.robots
        if rules is not None:
            said: Said | None = rules.about(asked.url)
            return said
        return SILENT if found.decision is Decision.ALLOW_ALL else None

    def _consult(
        self, tdmrep: RobotsCache, asked: Asked, cached: CachedRules
    ) -> CachedRules | Miss | None:
        """Return what is known of a tdmrep.json; None if it may not be fetched."""
        key = TdmrepKey.of(asked.authority)
        overrides, uri = self._overrides, key.robots_uri
        if overrides is not None and asked.authority in overrides:
            allowed = overrides.verdict(asked._replace(url=uri), cached)[0].allowed
        else:
            allowed = cached.allows(asked.authority, uri, asked.agent)
        return tdmrep.consult(key, asked.request) if allowed else None


def _reason(statement: Statement, purpose: str) -> str:
    """Return the reason in words of this package: it holds no text of the site."""
    if statement.vocabulary == PRODUCT_TOKEN:
        said = f"the group of {statement.value}"
    else:
        said = _NAMES[statement.vocabulary]
    return f"{said} disallows {purpose}"
