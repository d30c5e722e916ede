"""The preferences about the use of one page, from its site and its response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_rep.page_responses import page_source
from scrapy_rep.pages.profiles import DEFAULT
from scrapy_rep.preferences import robots_txt as of_robots_txt
from scrapy_rep.preferences.page import SILENT, of_response, speaks, together
from scrapy_rep.preferences.statement import Preferences
from scrapy_rep.robotstxt.product_token import tokens_of
from scrapy_rep.robotstxt.profiles import RFC9309
from scrapy_rep.settings import product_tokens
from scrapy_rep.usage.noted import noted_for

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.pages.profiles import PageProfile
    from scrapy_rep.robotstxt.robotstxt import RobotsTxt

_kept: WeakKeyDictionary[Response, Preferences] = WeakKeyDictionary()


def usage_preferences(
    response: Response,
    agent: str | Sequence[str] | None = None,
    robots: RobotsTxt | None = None,
) -> Preferences:
    """Return what a page may be used for: its robots.txt, header and HTML together.

    If they are None, in a crawl ``agent`` is that of the crawler, and ``robots`` is the copy that
    was in force when the page was requested. Elsewhere only statements for all agents and those of
    the response itself count then. Raises ``ValueError`` for an agent without a name, but never
    because of a response.
    """
    if agent is None and robots is None and response in _kept:
        return _kept[response]
    noted = noted_for(response.request)
    url = response.url if noted is None else noted.url
    tokens = () if noted is None else noted.agent
    if agent is not None:
        tokens = product_tokens(agent)
    source = page_source(response)
    page = SILENT
    if speaks(source):
        page = of_response(source, response.url, tokens_of(tokens, RFC9309), DEFAULT)
    rules = noted.robots if robots is None and noted is not None else robots
    said = None if rules is None else of_robots_txt.preferences(rules, url, tokens)
    return together(
        page,
        (*(said.statements if said else ()), *(noted.tokens if noted is not None else ())),
        () if rules is None else of_robots_txt.licenses(rules, tokens),
    )


def preferences_in_a_crawl(
    response: Response, agent_of: Callable[[Response], tuple[str, ...]], profile: PageProfile
) -> Preferences | None:
    """Return what is said about a page, and keep it for callbacks; None if nothing is.

    The agent is only asked for if the page may say something: most pages say nothing to any.
    """
    noted = noted_for(response.request)
    source = page_source(response)
    page = SILENT
    if speaks(source):
        page = of_response(source, response.url, tokens_of(agent_of(response), RFC9309), profile)
    if noted is None and page is SILENT:
        return None
    found = together(page) if noted is None else noted.with_page(page)
    _kept[response] = found
    return found
