"""How the tests switch the plugin on, and the robots.txt that most of them use."""

from __future__ import annotations

from typing import Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

BUILT_IN = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
OWN = "tests.crawl.plugin.OwnRobotsTxtMiddleware"

RULES = "User-agent: *\nDisallow: /private\n"
NOTHING = "User-agent: *\nDisallow: /\n"


def obey(**settings: Any) -> dict[str, Any]:
    """The settings of a project that uses the add-on; without waits between attempts."""
    return {"ADDONS": {"scrapy_rep.Addon": 100}, "REP_RETRY_DELAYS": [], **settings}


def by_hand(**settings: Any) -> dict[str, Any]:
    """The settings of a project that does without the add-on."""
    middlewares = {BUILT_IN: None, "scrapy_rep.RepDownloaderMiddleware": 100}
    switch = {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": middlewares}
    return {**switch, "REP_RETRY_DELAYS": [], **settings}


class OwnRobotsTxtMiddleware(RobotsTxtMiddleware):
    """A project's own subclass of the built-in."""
