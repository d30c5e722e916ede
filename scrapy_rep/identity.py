"""The product tokens by which a robots.txt addresses a request (RFC 9309 section 2.2.1).

Four sources are asked, in this order: the meta of the request, the spider, the setting
``ROBOTSTXT_USER_AGENT``, and the User-Agent that the request will carry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy_rep.robotstxt.product_token import product_token
from scrapy_rep.settings import product_tokens

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats

_MOST_REMEMBERED = 1_000
"""Names whose tokens are remembered; past that all are forgotten."""


class Identity:
    """Tells for each request of a crawl by which tokens it is addressed.

    Raises ``ValueError`` if the spider names something that is not a product token.
    """

    def __init__(self, crawler: Crawler, settings: RepSettings, stats: RepStats):
        self._crawler = crawler
        self._stats = stats
        self._remembered: dict[Any, tuple[str, ...]] = {}
        self._sent_by_default: tuple[str, ...] | None = None
        self._warned = False
        self._setting = self._named(settings.user_agent) if settings.user_agent else None
        chosen = self._of_spider()
        if chosen:
            self._remembered_or(chosen, self._named)

    def of(self, request: Request) -> tuple[str, ...]:
        """Return the tokens of ``request`` in order of preference.

        Raises ``ValueError`` if its meta or the spider names no product token.
        """
        chosen = request.meta.get("robotstxt_user_agent") or self._of_spider()
        if chosen:
            return self._remembered_or(chosen, self._named)
        if self._setting is not None:
            return self._setting
        headers = request.headers
        sent = headers.get("User-Agent") if headers else None
        return self._remembered_or(sent, self._derived) if sent else self._of_settings()

    def usable(self, request: Request) -> tuple[str, ...]:
        """Return the tokens of ``request``, or of the crawl if it names no product token.

        Those of the settings, if the spider has none that can be used either.
        """
        try:
            return self.of(request)
        except ValueError:
            pass
        try:
            return self.default
        except ValueError:
            return self._setting or self._of_settings()

    @property
    def default(self) -> tuple[str, ...]:
        """The tokens of a request that names none itself."""
        chosen = self._of_spider()
        if chosen:
            return self._remembered_or(chosen, self._named)
        return self._setting or self._of_settings()

    def _of_spider(self) -> Any:
        return getattr(self._crawler.spider, "robotstxt_user_agent", None)

    def _remembered_or(
        self, chosen: Any, make: Callable[[Any], tuple[str, ...]]
    ) -> tuple[str, ...]:
        key = tuple(chosen) if isinstance(chosen, list) else chosen
        tokens = self._remembered.get(key) if isinstance(key, (str, bytes, tuple)) else None
        if tokens is None:
            try:
                tokens = make(chosen)
            except ValueError as error:
                raise ValueError(f"robotstxt_user_agent = {chosen!r}: {error}") from None
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = tokens
        return tokens

    def _named(self, chosen: Any) -> tuple[str, ...]:
        """Return the tokens that were chosen; warn of one that names no crawler."""
        tokens = product_tokens(chosen)
        for name in tokens:
            if name != "*":
                self._derived(name)
        return tokens

    def _of_settings(self) -> tuple[str, ...]:
        if self._sent_by_default is None:
            self._sent_by_default = self._derived(self._configured())
        return self._sent_by_default

    def _configured(self) -> str:
        """Return the User-Agent of the project, the first that is not empty.

        Scrapy gives it to requests that have none. An empty one hides the name, and changes nothing
        about which rules are meant for the crawler.
        """
        settings = self._crawler.settings
        for name, value in settings.getdict("DEFAULT_REQUEST_HEADERS").items():
            if name.lower() == "user-agent" and value:
                return str(value)
        chosen = getattr(self._crawler.spider, "user_agent", None) or settings["USER_AGENT"]
        return str(chosen or "")

    def _derived(self, user_agent: str | bytes) -> tuple[str, ...]:
        text = user_agent.decode("latin-1") if isinstance(user_agent, bytes) else user_agent
        token = product_token(text)
        if token is None and not self._warned:
            self._warned = True
            self._stats.nameless(text)
        return (token or "*",)
