"""The product tokens by which a robots.txt addresses a request (RFC 9309 section 2.2.1).

Four sources are asked, in this order: the meta of the request, the spider, the setting
``ROBOTSTXT_USER_AGENT``, and the User-Agent that the request will carry.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.http import Headers
from scrapy.settings import default_settings
from scrapy.utils.python import without_none_values

from scrapy_rep.robotstxt.lines import DEFAULT
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.robotstxt.product_token import product_token, token_of
from scrapy_rep.robotstxt.profiles import named
from scrapy_rep.scrapy_names import has_headers
from scrapy_rep.settings import enabled_classes, product_tokens

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.settings import RepSettings

logger = logging.getLogger("scrapy_rep")

_MOST_REMEMBERED = 1_000
"""Values of ``robotstxt_user_agent`` that are remembered, and as many User-Agents."""


def header_added_by_scrapy(crawler: Crawler) -> bytes:
    """Return the User-Agent that Scrapy's middlewares add to a request that has none.

    That is the one of ``DEFAULT_REQUEST_HEADERS``, else that of the spider, else ``USER_AGENT``. It
    is empty if all of these are, or if the middlewares that add them are disabled.
    """
    settings = crawler.settings
    adding = enabled_classes(settings, "DOWNLOADER_MIDDLEWARES")
    added = Headers()
    if UserAgentMiddleware in adding:
        added["User-Agent"] = getattr(crawler.spider, "user_agent", settings["USER_AGENT"]) or ""
    if DefaultHeadersMiddleware in adding:
        added.update(without_none_values(settings.getdict("DEFAULT_REQUEST_HEADERS")))
    return (added.get("User-Agent") or b"").strip()


def header_of_fetches(crawler: Crawler, tokens: Sequence[str]) -> bytes:
    """Return the User-Agent of robots.txt requests: what Scrapy adds, else the product token.

    A site may answer a request that has none with 403, which would mean that it has no rules. So a
    crawl without any, such as one that impersonates a browser, gives that of Scrapy.
    """
    instead = product_token(tokens[0]) or default_settings.USER_AGENT
    return header_added_by_scrapy(crawler) or instead.encode()


class Identity:
    """Tells for each request of a crawl by which tokens it is addressed.

    Raises ``ValueError`` if the spider names something that is not a product token.
    """

    def __init__(self, crawler: Crawler, settings: RepSettings):
        self._crawler = crawler
        self._checked = lru_cache(_MOST_REMEMBERED)(self._check)
        self._of_header = lru_cache(_MOST_REMEMBERED)(self._read_header)
        self._profile = named(settings.profile)
        self._warned = False
        self._of_setting = self._check(settings.user_agent) if settings.user_agent else None
        if value := self._value_of_spider():
            self._of_value(value)

    def open(self) -> None:
        """Read the User-Agent of the spider now, as Scrapy does when the spider is opened."""
        _ = self.header_of_fetches, self.header_to_give

    def of(self, request: Request) -> tuple[str, ...]:
        """Return the tokens of ``request`` in order of preference.

        Raises ``ValueError`` if its meta or the spider names no product token.
        """
        value = request.meta.get("robotstxt_user_agent") or self._value_of_spider()
        if value:
            return self._of_value(value)
        if self._of_setting is not None:
            return self._of_setting
        headers = request.headers if has_headers(request) else None
        user_agent = headers.get("User-Agent") if headers else None
        return self._of_header(user_agent) if user_agent else self._of_project

    def usable(self, request: Request) -> tuple[str, ...]:
        """Return the tokens of ``request``, or of the crawl if it names no product token."""
        try:
            return self.of(request)
        except ValueError:
            return self.default

    @cached_property
    def header_of_fetches(self) -> bytes:
        """The User-Agent with which robots.txt files are requested."""
        return header_of_fetches(self._crawler, self.default)

    @cached_property
    def header_to_give(self) -> bytes | None:
        """The User-Agent to give a robots.txt request; ``None`` where Scrapy adds one."""
        return None if header_added_by_scrapy(self._crawler) else self.header_of_fetches

    @property
    def default(self) -> tuple[str, ...]:
        """The tokens of a request that names none itself.

        Those of the settings, if the spider has none that can be used.
        """
        if value := self._value_of_spider():
            try:
                return self._of_value(value)
            except ValueError:  # it was set in the middle of the crawl
                pass
        return self._of_setting or self._of_project

    @property
    def searched_for(self) -> tuple[str, ...]:
        """The product tokens in :attr:`default`: what robots.txt files are searched for."""
        found = [token_of(text, self._profile) for text in self.default]
        return tuple(token for token in found if token) or (DEFAULT,)

    def _value_of_spider(self) -> Any:
        return getattr(self._crawler.spider, "robotstxt_user_agent", None)

    def _of_value(self, value: Any) -> tuple[str, ...]:
        """Return the tokens that a request or the spider names as ``robotstxt_user_agent``."""
        try:
            return self._checked(tuple(value) if isinstance(value, list) else value)
        except TypeError:  # it cannot be hashed
            why = "must be a product token or a list of them"
        except ValueError as error:
            why = str(error)
        raise ValueError(f"robotstxt_user_agent = {value!r}: {why}")

    def _check(self, value: Any) -> tuple[str, ...]:
        """Return the texts of a value; warn of one in which there is no token.

        They are returned as they are, because other profiles, which an override may set, find
        another token in them.
        """
        texts = product_tokens(value)
        for text in texts:
            if text != DEFAULT and token_of(text, self._profile) is None:
                self._warn_of_nameless(text)
        return texts

    @cached_property
    def _of_project(self) -> tuple[str, ...]:
        """The token in the User-Agent of the project, in the first one that is not empty.

        Scrapy gives it to requests that have none. An empty one only hides the name: which rules
        apply to the crawler does not change.
        """
        settings = self._crawler.settings
        default = without_none_values(settings.getdict("DEFAULT_REQUEST_HEADERS"))
        own = getattr(self._crawler.spider, "user_agent", None) or settings["USER_AGENT"]
        added = Headers({"User-Agent": own or ""})
        user_agent = Headers(default).get("User-Agent") or added.get("User-Agent") or b""
        token = token_of(user_agent.decode("latin-1"), self._profile)
        if token is None:
            self._warn_of_nameless(user_agent)
        return (token or DEFAULT,)

    def _read_header(self, user_agent: bytes) -> tuple[str, ...]:
        """Return the token in the header of a request, or those of the crawl if there is none.

        A browser's value hides the name, too. A middleware may choose one behind the gate. Copies
        of the request have it in front of the gate, after a redirect or for a retry, and are judged
        as the request itself was.
        """
        token = token_of(user_agent.decode("latin-1"), self._profile)
        return self._of_project if token is None else (token,)

    def _warn_of_nameless(self, user_agent: str | bytes) -> None:
        if not self._warned:
            self._warned = True
            quoted = f'The User-Agent "{printable(user_agent)}" names no crawler'
            logger.warning(
                "%s, so the rules for * are followed; set ROBOTSTXT_USER_AGENT to the product "
                "token of your crawler",
                quoted if user_agent.strip() else "No User-Agent is set",
            )
