"""Notes what was in force when a request was let through, for the reading of its response.

The copy of robots.txt that is valid when a page is fetched says what the page may be used for
(draft-ietf-aipref-attach-05 section 3.3); a newer one may be in force before the response is
parsed, and the old one may have been evicted. So the gate notes the copy by request, for as long as
the request exists. Most sites say nothing, and nothing is noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy_rep.preferences.page import PagePreferences, together
from scrapy_rep.preferences.robots_txt import stated_preferences
from scrapy_rep.preferences.statement import Preferences, Statement

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.robotstxt.robotstxt import RobotsTxt


class Noted(NamedTuple):
    """What governs one request: the page's URL, the agent and robots.txt.

    ``tokens`` is what the groups of ``REP_PURPOSE_TOKENS`` say.
    """

    url: str
    agent: tuple[str, ...]
    robots: RobotsTxt | None
    tokens: tuple[Statement, ...]

    @property
    def before_the_page(self) -> Preferences:
        """The preferences known before the page was fetched."""
        return self.with_page(PagePreferences())

    def with_page(self, page: PagePreferences) -> Preferences:
        """Return the preferences known before the page was fetched, with those of the page.

        Those of a path count although the robots.txt disallows it: an override let the request
        through, and changes nothing about the use of the page.
        """
        robots = self.robots
        if robots is None:
            return together(page, self.tokens)
        said = stated_preferences(robots, self.url, self.agent)
        return together(page, (*said.statements, *self.tokens), said.licenses)


_NOTED: WeakKeyDictionary[Request, Noted] = WeakKeyDictionary()


def note(request: Request, noted: Noted | None) -> None:
    """Keep what governs a request, in place of what did before; ``None`` if nothing was said."""
    if noted is not None:
        _NOTED[request] = noted
    else:
        _NOTED.pop(request, None)


def noted_for(request: Request | None) -> Noted | None:
    """Return what governed a request when it was let through; None if nothing was said."""
    return None if request is None else _NOTED.get(request)
