"""The preferences about the use of one page, from its site and its response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from scrapy.http import Headers

from scrapy_rep.page_responses import page_source
from scrapy_rep.pages.markup import Markup
from scrapy_rep.pages.profiles import DEFAULT
from scrapy_rep.pages.reading import read
from scrapy_rep.preferences.licenses import MEDIA_TYPE, RELATION
from scrapy_rep.preferences.page import FIELDS, NAMES, TERMS, PagePreferences, of_response, together
from scrapy_rep.preferences.statement import Preferences
from scrapy_rep.protocol.product_token import tokens_of
from scrapy_rep.protocol.profiles import RFC9309
from scrapy_rep.settings import product_tokens
from scrapy_rep.usage.noted import noted_for

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.pages.profiles import PageProfile
    from scrapy_rep.pages.source import PageSource
    from scrapy_rep.protocol.robotstxt import RobotsTxt

_FIELDS = frozenset(Headers.fromkeys((*FIELDS, "X-Robots-Tag", "Robots-Tag")))
"""The fields that are read, as Scrapy keeps their names: one look at all is 1 us, not 40."""
_SILENT = PagePreferences()

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
    page = _read_page(source, response.url, tokens, DEFAULT) if _speaks(source) else _SILENT
    rules = noted.robots if robots is None and noted is not None else robots
    said = None if rules is None else rules.preferences(url, tokens)
    return together(
        page,
        (*(said.statements if said else ()), *(noted.tokens if noted is not None else ())),
        () if rules is None else rules.licenses(tokens),
    )


def preferences_in_a_crawl(
    response: Response, agent_of: Callable[[Response], tuple[str, ...]], profile: PageProfile
) -> Preferences | None:
    """Return what is said about a page, and keep it for callbacks; None if nothing is.

    The agent is only asked for if the page may say something: most pages say nothing to any.
    """
    noted = noted_for(response.request)
    source = page_source(response)
    page = _SILENT
    if _speaks(source):
        page = _read_page(source, response.url, agent_of(response), profile)
    if noted is None and page is _SILENT:
        return None
    found = together(page) if noted is None else noted.with_page(page)
    _kept[response] = found
    return found


def _speaks(source: PageSource) -> bool:
    """Return whether a response may say something; most do not, and are not parsed."""
    if not _FIELDS.isdisjoint(source.fields):
        return True
    markup = source.markup
    return markup is not None and (markup.may_name(*TERMS) or markup.holds(MEDIA_TYPE))


def _read_page(
    source: PageSource, url: str, agent: tuple[str, ...], profile: PageProfile
) -> PagePreferences:
    """Return what a response itself says."""
    markup = source.markup
    metas = [] if markup is None else list(_metas(markup))
    links = [] if markup is None else list(_links(markup))
    base = _resolved(url, markup.base) if markup is not None and links else ""
    page = of_response(source.lines, metas, links, _terms(source, agent, profile), url, base)
    return page or _SILENT


def _resolved(url: str, reference: str) -> str:
    """Return a reference resolved against a URL; the URL itself if that cannot be done."""
    try:
        return urljoin(url, reference)
    except ValueError:
        return url


def _metas(markup: Markup) -> Iterator[tuple[str, str]]:
    if markup.may_name(*TERMS):
        for meta in markup.metas(NAMES):
            yield meta.name, meta.content


def _links(markup: Markup) -> Iterator[tuple[str, str, str]]:
    if markup.holds(MEDIA_TYPE):
        for link in markup.links(RELATION):
            yield " ".join(link.rel), link.type, link.href


def _terms(
    source: PageSource, agent: tuple[str, ...], profile: PageProfile
) -> Iterator[tuple[str, str]]:
    """Yield the robots terms for an agent, except those in ``http-equiv``."""
    tokens = tokens_of(agent, RFC9309)
    for statement in read(source, tokens, profile, whole=False).statements:
        if statement.source != "http-equiv":
            yield statement.name, statement.source
