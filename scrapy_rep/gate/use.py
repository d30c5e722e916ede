"""What pages may be used for, asked before a request is made: ``REP_PREFERENCES``.

With ``report`` nothing is refused. With ``skip`` and ``drop`` a request ends in
:class:`RobotsForbidden` if the robots.txt of its site disallows one of ``REP_PURPOSES``.

The copy of robots.txt that is valid when a page is fetched says what the page may be used for
(draft-ietf-aipref-attach-05 section 3.3); a newer one may be in force before the response is
parsed, and the old one may have been evicted. So the gate notes the copy by request, for as long as
the request exists. For most sites, which say nothing, nothing is noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy_rep.exceptions import BY_USAGE_PREFERENCE, RobotsForbidden
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.robots_txt import refusal_by_name, speaks_of_use, stated_preferences
from scrapy_rep.preferences.vocabularies import (
    DISALLOWED,
    PRODUCT_TOKEN,
    ROBOTS_TXT,
    VOCABULARIES,
    Statement,
)
from scrapy_rep.robotstxt.verdict import Verdict

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.sites.cached_rules import CachedRules


class Noted(NamedTuple):
    """What governs one request: the page's URL, the agent and robots.txt.

    ``tokens`` is what the groups of ``REP_PURPOSE_TOKENS`` say.
    """

    url: str
    agent: tuple[str, ...]
    robots: ParsedRobotsTxt | None
    tokens: Preferences

    @property
    def before_the_page(self) -> Preferences:
        """The preferences known before the page was fetched.

        They apply even to a path that the robots.txt disallows: an override has let the request
        through, but does not change how the page may be used.
        """
        robots = self.robots
        if robots is None:
            return self.tokens
        return stated_preferences(robots, self.url, self.agent) + self.tokens


_NOTED: WeakKeyDictionary[Request, Noted] = WeakKeyDictionary()


def note(request: Request, noted: Noted | None) -> None:
    """Keep what governs a request, in place of what did before; ``None`` if nothing was said."""
    if noted is not None:
        _NOTED[request] = noted
    elif _NOTED:
        _NOTED.pop(request, None)


def noted_for(request: Request | None) -> Noted | None:
    """Return what governed a request when it was let through; None if nothing was said."""
    return None if request is None else _NOTED.get(request)


class UseOfPages:
    """The part of the gate that asks what pages may be used for."""

    def __init__(self, settings: RepSettings):
        self._purposes = settings.purposes if settings.preferences in ("skip", "drop") else ()
        self._tokens = settings.purpose_tokens

    def may_refuse(self, cached: CachedRules) -> bool:
        """Return whether requests that these rules govern may be refused for a purpose."""
        robots = cached.robots
        if not self._purposes or robots is None:
            return False
        return bool(self._tokens) or speaks_of_use(robots)

    def noted(self, asked: Asked, cached: CachedRules) -> Noted | None:
        """Return what a site says about a page before it is fetched; None if it says nothing."""
        url, robots = asked.url, cached.robots
        speaks = robots is not None and speaks_of_use(robots)
        if robots is None or not (speaks or self._tokens):  # as most of them
            return None
        tokens = self._of_tokens(robots, url)
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

    def _of_tokens(self, robots: ParsedRobotsTxt, url: str) -> Preferences:
        """Return what the groups of other product tokens say about the purposes they stand for."""
        found = []
        for purpose, tokens in self._tokens.items():
            for token in tokens:
                verdict = refusal_by_name(robots, url, token)
                if verdict is not None:
                    fields = PRODUCT_TOKEN, purpose, token, DISALLOWED, ROBOTS_TXT, verdict.line
                    found.append(Statement(*fields))
        return Preferences(tuple(found))


def _reason(statement: Statement, purpose: str) -> str:
    """Return the reason in words of this package: it holds no text of the site."""
    if statement.vocabulary == PRODUCT_TOKEN:
        source = f"the group of {statement.value}"
    else:
        source = VOCABULARIES[statement.vocabulary].line
    return f"{source} disallows {purpose}"
