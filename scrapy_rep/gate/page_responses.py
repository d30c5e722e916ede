"""What Scrapy's responses say to crawlers: page directives, and preferences about their use.

What the spider middleware has read of a response is kept as long as the response exists, so that a
callback gets it without naming the crawler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from scrapy.http import HtmlResponse

from scrapy_rep.gate.use import Noted, noted_for
from scrapy_rep.pages.directives import PageDirectives, read
from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.source import PageSource
from scrapy_rep.preferences.page import of_response, speaks
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.robotstxt.product_token import tokens_of
from scrapy_rep.robotstxt.profiles import RFC9309, Profile, named
from scrapy_rep.settings import product_tokens

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.preferences.robots_txt import RobotsTxt


DIRECTIVES: WeakKeyDictionary[Response, PageDirectives] = WeakKeyDictionary()
"""What pages ask of the crawler, as far as the spider middleware has read them."""

_preferences: WeakKeyDictionary[Response, Preferences] = WeakKeyDictionary()

_latest: tuple[ref[Response], PageSource] | None = None
"""The source of the last response that was asked about.

What a page asks of crawlers and what it may be used for are read one after the other. As both share
one source, its octets are lowered once, which saves a third of the time.
"""


def page_source(response: Response) -> PageSource:
    """Return the header fields and the markup of ``response``."""
    global _latest
    latest = _latest
    if latest is not None and latest[0]() is response:
        return latest[1]
    markup = None
    if isinstance(response, HtmlResponse):
        content_type = response.headers.get("Content-Type") or b""
        markup = Markup(response.body, content_type.decode("latin-1"))
    source = PageSource(response.headers, markup)
    _latest = ref(response), source
    return source


def page_directives(
    response: Response, agent: str | Sequence[str] | None = None, profile: str | None = None
) -> PageDirectives:
    """Return what a page asks of ``agent``: META robots and X-Robots-Tag.

    If ``agent`` and ``profile`` are ``None``, they are those of the crawler in a crawl with the
    spider middleware. Elsewhere only directives for all agents count then, in the profile
    ``rfc9309``. Raises ``ValueError`` for an agent without a name and for an unknown profile, but
    never because of a response.
    """
    known = DIRECTIVES.get(response)
    if known is not None and agent is None and profile is None:
        return known
    tokens = () if agent is None else tokens_of(product_tokens(agent), RFC9309)
    return read(page_source(response), tokens, named(profile or RFC9309))


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
    if agent is None and robots is None and response in _preferences:
        return _preferences[response]
    noted = noted_for(response.request) or Noted(response.url, (), None, Preferences())
    if agent is not None:
        noted = noted._replace(agent=product_tokens(agent))
    if robots is not None:
        noted = noted._replace(robots=robots)
    return noted.before_the_page + _of_page(response, lambda: noted.agent, RFC9309)


def preferences_in_a_crawl(
    response: Response, agent_of: Callable[[Response], tuple[str, ...]], profile: Profile
) -> Preferences | None:
    """Return what is said about a page, and keep it for callbacks; None if nothing is.

    ``agent_of`` is only called if the page may say something, which most pages do not.
    """
    noted = noted_for(response.request)
    found = _of_page(response, lambda: agent_of(response), profile)
    if noted is None and not found:
        return None
    if noted is not None:
        found = noted.before_the_page + found
    _preferences[response] = found
    return found


def _of_page(
    response: Response, agent: Callable[[], tuple[str, ...]], profile: Profile
) -> Preferences:
    """Return what a response says about the use of its page."""
    source = page_source(response)
    if not speaks(source):
        return Preferences()
    return of_response(source, response.url, tokens_of(agent(), RFC9309), profile)
