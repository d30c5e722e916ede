"""robots.txt for Scrapy, as the Robots Exclusion Protocol says (RFC 9309)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from scrapy_rep.preferences.statement import Preferences
from scrapy_rep.protocol.robotstxt import RobotsTxt, Rule, Verdict

if TYPE_CHECKING:
    from scrapy_rep.addon import Addon
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
    from scrapy_rep.page_responses import page_directives
    from scrapy_rep.pages.statements import PageDirectives
    from scrapy_rep.robotparser import RepRobotParser
    from scrapy_rep.spidermiddlewares import RepSpiderMiddleware
    from scrapy_rep.usage.of_response import usage_preferences

__all__ = [
    "Addon",
    "PageDirectives",
    "Preferences",
    "RepDownloaderMiddleware",
    "RepRobotParser",
    "RepSpiderMiddleware",
    "RobotsForbidden",
    "RobotsTxt",
    "RobotsUnreachable",
    "Rule",
    "Verdict",
    "page_directives",
    "usage_preferences",
]

# The matcher is of use without Scrapy, so these are imported when they are first asked for.
_EDGE = {
    "Addon": "addon",
    "PageDirectives": "pages.statements",
    "RepDownloaderMiddleware": "downloadermiddlewares",
    "RepRobotParser": "robotparser",
    "RepSpiderMiddleware": "spidermiddlewares",
    "RobotsForbidden": "exceptions",
    "RobotsUnreachable": "exceptions",
    "page_directives": "page_responses",
    "usage_preferences": "usage.of_response",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _EDGE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_EDGE[name]}"), name)
