"""The matcher behind Scrapy's own interface for robots.txt parsers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pydispatch import dispatcher
from scrapy import signals
from scrapy.robotstxt import RobotParser

from scrapy_rep.awaiting import DeadlineError, with_timeout
from scrapy_rep.settings import RepSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt

logger = logging.getLogger("scrapy_rep")

_ROBOTS_PARSED = getattr(signals, "robots_parsed", None)


class RepRobotParser(RobotParser):
    """The rules of one robots.txt, for ``ROBOTSTXT_PARSER`` and ``signals.robots_parsed``.

    Agents are product tokens or whole User-Agent strings (RFC 9309 section 2.2.1).
    """

    def __init__(self, robots: ParsedRobotsTxt):
        self.robots = robots

    @classmethod
    def from_crawler(cls, crawler: Crawler | None, robotstxt_body: bytes) -> RepRobotParser:
        """Return the parser of a robots.txt, with the profile and the size limit of the crawl.

        Without a crawler, as in a script or a test, the defaults of both apply.
        """
        settings = RepSettings() if crawler is None else RepSettings.from_settings(crawler.settings)
        return cls(settings.parse(robotstxt_body))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Return whether ``user_agent`` may request ``url`` (RFC 9309 section 2.2.2)."""
        return self.robots.allowed(_text(url), _text(user_agent))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Return the seconds between requests that the agent's group asks for, if it does."""
        return self.robots.crawl_delay(_text(user_agent))

    def sitemaps(self) -> Iterator[str]:
        """Yield the URLs of the file's Sitemap records, in their order."""
        yield from self.robots.sitemaps


class RobotsParsed:
    """``signals.robots_parsed``, which Scrapy 2.18 and newer have, for one crawl.

    ``timeout`` is how many seconds its listeners may take.
    """

    def __init__(self, crawler: Crawler, timeout: float):
        self._crawler = crawler
        self._timeout = timeout
        self.is_heard = _ROBOTS_PARSED is not None
        """Whether anything may listen: False once nothing has, and before Scrapy 2.18."""

    async def send(self, robots: ParsedRobotsTxt, request: Request | None) -> None:
        """Send the signal, and return when its listeners are done or their time is over.

        ``request`` is the request that asked for the rules.
        """
        listeners = dispatcher.getAllReceivers(self._crawler, _ROBOTS_PARSED)
        self.is_heard = _ROBOTS_PARSED is not None and any(dispatcher.liveReceivers(listeners))
        if not self.is_heard:  # sending it takes 50 us
            return
        sent = self._crawler.signals.send_catch_log_async(
            signal=_ROBOTS_PARSED, robotparser=RepRobotParser(robots), request=request
        )
        try:
            self.is_heard = bool(await with_timeout(self._timeout, sent))
        except DeadlineError as error:  # a listener hangs; the requests that wait must not
            logger.warning(
                "A listener to robots_parsed was %s; the rules come into force without it. It must "
                "not wait for a request to the same site: that waits for the rules",
                error,
            )


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
