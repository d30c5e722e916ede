"""How the tests switch the plugin on, and the robots.txt that most of them use."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

from tests.replies import Reply

BUILT_IN = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
OWN = "tests.crawl.plugin.OwnRobotsTxtMiddleware"

RULES = "User-agent: *\nDisallow: /private\n"
NOTHING = "User-agent: *\nDisallow: /\n"
OPEN = "User-agent: *\nDisallow:\n"
LATE = Reply(200, RULES, delay=0.1)

SKIPPING = {"REP_PREFERENCES": "skip", "REP_PURPOSES": ["train-ai"]}
"""The settings of a project that asks for no page whose site says no to training."""

DEMANDING = {**SKIPPING, "REP_OVER_MAX_CRAWL_DELAY": "forbid"}
"""Nor for one whose site wants to be asked too seldom."""


def obey(**settings: Any) -> dict[str, Any]:
    """The settings of a project that uses the add-on; without waits between attempts."""
    return {"ADDONS": {"scrapy_rep.Addon": 100}, "REP_RETRY_DELAYS": [], **settings}


OVER_REDIS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
}
"""The settings of a project whose requests are in Redis."""


def by_hand(**settings: Any) -> dict[str, Any]:
    """The settings of a project that does without the add-on."""
    middlewares = {BUILT_IN: None, "scrapy_rep.RepDownloaderMiddleware": 100}
    switch = {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": middlewares}
    records = {"EXTENSIONS": {"scrapy_rep.RepRecords": 0}}
    return {**switch, **records, "REP_RETRY_DELAYS": [], **settings}


def by_hand_with_last_step(**settings: Any) -> dict[str, Any]:
    """The settings of a project that lacks only the scheduler."""
    made = by_hand(**settings)
    made["DOWNLOADER_MIDDLEWARES"]["scrapy_rep.RepLastStep"] = 100_000
    return made


def override(url: str, action: str, **more: Any) -> dict[str, Any]:
    """An entry of REP_OVERRIDES for the authority of a URL; it ends next month."""
    until = (datetime.now(timezone.utc).date() + timedelta(days=30)).isoformat()
    common = {"reason": "our own site", "by": "ops@example.org", "until": until}
    return {"authority": url, "action": action, **common, **more}


class OwnRobotsTxtMiddleware(RobotsTxtMiddleware):
    """A project's own subclass of the built-in."""
