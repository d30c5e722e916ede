"""Components of a project that has already touched Scrapy's own robots.txt middleware."""

from __future__ import annotations

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

BUILT_IN = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
OWN = "tests.crawl.builtins.OwnRobotsTxtMiddleware"


class OwnRobotsTxtMiddleware(RobotsTxtMiddleware):
    """A project's own subclass of the built-in."""
