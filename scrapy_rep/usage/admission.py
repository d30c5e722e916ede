"""Decides whether the purposes of a crawl permit a request, before it is made.

``REP_PREFERENCES``: with ``report`` nothing is refused. With ``skip`` and ``drop`` a request ends
in :class:`RobotsForbidden` if the robots.txt of its site disallows one of ``REP_PURPOSES``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scrapy_rep.exceptions import BY_USAGE_PREFERENCE, RobotsForbidden
from scrapy_rep.preferences.robots_txt import refusal_by_name, speaks_of_use
from scrapy_rep.preferences.statement import ROBOTS_TXT, Statement
from scrapy_rep.preferences.vocabulary import DISALLOWED, PRODUCT_TOKEN
from scrapy_rep.robotstxt.verdict import Verdict
from scrapy_rep.usage.noted import Noted

if TYPE_CHECKING:
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.robotstxt.robotstxt import RobotsTxt
    from scrapy_rep.settings import RepSettings

_NAMES = {"content-usage": "Content-Usage", "content-signal": "Content-Signal"}


class UseOfPages:
    """The part of the gate that asks what pages may be used for."""

    def __init__(self, settings: RepSettings):
        self._purposes = settings.purposes if settings.preferences in ("skip", "drop") else ()
        self._tokens = settings.purpose_tokens

    def concerns(self, cached: CachedRules) -> bool:
        """Return whether there may be anything to do for the requests that these rules govern.

        Most robots.txt files say nothing about use, and most crawls ask nothing else.
        """
        robots = cached.robots
        return bool(self._tokens) or (robots is not None and speaks_of_use(robots))

    @property
    def refuses(self) -> bool:
        """Whether requests may be refused for what their pages would be used for."""
        return bool(self._purposes)

    def said(self, asked: Asked, cached: CachedRules) -> Noted | None:
        """Return what a site says about a page before it is fetched; None if it says nothing."""
        url, robots = asked.url, cached.robots
        speaks = robots is not None and speaks_of_use(robots)
        tokens = tuple(self._of_tokens(robots, url)) if robots is not None else ()
        if not speaks and not tokens:
            return None
        return Noted(url, asked.agent, robots if speaks else None, tokens)

    def refusal(self, asked: Asked, noted: Noted | None) -> RobotsForbidden | None:
        """Return what a request ends in if a purpose of the crawl is disallowed for its page.

        ``noted`` is what the site says about the page.
        """
        if noted is None or not self._purposes:
            return None
        everything = noted.before_the_page
        for purpose in self._purposes:
            statement = everything.against(purpose)
            if statement is not None:
                verdict = Verdict(False, line=statement.line, reason=_reason(statement, purpose))
                return RobotsForbidden(verdict, asked.authority, statement, BY_USAGE_PREFERENCE)
        return None

    def _of_tokens(self, robots: RobotsTxt, url: str) -> Iterator[Statement]:
        """Yield what the groups of other product tokens say about the purposes they stand for."""
        for purpose, tokens in self._tokens.items():
            for token in tokens:
                verdict = refusal_by_name(robots, url, token)
                if verdict is not None:
                    rule, line = str(verdict.rule or ""), verdict.line
                    vocabulary, source = PRODUCT_TOKEN, ROBOTS_TXT
                    yield Statement(vocabulary, purpose, token, DISALLOWED, source, line, rule)


def _reason(statement: Statement, purpose: str) -> str:
    """Return the reason in words of this package: it holds no text of the site."""
    if statement.vocabulary == PRODUCT_TOKEN:
        said = f"the group of {statement.value}"
    else:
        said = _NAMES[statement.vocabulary]
    return f"{said} disallows {purpose}"
