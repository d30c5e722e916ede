"""The matcher behind Scrapy's own interface for robots.txt parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.robotstxt import RobotParser

from scrapy_rep.protocol.rules import RobotsTxt
from scrapy_rep.settings import RepSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler


class RepRobotParser(RobotParser):
    """The rules of one robots.txt, for ``ROBOTSTXT_PARSER`` and ``signals.robots_parsed``.

    Agents are product tokens or whole User-Agent strings (RFC 9309 section 2.2.1).
    """

    def __init__(self, robots: RobotsTxt):
        self.robots = robots

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> RepRobotParser:
        """Return the parser of a robots.txt, in the profile and limit of the crawl."""
        settings = RepSettings.from_settings(crawler.settings)
        return cls(
            RobotsTxt.parse(robotstxt_body, profile=settings.profile, max_size=settings.max_size)
        )

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Return whether ``user_agent`` may request ``url`` (RFC 9309 section 2.2.2)."""
        return self.robots.allowed(_text(url), _text(user_agent))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Return the seconds between requests that the agent's group asks for, if it does."""
        return self.robots.crawl_delay(_text(user_agent))

    def sitemaps(self) -> Iterator[str]:
        """Yield the URLs of the file's Sitemap records, in their order."""
        yield from self.robots.sitemaps


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
